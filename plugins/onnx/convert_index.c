/* Elements by position: gather and scatter, choices, order, ranges. */
#include "arith.h"

#include <string.h>

/* ---- gathering ---- */

static void gather(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "axis=%lld, mode=\"fast\"", (long long)node_int(n, "axis", 0));
    node_out(n, 0, emit2(n, "take", attrs, node_need(n, 0), node_need(n, 1)));
}

static void gather_elements(bt_onnx_node *n)
{
    const char *attrs = node_format(n, "axis=%lld", (long long)node_int(n, "axis", 0));
    node_out(n, 0, emit2(n, "gather", attrs, node_need(n, 0), node_need(n, 1)));
}

/* ONNX has the positions along the last axis, Relay along the first. */
static const bt_value *last_axis_first(bt_onnx_node *n, const bt_value *indices)
{
    int64_t axes[BT_MAX_RANK];
    uint32_t rank = value_rank(n, indices);
    if (!rank)
        node_fail(n, BT_ERR_FORMAT, "indices have rank 0; at least 1 is needed");
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i ? (int64_t)i - 1 : (int64_t)rank - 1;
    return n->status ? NULL : transposed(n, indices, rank, axes);
}

static void gather_nd(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "batch_dims=%lld", (long long)node_int(n, "batch_dims", 0));
    node_out(n, 0,
             emit2(n, "gather_nd", attrs, node_need(n, 0),
                   last_axis_first(n, node_need(n, 1))));
}

/* Slices where a condition holds; it may be shorter than the axis. */
static void compress(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *condition = node_need(n, 1);
    const bt_type *all = n->status ? NULL : dims_product(n, x, 0, value_rank(n, x));
    int64_t axis = 0;
    if (node_has(n, "axis"))
        axis = node_int(n, "axis", 0);
    else if (all)
        x = reshaped(n, x, 1, &all);
    const bt_value *at = without_axis(n, applied(n, "argwhere", condition), 1);
    node_out(n, 0,
             emit2(n, "take", node_format(n, "axis=%lld, mode=\"fast\"", (long long)axis),
                   x, at));
}

static void nonzero(bt_onnx_node *n)
{
    const bt_value *at = applied(n, "argwhere", node_need(n, 0));
    node_out(n, 0, cast_to(n, emit1(n, "transpose", "axes=[1, 0]", at), BT_INT64));
}

/* Elements of the last axis; a vector is a row. */
static void array_feature_extractor(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *at = node_need(n, 1);
    x = value_rank(n, x) == 1 ? with_axes(n, x, 0, 1) : x;
    if (n->status)
        return;
    const bt_type *all = dims_product(n, at, 0, value_rank(n, at));
    node_out(n, 0,
             emit2(n, "take", "axis=-1, mode=\"fast\"", x, reshaped(n, at, 1, &all)));
}

/* ---- scattering ---- */

static const char *reduction(bt_onnx_node *n)
{
    const char *name = node_text(n, "reduction", "none");
    static const char *const known[] = { "add", "mul", "min", "max" };
    for (uint32_t i = 0; i < BT_COUNT(known); i++) {
        if (strcmp(name, known[i]) == 0)
            return known[i];
    }
    if (strcmp(name, "none") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "reduction %s is not known", name);
    return "update";
}

static void scatter_elements(bt_onnx_node *n)
{
    const char *attrs = node_format(n, "axis=%lld, reduction=\"%s\"",
                                    (long long)node_int(n, "axis", 0), reduction(n));
    node_out(n, 0,
             emit3(n, "scatter_elements", attrs, node_need(n, 0), node_need(n, 1),
                   node_need(n, 2)));
}

static void scatter_nd(bt_onnx_node *n)
{
    const bt_value *data = node_need(n, 0),
                   *indices = last_axis_first(n, node_need(n, 1));
    node_out(n, 0,
             emit3(n, "scatter_nd", node_format(n, "mode=\"%s\"", reduction(n)), data,
                   indices, node_need(n, 2)));
}

