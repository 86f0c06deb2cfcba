#include "loop.h"

enum { MAX_UNROLLED = 64, MAX_COPIES = 256, MAX_ROUNDS = 8 };

/* ---- types ---- */

/* What the values of a loop are, in all its iterations. Dims that change from one to the
 * next are type parameters of the loop's function. */
struct loop_types {
    const bt_type **states, **rows;
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

/* A sequence of no rows. */
static const bt_value *no_rows(bt_onnx_node *n, const bt_type *row)
{
    const bt_type *dims[BT_MAX_RANK];
    const bt_shape_type *shape = row ? bt_tensor_shape(row) : NULL;
    if (!shape || n->status)
        return NULL;
    dims[0] = dim_number(n, 0);
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    const bt_value *zero = emit_scalar(n, bt_tensor_dtype(row), 0);
    return emit_shaped(n, "full", "shape=[]", "shape", zero, shape->n + 1, dims);
}

static const bt_value *with_row(bt_onnx_node *n, const struct loop *loop, uint32_t k,
                                const bt_value *sequence, const bt_value *row)
{
    const bt_value *one = with_axes(n, row, 0, 1);
    int prepends = loop->prepends && loop->prepends[k];
    const bt_value *parts[2] = { prepends ? one : sequence, prepends ? sequence : one };
    return joined(n, 0, 2, parts);
}

/* ---- written out ---- */

static int known_count(bt_onnx_node *n, const struct loop *loop, const struct step *step,
                       int64_t *out)
{
    int64_list trips = { 0 };
    const bt_tensor *begins = bt_const_tensor(loop->condition),
                    *goes_on = bt_const_tensor(step->condition);
    if (begins && !bt_tensor_get_int(begins, 0)) {
        *out = 0;
        return 1;
    }
    if ((loop->condition && !begins) || !loop->trips ||
        !value_ints(n, loop->trips, &trips) || trips.len != 1)
        return 0;
    *out = trips.at[0] < 0 ? 0 : trips.at[0];
    /* A body that always stops runs once. */
    if (goes_on && !bt_tensor_get_int(goes_on, 0))
        *out = *out > 1 ? 1 : *out;
    return !step->condition || goes_on != NULL;
}

static void unroll(bt_onnx_node *n, const struct loop *loop, int64_t count,
                   const struct loop_types *types, const bt_value **states,
                   const bt_value **sequences)
{
    struct step step;
    const bt_value **rows =
        BT_NEWS(n->im->arena, const bt_value *, (size_t)(count * loop->nrow) + 1);
    if (!rows) {
        n->status = bt_no_memory();
        return;
    }
    for (uint32_t k = 0; k < loop->nstate; k++)
        states[k] = loop->states[k];
    for (int64_t i = 0; !n->status && i < count; i++) {
        run_body(n, loop, emit_int(n, i), states, &step);
        for (uint32_t k = 0; !n->status && k < loop->nstate; k++)
            states[k] = step.states[k];
        for (uint32_t k = 0; !n->status && k < loop->nrow; k++) {
            int64_t at = loop->prepends && loop->prepends[k] ? count - 1 - i : i;
            rows[k * count + at] = step.rows[k];
        }
    }
    for (uint32_t k = 0; !n->status && k < loop->nrow; k++)
        sequences[k] =
            count ? emit_list(n, "stack", "axis=0", (uint32_t)count, rows + k * count)
                  : no_rows(n, types->rows[k]);
}

/* ---- as a function that calls itself ---- */

/* Its parameters: iteration, condition, states, sequences so far. */

static const bt_type *result_dim(bt_onnx_node *n, const struct loop_types *types,
                                 const bt_type *dim)
{
    return is_own(types, dim) ? bt_dim_opaque(n->im->store, NULL) : dim;
}

/* A state's or sequence's type, where it is a result: what changes is not known. */
static const bt_type *result_type(bt_onnx_node *n, const struct loop_types *types,
                                  const bt_type *type)
{
    const bt_shape_type *shape = type ? bt_tensor_shape(type) : NULL;
    const bt_type *dims[BT_MAX_RANK];
    if (!shape || n->status)
        return NULL;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i] = result_dim(n, types, shape->dims[i]);
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

/* The types of the parameters and, of all but the first two, of the results. */
static void frame_types(bt_onnx_node *n, const struct loop *loop,
                        struct loop_types *types, const bt_type **params,
                        const bt_type **results)
{
    const bt_type *count = loop->nrow ? new_dim(n, types) : NULL;
    params[0] = bt_type_scalar(n->im->store, BT_INT64);
    params[1] = bt_type_scalar(n->im->store, BT_BOOL);
    for (uint32_t k = 0; k < loop->nstate; k++)
        params[2 + k] = types->states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        params[2 + loop->nstate + k] = sequence_type(n, count, types->rows[k]);
    for (uint32_t k = 0; k < loop->nstate + loop->nrow; k++)
        results[k] = result_type(n, types, params[2 + k]);
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
static const bt_value *goes_on(bt_onnx_node *n, const struct loop *loop,
                               const bt_value *i, const bt_value *condition)
{
    if (!loop->trips)
        return condition;
    const bt_value *more = emit2(n, "less", NULL, i, loop->trips);
    return emit2(n, "logical_and", NULL, more, condition);
}

/* One iteration, then the rest. */
static const bt_value *next(bt_onnx_node *n, const struct loop *loop,
                            const bt_value *closure, const bt_value *const *params)
{
    uint32_t narg = 2 + loop->nstate + loop->nrow;
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, narg);
    struct step step;
    if (!args) {
        n->status = bt_no_memory();
        return NULL;
    }
    run_body(n, loop, params[0], params + 2, &step);
    if (n->status)
        return NULL;
    args[0] = plus(n, params[0], emit_int(n, 1));
    args[1] = step.condition ? step.condition : emit_scalar(n, BT_BOOL, 1);
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[2 + k] = step.states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        args[2 + loop->nstate + k] =
            with_row(n, loop, k, params[2 + loop->nstate + k], step.rows[k]);
    return call_loop(n, closure, narg, args);
}

static void end_block(bt_onnx_node *n, const bt_value *result, const bt_block **out)
{
    if (!n->status)
        n->status = bt_block_end(n->im->builder, result, out);
}

/* if goes_on then next(...) else (states, sequences) */
static const bt_value *function_body(bt_onnx_node *n, const struct loop *loop,
                                     const bt_value *closure,
                                     const bt_value *const *params)
{
    const bt_block *then_block = NULL, *else_block = NULL;
    const bt_value *out = NULL, *more = goes_on(n, loop, params[0], params[1]);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, 0, NULL);
    end_block(n, next(n, loop, closure, params), &then_block);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, 0, NULL);
    end_block(n, emit_tuple(n, loop->nstate + loop->nrow, params + 2), &else_block);
    if (!n->status)
        n->status = bt_build_if(n->im->builder, more, then_block, else_block, &out);
    return out;
}

