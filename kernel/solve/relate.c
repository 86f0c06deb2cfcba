/*
 * The type relation that a formula determines: extents and dtypes of its results, as
 * terms over the dims and dtypes of the arguments.
 *
 * Stages are gone through in order. An extent that is stated is translated term by term;
 * one that is inferred is the dim of the axis that a read names, and all such dims are
 * made equal; `..` is the broadcast of what it covers.
 */
#include "solve/relate.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "compute/formula/call.h"
#include "compute/formula/reads.h"
#include "solve/relate_names.h"
#include "solve/solver.h"

/* An array: an input or an earlier stage. */
struct array {
    const char *name;
    const bt_type *shape; /* NULL: not expressible */
    const bt_type *dtype;
};

struct relating {
    bt_solver *solver;
    const bt_relation_call *call;
    bt_arena *scratch;
    const struct bt__formula *formula;
    const struct bt__signature *signature;
    struct bt__relate_names names;
    bt_map scalars; /* stage -> const bt_type *, kind Dim */
    bt_vec(struct array) arrays;
    uint32_t waits;
};

/* No term: there was no memory, or an overflow. */
static bt_status no_term(const struct relating *r)
{
    return bt_store_why(r->solver->ctx, r->solver->store);
}

static bt_status undetermined(struct relating *r, struct bt__ast_place at,
                              const char *what)
{
    const int is_attr = r->call->op->formula_attr != NULL;
    return bt__formula_fail(r->solver->ctx, r->formula,
                            is_attr ? BT_ERR_TYPE : BT_ERR_INTERNAL, at,
                            "%s cannot be expressed as a dim: %s", what,
                            is_attr ? "give it as an element of dims"
                                    : "the operator needs a relation of its own");
}

static const struct array *find_array(const struct relating *r, const char *name)
{
    for (uint32_t i = r->arrays.len; i-- > 0;) {
        if (strcmp(r->arrays.at[i].name, name) == 0)
            return &r->arrays.at[i];
    }
    return NULL;
}

static bt_status add_array(struct relating *r, const char *name, const bt_type *shape,
                           const bt_type *dtype)
{
    struct array array = { name, shape, dtype };
    return BT_PUSH(r->scratch, &r->arrays, array) ? NULL : bt_no_memory();
}

/* Unifies; what must wait is tried again later, the rest goes on. */
static bt_status equate(struct relating *r, const bt_type *a, const bt_type *b,
                        const char *what)
{
    bt_status status = bt_relation_unify(r->solver, r->call, a, b, what);
    if (status != &bt__wait)
        return status;
    r->waits = 1;
    return NULL;
}

/* ---- arguments ---- */

static bt_status add_input(struct relating *r, const char *name, const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (type->kind == BT_TYPE_HOLE)
        return bt_relation_wait(r->solver);
    // the signature has refused what is neither tensor nor tuple where it matters
    return tensor ? add_array(r, name, tensor->shape, tensor->dtype) : NULL;
}

static bt_status add_inputs(struct relating *r)
{
    for (uint32_t i = 0; i < r->call->narg; i++) {
        const bt_type *type = bt_relation_arg(r->solver, r->call, i);
        const bt_list_type *tuple = bt_as_tuple_type(type);
        const char *name = bt__signature_name(r->scratch, r->signature, i);
        if (!name)
            return bt_no_memory();
        if (!tuple) {
            BT_TRY(add_input(r, name, type));
            continue;
        }
        for (uint32_t k = 0; k < tuple->n; k++) {
            bt_text text;
            bt_text_init(&text, r->scratch);
            bt_text_addf(&text, "%s.%u", name, k);
            if (!bt_text_get(&text))
                return bt_no_memory();
            BT_TRY(add_input(r, bt_text_get(&text), tuple->at[k]));
        }
    }
    return NULL;
}

/* ---- stated extents ---- */

#define MEMBER(T, row, attrs) \
    (*(T const *)(const void *)((const char *)(attrs) + (row)->offset))