/* ---- one-hot ---- */

/* Numbers below 0 count from the end; others outside are off everywhere. */
static void one_hot(bt_onnx_node *n)
{
    const bt_value *at = cast_to(n, node_need(n, 0), BT_INT64), *depth = node_need(n, 1),
                   *values = node_need(n, 2);
    int64_list count = { 0 };
    if (n->status)
        return;
    depth = as_scalar(n, cast_to(n, depth, BT_INT64));
    const bt_value *is_negative = emit2(n, "less", NULL, at, emit_int(n, 0));
    at = chosen(n, is_negative, plus(n, at, depth), at);
    const bt_value *on = as_scalar(n, sliced(n, values, 0, 1, 2)),
                   *off = as_scalar(n, sliced(n, values, 0, 0, 1));
    const char *axis = node_format(n, "axis=%lld", (long long)node_int(n, "axis", -1));
    const bt_value *args[4] = { at, on, off, depth };
    if (value_ints(n, depth, &count) && count.len == 1)
        node_out(n, 0,
                 emit(n, "one_hot",
                      node_format(n, "%s, depth=%lld", axis, (long long)count.at[0]), 3,
                      args));
    else
        node_out(n, 0, emit(n, "dyn.one_hot", axis, 4, args));
}

/* ---- order ---- */

/* The first k along an axis of what topk gave. */
static const bt_value *first_ones(bt_onnx_node *n, const bt_value *x, const bt_value *k,
                                  int64_t axis)
{
    const bt_value *places =
        emit3(n, "arange", NULL, emit_int(n, 0), as_scalar(n, k), emit_int(n, 1));
    return emit2(n, "take", node_format(n, "axis=%lld, mode=\"fast\"", (long long)axis),
                 x, places);
}

/* Whether k is known to be 1 or more. Relay's topk takes 0 for all elements, ONNX for
 * none. */
static int is_positive(bt_onnx_node *n, const bt_value *k)
{
    uint32_t count;
    const bt_type *const *dims;
    int64_t low = 0, high;
    if (k && value_dims(n, k, &count, &dims) && count == 1)
        bt_dim_bounds(dims[0], &low, &high);
    return low >= 1;
}

static void topk_of(bt_onnx_node *n, const bt_value *k, int64_t count)
{
    int64_t axis = node_int(n, "axis", -1);
    const char *attrs =
        node_format(n, "axis=%lld, is_ascend=%s, dtype=\"int64\"%s", (long long)axis,
                    format_bool(!node_int(n, "largest", 1)),
                    k ? "" : node_format(n, ", k=%lld", (long long)count));
    if (!k && count < 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "k is %lld; 0 or more is expected",
                  (long long)count);
    const bt_value *both = k ? emit2(n, "dyn.topk", attrs, node_need(n, 0), k)
                             : emit1(n, "topk", attrs, node_need(n, 0));
    int is_cut = k ? !is_positive(n, k) : count == 0;
    k = k ? k : emit_int(n, count);
    for (uint32_t i = 0; i < 2; i++) {
        if (!node_wants(n, i))
            continue;
        const bt_value *some = emit_proj(n, both, i);
        node_out(n, i, is_cut ? first_ones(n, some, k, axis) : some);
    }
}

static void topk_attr(bt_onnx_node *n)
{
    topk_of(n, NULL, node_int(n, "k", 0));
}

static void topk(bt_onnx_node *n)
{
    const bt_value *k = node_need(n, 1);
    int64_list count = { 0 };
    int is_known = value_ints(n, k, &count) && count.len == 1;
    topk_of(n, is_known ? NULL : k, is_known ? count.at[0] : 0);
}

