/* Joining, cutting, repeating, padding. */
#include "arith.h"

#include <string.h>

/* ---- joining and splitting ---- */

static void concat(bt_onnx_node *n)
{
    uint32_t count = n->ninput;
    const bt_value **fields = BT_NEWS(n->im->arena, const bt_value *, count);
    if (!fields) {
        n->status = bt_no_memory();
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        fields[i] = node_need(n, i);
    const char *attrs = node_format(n, "axis=%lld", (long long)node_int(n, "axis", 1));
    node_out(n, 0, emit_list(n, "concatenate", attrs, count, fields));
}

/* Sizes of the parts, by attribute or input; none: equal parts. */
static void read_sizes(bt_onnx_node *n, int64_list *out)
{
    const struct onnx_attr *attr = node_attr(n, "split", ATTR_INTS);
    const bt_value *input = node_in(n, 1);
    if (attr)
        *out = attr->ints;
    else if (input && !value_ints(n, input, out))
        node_unknown(n, "the sizes are", input);
    if (!n->status && out->len && out->len != n->proto->outputs.len)
        node_fail(n, BT_ERR_FORMAT, "%u sizes for %u outputs", out->len,
                  n->proto->outputs.len);
}

/* Where parts end, from sizes, or so that all parts but the last are of one size. */
static int64_t *part_ends(bt_onnx_node *n, int64_t total, uint32_t count,
                          const int64_list *sizes)
{
    int64_t *at = BT_NEWS(n->im->arena, int64_t, count), sum = 0;
    if (!at)
        n->status = bt_no_memory();
    for (uint32_t i = 0; !n->status && i < count; i++) {
        int64_t part = sizes->len ? sizes->at[i] : bt_ceildiv_int64(total, count);
        if (part < 0)
            node_fail(n, BT_ERR_FORMAT, "the size of output %u is %lld", i,
                      (long long)part);
        else if (!bt_add_int64(sum, part, &sum))
            node_fail(n, BT_ERR_FORMAT, "the sum of the sizes has more than 63 bits");
        at[i] = !sizes->len && sum > total ? total : sum;
    }
    return n->status ? NULL : at;
}

/* A constant is cut at once, so that its parts are constants too. */
static void split_constant(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                           const int64_t *ends)
{
    for (uint32_t i = 0; i < n->proto->outputs.len; i++)
        node_out(n, i, sliced(n, x, axis, i ? ends[i - 1] : 0, ends[i]));
}

static void split_value(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                        const char *where)
{
    const bt_value *parts = emit1(
        n, "split", node_format(n, "indices_or_sections=%s, axis=%u", where, axis), x);
    for (uint32_t i = 0; i < n->proto->outputs.len; i++) {
        if (node_wants(n, i))
            node_out(n, i, emit_proj(n, parts, i));
    }
}

static void split(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t axis = node_axis(n, node_int(n, "axis", 0), value_rank(n, x)),
             count = n->proto->outputs.len;
    int64_t total = n->status ? 0 : value_dim(n, x, axis);
    int64_list sizes = { 0 };
    read_sizes(n, &sizes);
    if (count < 2 || n->status) {
        node_out(n, 0, x);
        return;
    }
    /* Of a symbolic size, equal parts. */
    if (!sizes.len && total < 0) {
        split_value(n, x, axis, node_format(n, "%u", count));
        return;
    }
    const int64_t *ends = part_ends(n, total, count, &sizes);
    if (n->status)
        return;
    if (known_tensor(n, x))
        split_constant(n, x, axis, ends);
    else
        split_value(n, x, axis, format_ints(n, count - 1, ends));
}

/* ---- slices ---- */

struct slice_lists {
    int64_list begins, ends, axes, steps;
};

static void slice_by(bt_onnx_node *n, const bt_value *x, struct slice_lists *s)
{
    uint32_t rank = value_rank(n, x), count = s->begins.len;
    if (s->ends.len != count || (s->axes.len && s->axes.len != count) ||
        (s->steps.len && s->steps.len != count) || count > rank)
        node_fail(n, BT_ERR_FORMAT,
                  "starts, ends, axes and steps have different lengths, or more than %u",
                  rank);
    for (uint32_t i = s->axes.len; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &s->axes, (int64_t)i))
            n->status = bt_no_memory();
    }
    for (uint32_t i = s->steps.len; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &s->steps, 1))
            n->status = bt_no_memory();
    }
    if (n->status)
        return;
    const char *attrs = node_format(
        n, "begin=%s, end=%s, strides=%s, axes=%s", format_ints(n, count, s->begins.at),
        format_ints(n, count, s->ends.at), format_ints(n, count, s->steps.at),
        format_ints(n, count, s->axes.at));
    node_out(n, 0, count ? emit1(n, "strided_slice", attrs, x) : x);
}

