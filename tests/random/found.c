/* Tensors whose dims a run finds: positions of what is not 0. */
#include "maker.h"

/* Element by element, of a tensor of int32 of any shape. */
static bt_status make_steps(struct maker *m, const bt_value *x, const bt_value **out)
{
    static const char *const ops[] = { "add", "multiply", "maximum", "nn.relu", "abs" };
    const bt_value *other = x;
    *out = x;
    for (uint32_t n = below(m, 3); n > 0; n--) {
        const char *op = ops[below(m, BT_COUNT(ops))];
        if (below(m, 2))
            BT_TRY(bt_build_scalar(m->builder, BT_INT32, below(m, 4), &other));
        const int is_unary = op == ops[3] || op == ops[4];
        BT_TRY(call_op(m, op, NULL, *out, is_unary ? NULL : other, out));
    }
    return NULL;
}

/* x + sum of what is computed of positions */
bt_status make_found(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *tensor;
    const bt_value *x, *now;
    if (m->is_chain || dtype_of(type) == BT_BOOL)
        return make_unary(m, type, out);
    BT_TRY(make(m, type, &x));
    BT_TRY(tensor_type(m, BT_INT64, 1 + below(m, NSHAPE - 1), &tensor));
    BT_TRY(make(m, tensor, &now));
    BT_TRY(call_op(m, "argwhere", NULL, now, NULL, &now));
    BT_TRY(make_steps(m, now, &now));
    if (below(m, 2)) {
        BT_TRY(bt_build_ref(m->builder, now, &now));
        BT_TRY(bt_build_read(m->builder, now, &now));
        BT_TRY(make_steps(m, now, &now));
    }
    BT_TRY(call_op(m, "sum", NULL, now, NULL, &now));
    if (dtype_of(now->type) != dtype_of(type))
        BT_TRY(cast_to(m, now, dtype_of(type), &now));
    return call_op(m, "add", NULL, x, now, out);
}
