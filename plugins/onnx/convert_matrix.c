/* Matrix products, triangles, diagonals. */
#include "convert_matrix.h"

#include <string.h>

/* NumPy's matmul: vectors are promoted, leading axes broadcast. */
static void matmul(struct node *n)
{
    const bt_value *x = node_need(n, 0), *y = node_need(n, 1);
    uint32_t x_rank = value_rank(n, x), y_rank = value_rank(n, y);
    if (n->status)
        return;
    x = x_rank == 1 ? with_axes(n, x, 0, 1) : x;
    y = y_rank == 1 ? with_axes(n, y, 1, 1) : y;
    const bt_value *out = matrix_product(n, x, y);
    uint32_t rank = out ? value_rank(n, out) : 0;
    if (rank && x_rank == 1)
        out = without_axis(n, out, rank - 2);
    if (rank && y_rank == 1)
        out = emit1(n, "squeeze", "axis=[-1]", out);
    node_out(n, 0, out);
}

static void gemm(struct node *n)
{
    const bt_value *a = node_need(n, 0), *b = node_need(n, 1), *c = node_in(n, 2);
    double alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);
    if (node_int(n, "transA", 0))
        a = emit1(n, "transpose", "axes=[1, 0]", a);
    if (!node_int(n, "transB", 0))
        b = emit1(n, "transpose", "axes=[1, 0]", b);
    const bt_value *y = times_number(n, emit2(n, "nn.dense", NULL, a, b), alpha);
    node_out(n, 0, c ? plus(n, y, times_number(n, c, beta)) : y);
}

/* The equation is put between quotes: only what an equation may hold is let through. */
static void einsum(struct node *n)
{
    const struct onnx_attr *attr = node_attr(n, "equation", ATTR_STRING);
    uint32_t count = node_nin(n);
    const bt_value **fields = BT_NEWS(n->im->arena, const bt_value *, count);
    bt_text text;
    if (!attr || !attr->s)
        node_fail(n, BT_ERR_FORMAT, "the equation is missing");
    if (!fields)
        n->status = bt_no_memory();
    bt_text_init(&text, n->im->arena);
    for (const char *c = n->status ? "" : attr->s; *c; c++) {
        int is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && !strchr(",->. ", *c))
            node_fail(n, BT_ERR_ATTRIBUTE, "equation %s: letters , - > . are expected",
                      attr->s);
        if (*c != ' ')
            bt_text_add(&text, c, 1);
    }
    for (uint32_t i = 0; !n->status && i < count; i++)
        fields[i] = node_need(n, i);
    if (!n->status)
        node_out(n, 0,
                 emit_list(n, "einsum",
                           node_format(n, "equation=\"%s\"", bt_text_get(&text)), count,
                           fields));
}

static void trilu(struct node *n)
{
    const bt_value *x = node_need(n, 0), *k = node_in(n, 1);
    const char *attrs =
        node_format(n, "upper=%s", format_bool(node_int(n, "upper", 1) != 0));
    node_out(n, 0, emit2(n, "trilu", attrs, x, k ? as_scalar(n, k) : emit_int(n, 0)));
}

/* Whether column - row == k. */
static const bt_value *on_diagonal(struct node *n, const bt_value *like, int64_t k)
{
    const bt_value *row = with_axes(n, counted(n, dim_of(n, like, 0), BT_INT64), 1, 1),
                   *column = with_axes(n, counted(n, dim_of(n, like, 1), BT_INT64), 0, 1);
    return emit2(n, "equal", NULL, plus(n, row, emit_int(n, k)), column);
}

static void eye_like(struct node *n)
{
    const bt_value *like = node_need(n, 0);
    bt_dtype dtype = value_dtype(like);
    if (value_rank(n, like) != 2)
        node_fail(n, BT_ERR_FORMAT, "data of rank 2 is expected");
    if (node_has(n, "dtype"))
        dtype = onnx_dtype(node_int(n, "dtype", 0));
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "the element type is not supported");
    if (!n->status)
        node_out(n, 0, cast_to(n, on_diagonal(n, like, node_int(n, "k", 0)), dtype));
}

// clang-format off
const struct conversion convert_matrix[] = {
    { "MatMul", 1, matmul, NULL }, { "Gemm", 1, gemm, NULL }, { "Einsum", 12, einsum, NULL },
    { "Trilu", 14, trilu, NULL }, { "EyeLike", 9, eye_like, NULL },
    { 0 },
};
// clang-format on