static void slice_attrs(bt_onnx_node *n)
{
    const struct onnx_attr *begins = node_attr(n, "starts", ATTR_INTS),
                           *ends = node_attr(n, "ends", ATTR_INTS),
                           *axes = node_attr(n, "axes", ATTR_INTS);
    struct slice_lists s = { .begins = { 0 } };
    if (!begins || !ends)
        node_fail(n, BT_ERR_FORMAT, "starts or ends are missing");
    if (n->status)
        return;
    s.begins.at = begins->ints.at;
    s.begins.len = begins->ints.len;
    s.ends = ends->ints;
    if (axes)
        s.axes = axes->ints;
    s.axes.cap = s.axes.len;
    slice_by(n, node_need(n, 0), &s);
}

/* A vector with an element for each axis: those of `list` at their axes, else `rest`. */
static const bt_value *by_axis(bt_onnx_node *n, const bt_value *list, uint32_t rank,
                               const int64_list *axes, int64_t rest)
{
    const bt_value *parts[BT_MAX_RANK];
    list = cast_to(n, list, BT_INT64);
    for (uint32_t i = 0; i < rank; i++)
        parts[i] = emit_ints(n, 1, &rest);
    for (uint32_t i = 0; !n->status && i < axes->len; i++)
        parts[node_axis(n, axes->at[i], rank)] = sliced(n, list, 0, i, (int64_t)i + 1);
    return n->status ? NULL : joined(n, 0, rank, parts);
}

/* Axes are known; starts and ends, and steps, come at run time. */
static void slice_at_run_time(bt_onnx_node *n, const bt_value *x, struct slice_lists *s)
{
    const bt_value *begins = node_need(n, 1), *ends = node_need(n, 2),
                   *steps = node_in(n, 4);
    uint32_t rank = value_rank(n, x);
    int64_t count = value_dim(n, begins, 0), one = 1;
    if (count < 0 || count > rank)
        node_unknown(n, "how many axes are sliced is", begins);
    for (int64_t i = s->axes.len; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &s->axes, i))
            n->status = bt_no_memory();
    }
    if (n->status)
        return;
    const bt_value *args[4] = { x, by_axis(n, begins, rank, &s->axes, 0),
                                by_axis(n, ends, rank, &s->axes, INT64_MAX),
                                steps ? by_axis(n, steps, rank, &s->axes, 1)
                                      : emit_ints(n, 1, &one) };
    node_out(n, 0, emit(n, "dyn.strided_slice", NULL, 4, args));
}

/* Whether a slice ends where types tell, at no axis counted from its end: its begins. */
static int ends_known(bt_onnx_node *n, const struct slice_lists *s, uint32_t rank,
                      int64_list *begins, const bt_type *const **ends)
{
    uint32_t nend;
    int ok = value_ints(n, node_need(n, 1), begins) &&
             value_dims(n, node_need(n, 2), &nend, ends) && nend == begins->len &&
             nend <= rank && (!s->axes.len || s->axes.len == nend);
    for (uint32_t i = 0; ok && i < nend; i++) {
        int64_t low, high;
        bt_dim_bounds((*ends)[i], &low, &high);
        ok = begins->at[i] >= 0 && low >= 0 && !((*ends)[i]->has & BT_HAS_OPAQUE);
    }
    for (uint32_t i = 0; ok && i < s->steps.len; i++)
        ok = s->steps.at[i] == 1;
    return ok;
}

