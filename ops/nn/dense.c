/*
 * Products of matrices: nn.dense, nn.matmul, nn.batch_matmul; qnn.dense, qnn.matmul and
 * qnn.batch_matmul, of codes, from which their zero points are subtracted.
 *     nn.dense          y[.., m, n] = sum(k: data[.., m, k] * weight[n, k])
 *     nn.matmul         y[.., m, n] = sum(k: a[.., m, k] * b[.., k, n]), either one
 *                       transposed on demand
 *     nn.batch_matmul   the same with one batch axis; transpose_b is the default
 * source  Relay's operators of the same names; NumPy's matmul for the batch axes
 */
#include "codes.h"

/* ---- dense ---- */

struct dense_attrs {
    int64_t units;
    const bt_type *out_dtype;
};
static const bt_attr dense_attrs[] = {
    BT_ATTR(struct dense_attrs, units, INT, "None", "rows of weight, checked"),
    BT_ATTR(struct dense_attrs, out_dtype, DTYPE, "None",
            "element type of products, sums and result"),
    { 0 },
};
static const bt_op_input dense_inputs[] = {
    { .name = "data",
      .type = "t:number[..]",
      .doc = "rows of k elements; at least one axis" },
    { .name = "weight", .type = "t[n, k]", .doc = "n rows of k elements" },
    { 0 },
};
static const bt_op_input code_dense_inputs[] = {
    { .name = "data",
      .type = "t:integer[..]",
      .doc = "rows of k elements; at least one axis" },
    { .name = "weight", .type = "w:integer[n, k]", .doc = "n rows of k elements" },
    CODES_INPUTS("input", "kernel"),
};

static bt_status relate_dense(bt_solver *s, const bt_relation_call *r)
{
    const struct dense_attrs *a = r->attrs;
    bt_tensor_parts data, weight;
    const bt_type *dims[BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 2, &weight));
    if (data.rank == 0)
        return bt_relation_fail(s, r, 0, "data is a scalar; it needs an axis of columns");
    if (a->units != BT_NONE) {
        const bt_type *units = bt_dim(bt_relation_store(s), a->units);
        if (!units)
            return bt_no_memory();
        BT_TRY(
            bt_relation_unify(s, r, weight.dims[0], units, "rows of weight and units"));
    }
    BT_TRY(bt_relation_unify(s, r, data.dims[data.rank - 1], weight.dims[1],
                             "columns of data and of weight"));
    BT_TRY(codes_relate(s, r, weight.dims[0]));
    for (uint32_t i = 0; i + 1 < data.rank; i++)
        dims[i] = data.dims[i];
    dims[data.rank - 1] = weight.dims[0];
    const bt_type *dtype = codes_sums(s, r, a->out_dtype, data.dtype);
    return dtype ? bt_relation_result_laid(s, r, data.rank, dims, dtype) : bt_no_memory();
}

static void write_dense(bt_formula *f, const bt_formula_call *call)
{
    const struct dense_attrs *a = call->attrs;
    char dtype[BT_DTYPE_NAME_SIZE] = "t";
    if (a->out_dtype || codes_are(call->op))
        bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof(dtype));
    bt_formula_each(f, "i", 1, bt_formula_rank(f, call->args[0]), "i#");
    bt_formula_item(f, "data", "$i, k");
    bt_formula_item(f, "weight", "n, k");
    codes_factor(f, call, "data", "data", dtype, &(struct codes_zero){ 2, NULL, 0 });
    codes_factor(f, call, "weight", "weight", dtype, &(struct codes_zero){ 3, "n", 0 });
    bt_formula_add(f, "y: %s[$i, n] = sum(k: $[ * ]factors)", dtype);
}

/* Matrices as wanted, the result as data: layouts of images mean nothing here. */
static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    BT_TRY(bt_layout_follow(ctx, store, call, wanted, in, out));
    if (in[0] && in[0]->nlogical != 2)
        in[0] = *out = NULL;
    return NULL;
}

