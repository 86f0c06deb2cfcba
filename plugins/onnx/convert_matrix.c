/* Matrix products, triangles, diagonals. */
#include "arith.h"

#include <math.h>
#include <string.h>

/* NumPy's matmul: vectors are promoted, leading axes broadcast. */
static void matmul(bt_onnx_node *n)
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

/* Of ONNX Runtime: either factor may be transposed, the product is scaled. */
static void fused_matmul(bt_onnx_node *n)
{
    const bt_value *in[2] = { node_need(n, 0), node_need(n, 1) };
    static const char *const flags[] = { "transA", "transB" };
    if (node_int(n, "transBatchA", 0) || node_int(n, "transBatchB", 0))
        node_fail(n, BT_ERR_UNSUPPORTED, "transBatchA and transBatchB are not supported");
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t rank = value_rank(n, in[i]);
        if (rank < 2)
            node_fail(n, BT_ERR_UNSUPPORTED, "data of rank %u; at least 2 is needed",
                      rank);
        if (node_int(n, flags[i], 0) && !n->status)
            in[i] = axes_swapped(n, in[i], rank - 2, rank - 1);
    }
    const bt_value *y = n->status ? NULL : matrix_product(n, in[0], in[1]);
    node_out(n, 0, times_number(n, y, node_float(n, "alpha", 1)));
}

static int is_integer(bt_dtype dtype)
{
    return !(1u << BT_DTYPE_CLASS(dtype) & BT_CLASS_BITS_FLOAT);
}

static void gemm(bt_onnx_node *n)
{
    const bt_value *a = node_need(n, 0), *b = node_need(n, 1), *c = node_in(n, 2);
    double alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);
    if (node_int(n, "transA", 0))
        a = emit1(n, "transpose", "axes=[1, 0]", a);
    if (!node_int(n, "transB", 0))
        b = emit1(n, "transpose", "axes=[1, 0]", b);
    const bt_value *y = emit2(n, "nn.dense", NULL, a, b);
    // integers times a fraction are rounded once, at the end
    bt_dtype dtype = value_dtype(y);
    int is_fraction = alpha != floor(alpha) || beta != floor(beta);
    bt_dtype wide = is_fraction && is_integer(dtype) ? BT_FLOAT64 : dtype;
    y = times_number(n, cast_to(n, y, wide), alpha);
    // a beta of 0 leaves c out, even where it is not finite
    if (c && beta != 0)
        y = plus(n, y, times_number(n, cast_to(n, c, wide), beta));
    node_out(n, 0, cast_to(n, y, dtype));
}

/* An element of each matrix. */
static const bt_value *element(bt_onnx_node *n, const bt_value *x, uint32_t i, uint32_t j)
{
    uint32_t rank = value_rank(n, x);
    const bt_value *row = sliced(n, x, rank - 2, i, (int64_t)i + 1);
    return emit1(n, "squeeze", "axis=[-2, -1]",
                 sliced(n, row, rank - 1, j, (int64_t)j + 1));
}

/* Of the rows `i` and `i` + 1 and two columns. */
static const bt_value *minor_of(bt_onnx_node *n, const bt_value *x, uint32_t i,
                                uint32_t j, uint32_t k)
{
    return minus(n, times(n, element(n, x, i, j), element(n, x, i + 1, k)),
                 times(n, element(n, x, i, k), element(n, x, i + 1, j)));
}

/* By cofactors: larger ones need pivots, which depend on the values. */
static void determinant(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *y = NULL;
    uint32_t rank = value_rank(n, x);
    int64_t size = rank >= 2 ? value_dim(n, x, rank - 1) : 0;
    if (rank < 2 || value_dim(n, x, rank - 2) != size || size < 1 || size > 3)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "matrices of 1, 2 or 3 rows and columns are known");
    if (n->status)
        return;
    if (size < 3) {
        y = size == 1 ? element(n, x, 0, 0) : minor_of(n, x, 0, 0, 1);
    } else {
        y = minus(n, times(n, element(n, x, 0, 0), minor_of(n, x, 1, 1, 2)),
                  times(n, element(n, x, 0, 1), minor_of(n, x, 1, 0, 2)));
        y = plus(n, y, times(n, element(n, x, 0, 2), minor_of(n, x, 1, 0, 1)));
    }
    node_out(n, 0, y);
}

/* ---- einsum ---- */

/* An equation as the operator takes it: without blanks, an ellipsis written out as
 * letters that the equation does not use. */
struct equation {
    bt_onnx_node *node;
    const char *text;
    const bt_value *const *operands;
    uint32_t noperand, nlonger; /* nlonger: axes of the longest ellipsis */
    bt_text out;
};

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The equation is put between quotes: only what one may hold is let through. */
static void check_equation(bt_onnx_node *n, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (!is_letter(*c) && !strchr(",->. ", *c))
            node_fail(n, BT_ERR_ATTRIBUTE, "equation %s: letters , - > . are expected",
                      text);
    }
}

/* The k-th letter that the equation leaves free; 0: there is none. */
static char free_letter(const char *text, uint32_t k)
{
    for (char c = 'A'; c <= 'z'; c++) {
        if (is_letter(c) && !strchr(text, c) && k-- == 0)
            return c;
    }
    return 0;
}