/* A call whose attribute lacks what the formula reads is the call's fault. */
static bt_status lacks_element(struct relating *r, const char *name, uint32_t n,
                               int64_t at)
{
    return bt_relation_fail(r->solver, r->call, -1,
                            "attribute `%s` has %u element%s, the formula reads "
                            "%s[%lld]",
                            name, n, n == 1 ? "" : "s", name, (long long)at);
}

static bt_status lacks_value(struct relating *r, const char *name)
{
    return bt_relation_fail(r->solver, r->call, -1,
                            "attribute `%s` is None, the formula reads it", name);
}

/* Element `at` of an attribute as a dim; *out = NULL where it is no whole number. */
static bt_status attr_dim(struct relating *r, const char *name, int64_t at,
                          const bt_type **out)
{
    const bt_attr *row = bt_attr_row(r->call->op->attrs, name);
    const bt_shape_type *shape;
    const bt_ints *list;
    *out = NULL;
    if (!row || !r->call->attrs)
        return NULL;
    switch (row->kind) {
    case BT_ATTR_INT:
    case BT_ATTR_BOOL:
        if (MEMBER(int64_t, row, r->call->attrs) == BT_NONE)
            return lacks_value(r, name);
        *out = bt_dim(r->solver->store, MEMBER(int64_t, row, r->call->attrs));
        return *out ? NULL : no_term(r);
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS:
        list = &MEMBER(bt_ints, row, r->call->attrs);
        if (list->n == BT_NONE_LIST)
            return lacks_value(r, name);
        if (at < 0 || at >= (list->n == BT_SINGLE ? 1 : list->n))
            return lacks_element(r, name, list->n == BT_SINGLE ? 1 : (uint32_t)list->n,
                                 at);
        *out = bt_dim(r->solver->store, list->at[at]);
        return *out ? NULL : no_term(r);
    case BT_ATTR_DIM: *out = MEMBER(const bt_type *, row, r->call->attrs); return NULL;
    case BT_ATTR_SHAPE:
        shape = MEMBER(const bt_type *, row, r->call->attrs)
                    ? bt_as_shape_type(MEMBER(const bt_type *, row, r->call->attrs))
                    : NULL;
        *out = shape && !shape->rest && at >= 0 && at < shape->n ? shape->dims[at] : NULL;
        return NULL;
    default: return NULL;
    }
}

static bt_status dim_of(struct relating *, const bt__ast *, const bt_type **out);

static bt_status const_of(struct relating *r, const bt__ast *ast, int64_t *out)
{
    const bt_type *dim;
    BT_TRY(dim_of(r, ast, &dim));
    return dim && bt_dim_is_const(dim, out)
               ? NULL
               : undetermined(r, ast->place, "what is no constant");
}

/* extent(x, 0), rank(x) */
static bt_status shape_call(struct relating *r, const bt__ast *ast, const bt_type **out)
{
    const struct array *array = ast->narg && ast->args[0]->kind == BT__AST_NAME
                                    ? find_array(r, ast->args[0]->name)
                                    : NULL;
    const bt_shape_type *shape =
        array && array->shape ? bt_as_shape_type(array->shape) : NULL;
    int64_t axis;
    *out = NULL;
    if (!array || !array->shape)
        return NULL;
    if (array->shape->kind == BT_TYPE_HOLE || (shape && shape->rest))
        return shape && shape->rest->kind != BT_TYPE_HOLE ? NULL
                                                          : bt_relation_wait(r->solver);
    if (!shape)
        return NULL;
    if (strcmp(ast->name, "rank") == 0) {
        *out = bt_dim(r->solver->store, shape->n);
        return *out ? NULL : no_term(r);
    }
    if (ast->narg != 2)
        return NULL;
    BT_TRY(const_of(r, ast->args[1], &axis));
    axis += axis < 0 ? shape->n : 0;
    *out = axis >= 0 && axis < shape->n ? shape->dims[axis] : NULL;
    return NULL;
}

static int is_natural(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return low >= 0;
}

