#include "loop.h"

enum { MAX_ROUNDS = 8 };

/* ---- types ---- */

/* What the values of a loop are, in all its iterations. Dims that change from one to the
 * next are type parameters of the loop's function. */
struct loop_types {
    const bt_type **states, **rows;
    const bt_type **counts; /* how many rows each sequence has */
    bt_vec(const bt_type *) vars;
};

static const bt_type *new_dim(bt_onnx_node *n, struct loop_types *types)
{
    bt_type_param param = { .kind = BT_KIND_DIM, .low = 0, .high = INT64_MAX, .step = 1 };
    const bt_type *out = bt_type_var(n->im->store, &param, "d");
    if (!n->status && (!out || !BT_PUSH(n->im->arena, &types->vars, out)))
        n->status = bt_no_memory();
    return out;
}

static int is_own(const struct loop_types *types, const bt_type *dim)
{
    for (uint32_t i = 0; i < types->vars.len; i++) {
        if (types->vars.at[i] == dim)
            return 1;
    }
    return 0;
}

static const bt_type *tensor_of(bt_onnx_node *n, uint32_t rank,
                                const bt_type *const *dims, const bt_type *like)
{
    const bt_type *shape = n->status ? NULL : bt_type_shape(n->im->store, rank, dims);
    const bt_type *out =
        shape ? bt_type_tensor(n->im->store, shape, bt_as_tensor_type(like)->dtype)
              : NULL;
    if (!out && !n->status)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    return out;
}

/* The type of a state that also holds what an iteration made of it. */
static const bt_type *widened(bt_onnx_node *n, struct loop_types *types,
                              const bt_type *before, const bt_type *after)
{
    const bt_shape_type *a = bt_tensor_shape(before), *b = bt_tensor_shape(after);
    const bt_type *dims[BT_MAX_RANK];
    if (before == after || n->status)
        return before;
    if (bt_as_tuple_type(before) || bt_as_tuple_type(after)) {
        node_fail(
            n, BT_ERR_UNSUPPORTED,
            "a sequence goes from iteration to iteration, where a run decides how long "
            "it is; what each iteration gives can be an output of the loop instead");
        return NULL;
    }
    if (!a || !b || a->n != b->n || bt_tensor_dtype(before) != bt_tensor_dtype(after)) {
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "a value changes its rank or element type from iteration to iteration");
        return NULL;
    }
    for (uint32_t i = 0; i < a->n; i++)
        dims[i] = a->dims[i] == b->dims[i] || is_own(types, a->dims[i])
                      ? a->dims[i]
                      : new_dim(n, types);
    return tensor_of(n, a->n, dims, before);
}

/* A row must be of one shape, which is known before the loop. */
static void check_row(bt_onnx_node *n, const struct loop_types *types,
                      const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int ok = shape && shape->n < BT_MAX_RANK;
    for (uint32_t i = 0; ok && i < shape->n; i++)
        ok = !(shape->dims[i]->has & BT_HAS_OPAQUE) && !is_own(types, shape->dims[i]);
    if (!ok)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "an output that each iteration adds to has a shape that only a run "
                  "gives");
}

/* ---- the body ---- */

static int step_alloc(bt_onnx_node *n, const struct loop *loop, struct step *out)
{
    *out = (struct step){ .states = BT_NEWS(n->im->arena, const bt_value *, loop->nstate),
                          .rows = BT_NEWS(n->im->arena, const bt_value *, loop->nrow) };
    if (!n->status && (!out->states || !out->rows))
        n->status = bt_no_memory();
    return n->status == NULL;
}

static void run_body(bt_onnx_node *n, const struct loop *loop, const bt_value *i,
                     const bt_value *const *states, struct step *out)
{
    if (!step_alloc(n, loop, out))
        return;
    loop->body(n, loop->self, i, states, out);
    for (uint32_t k = 0; k < loop->nstate; k++) {
        if (!n->status && !out->states[k])
            node_fail(n, BT_ERR_INTERNAL, "a loop lacks a state");
    }
    for (uint32_t k = 0; k < loop->nrow; k++) {
        if (!n->status && !out->rows[k])
            node_fail(n, BT_ERR_INTERNAL, "a loop lacks a row");
    }
}

