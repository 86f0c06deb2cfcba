/* Expressions of tensors: constants, and calls of operators on expressions. */
#include "maker.h"

#include <string.h>

#include <baton/op.h>

static bt_status make_scalar(struct maker *m, bt_dtype dtype, const bt_value **out)
{
    if (dtype == BT_BOOL)
        return bt_build_scalar(m->builder, dtype, below(m, 2), out);
    double value = (double)below(m, 9) - 4;
    return bt_build_scalar(m->builder, dtype, dtype == BT_FLOAT32 ? value / 4 : value,
                           out);
}

/* A constant tensor; where a dim is symbolic, a splat by `full`. */
bt_status make_const(struct maker *m, const bt_type *type, const bt_value **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    bt_dtype dtype = dtype_of(type);
    if (!bt_tensor_static(type, &rank, dims)) {
        const bt_value *scalar;
        BT_TRY(make_scalar(m, dtype, &scalar));
        const bt_type *shape = bt_as_tensor_type(type)->shape;
        struct {
            const bt_type *shape, *dtype;
        } attrs = { shape, NULL };
        const bt_op *op;
        BT_TRY(bt_op_get(m->ctx, "full", &op));
        return bt_build_op(m->builder, op, &attrs, 1, &scalar, out);
    }
    BT_TRY(bt_tensor_create(m->ctx, dtype, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i,
                      dtype == BT_BOOL
                          ? below(m, 2)
                          : ((double)below(m, 9) - 4) / (dtype == BT_FLOAT32 ? 4 : 1));
    bt_status status = bt_build_const(m->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

bt_status make_unary(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const char *const floats[] = { "tanh", "sigmoid", "negative",
                                          "abs",  "nn.relu", "floor" };
    static const char *const ints[] = { "negative", "abs", "sign", "copy" };
    const bt_value *x;
    bt_dtype dtype = dtype_of(type);
    BT_TRY(make(m, type, &x));
    const char *op = dtype == BT_BOOL      ? "logical_not"
                     : dtype == BT_FLOAT32 ? floats[below(m, BT_COUNT(floats))]
                                           : ints[below(m, BT_COUNT(ints))];
    return call_op(m, op, NULL, x, NULL, out);
}

/* The second operand may be a scalar, which broadcasts. */
bt_status make_binary(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const char *const numbers[] = { "add", "subtract", "multiply", "maximum",
                                           "minimum" };
    static const char *const bools[] = { "logical_and", "logical_or", "logical_xor" };
    static const char *const compares[] = { "less", "less_equal", "greater", "equal",
                                            "not_equal" };
    const bt_type *operand = type, *other;
    const bt_value *x, *y;
    const char *op = numbers[below(m, BT_COUNT(numbers))];
    if (dtype_of(type) == BT_BOOL && below(m, 2)) {
        op = compares[below(m, BT_COUNT(compares))];
        BT_TRY(with_dtype(m, type, below(m, 2) ? BT_INT64 : BT_FLOAT32, &operand));
    } else if (dtype_of(type) == BT_BOOL) {
        op = bools[below(m, BT_COUNT(bools))];
    }
    other = operand;
    if (below(m, 4) == 0 && !(other = bt_type_scalar(m->store, dtype_of(operand))))
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, operand, &x));
    BT_TRY(make(m, other, &y));
    return call_op(m, op, NULL, x, y, out);
}

bt_status cast_to(struct maker *m, const bt_value *x, bt_dtype dtype,
                  const bt_value **out)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text text;
    bt_text_init(&text, m->arena);
    bt_text_addf(&text, "dtype=\"%s\"", bt_dtype_name(dtype, name, sizeof(name)));
    return text.failed ? bt_no_memory() : call_op(m, "cast", text.at, x, NULL, out);
}

bt_status make_cast(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const bt_dtype sources[] = { BT_FLOAT32, BT_INT64, BT_INT32, BT_BOOL };
    const bt_type *from;
    const bt_value *x;
    BT_TRY(with_dtype(m, type, sources[below(m, BT_COUNT(sources))], &from));
    BT_TRY(make(m, from, &x));
    return cast_to(m, x, dtype_of(type), out);
}

bt_status make_where(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *condition;
    const bt_value *args[3];
    BT_TRY(with_dtype(m, type, BT_BOOL, &condition));
    BT_TRY(make(m, condition, &args[0]));
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(make(m, type, &args[2]));
    return bt_build(m->builder, "where", NULL, args, 3, out);
}

/* Shapes by other shapes: (2, 3) from (3, 2), a scalar from a vector, a vector from a
 * matrix. */
bt_status make_moved(struct maker *m, const bt_type *type, const bt_value **out)
{
    static const struct {
        uint32_t to, from;
        const char *op, *attrs;
    } moves[] = {
        { 3, 4, "transpose", "axes=[1, 0]" },
        { 4, 3, "transpose", NULL },
        { 3, 4, "reshape", "newshape=[2, 3]" },
        { 1, 3, "max", "axis=[1]" },
        { 2, 3, "min", "axis=[0]" },
        { 5, 6, "max", "axis=[1]" },
        { 6, 6, "reverse", "axis=0" },
        { 2, 2, "reverse", "axis=0" },
        { 3, 3, "sort", "axis=1" },
        { 4, 4, "cumsum", "axis=0" },
        { 6, 6, "cumsum", "axis=1, exclusive=True" },
    };
    uint32_t start = below(m, BT_COUNT(moves));
    for (uint32_t i = 0; i < BT_COUNT(moves); i++) {
        uint32_t k = (start + i) % BT_COUNT(moves);
        const bt_type *to, *from;
        const bt_value *x;
        BT_TRY(tensor_type(m, dtype_of(type), moves[k].to, &to));
        if (to != type ||
            (dtype_of(type) == BT_BOOL && strcmp(moves[k].op, "transpose") != 0))
            continue;
        BT_TRY(tensor_type(m, dtype_of(type), moves[k].from, &from));
        BT_TRY(make(m, from, &x));
        return call_op(m, moves[k].op, moves[k].attrs, x, NULL, out);
    }
    return make_unary(m, type, out);
}

bt_status make_numbers(struct maker *m, uint32_t rank, const int64_t *dims,
                       const double *choices, uint32_t n, const bt_value **out)
{
    bt_tensor *tensor;
    BT_TRY(bt_tensor_create(m->ctx, BT_FLOAT32, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i, choices[below(m, n)]);
    bt_status status = bt_build_const(m->builder, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}