/* As many elements of an axis as there are before `end`, at most all; the first `begin` of
 * them are gone already. */
static const bt_type *rest_before(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                                  int64_t begin, const bt_type *end)
{
    const bt_type *extent = dim_of(n, x, axis), *from = dim_number(n, begin),
                  *zero = dim_number(n, 0), *out = NULL;
    bt_store *store = n->im->store;
    if (extent && from && zero && (out = bt_dim_sub(store, end, from)) &&
        (out = bt_dim_max(store, out, zero)))
        out = bt_dim_min(store, out, extent);
    if (!out && !n->status)
        n->status = bt_store_why(n->im->ctx, store);
    return out;
}

/* The type of the result is then known, whatever the sizes are. */
static void slice_to_dims(bt_onnx_node *n, const bt_value *x, const struct slice_lists *s,
                          const int64_list *begins, const bt_type *const *ends)
{
    const bt_type *dims[BT_MAX_RANK];
    int64_t axes[BT_MAX_RANK];
    uint32_t rank = value_rank(n, x);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = dim_number(n, 1);
    for (uint32_t i = 0; !n->status && i < begins->len; i++) {
        uint32_t axis = node_axis(n, s->axes.len ? s->axes.at[i] : i, rank);
        if (begins->at[i])
            x = sliced(n, x, axis, begins->at[i], INT64_MAX);
        axes[i] = axis;
        dims[axis] = n->status ? NULL : rest_before(n, x, axis, begins->at[i], ends[i]);
    }
    if (n->status)
        return;
    const bt_value *like = emit_shaped(n, "full", "shape=[], dtype=\"int8\"", "shape",
                                       emit_scalar(n, BT_INT8, 0), rank, dims);
    node_out(n, 0,
             emit2(n, "slice_like",
                   node_format(n, "axes=%s", format_ints(n, begins->len, axes)), x,
                   like));
}

static void slice_inputs(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *axes = node_in(n, 3), *steps = node_in(n, 4);
    const bt_type *const *dims;
    struct slice_lists s = { .begins = { 0 } };
    int64_list begins = { 0 };
    if (axes && !value_ints(n, axes, &s.axes))
        node_unknown(n, "the axes are", axes);
    int knows_steps = !n->status && (!steps || value_ints(n, steps, &s.steps));
    if (n->status)
        return;
    if (knows_steps && value_ints(n, node_need(n, 1), &s.begins) &&
        value_ints(n, node_need(n, 2), &s.ends))
        slice_by(n, x, &s);
    else if (knows_steps && ends_known(n, &s, value_rank(n, x), &begins, &dims))
        slice_to_dims(n, x, &s, &begins, dims);
    else
        slice_at_run_time(n, x, &s);
}

/* ---- repeating ---- */

static void tile(bt_onnx_node *n)
{
    int64_list repeats = { 0 };
    const bt_value *x = node_need(n, 0), *reps = node_need(n, 1);
    if (value_ints(n, reps, &repeats))
        node_out(n, 0,
                 emit1(n, "tile",
                       node_format(n, "reps=%s", format_ints(n, repeats.len, repeats.at)),
                       x));
    else
        node_out(n, 0, emit2(n, "dyn.tile", NULL, x, reps));
}