static const bt_value *new_param(bt_onnx_node *n, const char *name, const bt_type *type,
                                 const bt_param **out)
{
    if (!n->status && !type)
        n->status = bt_no_memory();
    if (!n->status)
        n->status = bt_build_param(n->im->builder, name, type, out);
    return n->status ? NULL : &(*out)->base;
}

/* Converts the body into a block that is thrown away, to learn its types. */
static void try_body(bt_onnx_node *n, const struct loop *loop, struct loop_types *types,
                     struct step *out)
{
    const bt_value **states = BT_NEWS(n->im->arena, const bt_value *, loop->nstate);
    const bt_param **params = BT_NEWS(n->im->arena, const bt_param *, loop->nstate + 1u);
    const bt_block *block;
    if (!states || !params) {
        n->status = n->status ? n->status : bt_no_memory();
        return;
    }
    const bt_value *i =
        new_param(n, "i", bt_type_scalar(n->im->store, BT_INT64), &params[loop->nstate]);
    for (uint32_t k = 0; k < loop->nstate; k++)
        states[k] = new_param(n, "state", types->states[k], &params[k]);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, loop->nstate + 1, params);
    if (n->status)
        return;
    run_body(n, loop, i, states, out);
    if (!n->status)
        n->status = bt_block_end(n->im->builder, i, &block);
}

/* Widens the states' types until an iteration keeps them. */
static void find_types(bt_onnx_node *n, const struct loop *loop, struct loop_types *types,
                       struct step *step)
{
    types->states = BT_NEWS(n->im->arena, const bt_type *, loop->nstate);
    types->rows = BT_NEWS(n->im->arena, const bt_type *, loop->nrow);
    if (!n->status && (!types->states || !types->rows))
        n->status = bt_no_memory();
    for (uint32_t k = 0; !n->status && k < loop->nstate; k++)
        types->states[k] = loop->states[k]->type;
    for (uint32_t round = 0; !n->status && round < MAX_ROUNDS; round++) {
        int changed = 0;
        try_body(n, loop, types, step);
        for (uint32_t k = 0; !n->status && k < loop->nstate; k++) {
            const bt_type *type =
                widened(n, types, types->states[k], step->states[k]->type);
            changed |= type != types->states[k];
            types->states[k] = type;
        }
        for (uint32_t k = 0; !n->status && !changed && k < loop->nrow; k++) {
            types->rows[k] = step->rows[k]->type;
            check_row(n, types, types->rows[k]);
        }
        if (!changed)
            return;
    }
    node_fail(n, BT_ERR_UNSUPPORTED,
              "the shapes of a loop's values change with each iteration");
}

/* ---- sequences ---- */

/* A sequence of `count` rows of zeros. */
static const bt_value *rows_of(bt_onnx_node *n, const bt_type *count, const bt_type *row)
{
    const bt_type *dims[BT_MAX_RANK] = { count };
    const bt_shape_type *shape = row ? bt_tensor_shape(row) : NULL;
    if (!shape || n->status)
        return NULL;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    const bt_value *zero = emit_scalar(n, bt_tensor_dtype(row), 0);
    return emit_shaped(n, "full", "shape=[]", "shape", zero, shape->n + 1, dims);
}

static const bt_value *no_rows(bt_onnx_node *n, const bt_type *row)
{
    return rows_of(n, dim_number(n, 0), row);
}

/* ---- as a function that calls itself ---- */

/* Its parameters: iteration, where the body decides whether to go on that too, states,
 * sequences. Where the count is known before the first iteration, a sequence has all its
 * rows from the begin, and each iteration puts one in its place, which compiled code does
 * without a copy. Where it is not, each iteration adds a row. */
struct recursion {
    const struct loop *loop;
    struct loop_types *types;
    const bt_value *count; /* of iterations, int64[]; NULL: the body decides */
    uint32_t nfixed, nparam;
};