static const bt_type *negated(bt_store *store, const bt_type *a)
{
    return bt_dim_scale(store, a, -1, 0);
}

typedef const bt_type *(*binary_fn)(bt_store *, const bt_type *, const bt_type *);

static const struct {
    const char *name;
    binary_fn make;
    uint32_t truncates; /* the same as rounding down where both are natural */
} binaries[] = {
    { "add", bt_dim_add, 0 },         { "sub", bt_dim_sub, 0 },
    { "mul", bt_dim_mul, 0 },         { "floordiv", bt_dim_floordiv, 0 },
    { "ceildiv", bt_dim_ceildiv, 0 }, { "mod", bt_dim_mod, 0 },
    { "min", bt_dim_min, 0 },         { "max", bt_dim_max, 0 },
    { "div", bt_dim_floordiv, 1 },    { "truncdiv", bt_dim_floordiv, 1 },
    { "truncmod", bt_dim_mod, 1 },
};

static bt_status binary_call(struct relating *r, const bt__ast *ast, const bt_type **out)
{
    const bt_type *a, *b;
    *out = NULL;
    for (uint32_t i = 0; i < BT_COUNT(binaries); i++) {
        if (strcmp(binaries[i].name, ast->name) != 0)
            continue;
        BT_TRY(dim_of(r, ast->args[0], &a));
        BT_TRY(dim_of(r, ast->args[1], &b));
        if (!a || !b || (binaries[i].truncates && !(is_natural(a) && is_natural(b))))
            return NULL;
        *out = binaries[i].make(r->solver->store, a, b);
        return *out ? NULL : no_term(r);
    }
    return NULL;
}

/* select of what constants decide. */
static bt_status choice(struct relating *r, const bt__ast *ast, const bt_type **out)
{
    static const char *const tests[] = { "eq", "ne", "lt", "le" };
    const bt__ast *test = ast->args[0];
    int64_t a, b;
    *out = NULL;
    for (uint32_t i = 0; i < BT_COUNT(tests); i++) {
        if (test->kind != BT__AST_CALL || strcmp(test->name, tests[i]) != 0)
            continue;
        const bt_type *left, *right;
        BT_TRY(dim_of(r, test->args[0], &left));
        BT_TRY(dim_of(r, test->args[1], &right));
        if (!left || !right || !bt_dim_is_const(left, &a) || !bt_dim_is_const(right, &b))
            return NULL;
        int holds = i == 0 ? a == b : i == 1 ? a != b : i == 2 ? a < b : a <= b;
        return dim_of(r, ast->args[holds ? 1 : 2], out);
    }
    return NULL;
}

static bt_status dim_of_name(struct relating *r, const bt__ast *ast, const bt_type **out)
{
    *out = bt_map_find(&r->scalars, ast->name);
    if (!*out)
        *out = bt_map_find(&r->names.dims, ast->name);
    return *out ? NULL : attr_dim(r, ast->name, 0, out);
}

/* The expression as a dim; *out = NULL where it is none. */
static bt_status dim_of(struct relating *r, const bt__ast *ast, const bt_type **out)
{
    int64_t at;
    *out = NULL;
    switch (ast->kind) {
    case BT__AST_INT:
        *out = bt_dim(r->solver->store, ast->integer);
        return *out ? NULL : no_term(r);
    case BT__AST_NAME: BT_TRY(dim_of_name(r, ast, out)); break;
    case BT__AST_INDEX:
        if (ast->narg != 1 || find_array(r, ast->name))
            return NULL;
        BT_TRY(const_of(r, ast->args[0], &at));
        BT_TRY(attr_dim(r, ast->name, at, out));
        break;
    case BT__AST_CALL:
        if (strcmp(ast->name, "extent") == 0 || strcmp(ast->name, "rank") == 0)
            BT_TRY(shape_call(r, ast, out));
        else if (strcmp(ast->name, "select") == 0 && ast->narg == 3)
            return choice(r, ast, out);
        else if (strcmp(ast->name, "neg") == 0 && ast->narg == 1) {
            BT_TRY(dim_of(r, ast->args[0], out));
            if (*out && !(*out = negated(r->solver->store, *out)))
                return no_term(r);
        } else if (ast->narg == 2)
            return binary_call(r, ast, out);
        break;
    default: return NULL;
    }
    // arithmetic on dims needs them known
    return *out ? bt_relation_dim(r->solver, r->call, *out, out) : NULL;
}

