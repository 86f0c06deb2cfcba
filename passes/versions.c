/*
 * versions: say for which values of dims kernels have code of their own.
 *     before
 *         def @sum<m: Dim in 1..64>(%p0: Tensor[(m, 4), float32], primitive=1) { sum(%p0, axis=[1]) }
 *         def @main<n: Dim in 1..64>(%x: Tensor[(n, 4), float32], hot="n=1,8") { @sum(%x) }
 *     after
 *         def @sum<m: Dim in 1..64>(%p0: Tensor[(m, 4), float32], primitive=1, versions=[[1], [8]]) { sum(%p0, axis=[1]) }
 *         def @main<n: Dim in 1..64>(%x: Tensor[(n, 4), float32], hot="n=1,8") { @sum(%x) }
 * The attribute `hot` of the entry, of @main where none is named, names dims and the values
 * that they often have, "n=1,8 m=64"; of several dims all combinations are meant. Dims of
 * other functions that have such a name are meant too. A row of `versions` has a number for
 * each type parameter, -1 for any. Functions that reduce nothing get none: for them a kernel
 * that knows the dim is not faster. Where the values do not fit the row, the kernel for any
 * value serves.
 * keeps    every invariant
 * option   hot   in place of the entry's attribute, which is what it says from then on
 */
#include <string.h>

#include <baton/compute.h>

#include "version.h"
#include "view.h"

struct options {
    const char *hot;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, hot, STRING, "",
            "in place of the entry's attribute: \"n=1,8 m=64\""),
    { 0 },
};

enum { MOST_ROWS = 8, MOST_DIMS = 4 };

struct hot {
    const char *name;
    uint32_t n;
    int64_t at[MOST_ROWS];
};

struct versions {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    const bt_module *module;
    const bt_global *entry;
    const char *hot; /* the option, as text */
    uint32_t ndim;
    struct hot dims[MOST_DIMS];
    uint32_t choice[MOST_DIMS]; /* which value of each is meant now */
    bt_map rows;                /* primitive function -> struct rows * */
};

/* Of one primitive function, nvar numbers each. */
struct rows {
    const bt_global *global;
    uint32_t n;
    int64_t *at[MOST_ROWS];
};

/* ---- attribute hot ---- */

static bt_status fail_hot(const struct versions *v, const char *text, const char *why)
{
    return bt_fail_at(v->ctx, BT_ERR_ARGUMENT, v->store, v->entry->func->span,
                      "hot=\"%s\": %s; expected dims of @%s and values of each, "
                      "\"n=1,8 m=64\"",
                      text, why, v->entry->name);
}

static const bt_type *find_dim(const bt_func *func, const char *name, size_t n)
{
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        if (var->name && strlen(var->name) == n && memcmp(var->name, name, n) == 0)
            return func->vars[i];
    }
    return NULL;
}

static int take_number(const char **at, int64_t *out)
{
    const char *from = *at;
    for (*out = 0; **at >= '0' && **at <= '9'; ++*at) {
        if (!bt_mul_int64(*out, 10, out) || !bt_add_int64(*out, **at - '0', out))
            return 0;
    }
    return *at > from;
}

static int may_be(const bt_type *dim, int64_t value)
{
    const bt_type_param *param = &((const bt_var_type *)(const void *)dim)->param;
    return value >= param->low && value <= param->high &&
           (param->step <= 1 || value % param->step == 0);
}

/* NAME=NUMBER,NUMBER.. of a dim that is a number now says nothing any more, in an
 * attribute. */
static bt_status read_hot(struct versions *v, const char *text, int is_option)
{
    const char *at = text;
    uint32_t nrow = 1;
    while (*(at += strspn(at, " "))) {
        struct hot hot = { 0 };
        const size_t n = strcspn(at, "= ");
        const bt_type *dim = find_dim(v->entry->func, at, n);
        if (!dim && is_option)
            return bt_fail(v->ctx, BT_ERR_ARGUMENT,
                           "hot=\"%s\": @%s has no open dim %.*s", text, v->entry->name,
                           (int)n, at);
        at += n;
        if (*at != '=')
            return fail_hot(v, text, "this is no list of values");
        for (uint32_t i = 0; dim && i < v->ndim; i++) {
            if (v->dims[i].name == ((const bt_var_type *)(const void *)dim)->name)
                return fail_hot(v, text, "a dim has two lists of values");
        }
        do {
            int64_t value;
            if (!*at++ || !take_number(&at, &value) || !strchr(", ", *at))
                return fail_hot(v, text, "this is no list of values");
            if (dim && !may_be(dim, value))
                return fail_hot(v, text, "the dim does not have this value");
            if (dim && nrow * (hot.n + 1) > MOST_ROWS)
                return fail_hot(v, text, "these are more than 8 versions");
            if (dim)
                hot.at[hot.n++] = value;
        } while (*at == ',');
        if (!dim)
            continue;
        if (v->ndim == MOST_DIMS)
            return fail_hot(v, text, "these are more than 4 dims");
        hot.name = ((const bt_var_type *)(const void *)dim)->name;
        v->dims[v->ndim++] = hot;
        nrow *= hot.n;
    }
    return NULL;
}

