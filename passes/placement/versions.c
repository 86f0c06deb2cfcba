/*
 * versions: say for which values of dims kernels have code of their own.
 * The attribute `hot` of the entry, of @main where none is named, names dims and the values
 * that they often have, "n=1,8 m=64", or ranges of them, "n=1,8..32 step 8,64..", which have
 * one version each; of several dims all combinations are meant. Dims of other functions that
 * have such a name are meant too. A row of `versions` has a number for each type parameter,
 * [low, high, step] for a range, -1 for any. Functions that reduce nothing get none: for them
 * a kernel that knows the dim is not faster. Where the values fit no row, the kernel for any
 * value serves.
 * keeps    every invariant
 * option   hot   in place of the entry's attribute, which is what it says from then on
 */
#include <string.h>

#include <baton/compute.h>
#include <baton/target.h>

#include "analysis/view.h"
#include "common/version.h"

struct options {
    const char *hot;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, hot, STRING, "",
            "in place of the entry's attribute: \"n=1,8..32 step 8 m=64\""),
    { 0 },
};

#define TEXT_OF(number)      #number
#define TOO_MANY(most, what) "these are more than " TEXT_OF(most) " " what

/* A dim and the values of each version. */
struct hot {
    const char *name;
    uint32_t n;
    bt_type_param values[BT_MAX_VERSIONS];
    const bt_type
        *at[BT_MAX_VERSIONS]; /* numbers, or parameters that have these values */
};

struct versions {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    const bt_module *module;
    const bt_global *entry;
    const char *hot; /* the option, as text */
    uint32_t ndim;
    struct hot dims[BT_MAX_VERSION_DIMS];
    uint32_t choice[BT_MAX_VERSION_DIMS]; /* which value of each is meant now */
    bt_map rows;                          /* primitive function -> struct rows * */
};

/* Of one primitive function, values for each type parameter. */
struct rows {
    const bt_global *global;
    uint32_t n;
    bt_type_param *at[BT_MAX_VERSIONS];
};

/* ---- attribute hot ---- */

/* `what`: the part of the text that is wrong; NULL: all of it. */
static bt_status fail_hot(const struct versions *v, const char *text, const char *what,
                          size_t n, const char *why)
{
    return bt_fail_at(v->ctx, BT_ERR_ARGUMENT, v->store, v->entry->func->span,
                      "hot=\"%s\": %.*s%s%s; expected dims of @%s and values of each, "
                      "\"n=1,8..32 step 8 m=64\"",
                      text, what ? (int)n : 0, what ? what : "", what ? " " : "", why,
                      v->entry->name);
}

static const bt_var_type *find_dim(const bt_func *func, const char *name, size_t n)
{
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = bt_as_var_type(func->vars[i]);
        if (var->param.kind == BT_KIND_DIM && var->name && strlen(var->name) == n &&
            memcmp(var->name, name, n) == 0)
            return var;
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

static const char no_list[] = "this is no list of values";

/* NUMBER, NUMBER..NUMBER or NUMBER.., the last two perhaps with a step behind. What is wrong
 * with it; NULL: nothing. */
static const char *take_range(const char **at, bt_type_param *out)
{
    *out = (bt_type_param){ .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    if (!take_number(at, &out->low))
        return (*at)[strcspn(*at, "=, ")] == '=' ? "between dims stands a blank"
                                                 : no_list;
    const int is_range = strncmp(*at, "..", 2) == 0;
    if (!is_range)
        out->high = out->low;
    else
        *at += 2;
    if (is_range && **at >= '0' && **at <= '9' && !take_number(at, &out->high))
        return no_list;
    if (strncmp(*at, " step ", 6) == 0) {
        if (!is_range)
            return "a step is of a range, FROM..TO";
        *at += 6;
        if (!take_number(at, &out->step))
            return no_list;
    }
    return strchr(", ", **at) ? NULL : no_list;
}

/* Why the range cannot be a version of the dim, which has those of `hot` already; NULL: it
 * can, and *some are its values. */
static const char *why_not(const struct hot *hot, const bt_type_param *range,
                           bt_type_param *some)
{
    if (range->low > range->high)
        return "ends before it begins";
    if (range->step < 1)
        return "has a step below 1";
    if (!bt_type_param_narrow(some, range->low, range->high, range->step))
        return "is outside of the dim's values";
    for (uint32_t i = 0; i < hot->n; i++) {
        const bt_type_param *before = &hot->values[i];
        bt_type_param both = *some;
        if (bt_type_param_narrow(&both, before->low, before->high, before->step) &&
            bt_type_param_equal(&both, some))
            return "is never chosen, as one before it has all its values: name it first";
    }
    return NULL;
}

/* RANGE,RANGE.. of a dim; one that is a number now, `var` NULL, takes none of them. */
static bt_status read_values(struct versions *v, const char *text, const char **at,
                             const bt_var_type *var, uint32_t nrow, struct hot *hot)
{
    do {
        const char *from = ++*at;
        bt_type_param range, some;
        const char *why = take_range(at, &range);
        if (why)
            return fail_hot(v, text, NULL, 0, why);
        if (!var)
            continue;
        some = var->param;
        why = why_not(hot, &range, &some);
        if (why)
            return fail_hot(v, text, from, (size_t)(*at - from), why);
        if (nrow * (hot->n + 1) > BT_MAX_VERSIONS)
            return fail_hot(v, text, NULL, 0, TOO_MANY(BT_MAX_VERSIONS, "versions"));
        hot->values[hot->n] = some;
        hot->at[hot->n] = some.low == some.high ? bt_dim(v->store, some.low)
                                                : bt_type_var(v->store, &some, var->name);
        if (!hot->at[hot->n++])
            return bt_store_why(v->ctx, v->store);
    } while (**at == ',');
    return NULL;
}

/* NAME=RANGE,RANGE.. of a dim that is a number now says nothing any more, in an attribute. */
static bt_status read_hot(struct versions *v, const char *text, int is_option)
{
    const char *at = text;
    uint32_t nrow = 1;
    while (*(at += strspn(at, " "))) {
        struct hot hot = { 0 };
        const size_t n = strcspn(at, "= ");
        const bt_var_type *var = find_dim(v->entry->func, at, n);
        if (!var && is_option)
            return bt_fail(v->ctx, BT_ERR_ARGUMENT,
                           "hot=\"%s\": @%s has no open dim %.*s", text, v->entry->name,
                           (int)n, at);
        at += n;
        if (*at != '=')
            return fail_hot(v, text, NULL, 0, no_list);
        for (uint32_t i = 0; var && i < v->ndim; i++) {
            if (v->dims[i].name == var->name)
                return fail_hot(v, text, NULL, 0, "a dim has two lists of values");
        }
        BT_TRY(read_values(v, text, &at, var, nrow, &hot));
        if (!var)
            continue;
        if (v->ndim == BT_MAX_VERSION_DIMS)
            return fail_hot(v, text, NULL, 0, TOO_MANY(BT_MAX_VERSION_DIMS, "dims"));
        hot.name = var->name;
        v->dims[v->ndim++] = hot;
        nrow *= hot.n;
    }
    return NULL;
}

/* ---- rows ---- */

static const bt_type *choose(bt_subst *subst, const bt_type *leaf)
{
    const struct versions *v = subst->state;
    const bt_var_type *var = bt_as_var_type(leaf);
    for (uint32_t i = 0; var && var->name && i < v->ndim; i++) {
        if (v->dims[i].name == var->name)
            return v->dims[i].at[v->choice[i]];
    }
    return NULL;
}

static int is_same(const bt_type_param *a, const bt_type_param *b, uint32_t n)
{
    while (n && bt_type_param_equal(&a[n - 1], &b[n - 1]))
        n--;
    return !n;
}

static int is_known(const struct rows *rows, const bt_type_param *row, uint32_t nvar)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        if (is_same(rows->at[i], row, nvar))
            return 1;
    }
    return 0;
}