/* ---- inferred extents ---- */

struct inference {
    struct relating *relating;
    const char *index;
    const bt_type *found; /* a dim, or the shape of `..` */
    uint32_t any;
    bt_status status;
};

/* A read's dim at argument `arg`; NULL where a shape variable may stand. */
static const bt_type *read_dim(const struct array *array, const bt__ast *read,
                               uint32_t arg)
{
    int rest;
    (void)bt__read_nindex(read, &rest);
    int from_right = rest >= 0 && arg > (uint32_t)rest;
    return bt__shape_dim(array->shape, from_right ? read->narg - 1 - arg : arg,
                         from_right);
}

/* A dim that is not known: it may be later, but never where a shape variable hides it. */
static bt_status unknown_rank(struct relating *r, const struct array *array)
{
    return array->shape->has & BT_HAS_HOLE
               ? bt_relation_wait(r->solver)
               : bt_relation_fail(r->solver, r->call, -1,
                                  "%s has a shape that is not known far enough",
                                  array->name);
}

static void meet_index(struct bt__read_search *s, const bt__ast *read, uint32_t arg)
{
    struct inference *in = s->self;
    struct relating *r = in->relating;
    const struct array *array = find_array(r, read->name);
    char what[128];
    if (!array || !array->shape || in->status)
        return;
    in->any = 1;
    const bt_type *dim = read_dim(array, read, arg);
    if (!dim) {
        in->status = unknown_rank(r, array);
        return;
    }
    if (!in->found) {
        in->found = dim;
        return;
    }
    snprintf(what, sizeof(what), "extents of index %s", in->index);
    in->status = equate(r, in->found, dim, what);
}

static void meet_rest(struct bt__read_search *s, const bt__ast *read, uint32_t arg)
{
    struct inference *in = s->self;
    struct relating *r = in->relating;
    const struct array *array = find_array(r, read->name);
    if (!array || !array->shape || in->status)
        return;
    in->any = 1;
    uint32_t back = read->narg - 1 - arg;
    if (!bt__shape_has_ends(array->shape, arg, back)) {
        in->status = unknown_rank(r, array);
        return;
    }
    const bt_type *slice = bt__shape_slice(r->solver->store, array->shape, arg, back);
    if (!slice)
        in->status = no_term(r);
    else if (slice->kind == BT_TYPE_HOLE)
        in->status = bt_relation_wait(r->solver);
    else if (!in->found)
        in->found = slice;
    else
        in->status =
            bt_relation_broadcast(r->solver, r->call, in->found, slice, &in->found);
}

static bt_status infer_extent(struct relating *r, const struct bt__ast_var *var,
                              const bt__ast *body, const bt__ast *condition,
                              const bt_type **out)
{
    struct inference in = { .relating = r, .index = var->name };
    struct bt__read_search s = { .index = var->name, .meet = meet_index, .self = &in };
    for (s.guarded = 0; s.guarded < 2 && !in.any && !in.status; s.guarded++) {
        bt__reads_search(&s, body);
        if (condition)
            bt__reads_search(&s, condition);
    }
    *out = in.found ? in.found : bt_map_find(&r->names.dims, var->name);
    return in.status;
}

/* Indices of reductions agree as well; arrays must fit whatever reads them. */
static bt_status relate_reductions(struct relating *r, const bt__ast *ast)
{
    const bt_type *extent;
    for (uint32_t i = 0; i < ast->nvar; i++) {
        if (!ast->vars[i].extent)
            BT_TRY(infer_extent(r, &ast->vars[i], ast->args[0], ast->condition, &extent));
    }
    if (ast->condition)
        BT_TRY(relate_reductions(r, ast->condition));
    for (uint32_t i = 0; i < ast->narg; i++)
        BT_TRY(relate_reductions(r, ast->args[i]));
    return NULL;
}