static const bt_layout_facet layout = { .choose = choose_layout };

/* ---- matmul and batch_matmul ---- */

struct matmul_attrs {
    int64_t units;
    const bt_type *out_dtype;
    int64_t transpose_a, transpose_b;
};
#define MATMUL_ATTRS(transpose_b_)                                        \
    {                                                                     \
        BT_ATTR(struct matmul_attrs, units, INT, "None",                  \
                "columns of the result, checked"),                        \
            BT_ATTR(struct matmul_attrs, out_dtype, DTYPE, "None",        \
                    "element type of products, sums and result"),         \
            BT_ATTR(struct matmul_attrs, transpose_a, BOOL, "False",      \
                    "read tensor_a with its last axes swapped"),          \
            BT_ATTR(struct matmul_attrs, transpose_b, BOOL, transpose_b_, \
                    "read tensor_b with its last axes swapped"),          \
            { 0 },                                                        \
    }
static const bt_attr matmul_attrs[] = MATMUL_ATTRS("False");
static const bt_attr batch_matmul_attrs[] = MATMUL_ATTRS("True");
static const bt_op_input matmul_inputs[] = {
    { .name = "tensor_a",
      .type = "t:number[..]",
      .doc = "batch axes, m rows, k columns" },
    { .name = "tensor_b", .type = "t[..]", .doc = "batch axes, k rows, n columns" },
    { 0 },
};
static const bt_op_input code_matmul_inputs[] = {
    { .name = "tensor_a",
      .type = "t:integer[..]",
      .doc = "batch axes, m rows, k columns" },
    { .name = "tensor_b",
      .type = "w:integer[..]",
      .doc = "batch axes, k rows, n columns" },
    CODES_INPUTS("x", "y"),
};

/* Zero points and scales of both: numbers, vectors of the rows of the one and the columns
 * of the other, or of the shape of the matrices, with 1 in the axis of the sums. */
static bt_status relate_zeros(bt_solver *s, const bt_relation_call *r,
                              const bt_tensor_parts *x, uint32_t kept, uint32_t index)
{
    bt_tensor_parts zero;
    const bt_type *one = bt_dim(bt_relation_store(s), 1);
    if (!codes_are(r->op) || index >= r->narg)
        return NULL;
    BT_TRY(bt_relation_tensor(s, r, index, &zero));
    if (zero.rank < 2 || zero.rank != x->rank)
        return codes_along(s, r, index, x->dims[kept]);
    for (uint32_t k = 0; one && k < x->rank; k++)
        BT_TRY(bt_relation_unify(s, r, k == kept || k + 2 < x->rank ? x->dims[k] : one,
                                 zero.dims[k], "dims of matrices and zero points"));
    return one ? NULL : bt_no_memory();
}

static bt_status relate_matmul(bt_solver *s, const bt_relation_call *r)
{
    const struct matmul_attrs *a = r->attrs;
    bt_tensor_parts x, y;
    const bt_type *dims[BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &x));
    BT_TRY(bt_relation_tensor(s, r, 1, &y));
    if (x.rank < 2 || y.rank < 2)
        return bt_relation_fail(
            s, r, x.rank < 2 ? 0 : 1, "%s has rank %u; matrices have at least 2",
            x.rank < 2 ? "tensor_a" : "tensor_b", x.rank < 2 ? x.rank : y.rank);
    uint32_t rank = x.rank > y.rank ? x.rank : y.rank,
             a_rows = x.rank - (a->transpose_a ? 1 : 2),
             b_columns = y.rank - (a->transpose_b ? 2 : 1);
    BT_TRY(bt_relation_unify(s, r, x.dims[2 * x.rank - 3 - a_rows],
                             y.dims[2 * y.rank - 3 - b_columns],
                             "columns of tensor_a and rows of tensor_b"));
    for (uint32_t i = 2; i < 6; i++)
        BT_TRY(i % 2 ? relate_zeros(s, r, &y, b_columns, i)
                     : relate_zeros(s, r, &x, a_rows, i));
    for (uint32_t i = 0; i + 2 < rank; i++) {
        const bt_type *p = i + x.rank >= rank ? x.dims[i + x.rank - rank] : NULL;
        const bt_type *q = i + y.rank >= rank ? y.dims[i + y.rank - rank] : NULL;
        dims[i] = p ? p : q;
        if (p && q)
            BT_TRY(bt_relation_broadcast_dim(s, r, p, q, &dims[i]));
    }
    dims[rank - 2] = x.dims[a_rows];
    dims[rank - 1] = y.dims[b_columns];
    if (a->units != BT_NONE) {
        const bt_type *units = bt_dim(bt_relation_store(s), a->units);
        if (!units)
            return bt_no_memory();
        BT_TRY(bt_relation_unify(s, r, dims[rank - 1], units,
                                 "columns of the result and units"));
    }
    const bt_type *dtype = codes_sums(s, r, a->out_dtype, x.dtype);
    return dtype ? bt_relation_result_tensor(s, r, rank, dims, dtype) : bt_no_memory();
}