/* Operator set 1: a count and an axis. */
static void tile_axis(bt_onnx_node *n)
{
    int64_list count = { 0 }, axis = { 0 };
    const bt_value *x = node_need(n, 0);
    if (!value_ints(n, node_need(n, 1), &count) || count.len != 1)
        node_unknown(n, "the count is", node_in(n, 1));
    if (!value_ints(n, node_need(n, 2), &axis) || axis.len != 1)
        node_unknown(n, "the axis is", node_in(n, 2));
    uint32_t rank = value_rank(n, x);
    int64_t reps[BT_MAX_RANK];
    for (uint32_t i = 0; i < BT_MAX_RANK; i++)
        reps[i] = 1;
    if (n->status)
        return;
    reps[node_axis(n, axis.at[0], rank)] = count.at[0];
    node_out(n, 0,
             emit1(n, "tile", node_format(n, "reps=%s", format_ints(n, rank, reps)), x));
}

/* ---- padding ---- */

/* Elements before and after each axis; negative: cut away. */
struct pads {
    uint32_t rank;
    int64_t before[BT_MAX_RANK], after[BT_MAX_RANK];
};

/* ONNX states all begins, then all ends, of the axes given, or of all. */
static void set_pads(bt_onnx_node *n, const bt_value *x, const int64_list *list,
                     const int64_list *axes, struct pads *out)
{
    *out = (struct pads){ .rank = value_rank(n, x) };
    uint32_t count = axes ? axes->len : out->rank;
    if (list->len != 2 * count)
        node_fail(n, BT_ERR_FORMAT, "%u pads for %u axes", list->len, count);
    for (uint32_t i = 0; !n->status && i < count; i++) {
        uint32_t axis = axes ? node_axis(n, axes->at[i], out->rank) : i;
        out->before[axis] = list->at[i];
        out->after[axis] = list->at[count + i];
    }
}

/* The axis as a ring: positions are counted modulo its size. */
static const bt_value *wrapped(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                               int64_t before, int64_t after)
{
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", x);
    const bt_value *size = as_scalar(n, sliced(n, shape, 0, axis, (int64_t)axis + 1));
    const bt_value *at = emit3(n, "arange", NULL, emit_int(n, -before),
                               plus(n, size, emit_int(n, after)), emit_int(n, 1));
    return emit2(n, "take", node_format(n, "axis=%u, mode=\"wrap\"", axis), x, at);
}

static void pad_by(bt_onnx_node *n, const bt_value *x, const struct pads *pads,
                   const bt_value *fill)
{
    const char *mode = node_text(n, "mode", "constant");
    int64_t width[2 * BT_MAX_RANK];
    if (strcmp(mode, "wrap") == 0) {
        for (uint32_t i = 0; !n->status && i < pads->rank; i++) {
            if (pads->before[i] || pads->after[i])
                x = wrapped(n, x, i, pads->before[i], pads->after[i]);
        }
        node_out(n, 0, x);
        return;
    }
    if (strcmp(mode, "constant") != 0 && strcmp(mode, "edge") != 0 &&
        strcmp(mode, "reflect") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    for (uint32_t i = 0; i < pads->rank; i++) {
        width[2 * i] = pads->before[i];
        width[2 * i + 1] = pads->after[i];
    }
    const char *attrs = node_format(n, "pad_width=%s, pad_mode=\"%s\"",
                                    format_ints(n, 2 * pads->rank, width), mode);
    node_out(n, 0,
             fill ? emit2(n, "nn.pad", attrs, x, fill) : emit1(n, "nn.pad", attrs, x));
}

static void pad_attr(bt_onnx_node *n)
{
    const char *name = n->opset < 2 ? "paddings" : "pads";
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INTS);
    const bt_value *x = node_need(n, 0);
    struct pads pads;
    if (!attr)
        node_fail(n, BT_ERR_FORMAT, "%s are missing", name);
    if (!n->status)
        set_pads(n, x, &attr->ints, NULL, &pads);
    if (!n->status)
        pad_by(n, x, &pads, scalar_like(n, x, node_float(n, "value", 0)));
}

/* How much comes before each of `count` axes and, behind these, after it: known to the run
 * alone. */