/* ---- stages ---- */

static int is_result(const struct relating *r, const struct bt__ast_stage *stage)
{
    for (uint32_t i = 0; i < r->formula->nresult; i++) {
        if (&r->formula->stages[r->formula->results[i]] == stage)
            return 1;
    }
    return 0;
}

/* *out = NULL: no dim, and the stage is one that no type speaks of. */
static bt_status axis_dim(struct relating *r, const struct bt__ast_stage *stage,
                          const struct bt__ast_var *axis, const bt_type **out)
{
    if (axis->extent)
        BT_TRY(dim_of(r, axis->extent, out));
    else
        BT_TRY(infer_extent(r, axis, stage->expr, NULL, out));
    if (*out || (axis->extent && !is_result(r, stage)))
        return NULL;
    if (axis->extent) {
        const char *what = bt__format(r->scratch, "the extent of `%s`", axis->name);
        return what ? undetermined(r, axis->place, what) : bt_no_memory();
    }
    return bt__formula_fail(r->solver->ctx, r->formula, BT_ERR_TYPE, axis->place,
                            "the extent of `%s` is not known, as no read is indexed by "
                            "it alone: state it, as in `%s in n`",
                            axis->name, axis->name);
}

static bt_status rest_shape(struct relating *r, const struct bt__ast_stage *stage,
                            const bt_type **out)
{
    struct inference in = { .relating = r };
    struct bt__read_search s = { .guarded = 1, .meet = meet_rest, .self = &in };
    bt__reads_search(&s, stage->expr);
    BT_TRY(in.status);
    *out = in.found;
    return *out ? NULL : undetermined(r, stage->place, "what `..` stands for");
}

/* Dims before `..`, its shape (NULL: none), dims behind it, as one shape. */
static bt_status join_shape(struct relating *r, uint32_t n, const bt_type *const *dims,
                            uint32_t position, const bt_type *rest, const bt_type **out)
{
    bt_store *store = r->solver->store;
    const bt_shape_type *middle = rest ? bt_as_shape_type(rest) : NULL;
    uint32_t nmiddle = middle ? middle->n : 0, k = 0;
    const bt_type **all = BT_NEWS(r->scratch, const bt_type *, n + nmiddle);
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < position; i++)
        all[k++] = dims[i];
    for (uint32_t i = 0; i < nmiddle; i++)
        all[k++] = middle->dims[i];
    for (uint32_t i = position; i < n; i++)
        all[k++] = dims[i];
    if (rest && !middle)
        *out = bt_type_shape_rest(store, k, all, position, rest);
    else if (middle && middle->rest)
        *out =
            bt_type_shape_rest(store, k, all, position + middle->position, middle->rest);
    else
        *out = bt_type_shape(store, k, all);
    return *out ? NULL : no_term(r);
}

static bt_status stage_shape(struct relating *r, const struct bt__ast_stage *stage,
                             const bt_type **out)
{
    const bt_type **dims = BT_NEWS(r->scratch, const bt_type *, stage->naxis);
    const bt_type *rest = NULL;
    uint32_t n = 0, position = 0;
    if (!dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < stage->naxis; i++) {
        if (stage->axes[i].is_rest) {
            position = n;
            BT_TRY(rest_shape(r, stage, &rest));
        } else {
            BT_TRY(axis_dim(r, stage, &stage->axes[i], &dims[n]));
            if (!dims[n++]) {
                *out = NULL;
                return NULL;
            }
        }
    }
    return join_shape(r, n, dims, rest ? position : n, rest, out);
}

