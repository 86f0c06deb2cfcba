/*
 * written: runs what executor aot writes. The C of a program goes into a folder, libtcc
 * compiles each of its files, and a function that is written beside them calls the entry:
 * so all tests that name an executor try aot.
 *
 *     arguments   their leaves, row major, as arrays of pointers
 *     results     new tensors, their shapes by the dims that the arguments show
 *     workspace   as many bytes and calls as the header says to be enough, with bytes behind
 *                 it that must stay; else by the options
 *     a fault     an error with its text
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/compiler.h>
#include <baton/executor.h>
#include <baton/op.h>

struct options {
    int64_t workspace_mb, depth;
};
static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, workspace_mb, INT, "64", 1, 1 << 20,
                  "memory of a run, where the program asks for it, in MiB"),
    BT_ATTR_RANGE(struct options, depth, INT, "1000", 1, INT32_MAX,
                  "calls in progress at most"),
    { 0 },
};

enum { GUARD = 64 }; /* bytes behind a workspace, and what is in each */

typedef int32_t call_fn(const int64_t *dims, void *const *args, void *const *results,
                        void *workspace, uint64_t nbytes, uint32_t depth);
typedef uint64_t workspace_fn(const int64_t *dims);
typedef const char *fault_fn(int32_t);

/* Of an entry on values. */
struct machine;
struct value;
typedef int32_t begin_fn(void *workspace, size_t nbytes, uint32_t depth,
                         const void *weights, struct machine **);
typedef int32_t tensor_fn(struct machine *, uint32_t rank, const int64_t *dims,
                          const void *elements, struct value **);
typedef int32_t fields_fn(struct machine *, uint32_t tag, uint32_t n,
                          struct value *const *, struct value **);
typedef int32_t values_fn(struct machine *, const int64_t *dims,
                          struct value *const *args, struct value **result);
typedef uint32_t number_fn(const struct value *);
typedef const struct value *field_fn(const struct value *, uint32_t);
typedef int64_t dim_fn(const struct value *, uint32_t);
typedef const void *elements_fn(const struct value *);
struct values {
    begin_fn *begin;
    tensor_fn *tensor;
    fields_fn *fields;
    values_fn *run;
    number_fn *tag, *count;
    field_fn *field;
    dim_fn *dim;
    elements_fn *elements;
};

struct session {
    bt_registry *registry;
    struct options options;
    bt_module *typed;
    bt_module *module; /* compiled, for the entry that is called first; NULL: none yet */
    const bt_global *entry;
    bt_arena *arena;
    bt_code *code;
    call_fn *call;
    workspace_fn *workspace;
    fault_fn *fault;
    struct values values;
};

/* ---- the caller ---- */

static uint32_t count_args(const bt_func *func)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        n += bt_type_nleaf(func->block->params[i]->base.type);
    return n;
}