static void give_body(bt_onnx_node *n, const struct loop *loop,
                      const struct loop_types *types, const bt_value *closure,
                      const bt_type *const *param_types, const bt_type *result)
{
    uint32_t nparam = 2 + loop->nstate + loop->nrow;
    const bt_param **params = BT_NEWS(n->im->arena, const bt_param *, nparam);
    const bt_value **values = BT_NEWS(n->im->arena, const bt_value *, nparam);
    const bt_func *func;
    bt_func fields = {
        .name = "loop", .nvar = types->vars.len, .vars = types->vars.at, .result = result
    };
    if (!n->status && (!params || !values))
        n->status = bt_no_memory();
    for (uint32_t k = 0; !n->status && k < nparam; k++)
        values[k] = new_param(n,
                              k == 0                 ? "i"
                              : k == 1               ? "more"
                              : k < 2 + loop->nstate ? "state"
                                                     : "rows",
                              param_types[k], &params[k]);
    if (!n->status)
        n->status = bt_block_begin(n->im->builder, nparam, params);
    end_block(n, n->status ? NULL : function_body(n, loop, closure, values),
              &fields.block);
    if (!n->status)
        n->status = bt_func_create(n->im->ctx, n->im->store, &fields, &func);
    if (!n->status)
        n->status = bt_build_closure_body(n->im->builder, closure, func);
}

static const bt_value *declare(bt_onnx_node *n, const struct loop *loop,
                               struct loop_types *types)
{
    uint32_t nresult = loop->nstate + loop->nrow;
    const bt_type **params = BT_NEWS(n->im->arena, const bt_type *, nresult + 2u);
    const bt_type **results = BT_NEWS(n->im->arena, const bt_type *, nresult);
    const bt_value *closure = NULL;
    const char *name = "loop";
    if (!params || !results)
        n->status = bt_no_memory();
    if (n->status)
        return NULL;
    frame_types(n, loop, types, params, results);
    const bt_type *result =
        n->status ? NULL : bt_type_tuple(n->im->store, nresult, results);
    const bt_type *type =
        result ? bt_func_type_close(n->im->store, types->vars.len, types->vars.at,
                                    nresult + 2, params, result, 0, NULL)
               : NULL;
    if (!n->status && !type)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    if (!n->status)
        n->status = bt_build_closures(n->im->builder, 1, &name, &type, &closure);
    if (!n->status)
        give_body(n, loop, types, closure, params, result);
    return closure;
}

static void recurse(bt_onnx_node *n, const struct loop *loop, struct loop_types *types,
                    const bt_value **states, const bt_value **sequences)
{
    uint32_t narg = 2 + loop->nstate + loop->nrow;
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, narg);
    if (!args) {
        n->status = bt_no_memory();
        return;
    }
    const bt_value *closure = declare(n, loop, types);
    if (n->status)
        return;
    args[0] = emit_int(n, 0);
    args[1] = loop->condition ? loop->condition : emit_scalar(n, BT_BOOL, 1);
    for (uint32_t k = 0; k < loop->nstate; k++)
        args[2 + k] = loop->states[k];
    for (uint32_t k = 0; k < loop->nrow; k++)
        args[2 + loop->nstate + k] = no_rows(n, types->rows[k]);
    const bt_value *all = call_loop(n, closure, narg, args);
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
    int64_t count, copies = n->im->copies;
    if (n->status || loop->nstate + loop->nrow == 0)
        return;
    find_types(n, loop, &types, &step);
    if (n->status)
        return;
    if (known_count(n, loop, &step, &count) && count <= MAX_UNROLLED &&
        count * copies <= MAX_COPIES) {
        n->im->copies = count ? copies * count : copies;
        unroll(n, loop, count, &types, states, sequences);
        n->im->copies = copies;
    } else {
        recurse(n, loop, &types, states, sequences);
    }
}