static bt_status stage_dtype(struct relating *r, const struct bt__ast_stage *stage,
                             const bt_type **out)
{
    const bt_attr *row = bt_attr_row(r->call->op->attrs, stage->dtype);
    *out = bt_map_find(&r->names.dtypes, stage->dtype);
    if (!*out && row && row->kind == BT_ATTR_DTYPE && r->call->attrs) {
        *out = MEMBER(const bt_type *, row, r->call->attrs);
        if (!*out)
            return undetermined(r, stage->place, "a dtype that is None");
    }
    if (*out)
        return NULL;
    bt_dtype dtype = bt_dtype_parse(stage->dtype, strlen(stage->dtype));
    if (!dtype)
        return bt__formula_fail(r->solver->ctx, r->formula, BT_ERR_NAME, stage->place,
                                "no dtype is called `%s`", stage->dtype);
    *out = bt_type_dtype(r->solver->store, dtype);
    return *out ? NULL : no_term(r);
}

static bt_status relate_stages(struct relating *r)
{
    const bt_type *shape, *dtype, *dim;
    for (uint32_t i = 0; i < r->formula->nstage; i++) {
        const struct bt__ast_stage *stage = &r->formula->stages[i];
        if (!stage->dtype) {
            BT_TRY(dim_of(r, stage->expr, &dim));
            if (dim && !bt_map_put(&r->scalars, stage->name, (void *)(uintptr_t)dim))
                return bt_no_memory();
            continue;
        }
        BT_TRY(relate_reductions(r, stage->expr));
        BT_TRY(stage_shape(r, stage, &shape));
        BT_TRY(stage_dtype(r, stage, &dtype));
        BT_TRY(add_array(r, stage->name, shape, dtype));
    }
    return NULL;
}

/* Of a formula that goes element by element: that of the first argument, where the result
 * has its shape. */
static bt_status result_layout(struct relating *r, const bt_type *shape,
                               const bt_layout **out)
{
    const bt_relation_call *call = r->call;
    const bt_type *first = call->narg ? bt_relation_arg(r->solver, call, 0) : NULL;
    const bt_tensor_type *tensor = first ? bt_as_tensor_type(first) : NULL;
    int is_pointwise = 0;
    *out = NULL;
    if (!tensor || !tensor->layout || tensor->shape != shape)
        return NULL;
    BT_TRY(
        bt__formula_is_pointwise(r->solver->ctx, call->op, call->attrs, &is_pointwise));
    *out = is_pointwise ? tensor->layout : NULL;
    return NULL;
}

/* A formula that a call brings was seen by nobody before: what its names mean, and whether
 * its dtypes fit, as far as the types tell. */
static bt_status check_formula(struct relating *r, const bt_type *result)
{
    const bt_relation_call *call = r->call;
    const bt_type **args = BT_NEWS(r->scratch, const bt_type *, call->narg);
    bt_graph *graph;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        args[i] = bt_relation_arg(r->solver, call, i);
    return bt__call_compose(r->solver->ctx, r->scratch,
                            &(bt_formula_call){ .op = call->op,
                                                .attrs = call->attrs,
                                                .narg = call->narg,
                                                .args = args,
                                                .result = result },
                            &graph);
}

static bt_status state_result(struct relating *r)
{
    bt_store *store = r->solver->store;
    uint32_t n = r->formula->nresult;
    const bt_type **types = BT_NEWS(r->scratch, const bt_type *, n);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct array *array =
            find_array(r, r->formula->stages[r->formula->results[i]].name);
        const bt_layout *layout;
        BT_TRY(result_layout(r, array->shape, &layout));
        types[i] = bt_type_tensor_layout(store, array->shape, array->dtype, layout);
        if (!types[i])
            return no_term(r);
    }
    const bt_type *result = n == 1 ? types[0] : bt_type_tuple(store, n, types);
    if (!result)
        return no_term(r);
    BT_TRY(bt_relation_result(r->solver, r->call, result));
    return r->call->op->formula_attr ? check_formula(r, result) : NULL;
}

/* ---- the formula ---- */