/* What calls the entry from values. */
static bt_status make_value_caller(const struct session *s, bt_text *out)
{
    const bt_func *func = s->entry->func;
    bt_text_addf(out, "#include \"p.h\"\n#include \"p.c\"\n"
                      "int32_t test_values(struct p_machine *m, const int64_t *dims, "
                      "struct p_value *const *args, struct p_value **result)\n{\n"
                      "    (void)dims, (void)args;\n    return p_run(m");
    for (uint32_t i = 0; i < func->nvar; i++)
        bt_text_addf(out, ", dims[%" PRIu32 "]", i);
    for (uint32_t i = 0; i < func->block->nparam; i++)
        bt_text_addf(out, ", args[%" PRIu32 "]", i);
    bt_text_addf(out, ", result);\n}\n");
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* What calls the entry from arrays. A program with branches takes its memory's size. */
static bt_status make_caller(const struct session *s, int has_code, bt_text *out)
{
    const bt_func *func = s->entry->func;
    bt_text_addf(out,
                 "#include \"p.h\"\n#include \"p.c\"\n"
                 "int32_t test_call(const int64_t *dims, void *const *args, void *const "
                 "*results, void *workspace, uint64_t nbytes, uint32_t depth)\n{\n"
                 "    (void)dims, (void)args, (void)results, (void)nbytes, (void)depth;\n"
                 "#ifdef p_DEPTH\n    depth = p_DEPTH;\n#endif\n"
                 "    return p_run(");
    for (uint32_t i = 0; i < func->nvar; i++)
        bt_text_addf(out, "dims[%" PRIu32 "], ", i);
    for (uint32_t i = 0; i < count_args(func); i++)
        bt_text_addf(out, "args[%" PRIu32 "], ", i);
    for (uint32_t i = 0; i < bt_type_nleaf(func->result); i++)
        bt_text_addf(out, "results[%" PRIu32 "], ", i);
    bt_text_addf(out, "workspace%s);\n}\n", has_code ? ", nbytes, depth" : "");
    bt_text_addf(out, "uint64_t test_workspace(const int64_t *dims)\n{\n"
                      "    (void)dims;\n    return ");
    if (has_code)
        bt_text_addf(out, "\n#ifndef p_DEPTH\n0;\n#else\n");
    if (has_code && !func->nvar)
        bt_text_addf(out, "p_WORKSPACE");
    else
        bt_text_addf(out, "p_workspace(");
    for (uint32_t i = 0; i < func->nvar; i++)
        bt_text_addf(out, "%sdims[%" PRIu32 "]", i ? ", " : "", i);
    bt_text_addf(out, "%s;\n%s}\n", has_code && !func->nvar ? "" : ")",
                 has_code ? "#endif\n" : "");
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* ---- compiling ---- */

static const char *path_of(bt_arena *arena, const char *folder, const char *name)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s/%s", folder, name);
    return bt_text_get(&text);
}

static int is_there(bt_arena *arena, const char *folder, const char *name)
{
    const char *path = path_of(arena, folder, name);
    return path && access(path, R_OK) == 0;
}

static bt_status compile_text(bt_ctx *ctx, struct session *s, const char *folder,
                              const char *name, const char *text, bt_code_object *out)
{
    const char *folders[3] = { folder };
    bt_text object;
    BT_TRY(bt_library_file(ctx, s->arena, "include", &folders[1]));
    const bt_c_source source = { name, text, strlen(text), folders, NULL };
    bt_text_init(&object, s->arena);
    BT_TRY(bt_c_compile(ctx, "tcc", NULL, &source, &object));
    *out = (bt_code_object){ name, object.at, object.len };
    return object.failed ? bt_no_memory() : NULL;
}

static bt_status compile_all(bt_ctx *ctx, struct session *s, const char *folder)
{
    enum { MOST = 16 };
    bt_code_object objects[MOST];
    bt_file *header;
    bt_text caller;
    uint32_t n = 0;
    const char *path = path_of(s->arena, folder, "p.h");
    if (!path)
        return bt_no_memory();
    BT_TRY(bt_file_read(ctx, path, &header));
    const char *interface = bt_arena_text(s->arena, header->bytes, header->nbytes);
    bt_file_close(ctx, header);
    if (!interface)
        return bt_no_memory();
    bt_text_init(&caller, s->arena);
    const int has_values = strstr(interface, "struct p_machine;") != NULL;
    BT_TRY(has_values
               ? make_value_caller(s, &caller)
               : make_caller(s, strstr(interface, "uint32_t depth") != NULL, &caller));
    BT_TRY(compile_text(ctx, s, folder, "caller.c", caller.at, &objects[n++]));
    BT_TRY(
        compile_text(ctx, s, folder, "data.c", "#include \"p_data.c\"\n", &objects[n++]));
    for (uint32_t i = 0; n < MOST; i++) {
        bt_text name, text;
        bt_text_init(&name, s->arena);
        bt_text_init(&text, s->arena);
        bt_text_addf(&name, "p_kernels_%" PRIu32 ".c", i);
        bt_text_addf(&text, "#include \"p_kernels_%" PRIu32 ".c\"\n", i);
        if (!bt_text_get(&name) || !bt_text_get(&text))
            return bt_no_memory();
        if (!is_there(s->arena, folder, name.at))
            break;
        BT_TRY(compile_text(ctx, s, folder, name.at, text.at, &objects[n++]));
    }
    BT_TRY(bt_code_load(ctx, n, objects, NULL, &s->code));
    s->call = (call_fn *)bt_code_find(s->code, "test_call");
    s->workspace = (workspace_fn *)bt_code_find(s->code, "test_workspace");
    s->fault = (fault_fn *)bt_code_find(s->code, "p_fault");
    s->values = (struct values){
        .begin = (begin_fn *)bt_code_find(s->code, "p_begin"),
        .tensor = (tensor_fn *)bt_code_find(s->code, "p_tensor"),
        .fields = (fields_fn *)bt_code_find(s->code, "p_fields"),
        .run = (values_fn *)bt_code_find(s->code, "test_values"),
        .tag = (number_fn *)bt_code_find(s->code, "p_tag"),
        .count = (number_fn *)bt_code_find(s->code, "p_count"),
        .field = (field_fn *)bt_code_find(s->code, "p_field"),
        .dim = (dim_fn *)bt_code_find(s->code, "p_dim"),
        .elements = (elements_fn *)bt_code_find(s->code, "p_elements"),
    };
    return NULL;
}

/* ---- the folder ---- */

static void remove_files(bt_arena *arena, const char *folder)
{
    static const char *const names[] = { "p.h",          "p.c",
                                         "p_data.c",     "CMakeLists.txt",
                                         "main.c",       "baton/kernel.h",
                                         "baton/plain.h" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        const char *path = path_of(arena, folder, names[i]);
        if (path)
            unlink(path);
    }
    for (uint32_t i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p_kernels_%" PRIu32 ".c", i);
        const char *path = path_of(arena, folder, name);
        if (!path || unlink(path) != 0)
            break;
    }
    const char *inner = path_of(arena, folder, "baton");
    if (inner)
        rmdir(inner);
    rmdir(folder);
}

static bt_status write_and_compile(bt_ctx *ctx, struct session *s, bt_compiled *compiled)
{
    struct chosen {
        const char *name, *weights, *build;
    } chosen = { "p", "c", "none" };
    char folder[] = "/tmp/baton_written_XXXXXX";
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "aot", sizeof(bt_executor), &row));
    const bt_executor *aot = row;
    if (!mkdtemp(folder))
        return bt_fail(ctx, BT_ERR_IO, "written: there is no folder for files");
    bt_text said;
    bt_text_init(&said, s->arena);
    bt_status status = aot->write(ctx, compiled, compiled->entry, &chosen, folder, &said);
    if (!status)
        status = compile_all(ctx, s, folder);
    if (getenv("BATON_KEEP"))
        fprintf(stderr, "written: %s\n", folder);
    else
        remove_files(s->arena, folder);
    return status;
}

