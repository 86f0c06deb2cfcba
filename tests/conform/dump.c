/*
 * Runs the cases of a plugin's operators, and others generated from them, by the
 * reference evaluator.
 *
 *     conform_dump PLUGINS PLUGIN [OPERATOR] [-o FOLDER]
 *
 * PLUGINS is the folder of manifests, PLUGIN an id such as baton.ops.nn. Prints what is
 * wrong with types, shapes and strides, and exits with 1 if anything is. With -o it
 * writes FOLDER/<operator>.json (calls: attributes, types, errors) and
 * FOLDER/<operator>.npz (their inputs and results) for numpy_reference.py.
 */
#include <stdio.h>
#include <string.h>

#include "case_vary.h"

struct dump {
    struct op_check w;
    json_t *calls; /* NULL: nothing is written */
    bt_npz_entry *entries;
    uint32_t nentry, cap;
    uint32_t ncall, ncase;
    const struct call_case *base;
};

/* ---- values as JSON and npz ---- */

static json_t *int_json(int64_t i)
{
    return i == BT_NONE ? json_null() : json_integer((json_int_t)i);
}

static json_t *dtype_json(const bt_type *type)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (!type || type->kind != BT_TYPE_DTYPE)
        return json_null();
    return json_string(bt_dtype_name(((const bt_dtype_type *)(const void *)type)->dtype,
                                     name, sizeof(name)));
}

static json_t *dim_json(const bt_type *type)
{
    int64_t i;
    return type && bt_dim_is_const(type, &i) ? json_integer((json_int_t)i) : json_null();
}

static json_t *shape_json(const bt_type *type)
{
    const bt_shape_type *shape = type ? bt_as_shape_type(type) : NULL;
    json_t *list = shape ? json_array() : json_null();
    for (uint32_t i = 0; shape && i < shape->n; i++)
        json_array_append_new(list, dim_json(shape->dims[i]));
    return list;
}

static json_t *ints_json(const bt_ints *list)
{
    if (list->n == BT_NONE_LIST)
        return json_null();
    if (list->n == BT_SINGLE)
        return json_integer((json_int_t)list->at[0]);
    json_t *out = json_array();
    for (int64_t i = 0; i < list->n; i++)
        json_array_append_new(out, int_json(list->at[i]));
    return out;
}

static json_t *attr_json(const bt_attr *row, const void *attrs)
{
    const void *at = (const char *)attrs + row->offset;
    const void *pointer;
    json_t *list;
    memcpy(&pointer, at, sizeof(pointer));
    switch (row->kind) {
    case BT_ATTR_INT: return int_json(*(const int64_t *)at);
    case BT_ATTR_BOOL: return json_boolean(*(const int64_t *)at != 0);
    case BT_ATTR_FLOAT: return json_real(*(const double *)at);
    case BT_ATTR_STRING: return json_string(pointer);
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS: return ints_json(at);
    case BT_ATTR_FLOATS:
        list = json_array();
        for (int64_t i = 0; i < ((const bt_floats *)at)->n; i++)
            json_array_append_new(list, json_real(((const bt_floats *)at)->at[i]));
        return list;
    case BT_ATTR_STRINGS:
        list = json_array();
        for (int64_t i = 0; i < ((const bt_strings *)at)->n; i++)
            json_array_append_new(list, json_string(((const bt_strings *)at)->at[i]));
        return list;
    case BT_ATTR_DTYPE: return dtype_json(pointer);
    case BT_ATTR_DIM: return dim_json(pointer);
    case BT_ATTR_SHAPE: return shape_json(pointer);
    default: return json_null();
    }
}

static json_t *attrs_json(const bt_op *op, const void *attrs)
{
    json_t *out = json_object();
    for (const bt_attr *row = op->attrs; row && row->name; row++)
        json_object_set_new(out, row->name, attr_json(row, attrs));
    return out;
}