/* ---- rows ---- */

static const bt_type *choose(bt_subst *subst, const bt_type *leaf)
{
    const struct versions *v = subst->state;
    const char *name = leaf->kind == BT_TYPE_VAR
                           ? ((const bt_var_type *)(const void *)leaf)->name
                           : NULL;
    for (uint32_t i = 0; name && i < v->ndim; i++) {
        if (v->dims[i].name == name)
            return bt_dim(v->store, v->dims[i].at[v->choice[i]]);
    }
    return NULL;
}

static int is_known(const struct rows *rows, const int64_t *row, uint32_t nvar)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        if (memcmp(rows->at[i], row, nvar * sizeof(*row)) == 0)
            return 1;
    }
    return 0;
}

/* What the call gives for the values at hand. */
static bt_status add_row(struct versions *v, struct rows *rows, const bt_call *call)
{
    const bt_func *func = rows->global->func;
    int64_t *row = BT_NEWS(v->arena, int64_t, func->nvar);
    bt_subst subst = { .leaf = choose, .state = v };
    uint32_t nknown = 0;
    if (!row)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        int64_t low, high;
        const bt_type *dim = bt_type_subst(v->store, &subst, call->type_args[i]);
        bt_dim_bounds(func->vars[i], &low, &high);
        row[i] = -1; // also where there is no such number
        if (dim && bt_dim_is_const(dim, &row[i]) && (row[i] < low || row[i] > high))
            return NULL;
        nknown += row[i] >= 0;
    }
    if (nknown && rows->n < MOST_ROWS && !is_known(rows, row, func->nvar))
        rows->at[rows->n++] = row;
    return NULL;
}

/* The next choice of values; 0: that was the last. */
static int next_choice(struct versions *v)
{
    for (uint32_t i = v->ndim; i-- > 0; v->choice[i] = 0) {
        if (++v->choice[i] < v->dims[i].n)
            return 1;
    }
    return 0;
}

static bt_status reduces(const struct versions *v, const bt_func *func, int *out)
{
    *out = 0;
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        const bt_call *call = bt_as_call(func->block->bindings[i]);
        bt_formula_call formula;
        bt_fuse_info info;
        if (!call || call->callee_kind != BT_CALLEE_OP)
            continue;
        BT_TRY(bt_call_formula(v->arena, call, &formula));
        BT_TRY(bt_fuse_look(v->ctx, &formula, &info));
        *out |= info.kind >= BT_FUSE_REDUCE;
    }
    return NULL;
}

static bt_status meet(void *self, const bt_value *value, const bt_block *block)
{
    struct versions *v = self;
    const bt_call *call = bt_as_call(value);
    const bt_global *global = call && call->callee_kind == BT_CALLEE_VALUE &&
                                      call->ntype_arg &&
                                      call->callee->kind == BT_VALUE_GLOBAL
                                  ? bt_module_find(v->module, call->callee->name)
                                  : NULL;
    struct rows *rows;
    int is_wanted;
    (void)block;
    if (!global || !global->func || !bt_func_is_primitive(global->func))
        return NULL;
    if (!(rows = bt_map_find(&v->rows, global->func))) {
        BT_TRY(reduces(v, global->func, &is_wanted));
        if (!is_wanted)
            return NULL;
        rows = BT_NEW(v->arena, struct rows);
        if (!rows || !bt_map_put(&v->rows, global->func, rows))
            return bt_no_memory();
        rows->global = global;
    }
    do {
        BT_TRY(add_row(v, rows, call));
    } while (next_choice(v));
    return NULL;
}

/* ---- attribute versions ---- */