/* ---- sessions ---- */

static void close_session(void *opaque)
{
    struct session *s = opaque;
    bt_registry *registry = s->registry;
    bt_code_unload(s->code);
    bt_module_unref(s->typed);
    bt_module_unref(s->module);
    bt_arena_destroy(s->arena);
    bt_free(registry, s, sizeof(*s));
    bt_registry_unref(registry);
}

static bt_status make(bt_ctx *ctx, const char *entry, struct session *s)
{
    const bt_compile_options how = {
        .targets = "c", .entry = entry, .form = BT_CODE_SOURCE, .has_control_flow = 1
    };
    bt_module *fused;
    bt_compiled *compiled;
    BT_TRY(bt_fuse(ctx, s->typed, &how, &fused));
    bt_status status = bt_compile(ctx, fused, &how, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    s->module = bt_module_ref(compiled->module);
    status = bt_module_entry(ctx, s->module, compiled->entry, &s->entry);
    if (!status)
        status = write_and_compile(ctx, s, compiled);
    bt_compiled_unref(compiled);
    return status;
}

static bt_status open_session(bt_ctx *ctx, const bt_module *module, const void *given,
                              void **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct session *s = bt_alloc(registry, sizeof(*s));
    if (!s)
        return bt_no_memory();
    *s = (struct session){ .registry = bt_registry_ref(registry),
                           .options = { 64, 1000 },
                           .typed = bt_module_ref(module),
                           .arena = bt_arena_create(registry) };
    if (given)
        memcpy(&s->options, given, sizeof(s->options));
    *out = s->arena ? s : NULL;
    if (!*out)
        close_session(s);
    return *out ? NULL : bt_no_memory();
}

/* ---- calls ---- */

struct leaves {
    uint32_t n;
    bt_tensor **at; /* held */
    void **data;
};

static void drop_leaves(struct leaves *l)
{
    while (l->n)
        bt_tensor_unref(l->at[--l->n]);
}

static bt_status add_leaf(bt_ctx *ctx, const bt_object *object, struct leaves *out)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_tensor *tensor = bt_object_as_tensor(object);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_leaf(ctx, tuple->fields[i], out));
    if (tuple)
        return NULL;
    if (!tensor)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "written: an argument is no tensor");
    BT_TRY(bt_tensor_dense(ctx, tensor, &out->at[out->n]));
    out->data[out->n] = out->at[out->n]->data;
    out->n++;
    return NULL;
}