/* Of all elements; of slices along an axis where that is the only one. */
static void unique(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x);
    if (node_has(n, "axis") && rank != 1)
        node_fail(n, BT_ERR_UNSUPPORTED, "slices along an axis are not supported");
    const bt_type *all = n->status ? NULL : dims_product(n, x, 0, rank);
    if (!all)
        return;
    int counts = node_wants(n, 3);
    const char *attrs =
        node_format(n, "sorted=%s, return_counts=%s",
                    format_bool(node_int(n, "sorted", 1) != 0), format_bool(counts));
    const bt_value *found = emit1(n, "unique", attrs, reshaped(n, x, 1, &all));
    if (node_wants(n, 0))
        node_out(n, 0, emit_proj(n, found, 0));
    for (uint32_t i = 1; i < 4; i++) {
        if (node_wants(n, i))
            node_out(n, i, cast_to(n, emit_proj(n, found, i < 3 ? i : 4), BT_INT64));
    }
}

static void reverse_sequence(bt_onnx_node *n)
{
    const char *attrs = node_format(n, "seq_axis=%lld, batch_axis=%lld",
                                    (long long)node_int(n, "time_axis", 0),
                                    (long long)node_int(n, "batch_axis", 1));
    node_out(n, 0, emit2(n, "reverse_sequence", attrs, node_need(n, 0), node_need(n, 1)));
}

/* How many numbers there are from an integer up by ones, where types tell; NULL: they do
 * not, or the limit is a number. */
static const bt_type *range_extent(bt_onnx_node *n, const bt_value *limit, int64_t start)
{
    const bt_type *const *dims, *from = dim_number(n, start), *zero = dim_number(n, 0),
                                *out;
    uint32_t ndim;
    int64_t number;
    if (!value_dims(n, limit, &ndim, &dims) || ndim != 1 || n->status ||
        (dims[0]->has & BT_HAS_OPAQUE) || bt_dim_is_const(dims[0], &number))
        return NULL;
    out = bt_dim_sub(n->im->store, dims[0], from);
    out = out ? bt_dim_max(n->im->store, out, zero) : NULL;
    if (!out)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    return out;
}

static void range(bt_onnx_node *n)
{
    const bt_value *start = node_need(n, 0), *limit = node_need(n, 1),
                   *delta = node_need(n, 2);
    int64_list from = { 0 }, step = { 0 };
    int by_ones = value_ints(n, start, &from) && value_ints(n, delta, &step) &&
                  from.len == 1 && from.at[0] == (int32_t)from.at[0] && step.len == 1 &&
                  step.at[0] == 1;
    const bt_type *extent = by_ones ? range_extent(n, limit, from.at[0]) : NULL;
    node_out(n, 0,
             extent ? plus_number(n, counted(n, extent, value_dtype(limit)),
                                  (double)from.at[0])
                    : emit3(n, "arange", NULL, as_scalar(n, start), as_scalar(n, limit),
                            as_scalar(n, delta)));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Gather-1", gather, NULL }, { "ai.onnx.GatherElements-11", gather_elements, NULL }, { "ai.onnx.GatherND-11", gather_nd, NULL },
    { "ai.onnx.Compress-9", compress, NULL }, { "ai.onnx.NonZero-9", nonzero, NULL },
    { "ai.onnx.ml.ArrayFeatureExtractor-1", array_feature_extractor, NULL },
    { "ai.onnx.Scatter-9", scatter_elements, NULL }, { "ai.onnx.ScatterElements-11", scatter_elements, NULL },
    { "ai.onnx.ScatterND-11", scatter_nd, NULL }, { "ai.onnx.OneHot-9", one_hot, NULL },
    { "ai.onnx.TopK-1", topk_attr, NULL }, { "ai.onnx.TopK-10", topk, NULL }, { "ai.onnx.Unique-11", unique, NULL },
    { "ai.onnx.ReverseSequence-10", reverse_sequence, NULL }, { "ai.onnx.Range-11", range, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_index[] = { BT_ONNX_OPERATORS(operators), { 0 } };