/* Whether types tell that a count is not negative. */
static int is_counting(bt_onnx_node *n, const bt_value *count)
{
    const bt_type *const *dims;
    uint32_t ndim;
    int64_t low = -1, high;
    if (value_dims(n, count, &ndim, &dims) && ndim == 1)
        bt_dim_bounds(dims[0], &low, &high);
    return low >= 0;
}

/* How many iterations there are; NULL: the body decides. */
static const bt_value *count_of(bt_onnx_node *n, const struct loop *loop,
                                const struct step *step)
{
    const bt_tensor *goes_on = known_tensor(n, step->condition);
    const bt_value *count = loop->trips, *none = emit_int(n, 0);
    if (!count || (step->condition && !goes_on))
        return NULL;
    if (!is_counting(n, count))
        count = greater_of(n, count, none);
    if (goes_on && !bt_tensor_get_int(goes_on, 0))
        count = lesser_of(n, count, emit_int(n, 1));
    return loop->condition ? chosen(n, loop->condition, count, none) : count;
}

/* Counts of rows as dims, parameters of the function where only a run gives them. */
static void set_counts(bt_onnx_node *n, struct recursion *r)
{
    const bt_type *const *dims;
    uint32_t ndim, nrow = r->loop->nrow;
    r->types->counts = BT_NEWS(n->im->arena, const bt_type *, nrow);
    if (!n->status && !r->types->counts)
        n->status = bt_no_memory();
    int is_known = !n->status && r->count && value_dims(n, r->count, &ndim, &dims) &&
                   !(dims[0]->has & BT_HAS_OPAQUE);
    for (uint32_t k = 0; !n->status && k < nrow; k++)
        r->types->counts[k] = is_known ? dims[0] : new_dim(n, r->types);
}

/* Whether the function returns what has this dim with the same one. */
static int stays(const struct recursion *r, const bt_type *dim)
{
    for (uint32_t k = 0; r->count && k < r->loop->nrow; k++) {
        if (r->types->counts[k] == dim)
            return 1;
    }
    return !is_own(r->types, dim);
}

/* A state's or sequence's type, where it is a result: what changes is not known. */
static const bt_type *result_type(bt_onnx_node *n, const struct recursion *r,
                                  const bt_type *type)
{
    const bt_shape_type *shape = type ? bt_tensor_shape(type) : NULL;
    const bt_type *dims[BT_MAX_RANK];
    if (!shape || n->status)
        return NULL;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i] =
            stays(r, shape->dims[i]) ? shape->dims[i] : bt_dim_opaque(n->im->store, NULL);
    return tensor_of(n, shape->n, dims, type);
}

static const bt_type *sequence_type(bt_onnx_node *n, const bt_type *count,
                                    const bt_type *row)
{
    const bt_type *dims[BT_MAX_RANK] = { count };
    const bt_shape_type *shape = row ? bt_tensor_shape(row) : NULL;
    if (!shape || n->status)
        return NULL;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    return tensor_of(n, shape->n + 1, dims, row);
}

/* The types of the parameters and, of states and sequences, of the results. */
static void recursion_types(bt_onnx_node *n, const struct recursion *r,
                            const bt_type **params, const bt_type **results)
{
    const struct loop *loop = r->loop;
    params[0] = bt_type_scalar(n->im->store, BT_INT64);
    if (!r->count)
        params[1] = bt_type_scalar(n->im->store, BT_BOOL);
    for (uint32_t k = 0; k < loop->nstate; k++)
        params[r->nfixed + k] = r->types->states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        params[r->nfixed + loop->nstate + k] =
            sequence_type(n, r->types->counts[k], r->types->rows[k]);
    for (uint32_t k = r->nfixed; k < r->nparam; k++)
        results[k - r->nfixed] = result_type(n, r, params[k]);
}

