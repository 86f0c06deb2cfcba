/*
 * trilu, matrix_set_diag: triangles and diagonals of the last two axes.
 *     trilu(x, k, upper=True)    y[.., i, j] = j - i >= k ? x[.., i, j] : 0
 *     matrix_set_diag(x, d)      y[.., i, j] = i == j ? d[.., i] : x[.., i, j]
 * source  Relay, operators of the same names; ONNX Trilu-14; TensorFlow MatrixSetDiagV3
 */
#include "formula.h"

struct trilu_attrs {
    int64_t upper;
};
static const bt_attr trilu_attrs[] = {
    BT_ATTR(struct trilu_attrs, upper, BOOL, "True", "keep the part above, not below"),
    { 0 },
};

static void write_trilu(bt_formula *f, const bt_formula_call *call)
{
    const struct trilu_attrs *a = call->attrs;
    bt_formula_add(f,
                   "y: t[.., i in m, j in n] = "
                   "select(j - i %s index(k[]), data[.., i, j], t(0))",
                   a->upper ? ">=" : "<=");
}

/* ---- matrix_set_diag ---- */

struct diag_attrs {
    int64_t k1, k2, super_diag_right_align, sub_diag_right_align;
};
static const bt_attr diag_attrs[] = {
    BT_ATTR_RANGE(struct diag_attrs, k1, INT, "0", INT32_MIN, INT32_MAX,
                  "lowest diagonal to set; 0: the main one, above it positive"),
    BT_ATTR_RANGE(struct diag_attrs, k2, INT, "0", INT32_MIN, INT32_MAX,
                  "highest diagonal to set"),
    BT_ATTR(struct diag_attrs, super_diag_right_align, BOOL, "True",
            "short diagonals from 0 up stand at the end of their row"),
    BT_ATTR(struct diag_attrs, sub_diag_right_align, BOOL, "False",
            "short diagonals below 0 stand at the end of their row"),
    { 0 },
};

/* min(rows + min(k2, 0), columns - max(k1, 0)): the longest of the diagonals. */
static const bt_type *longest(bt_store *store, const struct diag_attrs *a,
                              const bt_type *rows, const bt_type *columns)
{
    const bt_type *low = bt_dim_scale(store, rows, 1, a->k2 < 0 ? a->k2 : 0);
    const bt_type *high = bt_dim_scale(store, columns, 1, a->k1 > 0 ? -a->k1 : 0);
    return low && high ? bt_dim_min(store, low, high) : NULL;
}

static bt_status relate_diag(bt_solver *s, const bt_relation_call *r)
{
    const struct diag_attrs *a = r->attrs;
    bt_tensor_parts data, diagonal;
    const bt_type *dims[2], *length, *count;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (data.rank < 2 || a->k1 > a->k2)
        return bt_relation_fail(s, r, -1, "needs two axes and k1 <= k2; k1=%lld, k2=%lld",
                                (long long)a->k1, (long long)a->k2);
    uint32_t batch = data.rank - 2, nrow = a->k1 != a->k2;
    BT_TRY(bt_relation_tensor_rank(s, r, 1, batch + nrow + 1, &diagonal));
    BT_TRY(bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype));
    for (uint32_t k = 0; k < batch; k++)
        BT_TRY(bt_relation_unify(s, r, data.dims[k], diagonal.dims[k],
                                 "leading dims of input and diagonal"));
    for (uint32_t k = 0; k < 2; k++)
        BT_TRY(bt_relation_dim(s, r, data.dims[batch + k], &dims[k]));
    length = longest(bt_relation_store(s), a, dims[0], dims[1]);
    count = bt_dim(bt_relation_store(s), a->k2 - a->k1 + 1);
    if (!length || !count)
        return bt_relation_result(s, r, NULL);
    if (nrow)
        BT_TRY(bt_relation_unify(s, r, diagonal.dims[batch], count,
                                 "rows of diagonal and k2 - k1 + 1"));
    return bt_relation_unify(s, r, diagonal.dims[batch + nrow], length,
                             "columns of diagonal and the longest diagonal of input");
}

/* Element (i, j) on diagonal q = j - i is number min(i, j) of that diagonal, which is
 * moved right by what it is shorter than the longest where it is aligned there. */
static void write_diag(bt_formula *f, const bt_formula_call *call)
{
    const struct diag_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t i = rank - 2, j = rank - 1, last = rank - 2 + (a->k1 != a->k2);
    bt_formula_each(f, "y", 0, rank, "i# in extent(input, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "q", "i%u - i%u", j, i);
    bt_formula_item(f, "number", "min(i%u, i%u)", i, j);
    if (a->super_diag_right_align || a->sub_diag_right_align)
        // the length of diagonal q: min(columns - max(q, 0), rows + min(q, 0))
        bt_formula_item(f, "number",
                        "select(i%u >= i%u, %d, %d) * (longest - min(extent(input, %u) - "
                        "max($q, 0), extent(input, %u) + min($q, 0)))",
                        j, i, a->super_diag_right_align != 0,
                        a->sub_diag_right_align != 0, j, i);
    bt_formula_each(f, "at", 0, rank - 2, "i#");
    if (a->k1 != a->k2)
        bt_formula_item(f, "at", "%lld - ($q)", (long long)a->k2);
    bt_formula_item(f, "at", "$[ + ]number");
    bt_formula_add(
        f,
        "longest = extent(diagonal, %u); "
        "y: t[$y] = select($q >= %lld && $q <= %lld, diagonal[$at], input[$i])",
        last, (long long)a->k1, (long long)a->k2);
}

/* ---- rows ---- */

static const bt_op_input trilu_in[] = {
    { .name = "data", .type = "t:any[.., m, n]", .doc = "matrices" },
    { .name = "k",
      .type = "u:integer[]",
      .doc = "the diagonal to cut at; 0: the main one" },
    { 0 },
};
static const bt_op_input diag_in[] = {
    { .name = "input", .type = "t:any[..]", .doc = "matrices in the last two axes" },
    { .name = "diagonal",
      .type = "t[..]",
      .doc = "one diagonal, or from k2 down to k1 as rows" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "trilu",
        .revision = 1,
        .doc = "Keeps a triangle of matrices; the rest is 0.\nThe type stays.",
        .source = "Relay, trilu; ONNX Trilu-14",
        .inputs = trilu_in,
        .attrs = trilu_attrs,
        .attrs_nbytes = sizeof(struct trilu_attrs),
        .relation = "Identity",
        .write_formula = write_trilu,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[3, 4], int32[] = -2..2\nint8[2, 3, 3], "
                                   "int64[] = -2..2 | upper=False\n"
                                   "bool[2, 2], int32[] = 0..1\nfloat32[0, 3], int32[]")),
    },
    {
        .name = "matrix_set_diag",
        .revision = 1,
        .doc = "Replaces diagonals of matrices.\nThe type of input stays.",
        .source = "Relay, matrix_set_diag; TensorFlow MatrixSetDiagV3",
        .inputs = diag_in,
        .attrs = diag_attrs,
        .attrs_nbytes = sizeof(struct diag_attrs),
        .relate = relate_diag,
        .write_formula = write_diag,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[3, 4], float32[3]\nint8[2, 3, 3], int8[2, 2] | k1=1, k2=1\n"
            "float32[3, 4], float32[3, 3] | k1=-1, k2=1\n"
            "float32[3, 4], float32[2, 3] | k1=-1, k2=0, super_diag_right_align=False, "
            "sub_diag_right_align=True\nfloat32[2, 2], float32[1] | k1=-1, k2=-1")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_triangle[] = { BT_OPS(ops), { 0 } };