/* Letters of the term from `at` on; the ellipsis of an operand stands for the rest of its
 * axes. */
static uint32_t ellipsis_length(const struct equation *e, const char *at,
                                uint32_t operand)
{
    uint32_t nletter = 0, rank = value_rank(e->node, e->operands[operand]);
    int has = 0;
    for (; *at && *at != ',' && *at != '-'; at++) {
        nletter += is_letter(*at) ? 1u : 0u;
        has |= *at == '.';
    }
    return has && rank > nletter ? rank - nletter : 0;
}

/* The last `count` letters of the longest ellipsis: axes are aligned at their ends. */
static void add_ellipsis(struct equation *e, uint32_t count)
{
    for (uint32_t i = e->nlonger - count; i < e->nlonger; i++) {
        char letter = free_letter(e->text, i);
        if (!letter)
            node_fail(
                e->node, BT_ERR_LIMIT,
                "equation %s uses so many letters that none is left for the axes of "
                "`...`",
                e->text);
        bt_text_add(&e->out, &letter, 1);
    }
}

/* Every term in turn; `write` adds it to the result, else only lengths are found. */
static void walk_equation(struct equation *e, int write)
{
    uint32_t operand = 0, length = 0;
    int is_result = 0, begins = 1;
    for (const char *c = e->text; *c && !e->node->status; c++) {
        if (begins && !is_result && operand >= e->noperand) {
            node_fail(e->node, BT_ERR_FORMAT, "equation %s has more than %u operands",
                      e->text, e->noperand);
            return;
        }
        if (begins)
            length = is_result ? e->nlonger : ellipsis_length(e, c, operand);
        begins = 0;
        if (!write && length > e->nlonger)
            e->nlonger = length;
        if (*c == '.' && c[1] == '.' && c[2] == '.') {
            if (write)
                add_ellipsis(e, length);
            c += 2;
        } else if (write && *c != ' ') {
            bt_text_add(&e->out, c, 1);
        }
        operand += *c == ',';
        is_result |= *c == '>';
        begins = *c == ',' || *c == '>';
    }
}

/* Without "->" the ellipsis comes first, then the letters that occur once. */
static void add_result(struct equation *e)
{
    bt_text_add(&e->out, "->", 2);
    add_ellipsis(e, e->nlonger);
    for (char c = 'A'; c <= 'z'; c++) {
        const char *first = is_letter(c) ? strchr(e->text, c) : NULL;
        if (first && !strchr(first + 1, c))
            bt_text_add(&e->out, &c, 1);
    }
}

static const char *expand_equation(struct equation *e)
{
    bt_text_init(&e->out, e->node->im->arena);
    check_equation(e->node, e->text);
    walk_equation(e, 0);
    walk_equation(e, 1);
    if (!e->node->status && e->nlonger && !strchr(e->text, '>'))
        add_result(e);
    if (!e->node->status && !bt_text_get(&e->out))
        e->node->status = bt_no_memory();
    return e->node->status ? "" : bt_text_get(&e->out);
}

static void einsum(bt_onnx_node *n)
{
    uint32_t count = n->ninput;
    const bt_value **operands = BT_NEWS(n->im->arena, const bt_value *, count);
    const char *text = node_text(n, "equation", "");
    if (!operands)
        n->status = bt_no_memory();
    for (uint32_t i = 0; !n->status && i < count; i++)
        operands[i] = node_need(n, i);
    if (n->status)
        return;
    struct equation e = {
        .node = n, .text = text, .operands = operands, .noperand = count
    };
    const char *attrs = node_format(n, "equation=\"%s\"", expand_equation(&e));
    node_out(n, 0, emit_list(n, "einsum", attrs, count, operands));
}

/* ---- triangles and diagonals ---- */

static void trilu(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *k = node_in(n, 1);
    const char *attrs =
        node_format(n, "upper=%s", format_bool(node_int(n, "upper", 1) != 0));
    node_out(n, 0, emit2(n, "trilu", attrs, x, k ? as_scalar(n, k) : emit_int(n, 0)));
}

/* Whether column - row == k. */
static const bt_value *on_diagonal(bt_onnx_node *n, const bt_value *like, int64_t k)
{
    const bt_value *row = with_axes(n, counted(n, dim_of(n, like, 0), BT_INT64), 1, 1),
                   *column = with_axes(n, counted(n, dim_of(n, like, 1), BT_INT64), 0, 1);
    return emit2(n, "equal", NULL, plus(n, row, emit_int(n, k)), column);
}

static void eye_like(bt_onnx_node *n)
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
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Det-11", determinant, NULL },
    { "ai.onnx.MatMul-1", matmul, NULL }, { "ai.onnx.Gemm-1", gemm, NULL }, { "ai.onnx.Einsum-12", einsum, NULL },
    { "com.microsoft.FusedMatMul-1", fused_matmul, NULL }, { "com.microsoft.TransposeMatMul-1", fused_matmul, NULL },
    { "ai.onnx.Trilu-14", trilu, NULL }, { "com.microsoft.Trilu-1", trilu, NULL }, { "ai.onnx.EyeLike-9", eye_like, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_matrix[] = { BT_ONNX_OPERATORS(operators), { 0 } };