static const bt_value *call_loop(bt_onnx_node *n, const bt_value *closure, uint32_t narg,
                                 const bt_value *const *args)
{
    const bt_value *out = NULL;
    bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = closure, .narg = narg, .args = args
    };
    for (uint32_t i = 0; i < narg; i++) {
        if (!args[i])
            node_fail(n, BT_ERR_INTERNAL, "a loop lacks an argument");
    }
    if (!n->status)
        n->status = bt_build_call(n->im->builder, &call, &out);
    return out;
}

/* Whether there is another iteration. */
static const bt_value *goes_on(bt_onnx_node *n, const struct recursion *r,
                               const bt_value *const *params)
{
    if (r->count)
        return emit2(n, "less", NULL, params[0], r->count);
    if (!r->loop->trips)
        return params[1];
    const bt_value *more = emit2(n, "less", NULL, params[0], r->loop->trips);
    return emit2(n, "logical_and", NULL, more, params[1]);
}

/* The sequence with the row of iteration i. */
static const bt_value *with_row(bt_onnx_node *n, const struct recursion *r, uint32_t k,
                                const bt_value *i, const bt_value *sequence,
                                const bt_value *row)
{
    int prepends = r->loop->prepends && r->loop->prepends[k];
    if (r->count) {
        const bt_value *at =
            prepends ? minus(n, minus(n, r->count, emit_int(n, 1)), i) : i;
        return emit3(n, "scatter_nd", NULL, sequence, with_axes(n, at, 0, 1), row);
    }
    const bt_value *one = with_axes(n, row, 0, 1);
    const bt_value *parts[2] = { prepends ? one : sequence, prepends ? sequence : one };
    return joined(n, 0, 2, parts);
}

/* One iteration, then the rest. */
static const bt_value *next(bt_onnx_node *n, const struct recursion *r,
                            const bt_value *closure, const bt_value *const *params)
{
    const struct loop *loop = r->loop;
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, r->nparam);
    const bt_value *const *states = params + r->nfixed, *const *rows =
                                                            states + loop->nstate;
    struct step step;
    if (!args) {
        n->status = bt_no_memory();
        return NULL;
    }
    run_body(n, loop, params[0], states, &step);
    if (n->status)
        return NULL;
    args[0] = plus(n, params[0], emit_int(n, 1));
    if (!r->count)
        args[1] = step.condition ? step.condition : emit_scalar(n, BT_BOOL, 1);
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[r->nfixed + k] = step.states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        args[r->nfixed + loop->nstate + k] =
            with_row(n, r, k, params[0], rows[k], step.rows[k]);
    return call_loop(n, closure, r->nparam, args);
}

static void end_block(bt_onnx_node *n, const bt_value *result, const bt_block **out)
{
    if (!n->status)
        n->status = bt_block_end(n->im->builder, result, out);
}

/* if goes_on then next(...) else (states, sequences) */
static const bt_value *function_body(bt_onnx_node *n, const struct recursion *r,
                                     const bt_value *closure,
                                     const bt_value *const *params)
{
    const bt_block *then_block = NULL, *else_block = NULL;
    const bt_value *out = NULL, *more = goes_on(n, r, params);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, 0, NULL);
    end_block(n, next(n, r, closure, params), &then_block);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, 0, NULL);
    end_block(n, emit_tuple(n, r->nparam - r->nfixed, params + r->nfixed), &else_block);
    if (!n->status)
        n->status = bt_build_if(n->im->builder, more, then_block, else_block, &out);
    return out;
}

static const char *param_name(const struct recursion *r, uint32_t k)
{
    if (k < r->nfixed)
        return k == 0 ? "i" : "more";
    return k < r->nfixed + r->loop->nstate ? "state" : "rows";
}