/* A hook writes its formula once the arguments are wholly known. */
static bt_status find_formula(struct relating *r)
{
    const bt_relation_call *call = r->call;
    const bt_type **args = BT_NEWS(r->scratch, const bt_type *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = bt_relation_arg(r->solver, call, i);
        if (call->op->write_formula && args[i]->has & BT_HAS_HOLE)
            return bt_relation_wait(r->solver);
    }
    bt_formula_call formula = {
        .op = call->op, .attrs = call->attrs, .narg = call->narg, .args = args
    };
    return bt__formula_of_call(r->solver->ctx, r->scratch, &formula, &r->formula);
}

/* What a name among the inputs of a call's own formula says; NULL: no dim. */
static const bt_type *given_dim(const struct relating *r, const bt_shape_type *dims,
                                const char *name)
{
    for (uint32_t i = 0; i < r->formula->ndim; i++) {
        if (strcmp(r->formula->stages[i].name, name) == 0)
            return dims->dims[i];
    }
    return bt_map_find(&r->names.dims, name);
}

static bt_status relate_dim(struct relating *r, const bt_shape_type *dims, uint32_t index)
{
    const struct bt__ast_stage *stage = &r->formula->stages[index];
    const bt_type *other;
    if (!stage->other)
        return NULL;
    if (!(other = given_dim(r, dims, stage->other)))
        return bt__formula_fail(r->solver->ctx, r->formula, BT_ERR_NAME, stage->place,
                                "`%s` is compared with `%s`, which is no dim",
                                stage->name, stage->other);
    return bt_relation_require(r->solver, r->call, stage->relation, dims->dims[index],
                               other, NULL);
}

/* Each bare name among the inputs of a call's own formula takes an element of `dims`; one that an
 * input shows as well is equal to what it has. */
static bt_status relate_dims(struct relating *r)
{
    const bt_relation_call *call = r->call;
    const bt_type *const *dims =
        bt_attr_find(call->op, call->attrs, "dims", BT_ATTR_SHAPE);
    const bt_shape_type *shape = dims && *dims ? bt_as_shape_type(*dims) : NULL;
    const uint32_t n = r->formula->ndim;
    if (!call->op->formula_attr)
        return NULL;
    if (shape ? shape->rest || shape->n != n : n != 0)
        return bt_relation_fail(
            r->solver, call, -1, "the formula declares %u dim%s, but dims %s %u", n,
            n == 1 ? "" : "s", shape && shape->rest ? "is open after" : "has",
            shape ? shape->n : 0);
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *shown = bt_map_find(&r->names.dims, r->formula->stages[i].name);
        if (shown)
            BT_TRY(bt_relation_unify(r->solver, call, shape->dims[i], shown,
                                     "a dim that is given and that of an argument"));
        BT_TRY(relate_dim(r, shape, i));
    }
    return NULL;
}

static bt_status relate(struct relating *r)
{
    const bt_op *op = r->call->op;
    uint32_t waits = 0;
    if (!bt_op_has_formula(op))
        return bt_fail(r->solver->ctx, BT_ERR_INTERNAL,
                       "%s has neither a relation nor a formula to derive one from",
                       op->name);
    BT_TRY(bt__relate_bind(r->solver, r->call, &r->names, &waits));
    r->waits |= waits;
    BT_TRY(find_formula(r));
    BT_TRY(bt__relate_signature(r->solver, r->call, &r->signature));
    BT_TRY(relate_dims(r));
    BT_TRY(add_inputs(r));
    BT_TRY(relate_stages(r));
    BT_TRY(state_result(r));
    return r->waits ? bt_relation_wait(r->solver) : NULL;
}

bt_status bt__formula_relate(bt_solver *s, const bt_relation_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct relating r = { .solver = s, .call = call, .scratch = scratch };
    bt_map_init(&r.names.dims, scratch, 1);
    bt_map_init(&r.names.dtypes, scratch, 1);
    bt_map_init(&r.scalars, scratch, 1);
    bt_status status = relate(&r);
    bt_arena_release(scratch, mark);
    return status;
}