static bt_status make_list(const struct versions *v, const struct rows *rows,
                           bt_dict_entry *out)
{
    const char *name = bt_name_of(v->store, "versions");
    const uint32_t nvar = rows->global->func->nvar;
    bt_dict_entry *lists = BT_NEWS(v->arena, bt_dict_entry, rows->n);
    if (!name || !lists)
        return bt_no_memory();
    for (uint32_t i = 0; i < rows->n; i++) {
        bt_dict_entry *items = BT_NEWS(v->arena, bt_dict_entry, nvar);
        if (!items)
            return bt_no_memory();
        for (uint32_t k = 0; k < nvar; k++)
            items[k] =
                (bt_dict_entry){ .name = name, .kind = BT_DICT_INT, .i = rows->at[i][k] };
        lists[i] = (bt_dict_entry){
            .name = name, .kind = BT_DICT_LIST, .n = nvar, .items = items
        };
    }
    *out = (bt_dict_entry){
        .name = name, .kind = BT_DICT_LIST, .n = rows->n, .items = lists
    };
    return NULL;
}

/* The global with this attribute; one of its name goes. */
static bt_status set_attr(const struct versions *v, const bt_global *global,
                          bt_dict_entry attr, bt_module_builder *builder)
{
    bt_func fields = *global->func;
    bt_global changed = *global;
    bt_dict_entry *attrs = BT_NEWS(v->arena, bt_dict_entry, (size_t)fields.attrs.n + 1);
    uint32_t n = 0;
    attr.name = bt_name_of(v->store, attr.name);
    if (!attrs || !attr.name)
        return bt_no_memory();
    for (uint32_t i = 0; i < fields.attrs.n; i++) {
        if (strcmp(fields.attrs.at[i].name, attr.name) != 0)
            attrs[n++] = fields.attrs.at[i];
    }
    attrs[n++] = attr;
    fields.attrs = (bt_dict){ n, attrs };
    BT_TRY(bt_func_create(v->ctx, v->store, &fields, &changed.func));
    return bt_module_builder_set(builder, &changed, 0);
}

static bt_status set_rows(const struct versions *v, const struct rows *rows,
                          bt_module_builder *builder)
{
    bt_dict_entry versions;
    BT_TRY(make_list(v, rows, &versions));
    return set_attr(v, rows->global, versions, builder);
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    const struct versions *v = state;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->rows.len; i++) {
        const struct rows *rows = v->rows.at[i].value;
        if (rows->n)
            BT_TRY(set_rows(v, rows, builder));
        n += rows->n;
    }
    const bt_dict_entry attr = { .name = "hot",
                                 .kind = BT_DICT_TEXT,
                                 .text = n ? bt_name_of(v->store, v->hot) : NULL };
    if (!n || !*v->hot)
        return NULL;
    return attr.text ? set_attr(v, v->entry, attr, builder) : bt_no_memory();
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    const bt_module *module = call->module;
    struct versions v = { .ctx = ctx,
                          .store = module->store,
                          .arena = call->scratch,
                          .module = module,
                          .hot = o->hot };
    const bt_dict_entry *hot = NULL;
    v.entry = bt_module_find(module, call->entry ? call->entry : "main");
    if (v.entry && (!v.entry->func || bt_func_is_primitive(v.entry->func)))
        v.entry = NULL;
    if (v.entry)
        hot = bt_dict_find(&v.entry->func->attrs, "hot");
    bt_map_init(&v.rows, v.arena, 0);
    if (v.entry && *v.hot)
        BT_TRY(read_hot(&v, v.hot, 1));
    else if (hot && hot->kind == BT_DICT_TEXT)
        BT_TRY(read_hot(&v, hot->text, 0));
    for (uint32_t i = 0; v.ndim && i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func;
        if (func && !bt_func_is_primitive(func))
            BT_TRY(view_values(func->block, meet, &v));
    }
    if (v.rows.len)
        return version_next(ctx, module, set_all, &v, out);
    *out = bt_module_ref(module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "versions",
        .doc = "Say for which values of dims kernels have code of their own.\n"
               "before\n"
               "    def @sum<m: Dim in 1..64>(%p0: Tensor[(m, 4), float32], primitive=1) "
               "{ sum(%p0, axis=[1]) }\n"
               "    def @main<n: Dim in 1..64>(%x: Tensor[(n, 4), float32], "
               "hot=\"n=1,8\") { @sum(%x) }\n"
               "after\n"
               "    def @sum<m: Dim in 1..64>(%p0: Tensor[(m, 4), float32], primitive=1, "
               "versions=[[1], [8]]) { sum(%p0, axis=[1]) }\n"
               "    def @main<n: Dim in 1..64>(%x: Tensor[(n, 4), float32], "
               "hot=\"n=1,8\") { @sum(%x) }",
        .level = 0,
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_versions[] = { BT_PASSES(passes), { 0 } };