static void give_body(bt_onnx_node *n, const struct recursion *r, const bt_value *closure,
                      const bt_type *const *param_types, const bt_type *result)
{
    const bt_param **params = BT_NEWS(n->im->arena, const bt_param *, r->nparam);
    const bt_value **values = BT_NEWS(n->im->arena, const bt_value *, r->nparam);
    const bt_func *func;
    bt_func fields = { .name = "loop",
                       .nvar = r->types->vars.len,
                       .vars = r->types->vars.at,
                       .result = result };
    if (!n->status && (!params || !values))
        n->status = bt_no_memory();
    for (uint32_t k = 0; !n->status && k < r->nparam; k++)
        values[k] = new_param(n, param_name(r, k), param_types[k], &params[k]);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, r->nparam, params);
    end_block(n, n->status ? NULL : function_body(n, r, closure, values), &fields.block);
    if (!n->status)
        n->status = bt_func_create(n->im->ctx, n->im->store, &fields, &func);
    if (!n->status)
        n->status = bt_build_closure_body(n->im->builder, closure, func);
}

static const bt_value *declare(bt_onnx_node *n, const struct recursion *r)
{
    uint32_t nresult = r->nparam - r->nfixed;
    const bt_type **params = BT_NEWS(n->im->arena, const bt_type *, r->nparam);
    const bt_type **results = BT_NEWS(n->im->arena, const bt_type *, nresult);
    const bt_value *closure = NULL;
    const char *name = "loop";
    if (!params || !results)
        n->status = bt_no_memory();
    if (n->status)
        return NULL;
    recursion_types(n, r, params, results);
    const bt_type *result =
        n->status ? NULL : bt_type_tuple(n->im->store, nresult, results);
    const bt_type *type =
        result ? bt_func_type_close(n->im->store, r->types->vars.len, r->types->vars.at,
                                    r->nparam, params, result, 0, NULL)
               : NULL;
    if (!n->status && !type)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    if (!n->status)
        n->status = bt_build_closures(n->im->builder, 1, &name, &type, &closure);
    if (!n->status)
        give_body(n, r, closure, params, result);
    return closure;
}

/* A sequence before the first iteration. */
static const bt_value *first_rows(bt_onnx_node *n, const struct recursion *r, uint32_t k)
{
    const bt_type *row = r->types->rows[k];
    if (!r->count)
        return no_rows(n, row);
    if (!is_own(r->types, r->types->counts[k]))
        return rows_of(n, r->types->counts[k], row);
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", no_rows(n, row));
    const bt_value *parts[2] = { with_axes(n, r->count, 0, 1),
                                 sliced(n, shape, 0, 1, BT_MAX_RANK) };
    return emit2(n, "dyn.full", NULL, emit_scalar(n, bt_tensor_dtype(row), 0),
                 joined(n, 0, 2, parts));
}

static void recurse(bt_onnx_node *n, const struct loop *loop, const struct step *step,
                    struct loop_types *types, const bt_value **states,
                    const bt_value **sequences)
{
    struct recursion r = { .loop = loop,
                           .types = types,
                           .count = count_of(n, loop, step) };
    r.nfixed = r.count ? 1 : 2;
    r.nparam = r.nfixed + loop->nstate + loop->nrow;
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, r.nparam);
    if (!n->status && !args)
        n->status = bt_no_memory();
    set_counts(n, &r);
    const bt_value *closure = n->status ? NULL : declare(n, &r);
    if (n->status)
        return;
    args[0] = emit_int(n, 0);
    if (!r.count)
        args[1] = loop->condition ? loop->condition : emit_scalar(n, BT_BOOL, 1);
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[r.nfixed + k] = loop->states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        args[r.nfixed + loop->nstate + k] = first_rows(n, &r, k);
    const bt_value *all = call_loop(n, closure, r.nparam, args);
    for (uint32_t k = 0; !n->status && k < loop->nstate; k++)
        states[k] = emit_proj(n, all, k);
    for (uint32_t k = 0; !n->status && k < loop->nrow; k++)
        sequences[k] = emit_proj(n, all, loop->nstate + k);
}

void emit_loop(bt_onnx_node *n, const struct loop *loop, const bt_value **states,
               const bt_value **sequences)
{
    struct loop_types types = { 0 };
    struct step step = { 0 };
    if (n->status || loop->nstate + loop->nrow == 0)
        return;
    find_types(n, loop, &types, &step);
    if (!n->status)
        recurse(n, loop, &step, &types, states, sequences);
}