/* Keeps a tensor for the npz and gives its description. */
static json_t *tensor_json(struct dump *d, const bt_tensor *t)
{
    char name[24], dtype[BT_DTYPE_NAME_SIZE];
    snprintf(name, sizeof(name), "%u", d->nentry);
    if (d->nentry == d->cap) {
        uint32_t cap = d->cap ? 2 * d->cap : 256;
        bt_npz_entry *grown = BT_NEWS(d->w.arena, bt_npz_entry, cap);
        if (!grown)
            return json_null();
        if (d->nentry)
            memcpy(grown, d->entries, d->nentry * sizeof(*grown));
        d->entries = grown;
        d->cap = cap;
    }
    d->entries[d->nentry++] =
        (bt_npz_entry){ .name = bt_arena_text(d->w.arena, name, strlen(name)),
                        .tensor = bt_tensor_ref(t) };
    return json_pack("{s:s, s:s}", "array", name, "dtype",
                     bt_dtype_name(t->dtype, dtype, sizeof(dtype)));
}

static void record(struct dump *d, const char *kind, const struct call_case *c,
                   const struct call_result *r)
{
    json_t *args = json_array(), *results = json_array(), *call = json_object();
    for (uint32_t i = 0; i < c->narg; i++) {
        json_t *fields = json_array();
        for (uint32_t k = 0; k < c->args[i].nleaf; k++)
            json_array_append_new(fields, tensor_json(d, r->in[c->args[i].first + k]));
        if (c->args[i].is_tuple) {
            json_array_append_new(args, fields);
        } else {
            json_array_append(args, json_array_get(fields, 0));
            json_decref(fields);
        }
    }
    for (uint32_t i = 0; i < r->nout; i++)
        json_array_append_new(results, tensor_json(d, r->out[i]));
    json_object_set_new(call, "case", json_string(d->base->line));
    json_object_set_new(call, "kind", json_string(kind));
    json_object_set_new(call, "attrs", attrs_json(d->w.op, r->call->attrs));
    json_object_set_new(call, "args", args);
    json_object_set_new(call, "results", results);
    json_object_set_new(call, "failed", r->why ? json_string(r->why) : json_null());
    json_array_append_new(d->calls, call);
}

/* ---- one operator ---- */

static uint64_t seed_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Operators whose attributes say more of dtypes than patterns of inputs can. */
static int narrows(const bt_op *op, const struct call_case *c)
{
    static const struct {
        const char *name;
        uint32_t classes; /* of the first input, for which it does */
    } rows[] = {
        { "reinterpret", (uint32_t)BT_CLASS_BITS_ANY },      // widths must be equal
        { "cumsum", (uint32_t)BT_CLASS_BITS_ANY },           // of bool needs a dtype
        { "cumprod", (uint32_t)BT_CLASS_BITS_ANY },          //
        { "scatter_elements", (uint32_t)BT_CLASS_BITS_ANY }, // of bool: only update
        { "scatter_nd", (uint32_t)BT_CLASS_BITS_ANY },       //
        { "cast", 1u << BT_CLASS_COMPLEX },      // complex numbers become no others
        { "cast_like", 1u << BT_CLASS_COMPLEX }, //
        { "full", 1u << BT_CLASS_COMPLEX },      //
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(op->name, rows[i].name) == 0)
            return c->nleaf && rows[i].classes >> BT_DTYPE_CLASS(c->leaves[0].dtype) & 1;
    }
    return 0;
}

static int has_packed(const struct call_case *c)
{
    for (uint32_t i = 0; i < c->nleaf; i++) {
        if (bt_dtype_is_packed(c->leaves[i].dtype))
            return 1;
    }
    return 0;
}

static bt_status run_values(struct dump *d, const char *kind, const struct call_case *c,
                            int extreme)
{
    struct call_result r;
    int is_base = c == d->base && !extreme;
    bt_status status = call_run(&d->w, c, seed_of(c->line) + d->ncall, extreme, &r);
    if (!status && !r.call && strcmp(kind, "size") != 0 &&
        (is_base || !narrows(d->w.op, c)))
        case_fault(&d->w, c, "refused: %s", r.why);
    if (!status && r.call) {
        // packed elements are not written: npy has their bytes alone
        const int is_written = !has_packed(c);
        d->ncall += (uint32_t)is_written;
        if (is_base && r.why)
            case_fault(&d->w, c, "failed: %s", r.why);
        if (is_base)
            status = relation_check(&d->w, c, &r);
        if (d->calls && is_written)
            record(d, kind, c, &r);
    }
    call_result_free(&r);
    if (!status)
        bt_ctx_clear_diags(d->w.ctx);
    return status;
}