static void write_matmul(bt_formula *f, const bt_formula_call *call)
{
    const struct matmul_attrs *a = call->attrs;
    char dtype[BT_DTYPE_NAME_SIZE] = "t";
    uint32_t rank_a = bt_formula_rank(f, call->args[0]),
             rank_b = bt_formula_rank(f, call->args[1]);
    if (a->out_dtype || codes_are(call->op))
        bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof(dtype));
    bt_formula_each(f, "a", 2, rank_a > 2 ? 3 : 2, "..");
    bt_formula_each(f, "b", 2, rank_b > 2 ? 3 : 2, "..");
    bt_formula_each(f, "y", 2, rank_a > 2 || rank_b > 2 ? 3 : 2, "..");
    bt_formula_item(f, "y", "m in extent(tensor_a, %d), n in extent(tensor_b, %d)",
                    a->transpose_a ? -1 : -2, a->transpose_b ? -2 : -1);
    bt_formula_item(f, "a", a->transpose_a ? "k, m" : "m, k");
    bt_formula_item(f, "b", a->transpose_b ? "n, k" : "k, n");
    codes_factor(f, call, "tensor_a", "a", dtype,
                 &(struct codes_zero){ 2, "m", a->transpose_a ? 1 : 0 });
    codes_factor(f, call, "tensor_b", "b", dtype,
                 &(struct codes_zero){ 3, "n", a->transpose_b ? 0 : 1 });
    bt_formula_add(f, "y: %s[$y] = sum(k in extent(tensor_a, %d): $[ * ]factors)", dtype,
                   a->transpose_a ? -2 : -1);
}