static void pad_at_run_time(bt_onnx_node *n, const bt_value *x, const int64_list *axes,
                            const bt_value *fill)
{
    const char *mode = node_text(n, "mode", "constant");
    const bt_value *pads = node_need(n, 1);
    uint32_t rank = value_rank(n, x), count = axes ? axes->len : rank;
    int64_list all = { 0 };
    for (uint32_t i = 0; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &all, axes ? axes->at[i] : i))
            n->status = bt_no_memory();
    }
    if (strcmp(mode, "wrap") == 0)
        node_unknown(n, "the pads are", pads);
    if (n->status)
        return;
    const bt_value *both[2] = { by_axis(n, sliced(n, pads, 0, 0, count), rank, &all, 0),
                                by_axis(n, sliced(n, pads, 0, count, 2 * (int64_t)count),
                                        rank, &all, 0) };
    const bt_value *args[3] = { x, emit_list(n, "stack", "axis=1", 2, both), fill };
    node_out(n, 0,
             emit(n, "dyn.nn.pad", node_format(n, "pad_mode=\"%s\"", mode), fill ? 3 : 2,
                  args));
}

static void pad(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *fill = node_in(n, 2), *axes = node_in(n, 3);
    int64_list list = { 0 }, axis_list = { 0 };
    struct pads pads;
    if (axes && !value_ints(n, axes, &axis_list))
        node_unknown(n, "the axes are", axes);
    fill = fill && !n->status ? as_scalar(n, fill) : NULL;
    if (n->status)
        return;
    if (!value_ints(n, node_need(n, 1), &list)) {
        pad_at_run_time(n, x, axes ? &axis_list : NULL, fill);
        return;
    }
    set_pads(n, x, &list, axes ? &axis_list : NULL, &pads);
    if (!n->status)
        pad_by(n, x, &pads, fill);
}

/* Cut or padded evenly about the centre, to a shape. */
static void centre_crop_pad(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const struct onnx_attr *attr = node_attr(n, "axes", ATTR_INTS);
    int64_list shape = { 0 };
    if (!value_ints(n, node_need(n, 1), &shape))
        node_unknown(n, "the shape is", node_in(n, 1));
    struct pads pads = { .rank = value_rank(n, x) };
    uint32_t count = attr ? attr->ints.len : pads.rank;
    if (shape.len != count)
        node_fail(n, BT_ERR_FORMAT, "%u sizes for %u axes", shape.len, count);
    for (uint32_t i = 0; !n->status && i < count; i++) {
        uint32_t axis = attr ? node_axis(n, attr->ints.at[i], pads.rank) : i;
        int64_t have = n->status ? 0 : value_dim(n, x, axis), want = shape.at[i];
        if (have < 0 || want < 0)
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "axis %u is negative, or has a symbolic size: bind it with --dim",
                      axis);
        /* The odd element goes to the end when padding, and stays there when cutting. */
        int64_t less = have > want ? have - want : want - have;
        pads.before[axis] = have > want ? -(less / 2) : less / 2;
        pads.after[axis] = want - have - pads.before[axis];
    }
    const char *attrs;
    int64_t width[2 * BT_MAX_RANK];
    for (uint32_t i = 0; i < pads.rank; i++) {
        width[2 * i] = pads.before[i];
        width[2 * i + 1] = pads.after[i];
    }
    attrs = node_format(n, "pad_width=%s", format_ints(n, 2 * pads.rank, width));
    node_out(n, 0, emit1(n, "nn.pad", attrs, x));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Concat-1", concat, NULL }, { "ai.onnx.Split-1", split, NULL },
    { "ai.onnx.Slice-1", slice_attrs, NULL }, { "ai.onnx.Slice-10", slice_inputs, NULL },
    { "ai.onnx.Tile-1", tile_axis, NULL }, { "ai.onnx.Tile-6", tile, NULL },
    { "ai.onnx.Pad-1", pad_attr, NULL }, { "ai.onnx.Pad-11", pad, NULL }, { "ai.onnx.CenterCropPad-18", centre_crop_pad, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_join[] = { BT_ONNX_OPERATORS(operators), { 0 } };