static bt_status add_result(bt_ctx *ctx, const struct session *s, const bt_type *type,
                            const int64_t *dims, struct leaves *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(add_result(ctx, s, tuple->at[i], dims, out));
    if (tuple)
        return NULL;
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t found[BT_MAX_RANK];
    if (!shape)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "written: a result is no tensor");
    for (uint32_t i = 0; i < shape->n; i++) {
        bt_dim_code code;
        BT_TRY(bt_dim_compile(ctx, bt_ctx_scratch(ctx), shape->dims[i],
                              s->entry->func->nvar, s->entry->func->vars, &code));
        if (!bt_dim_eval(&code, dims, &found[i]))
            return bt_fail(ctx, BT_ERR_LIMIT, "written: a dim of a result is too large");
    }
    BT_TRY(
        bt_tensor_create(ctx, bt_tensor_dtype(type), shape->n, found, &out->at[out->n]));
    out->data[out->n] = out->at[out->n]->data;
    out->n++;
    return NULL;
}

static bt_status give_result(bt_ctx *ctx, const bt_type *type, const struct leaves *all,
                             uint32_t *next, bt_object **out)
{
    const bt_list_type *list = bt_as_tuple_type(type);
    bt_tuple *tuple;
    bt_status status = NULL;
    uint32_t n = 0;
    if (!list) {
        *out = &bt_tensor_ref(all->at[(*next)++])->base;
        return NULL;
    }
    bt_object **fields = BT_NEWS(bt_ctx_scratch(ctx), bt_object *, list->n);
    if (!fields)
        return bt_no_memory();
    while (!status && n < list->n) {
        status = give_result(ctx, list->at[n], all, next, &fields[n]);
        n += !status;
    }
    if (!status)
        status = bt_tuple_create(ctx, n, fields, &tuple);
    while (n)
        bt_object_unref(fields[--n]);
    if (!status)
        *out = &tuple->base;
    return status;
}

static bt_status run(bt_ctx *ctx, const struct session *s, const int64_t *dims,
                     const struct leaves *args, const struct leaves *results)
{
    uint64_t nbytes = s->workspace(dims);
    if (nbytes == UINT64_MAX)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "written: dims are out of range");
    if (!nbytes)
        nbytes = (uint64_t)s->options.workspace_mb << 20;
    char *given = malloc((size_t)nbytes + 64 + GUARD);
    if (!given)
        return bt_no_memory();
    char *const from = given + (-(uintptr_t)given & 63), *const end = from + nbytes;
    int is_kept = 1;
    memset(end, GUARD, GUARD);
    const int32_t fault = s->call(dims, args->data, results->data, from, nbytes,
                                  (uint32_t)s->options.depth);
    for (uint32_t i = 0; i < GUARD; i++)
        is_kept &= end[i] == GUARD;
    free(given);
    if (!is_kept)
        return bt_fail(ctx, BT_ERR_RUNTIME,
                       "written: the program wrote behind its workspace of %" PRIu64
                       " bytes",
                       nbytes);
    return fault ? bt_fail(ctx, BT_ERR_RUNTIME, "%s", s->fault(fault)) : NULL;
}