static const bt_channels_facet channels = { .width = "units" };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "nn.dense", .revision = 1, .source = "Relay, nn.dense",
        .doc = "Multiplies rows of data with rows of weight.\ny = data @ transpose(weight)",
        .inputs = dense_inputs, .attrs = dense_attrs, .attrs_nbytes = sizeof(struct dense_attrs),
        .relate = relate_dense, .write_formula = write_dense,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_FACET("channels", channels), BT_CASES(
            "float32[2, 3], float32[4, 3]\nfloat32[2, 3], float32[4, 3] | units=4\n"
            "float64[2, 3, 5], float64[2, 5]\nint8[2, 3], int8[4, 3] | out_dtype=\"int32\"\n"
            "float16[3, 4], float16[2, 4]\nfloat32[0, 3], float32[4, 3]\nfloat32[2, 0], float32[4, 0]")),
    },
    {
        .name = "nn.matmul", .revision = 1, .source = "Relay, nn.matmul; NumPy, matmul",
        .doc = "Multiplies matrices.\nAxes before the last two broadcast.",
        .inputs = matmul_inputs, .attrs = matmul_attrs, .attrs_nbytes = sizeof(struct matmul_attrs),
        .relate = relate_matmul, .write_formula = write_matmul,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3], float32[3, 4]\nfloat32[3, 2], float32[4, 3] | transpose_a=True, transpose_b=True\n"
            "float32[5, 2, 3], float32[3, 4]\nfloat32[2, 1, 2, 3], float32[4, 3, 2]\nint32[2, 3], int32[3, 2]")),
    },
    {
        .name = "nn.batch_matmul", .revision = 1, .source = "Relay, nn.batch_matmul",
        .doc = "Multiplies a batch of matrices with a batch of (transposed) matrices.\nA batch of one serves all.",
        .inputs = matmul_inputs, .attrs = batch_matmul_attrs, .attrs_nbytes = sizeof(struct matmul_attrs),
        .relate = relate_matmul, .write_formula = write_matmul,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4], float32[2, 5, 4]\nfloat32[2, 3, 4], float32[1, 4, 5] | transpose_b=False\n"
            "float32[2, 4, 3], float32[2, 5, 4] | transpose_a=True")),
    },
    {
        .name = "qnn.dense", .revision = 1, .source = "Relay, qnn.dense",
        .doc = "Multiplies rows of codes, without their zero points, with rows of weight.\n"
               "Sums are integers; the result stands for itself times both scales.",
        .inputs = code_dense_inputs, .attrs = dense_attrs, .attrs_nbytes = sizeof(struct dense_attrs),
        .relate = relate_dense, .write_formula = write_dense,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(
            "uint8[2, 3], int8[4, 3], int32[] = 128, int32[4] = -9..9, float32[] = 0.1, float32[4] = 0.1..0.2 | units=4\n"
            "int8[2, 3, 5], uint8[2, 5], int8[] = 3, uint8[] = 128\nint8[2, 0], int8[4, 0], int8[] = 1, int8[] = 2")),
    },
    {
        .name = "qnn.batch_matmul", .revision = 1, .source = "Relay, qnn.batch_matmul; ONNX MatMulInteger-10",
        .doc = "Multiplies matrices of codes, without their zero points, the second transposed.\n"
               "Axes before the last two broadcast. Sums are integers; the result stands for itself times both scales.",
        .inputs = code_matmul_inputs, .attrs = batch_matmul_attrs, .attrs_nbytes = sizeof(struct matmul_attrs),
        .relate = relate_matmul, .write_formula = write_matmul,
        .facets = BT_FACET_ROWS(BT_CASES(
            "int8[2, 3, 4], int8[2, 5, 4], int32[] = 3, int32[] = -7, float32[] = 0.1, float32[] = 0.2\n"
            "uint8[3, 4], int8[4, 5], uint8[3], int8[5] | transpose_b=False\n"
            "uint8[2, 3, 4], int8[4, 5], uint8[2, 3, 1], int8[1, 5] | transpose_b=False\n"
            "uint8[2, 4, 3], int8[1, 5, 4], uint8[2, 1, 3], int8[1, 5, 1] | transpose_a=True")),
    },
    {
        .name = "qnn.matmul", .revision = 1, .source = "ONNX MatMulInteger-10",
        .doc = "Multiplies matrices of codes, without their zero points.\n"
               "Axes before the last two broadcast. Sums are integers; the result stands for itself times both scales.",
        .inputs = code_matmul_inputs, .attrs = matmul_attrs, .attrs_nbytes = sizeof(struct matmul_attrs),
        .relate = relate_matmul, .write_formula = write_matmul,
        .facets = BT_FACET_ROWS(BT_CASES(
            "int8[2, 3, 4], int8[2, 4, 5], int32[] = 3, int32[] = -7, float32[] = 0.1, float32[] = 0.2\n"
            "uint8[3, 4], int8[4, 5], uint8[3], int8[5]\nuint8[4, 3], int8[5, 4], uint8[] = 128, int8[] = -3 | transpose_a=True, transpose_b=True")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_dense[] = { BT_OPS(ops), { 0 } };
