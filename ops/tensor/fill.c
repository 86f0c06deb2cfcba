/*
 * Tensors of one value: full, zeros, ones, and each in the shape of another tensor.
 *     full(v, shape=[2, 3], dtype="int32")    y[i0, i1] = int32(v)
 * Contents of small integer results are known where the value is.
 * source  Relay, operators of the same names; ONNX ConstantOfShape is full
 */
#include "cast_check.h"
#include "contents.h"
#include "formula.h"

#include <string.h>

struct attrs {
    const bt_type *shape;
    const bt_type *dtype;
};
static const bt_attr full_attrs[] = {
    BT_ATTR(struct attrs, shape, SHAPE, NULL, "the shape of the result"),
    BT_ATTR(struct attrs, dtype, DTYPE, "None", "element type; None: that of fill_value"),
    { 0 },
};
static const bt_attr fill_attrs[] = {
    BT_ATTR(struct attrs, shape, SHAPE, NULL, "the shape of the result"),
    BT_ATTR(struct attrs, dtype, DTYPE, "float32", "element type"),
    { 0 },
};

static int is_zeros(const bt_op *op)
{
    return strncmp(op->name, "zeros", 5) == 0;
}

/* ---- types ---- */

/* The value n times, where shape and value are known and small. */
static bt_status fill_contents(bt_solver *s, const bt_relation_call *r,
                               const bt_shape_type *shape)
{
    const bt_type *value, *many[CONTENTS_MAX];
    int64_t n = 1;
    if (!contents_possible(s, r, r->narg) || !shape || shape->rest ||
        (shape->n == 1 && !bt_dim_is_const(shape->dims[0], &n)) || n > CONTENTS_MAX)
        return NULL;
    if (r->narg == 0) {
        value = bt_dim(bt_relation_store(s), !is_zeros(r->op));
    } else {
        contents fill;
        BT_TRY(contents_get(s, r, 0, &fill));
        if (fill.n != 1)
            return NULL;
        value = fill.at[0];
    }
    if (!value)
        return bt_relation_result(s, r, NULL);
    if (!contents_fit(value, bt_tensor_dtype(bt_relation_arg(s, r, r->narg))))
        return NULL;
    for (int64_t i = 0; i < n; i++)
        many[i] = value;
    return bt_relation_set_contents(s, r, (uint32_t)n, many);
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_type *dtype = a->dtype;
    bt_tensor_parts fill;
    if (r->narg == 1) {
        BT_TRY(bt_relation_tensor_rank(s, r, 0, 0, &fill));
        BT_TRY(cast_check(s, r, fill.known, cast_dtype(dtype)));
        dtype = dtype ? dtype : fill.dtype;
    }
    if (!dtype)
        return bt_relation_fail(s, r, -1, "dtype must be given");
    const bt_type *type = bt_type_tensor(bt_relation_store(s), a->shape, dtype);
    if (!type)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result(s, r, type));
    return fill_contents(s, r, bt_as_shape_type(a->shape));
}

/* ---- formulas ---- */

/* "y: T[i0 in ..., ...] = ": with dtype and extents of the result. */
static void write_left(bt_formula *f, const bt_formula_call *call, const char *dtype)
{
    const bt_shape_type *shape = bt_tensor_shape(call->result);
    uint32_t rank = bt_formula_rank(f, call->result);
    bt_formula_clear(f, "y");
    for (uint32_t k = 0; k < rank; k++) {
        int64_t number;
        if (bt_dim_is_const(shape->dims[k], &number))
            bt_formula_item(f, "y", "i%u in %lld", k, (long long)number);
        else if (call->op->attrs)
            bt_formula_item(f, "y", "i%u in shape[%u]", k, k);
        else
            bt_formula_item(f, "y", "i%u in extent(data, %u)", k, k);
    }
    bt_formula_add(f, "y: %s[$y] = ", dtype);
}

static void write_full(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const char *dtype = a && a->dtype ? "dtype" : "t";
    write_left(f, call, dtype);
    bt_formula_add(f, "%s(fill_value[])", dtype);
}

static void write_constant(bt_formula *f, const bt_formula_call *call)
{
    const char *dtype = call->op->attrs ? "dtype" : "t";
    write_left(f, call, dtype);
    bt_formula_add(f, "%s(%d)", dtype, !is_zeros(call->op));
}

/* ---- rows ---- */

static const bt_op_input none_in[] = { { 0 } };
static const bt_op_input full_in[] = {
    { .name = "fill_value", .type = "t:any[]", .doc = "the value of every element" },
    { 0 },
};
static const bt_op_input like_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "only its type is used" },
    { 0 },
};
static const bt_op_input full_like_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "only its type is used" },
    { .name = "fill_value", .type = "u[]", .doc = "the value of every element" },
    { 0 },
};

#define FILL(name_, inputs_, attrs_, doc_, cases_, ...)                                \
    {                                                                                  \
        .name = name_, .revision = 1, .doc = doc_, .source = "Relay, " name_,          \
        .inputs = inputs_, .attrs = attrs_, .facets = BT_FACET_ROWS(BT_CASES(cases_)), \
        __VA_ARGS__                                                                    \
    }
#define LIKE_CASES "float32[2, 3]\nint8[]\nbool[0, 2]"
#define FILL_CASES                                                                    \
    " | shape=[2, 3]\n | shape=[], dtype=\"int8\"\n | shape=[0, 2], dtype=\"bool\"\n" \
    " | shape=[3], dtype=\"float16\""

static const bt_op ops[] = {
    FILL("full", full_in, full_attrs,
         "A tensor with the same value everywhere.\nThe shape is `shape`.",
         "float32[] | shape=[2, 3]\nint64[] = 0..9 | shape=[4], dtype=\"float16\"\n"
         "bool[] | shape=[]\nint32[] | shape=[0, 2]",
         .attrs_nbytes = sizeof(struct attrs), .relate = relate,
         .write_formula = write_full),
    FILL("zeros", none_in, fill_attrs, "A tensor of zeros.\nThe shape is `shape`.",
         FILL_CASES, .attrs_nbytes = sizeof(struct attrs), .relate = relate,
         .write_formula = write_constant),
    FILL("ones", none_in, fill_attrs, "A tensor of ones.\nThe shape is `shape`.",
         FILL_CASES, .attrs_nbytes = sizeof(struct attrs), .relate = relate,
         .write_formula = write_constant),
    FILL("full_like", full_like_in, NULL,
         "A tensor of another's type with the same value everywhere.\n"
         "fill_value is cast to that dtype.",
         "float32[2, 3], float32[]\nint8[0, 2], int64[] = 0..9\nbool[], bool[]",
         .relation = "Identity", .write_formula = write_full),
    FILL("zeros_like", like_in, NULL,
         "Zeros in the type of another tensor.\nThe type stays.", LIKE_CASES,
         .relation = "Identity", .write_formula = write_constant),
    FILL("ones_like", like_in, NULL,
         "Ones in the type of another tensor.\nThe type stays.", LIKE_CASES,
         .relation = "Identity", .write_formula = write_constant),
    { 0 },
};
const bt_table bt_ops_tensor_fill[] = { BT_OPS(ops), { 0 } };