static bt_status call_all(bt_ctx *ctx, const struct session *s, bt_arena *scratch,
                          uint32_t narg, bt_object *const *given, struct leaves *args,
                          struct leaves *results, bt_object **out)
{
    const bt_func *func = s->entry->func;
    const uint32_t n = count_args(func), nresult = bt_type_nleaf(func->result);
    int64_t *dims = BT_NEWS(scratch, int64_t, func->nvar);
    uint32_t next = 0;
    args->at = BT_NEWS(scratch, bt_tensor *, n);
    args->data = BT_NEWS(scratch, void *, n);
    results->at = BT_NEWS(scratch, bt_tensor *, nresult);
    results->data = BT_NEWS(scratch, void *, nresult);
    if (!dims || !args->at || !args->data || !results->at || !results->data)
        return bt_no_memory();
    BT_TRY(bt_check_args(ctx, s->module, s->entry, narg, given, dims));
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(add_leaf(ctx, given[i], args));
    BT_TRY(add_result(ctx, s, func->result, dims, results));
    BT_TRY(run(ctx, s, dims, args, results));
    return give_result(ctx, func->result, results, &next, out);
}

/* ---- calls on values ---- */

/* Values of a run, with the tensors that they show. */
struct showing {
    bt_ctx *ctx;
    const struct session *s;
    struct machine *m;
    bt_arena *arena;
    bt_vec(bt_tensor *) held;
};

static bt_status fault_of(const struct showing *k, int32_t fault)
{
    return fault ? bt_fail(k->ctx, BT_ERR_RUNTIME, "%s", k->s->fault(fault)) : NULL;
}

/* Recursion: what tests pass nests little. */
static bt_status show(struct showing *k, const bt_object *object, struct value **out)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_adt *adt = bt_object_as_adt(object);
    const bt_tensor *tensor = bt_object_as_tensor(object);
    bt_tensor *dense;
    const uint32_t n = tuple ? tuple->nfield : adt ? adt->nfield : 0;
    if (tensor) {
        BT_TRY(bt_tensor_dense(k->ctx, tensor, &dense));
        if (!BT_PUSH(k->arena, &k->held, dense)) {
            bt_tensor_unref(dense);
            return bt_no_memory();
        }
        return fault_of(
            k, k->s->values.tensor(k->m, tensor->rank, tensor->dims, dense->data, out));
    }
    if (!tuple && !adt)
        return bt_fail(k->ctx, BT_ERR_UNSUPPORTED, "written: an argument is no data");
    struct value **fields = BT_NEWS(k->arena, struct value *, n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(show(k, tuple ? tuple->fields[i] : adt->fields[i], &fields[i]));
    return fault_of(k, k->s->values.fields(k->m, adt ? adt->tag : 0, n, fields, out));
}

static bt_status get(struct showing *, const bt_type *, const struct value *,
                     bt_object **out);

static bt_status get_tensor(struct showing *k, const bt_type *type,
                            const struct value *value, bt_object **out)
{
    const struct values *v = &k->s->values;
    const uint32_t rank = v->count(value);
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    if (!bt_tensor_dtype(type) || rank > BT_MAX_RANK)
        return bt_fail(k->ctx, BT_ERR_UNSUPPORTED, "written: a tensor of any dtype");
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = v->dim(value, i);
    BT_TRY(bt_tensor_create(k->ctx, bt_tensor_dtype(type), rank, dims, &tensor));
    if (bt_tensor_nbytes(tensor))
        memcpy(tensor->data, v->elements(value), bt_tensor_nbytes(tensor));
    *out = &tensor->base;
    return NULL;
}

/* A data type's parameters as its arguments. */
struct applying {
    bt_subst base;
    const bt_adt_def *def;
    const bt_type *const *args;
};

static const bt_type *apply_leaf(bt_subst *base, const bt_type *leaf)
{
    const struct applying *a = (const struct applying *)(const void *)base;
    for (uint32_t i = 0; i < a->def->nvar; i++) {
        if (a->def->vars[i] == leaf)
            return a->args[i];
    }
    return leaf;
}

/* The type of a constructor's field, where that of the data is known. */
static const bt_type *field_type(const struct showing *k, const bt_type *data,
                                 const bt_adt_def *def, const bt_type *field)
{
    struct applying a = { .base = { .leaf = apply_leaf }, .def = def };
    if (data->kind != BT_TYPE_APPLY)
        return field;
    a.args = bt_as_list_type(data)->at + 1;
    return bt_type_subst(k->s->module->store, &a.base, field);
}

