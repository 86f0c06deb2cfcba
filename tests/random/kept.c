/*
 * Expressions that only an executor with control flow runs as they are: tensors that a loop
 * writes to, closures in data types in references, recursion that comes back to its tensors.
 */
#include "maker.h"

/* ---- loops with a body that is given ---- */

/* loop(i, x) = if (i < 1) { x } else { body of i and x } */
typedef bt_status body_fn(struct maker *, const bt_value *loop,
                          const bt_value *const *args, const bt_type *,
                          const bt_value **out);

static bt_status run_loop(struct maker *m, const bt_type *type, uint32_t count,
                          body_fn *body, const bt_value **out)
{
    const bt_param *params[2];
    const bt_value *loop, *one, *done, *result, *args[2];
    const bt_block *stop, *again, *block;
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(declare_loop(m, type, &loop, params));
    const uint32_t mark = m->scope.len;
    BT_TRY(bt_block_begin(m->builder, 2, params));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 1, &one));
    BT_TRY(call_op(m, "less", NULL, &params[0]->base, one, &done));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, &params[1]->base, &stop));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(enter_scope(m, &params[1]->base));
    const bt_value *next[2] = { NULL, &params[1]->base };
    BT_TRY(call_op(m, "subtract", NULL, &params[0]->base, one, &next[0]));
    BT_TRY(body(m, loop, next, type, &result));
    m->scope.len = mark;
    BT_TRY(bt_block_end(m->builder, result, &again));
    BT_TRY(bt_build_if(m->builder, done, stop, again, &result));
    BT_TRY(bt_block_end(m->builder, result, &block));
    BT_TRY(end_loop(m, loop, type, block));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, count, &args[0]));
    return call_value(m, loop, 2, args, out);
}

/* max(loop(i - 1, an expression of x), x): not a tail call. */
static bt_status come_back(struct maker *m, const bt_value *loop,
                           const bt_value *const *args, const bt_type *type,
                           const bt_value **out)
{
    const bt_value *now[2] = { args[0] };
    BT_TRY(make(m, type, &now[1]));
    BT_TRY(call_value(m, loop, 2, now, out));
    return call_op(m, dtype_of(type) == BT_BOOL ? "logical_or" : "maximum", NULL, *out,
                   args[1], out);
}

bt_status make_deep(struct maker *m, const bt_type *type, const bt_value **out)
{
    return m->is_chain ? make_unary(m, type, out)
                       : run_loop(m, type, below(m, 60), come_back, out);
}

/* loop(i - 1, x with an element or row written): in place where x is not used again. */
static bt_status write_to(struct maker *m, const bt_value *loop,
                          const bt_value *const *args, const bt_type *type,
                          const bt_value **out)
{
    const bt_value *at, *update, *zero, *inputs[3], *now[2] = { args[0] };
    const bt_type *scalar = bt_type_scalar(m->store, dtype_of(type));
    if (!scalar)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, scalar, &update));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, below(m, 2), &zero));
    // positions (1), updates (1): one element of the first axis
    BT_TRY(call_op(m, "expand_dims", "axis=0", zero, NULL, &at));
    BT_TRY(call_op(m, "expand_dims", "axis=0", update, NULL, &update));
    inputs[0] = args[1];
    inputs[1] = at;
    inputs[2] = update;
    BT_TRY(bt_build(m->builder, "scatter_elements", "axis=0", inputs, 3, &now[1]));
    return call_value(m, loop, 2, now, out);
}

bt_status make_written(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t n;
    if (m->is_chain || shape->n != 1 || !bt_dim_is_const(shape->dims[0], &n))
        return make_unary(m, type, out);
    return run_loop(m, type, below(m, 6), write_to, out);
}

/* ---- closures in lists in references ---- */

/* match (list) { Cons(%head, _) => %head(x), _ => x } */
static bt_status call_head(struct maker *m, const bt_value *list, const bt_type *element,
                           const bt_value *x, const bt_value **out)
{
    const bt_pattern *at[2];
    const bt_param *param;
    const bt_value *result;
    bt_clause clauses[2];
    BT_TRY(bt_build_param(m->builder, "head", element, &param));
    at[0] = bt_pattern_create(m->store,
                              &(bt_pattern){ .kind = BT_PATTERN_VAR, .var = param });
    at[1] = bt_pattern_create(m->store, &(bt_pattern){ .kind = BT_PATTERN_WILDCARD });
    const bt_pattern cons = {
        .kind = BT_PATTERN_CTOR, .ctor = m->list->ctors[0], .n = 2, .at = at
    };
    clauses[1].pattern = at[1];
    if (!at[0] || !at[1] || !(clauses[0].pattern = bt_pattern_create(m->store, &cons)))
        return bt_no_memory();
    BT_TRY(bt_block_begin(m->builder, 1, &param));
    BT_TRY(call_value(m, &param->base, 1, &x, &result));
    BT_TRY(bt_block_end(m->builder, result, &clauses[0].block));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, x, &clauses[1].block));
    return bt_build_match(m->builder, list, 2, clauses, 0, out);
}

/* %r = ref(a list of functions); *r = another; match (*r) { Cons(%f, _) => %f(x), _ => x } */
bt_status make_kept(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_func_type fields = { .narg = 1, .args = &type, .result = type };
    const bt_type *func = bt_type_func(m->store, &fields);
    const bt_type *list = func ? bt_type_apply(m->store, m->list, 1, &func) : NULL;
    const bt_value *x, *data, *ref, *written;
    if (!list)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, type, &x));
    BT_TRY(make_list(m, list, &data));
    BT_TRY(bt_build_ref(m->builder, data, &ref));
    if (below(m, 2)) {
        BT_TRY(make_list(m, list, &data));
        BT_TRY(bt_build_write(m->builder, ref, data, &written));
    }
    BT_TRY(bt_build_read(m->builder, ref, &data));
    return call_head(m, data, func, x, out);
}