static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct dump *d = self;
    int is_free = 0;
    BT_TRY(run_values(d, kind, c, 0));
    for (uint32_t i = 0; i < c->nleaf; i++)
        is_free |= !c->leaves[i].has_range;
    return is_free && strcmp(kind, "size") != 0 ? run_values(d, "extreme", c, 1) : NULL;
}

static bt_status run_cases(struct dump *d)
{
    const void *facet;
    struct call_case c;
    int is_case;
    BT_TRY(bt_op_facet(d->w.ctx, d->w.op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    for (;;) {
        BT_TRY(case_next(d->w.ctx, d->w.arena, d->w.op->name, &text, &c, &is_case));
        if (!is_case)
            break;
        d->base = &c;
        d->ncase++;
        BT_TRY(run_case(d, "case", &c));
        BT_TRY(vary(&d->w, &c, run_case, d));
    }
    if (d->ncase == 0)
        json_array_append_new(d->w.faults,
                              json_sprintf("%s: has no cases", d->w.op->name));
    return NULL;
}

static bt_status write_out(struct dump *d, const char *folder)
{
    bt_text npz, path;
    char *json = json_dumps(d->calls, JSON_INDENT(0) | JSON_REAL_PRECISION(17));
    if (!json)
        return bt_no_memory();
    bt_text_init(&npz, d->w.arena);
    bt_text_init(&path, d->w.arena);
    bt_text_addf(&path, "%s/%s.json", folder, d->w.op->name);
    bt_status status = path.failed ? bt_no_memory()
                                   : bt_file_write(d->w.ctx, path.at, json, strlen(json));
    free(json);
    BT_TRY(status);
    BT_TRY(bt_npz_write(d->w.ctx, d->nentry, d->entries, &npz));
    bt_text_init(&path, d->w.arena);
    bt_text_addf(&path, "%s/%s.npz", folder, d->w.op->name);
    return path.failed ? bt_no_memory()
                       : bt_file_write(d->w.ctx, path.at, npz.at, npz.len);
}

/* 1 and *nfault faults printed, 0 when the test itself could not go on. */
static int run_op(bt_ctx *ctx, const char *name, const char *folder, size_t *nfault)
{
    struct dump d = { .w = { .ctx = ctx, .faults = json_array() },
                      .calls = folder ? json_array() : NULL };
    d.w.store = bt_store_create(bt_ctx_registry(ctx));
    d.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !d.w.store || !d.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &d.w.op);
    if (!status)
        status = run_cases(&d);
    if (!status && folder)
        status = write_out(&d, folder);
    for (size_t i = 0; i < json_array_size(d.w.faults); i++)
        printf("%s\n", json_string_value(json_array_get(d.w.faults, i)));
    *nfault += json_array_size(d.w.faults) > 0;
    if (status)
        printf("%s: %s\n", name, status->message);
    else
        printf("%s: %u cases, %u calls\n", name, d.ncase, d.ncall);
    for (uint32_t i = 0; i < d.nentry; i++)
        bt_tensor_unref(d.entries[i].tensor);
    json_decref(d.w.faults);
    json_decref(d.calls);
    bt_store_unref(d.w.store);
    bt_arena_destroy(d.w.arena);
    return !status;
}

static int run(bt_ctx *ctx, const char *plugin, const char *only, const char *folder)
{
    uint32_t nrun = 0, nbroken = 0;
    size_t nfault = 0;
    bt_status status = bt_plugins_scan(ctx);
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (only && strcmp(item.name, only) != 0))
            continue;
        nrun++;
        nbroken += !run_op(ctx, item.name, folder, &nfault);
    }
    if (status)
        printf("%s\n", status->message);
    printf("%u operators, %zu with faults, %u broken\n", nrun, nfault, nbroken);
    return status || nbroken || nfault || nrun == 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL, *folder = NULL;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            only = argv[i];
    }
    if (argc < 3) {
        printf("usage: conform_dump PLUGINS PLUGIN [OPERATOR] [-o FOLDER]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int failed = ctx ? run(ctx, argv[2], only, folder) : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