static bt_status get_fields(struct showing *k, const bt_type *type,
                            const struct value *value, bt_object **out)
{
    const bt_list_type *list = bt_as_list_type(type);
    const int is_tuple = type->kind == BT_TYPE_TUPLE;
    const bt_type *named = type->kind == BT_TYPE_APPLY ? list->at[0] : type;
    const bt_adt_def *def = named->kind == BT_TYPE_ADT
                                ? ((const bt_adt_type *)(const void *)named)->def
                                : NULL;
    const uint32_t n = k->s->values.count(value), tag = k->s->values.tag(value);
    bt_status status = NULL;
    uint32_t i = 0;
    if (!def && !is_tuple)
        return bt_fail(k->ctx, BT_ERR_UNSUPPORTED, "written: a result is no data");
    bt_object **fields = BT_NEWS(k->arena, bt_object *, n);
    if (!fields)
        return bt_no_memory();
    while (!status && i < n) {
        const bt_type *field =
            is_tuple ? list->at[i] : field_type(k, type, def, def->ctors[tag]->fields[i]);
        status = field ? get(k, field, k->s->values.field(value, i), &fields[i])
                       : bt_store_why(k->ctx, k->s->module->store);
        i += !status;
    }
    if (!status && is_tuple)
        status = bt_tuple_create(k->ctx, n, fields, (bt_tuple **)(void *)out);
    else if (!status)
        status = bt_adt_create(k->ctx, tag, def->ctors[tag]->name, n, fields,
                               (bt_adt **)(void *)out);
    while (i)
        bt_object_unref(fields[--i]);
    return status;
}

/* Recursion: what tests get nests little. */
static bt_status get(struct showing *k, const bt_type *type, const struct value *value,
                     bt_object **out)
{
    return type->kind == BT_TYPE_TENSOR ? get_tensor(k, type, value, out)
                                        : get_fields(k, type, value, out);
}

static bt_status run_values(struct showing *k, const bt_func *func, const int64_t *dims,
                            bt_object *const *given, bt_object **out)
{
    struct value **args =
        BT_NEWS(k->arena, struct value *, (size_t)func->block->nparam + 1);
    struct value *result;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++)
        BT_TRY(show(k, given[i], &args[i]));
    BT_TRY(fault_of(k, k->s->values.run(k->m, dims, args, &result)));
    return get(k, func->result, result, out);
}

static bt_status call_values(bt_ctx *ctx, const struct session *s, bt_arena *scratch,
                             uint32_t narg, bt_object *const *given, bt_object **out)
{
    struct showing k = { .ctx = ctx, .s = s, .arena = scratch };
    const uint64_t nbytes = (uint64_t)s->options.workspace_mb << 20;
    int64_t *dims = BT_NEWS(scratch, int64_t, s->entry->func->nvar);
    if (!dims)
        return bt_no_memory();
    BT_TRY(bt_check_args(ctx, s->module, s->entry, narg, given, dims));
    char *memory = malloc((size_t)nbytes + 64);
    if (!memory)
        return bt_no_memory();
    bt_status status =
        fault_of(&k, s->values.begin(memory + (-(uintptr_t)memory & 63), (size_t)nbytes,
                                     (uint32_t)s->options.depth, NULL, &k.m));
    if (!status)
        status = run_values(&k, s->entry->func, dims, given, out);
    free(memory);
    while (k.held.len)
        bt_tensor_unref(k.held.at[--k.held.len]);
    return status;
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *given, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    struct leaves args = { 0 }, results = { 0 };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    (void)hook;
    if (!s->module)
        BT_TRY(make(ctx, name, s));
    bt_status status = s->values.begin
                           ? call_values(ctx, s, scratch, narg, given, out)
                           : call_all(ctx, s, scratch, narg, given, &args, &results, out);
    drop_leaves(&args);
    drop_leaves(&results);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "written",
        .doc = "What executor aot writes, compiled by libtcc.",
        .features = BT_FEATURE_ALL & ~(uint32_t)BT_FEATURE_DEVICES,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open_session,
        .close = close_session,
        .call = call,
    },
    { 0 },
};

const bt_table bt_tests_aot_written_written[] = { BT_EXECUTORS(executors), { 0 } };