/* Those that a dim in its place has: by its bounds, and by what divides all its terms. 0: it
 * has none of them. */
static int narrow_by(bt_type_param *param, const bt_type *dim)
{
    int64_t low, high, step;
    bt_dim_sum sum;
    bt_dim_bounds(dim, &low, &high);
    bt_dim_linear(dim, &sum);
    step = sum.constant;
    for (uint32_t i = 0; i < sum.n; i++) {
        const bt_var_type *var = bt_as_var_type(sum.terms[i].atom);
        int64_t by = sum.terms[i].coefficient, all;
        step =
            bt_gcd_int64(step, var && bt_mul_int64(by, var->param.step, &all) ? all : by);
    }
    return bt_type_param_narrow(param, low, high, step > 0 ? step : 1);
}

/* What the call gives for the values at hand. */
static bt_status add_row(struct versions *v, struct rows *rows, const bt_call *call)
{
    const bt_func *func = rows->global->func;
    bt_type_param *row = BT_NEWS(v->arena, bt_type_param, func->nvar);
    bt_subst subst = { .leaf = choose, .state = v };
    uint32_t nknown = 0;
    if (!row)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_type *dim = bt_type_subst(v->store, &subst, call->type_args[i]);
        row[i] = bt_as_var_type(func->vars[i])->param; // also where there is no such dim
        if (!dim || dim == call->type_args[i] || row[i].kind != BT_KIND_DIM)
            continue;
        if (!narrow_by(&row[i], dim))
            return NULL;
        nknown++;
    }
    if (nknown && rows->n < BT_MAX_VERSIONS && !is_known(rows, row, func->nvar))
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
    const bt_global *global =
        call && call->ntype_arg ? bt_module_primitive(v->module, call) : NULL;
    struct rows *rows;
    int is_wanted;
    (void)block;
    if (!global)
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

/* A number, [low, high, step] or, of all that the parameter has, -1. */
static int set_item(const struct versions *v, const bt_type_param *values,
                    const bt_type_param *all, bt_dict_entry *out)
{
    const char *name = bt_name_of(v->store, "versions");
    const int64_t of[3] = { values->low, values->high, values->step };
    const int is_any = bt_type_param_equal(values, all);
    *out = (bt_dict_entry){ .name = name,
                            .kind = BT_DICT_INT,
                            .i = is_any ? -1 : values->low };
    if (!name || is_any || values->low == values->high)
        return name != NULL;
    bt_dict_entry *items = BT_NEWS(v->arena, bt_dict_entry, 3);
    for (uint32_t i = 0; items && i < 3; i++)
        items[i] = (bt_dict_entry){ .name = name, .kind = BT_DICT_INT, .i = of[i] };
    *out = (bt_dict_entry){ .name = name, .kind = BT_DICT_LIST, .n = 3, .items = items };
    return items != NULL;
}

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
        for (uint32_t k = 0; k < nvar; k++) {
            const bt_var_type *var = bt_as_var_type(rows->global->func->vars[k]);
            if (!set_item(v, &rows->at[i][k], &var->param, &items[k]))
                return bt_no_memory();
        }
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

const bt_table bt_passes_placement_versions[] = { BT_PASSES(passes), { 0 } };
