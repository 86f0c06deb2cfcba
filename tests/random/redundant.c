/* Work for passes: what is its operand, what is zero, what is computed twice or for
 * nobody. */
#include "maker.h"

/* One number, which broadcasts. */
static bt_status make_number(struct maker *m, const bt_type *type, double value,
                             const bt_value **out)
{
    return bt_build_scalar(m->builder, dtype_of(type), value, out);
}

/* x + 0, 1 * x and the like; logic for bools. */
static bt_status make_neutral(struct maker *m, const bt_type *type, const bt_value *x,
                              const bt_value **out)
{
    static const struct {
        const char *op;
        double neutral;
        int on_left;
    } rows[] = { { "add", 0, 0 },      { "add", 0, 1 },      { "subtract", 0, 0 },
                 { "multiply", 1, 0 }, { "multiply", 1, 1 }, { "divide", 1, 0 } };
    const bt_value *constant;
    uint32_t pick = below(m, BT_COUNT(rows));
    if (dtype_of(type) == BT_BOOL)
        return call_op(m, below(m, 2) ? "logical_and" : "logical_or", NULL, x, x, out);
    BT_TRY(make_number(m, type, rows[pick].neutral, &constant));
    return rows[pick].on_left ? call_op(m, rows[pick].op, NULL, constant, x, out)
                              : call_op(m, rows[pick].op, NULL, x, constant, out);
}

/* What is zero for integers only. */
static bt_status make_zero(struct maker *m, const bt_type *type, const bt_value *x,
                           const bt_value **out)
{
    const bt_value *zero;
    if (dtype_of(type) == BT_BOOL)
        return call_op(m, "logical_xor", NULL, x, x, out);
    if (below(m, 2))
        return call_op(m, "subtract", NULL, x, x, out);
    BT_TRY(make_number(m, type, 0, &zero));
    return call_op(m, "multiply", NULL, x, zero, out);
}

/* const[(1), int64]{row} */
static bt_status make_index(struct maker *m, int64_t row, const bt_value **out)
{
    const int64_t one = 1;
    bt_tensor *tensor;
    BT_TRY(bt_tensor_create(m->ctx, BT_INT64, 1, &one, &tensor));
    *(int64_t *)tensor->data = row;
    bt_status status = bt_build_const(m->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

/* Every row of x is put in its place. */
static bt_status put_rows(struct maker *m, const bt_type *type, const bt_value *x,
                          const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *row, *rest = bt_type_shape(m->store, shape->n - 1, shape->dims + 1);
    int64_t nrow;
    if (!bt_dim_is_const(shape->dims[0], &nrow))
        return make_neutral(m, type, x, out);
    row = rest ? bt_type_tensor(m->store, rest, bt_as_tensor_type(type)->dtype) : NULL;
    if (!row)
        return bt_store_why(m->ctx, m->store);
    for (int64_t i = 0; i < nrow; i++) {
        const bt_value *args[3] = { x };
        BT_TRY(make_index(m, i, &args[1]));
        BT_TRY(make(m, row, &args[2]));
        BT_TRY(bt_build(m->builder, "scatter_nd", NULL, args, 3, &x));
    }
    *out = x;
    return enter_scope(m, x);
}

/* Something that a pass may find to be its operand, or not to need it. */
bt_status make_identity(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *x, *condition;
    BT_TRY(make(m, type, &x));
    switch (below(m, 7)) {
    case 0: return make_zero(m, type, x, out);
    case 1:
        BT_TRY(call_op(m, "copy", NULL, x, NULL, &x));
        return call_op(m, "copy", NULL, x, NULL, out);
    case 2:
        if (dtype_of(type) == BT_BOOL)
            BT_TRY(call_op(m, "logical_not", NULL, x, NULL, &x));
        else
            BT_TRY(call_op(m, "negative", NULL, x, NULL, &x));
        return call_op(m, dtype_of(type) == BT_BOOL ? "logical_not" : "negative", NULL, x,
                       NULL, out);
    case 3:
        if (dtype_of(type) == BT_INT32)
            BT_TRY(cast_to(m, x, BT_INT64, &x));
        return cast_to(m, x, dtype_of(type), out);
    case 4: {
        const bt_value *args[3] = { NULL, x, x };
        BT_TRY(bt_build_scalar(m->builder, BT_BOOL, below(m, 2), &condition));
        args[0] = condition;
        BT_TRY(make(m, type, &args[2]));
        return bt_build(m->builder, "where", NULL, args, 3, out);
    }
    case 5:
        return bt_tensor_shape(type)->n && !m->is_chain ? put_rows(m, type, x, out)
                                                        : make_neutral(m, type, x, out);
    default: return make_neutral(m, type, x, out);
    }
}

/* The same expression twice. */
bt_status make_duplicate(struct maker *m, const bt_type *type, const bt_value **out)
{
    const char *op = dtype_of(type) == BT_BOOL ? "logical_not" : "abs";
    const char *join = dtype_of(type) == BT_BOOL ? "logical_and" : "add";
    const bt_value *x, *first, *second;
    BT_TRY(make(m, type, &x));
    BT_TRY(call_op(m, op, NULL, x, NULL, &first));
    BT_TRY(call_op(m, op, NULL, x, NULL, &second));
    return call_op(m, join, NULL, first, second, out);
}

/* An expression that nobody uses comes first. */
bt_status make_dead(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *dead_type;
    const bt_value *dead;
    uint32_t mark = m->scope.len;
    BT_TRY(random_type(m, 1, &dead_type));
    BT_TRY(make(m, dead_type, &dead));
    m->scope.len = mark;
    return make(m, type, out);
}
