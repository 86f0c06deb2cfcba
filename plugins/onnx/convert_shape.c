/* Shapes and movement: constants, reshape, transpose, slices, gathers. */
#include "convert_shape.h"

#include <string.h>

/* ---- constants ---- */

static void constant(struct node *n)
{
    const struct onnx_attr *value = node_attr(n, "value", ATTR_TENSOR),
                           *number = node_attr(n, "value_int", ATTR_INT),
                           *real = node_attr(n, "value_float", ATTR_FLOAT),
                           *ints = node_attr(n, "value_ints", ATTR_INTS),
                           *floats = node_attr(n, "value_floats", ATTR_FLOATS);
    bt_tensor *tensor = NULL;
    if (n->status)
        return;
    if (value && value->t)
        n->status = onnx_tensor_value(n->im->ctx, n->im->model->path, n->im->folder,
                                      value->t, &tensor);
    else if (number)
        n->status = bt_tensor_scalar_int(n->im->ctx, BT_INT64, number->i, &tensor);
    else if (real)
        n->status = bt_tensor_scalar(n->im->ctx, BT_FLOAT32, (double)real->f, &tensor);
    else if (ints || floats)
        n->status = bt_tensor_create(
            n->im->ctx, ints ? BT_INT64 : BT_FLOAT32, 1,
            &(int64_t){ ints ? ints->ints.len : floats->floats.len }, &tensor);
    else
        node_fail(n, BT_ERR_UNSUPPORTED, "a value of this kind is not supported");
    if (n->status)
        return;
    for (int64_t i = 0; (ints || floats) && i < tensor->nelem; i++) {
        if (ints)
            bt_tensor_set_int(tensor, i, ints->ints.at[i]);
        else
            bt_tensor_set(tensor, i, (double)floats->floats.at[i]);
    }
    node_out(n, 0, emit_const(n, tensor));
}

/* A splat stays a call of `full`, however large. */
static void constant_of_shape(struct node *n)
{
    const struct onnx_attr *value = node_attr(n, "value", ATTR_TENSOR);
    const bt_value *shape = node_need(n, 0);
    uint32_t count;
    const bt_type *const *dims;
    bt_tensor *tensor;
    char name[BT_DTYPE_NAME_SIZE];
    if (n->status)
        return;
    n->status = value && value->t ? onnx_tensor_value(n->im->ctx, n->im->model->path,
                                                      NULL, value->t, &tensor)
                                  : bt_tensor_scalar(n->im->ctx, BT_FLOAT32, 0, &tensor);
    if (n->status)
        return;
    bt_tensor *scalar = NULL;
    if (tensor->nelem != 1)
        node_fail(n, BT_ERR_FORMAT, "value has %lld elements where one is expected",
                  (long long)tensor->nelem);
    else
        n->status = bt_tensor_view(n->im->ctx, tensor, 0, NULL, NULL, 0, &scalar);
    bt_tensor_unref(tensor);
    if (n->status)
        return;
    const char *attrs = node_format(n, "shape=[], dtype=\"%s\"",
                                    bt_dtype_name(scalar->dtype, name, sizeof(name)));
    const bt_value *fill = emit_const(n, scalar);
    if (value_dims(n, shape, &count, &dims))
        node_out(n, 0, emit_shaped(n, "full", attrs, "shape", fill, count, dims));
    else
        node_out(n, 0, emit2(n, "dyn.full", NULL, fill, shape));
}

/* ---- shapes ---- */

static void shape(struct node *n)
{
    const bt_value *x = node_need(n, 0),
                   *out = emit1(n, "shape_of", "dtype=\"int64\"", x);
    if (node_has(n, "start") || node_has(n, "end")) {
        const char *attrs = node_format(
            n, "begin=[%lld], end=[%lld], strides=[1], axes=[0]",
            (long long)node_int(n, "start", 0), (long long)node_int(n, "end", INT32_MAX));
        out = emit1(n, "strided_slice", attrs, out);
    }
    node_out(n, 0, out);
}

static void size(struct node *n)
{
    node_out(n, 0, emit1(n, "ndarray_size", "dtype=\"int64\"", node_need(n, 0)));
}

static void reshape(struct node *n)
{
    const bt_value *x = node_need(n, 0), *target = node_need(n, 1);
    uint32_t count;
    const bt_type *const *dims;
    const char *attrs =
        node_int(n, "allowzero", 0) ? "newshape=[0], allowzero=True" : "newshape=[0]";
    if (n->status)
        return;
    if (value_dims(n, target, &count, &dims))
        node_out(n, 0, emit_shaped(n, "reshape", attrs, "newshape", x, count, dims));
    else
        node_out(n, 0, emit2(n, "dyn.reshape", NULL, x, target));
}

static void expand(struct node *n)
{
    const bt_value *x = node_need(n, 0), *target = node_need(n, 1);
    uint32_t count, rank = value_rank(n, x);
    const bt_type *const *dims;
    if (n->status)
        return;
    if (!value_dims(n, target, &count, &dims)) {
        node_fail(n, BT_ERR_UNSUPPORTED, "the shape is not known before run time");
        return;
    }
    /* The shape broadcasts with the data's: where it has 1, or no axis, the data's dim
     * stays. */
    const bt_shape_type *own = bt_tensor_shape(x->type);
    uint32_t out_rank = count > rank ? count : rank;
    const bt_type *out[BT_MAX_RANK];
    if (out_rank > BT_MAX_RANK)
        node_fail(n, BT_ERR_LIMIT, "rank %u; the limit is %u", out_rank, BT_MAX_RANK);
    for (uint32_t i = 0; !n->status && i < out_rank; i++) {
        const bt_type *wanted = i + count >= out_rank ? dims[i + count - out_rank] : NULL;
        const bt_type *had = i + rank >= out_rank ? own->dims[i + rank - out_rank] : NULL;
        int64_t one = 0;
        out[i] =
            !wanted || (had && bt_dim_is_const(wanted, &one) && one == 1) ? had : wanted;
    }
    node_out(n, 0, emit_shaped(n, "broadcast_to", "shape=[]", "shape", x, out_rank, out));
}

static void transpose(struct node *n)
{
    const char *axes = node_ints(n, "perm", "None");
    node_out(n, 0,
             emit1(n, "transpose", node_format(n, "axes=%s", axes), node_need(n, 0)));
}

/* Axes of squeeze and unsqueeze: an attribute before operator set 13, an input since. */
static int read_axes(struct node *n, int64_list *out)
{
    const struct onnx_attr *attr = node_attr(n, "axes", ATTR_INTS);
    const bt_value *input = node_in(n, 1);
    if (attr)
        *out = attr->ints;
    else if (input && !value_ints(n, input, out))
        node_fail(n, BT_ERR_UNSUPPORTED, "axes are not known before run time");
    return (attr || input) && !n->status;
}

static void squeeze(struct node *n)
{
    int64_list axes = { 0 };
    const char *text = read_axes(n, &axes) ? format_ints(n, axes.len, axes.at) : "None";
    node_out(n, 0, emit1(n, "squeeze", node_format(n, "axis=%s", text), node_need(n, 0)));
}

/* Axes count in the result, in any order. */
static void unsqueeze(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    int64_list axes = { 0 };
    if (!read_axes(n, &axes))
        node_fail(n, BT_ERR_FORMAT, "axes are missing");
    uint32_t rank = value_rank(n, x) + axes.len, is_new[BT_MAX_RANK] = { 0 };
    if (rank > BT_MAX_RANK)
        node_fail(n, BT_ERR_LIMIT, "rank %u; the limit is %u", rank, BT_MAX_RANK);
    for (uint32_t i = 0; !n->status && i < axes.len; i++)
        is_new[node_axis(n, axes.at[i], rank)] = 1;
    for (uint32_t i = 0; !n->status && i < rank; i++) {
        if (is_new[i])
            x = emit1(n, "expand_dims", node_format(n, "axis=%u, num_newaxis=1", i), x);
    }
    node_out(n, 0, x);
}

/* ---- joining and cutting ---- */

static void concat(struct node *n)
{
    uint32_t count = node_nin(n);
    const bt_value **fields = BT_NEWS(n->im->arena, const bt_value *, count);
    if (!fields) {
        n->status = bt_no_memory();
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        fields[i] = node_need(n, i);
    const char *attrs = node_format(n, "axis=%lld", (long long)node_int(n, "axis", 1));
    node_out(n, 0, emit1(n, "concatenate", attrs, emit_tuple(n, count, fields)));
}

/* Sizes of the parts become positions to cut at. */
static void split(struct node *n)
{
    const bt_value *x = node_need(n, 0), *input = node_in(n, 1);
    const struct onnx_attr *attr = node_attr(n, "split", ATTR_INTS);
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", 0), rank),
             count = n->proto->outputs.len;
    int64_list sizes = { 0 };
    if (n->status)
        return;
    if (attr)
        sizes = attr->ints;
    else if (input && !value_ints(n, input, &sizes))
        node_fail(n, BT_ERR_UNSUPPORTED, "the sizes are not known before run time");
    int64_t total = value_dim(n, x, axis), at = 0;
    int64_t *cuts = BT_NEWS(n->im->arena, int64_t, (size_t)count + 1);
    if (!cuts)
        n->status = bt_no_memory();
    if (!n->status && !sizes.len && total < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "axis %u has a symbolic size: bind it with --dim", axis);
    if (!n->status && sizes.len && sizes.len != count)
        node_fail(n, BT_ERR_FORMAT, "%u sizes for %u outputs", sizes.len, count);
    if (n->status)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (!bt_add_int64(at, sizes.len ? sizes.at[i] : bt_ceildiv_int64(total, count),
                          &at)) {
            node_fail(n, BT_ERR_FORMAT, "the sizes overflow");
            return;
        }
        cuts[i] = at;
    }
    if (count == 1) {
        node_out(n, 0, x);
        return;
    }
    const char *attrs = node_format(n, "indices_or_sections=%s, axis=%u",
                                    format_ints(n, count - 1, cuts), axis);
    const bt_value *parts = emit1(n, "split", attrs, x);
    for (uint32_t i = 0; i < count; i++) {
        if (node_wants(n, i))
            node_out(n, i, emit_proj(n, parts, i));
    }
}

static void slice_by(struct node *n, const bt_value *x, int64_list begins,
                     int64_list ends, int64_list axes, int64_list steps)
{
    uint32_t rank = value_rank(n, x), count = begins.len;
    if (ends.len != count || (axes.len && axes.len != count) ||
        (steps.len && steps.len != count) || count > rank)
        node_fail(n, BT_ERR_FORMAT,
                  "starts, ends, axes and steps have different lengths, or more than %u",
                  rank);
    for (uint32_t i = axes.len; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &axes, (int64_t)i))
            n->status = bt_no_memory();
    }
    for (uint32_t i = steps.len; !n->status && i < count; i++) {
        if (!BT_PUSH(n->im->arena, &steps, 1))
            n->status = bt_no_memory();
    }
    if (n->status)
        return;
    const char *attrs =
        node_format(n, "begin=%s, end=%s, strides=%s, axes=%s",
                    format_ints(n, count, begins.at), format_ints(n, count, ends.at),
                    format_ints(n, count, steps.at), format_ints(n, count, axes.at));
    node_out(n, 0, emit1(n, "strided_slice", attrs, x));
}

static void slice_attrs(struct node *n)
{
    static const struct onnx_attr none;
    const struct onnx_attr *begins = node_attr(n, "starts", ATTR_INTS),
                           *ends = node_attr(n, "ends", ATTR_INTS),
                           *axes = node_attr(n, "axes", ATTR_INTS);
    const bt_value *x = node_need(n, 0);
    if (!begins || !ends)
        node_fail(n, BT_ERR_FORMAT, "starts or ends are missing");
    if (!n->status)
        slice_by(n, x, begins->ints, ends->ints, axes ? axes->ints : none.ints,
                 none.ints);
}

static void slice_inputs(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    int64_list lists[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
    for (uint32_t i = 0; i < 4; i++) {
        const bt_value *input = i < 2 ? node_need(n, i + 1) : node_in(n, i + 1);
        if (input && !value_ints(n, input, &lists[i]))
            node_fail(n, BT_ERR_UNSUPPORTED, "input %u is not known before run time",
                      i + 1);
    }
    if (!n->status)
        slice_by(n, x, lists[0], lists[1], lists[2], lists[3]);
}

static void gather(struct node *n)
{
    const char *attrs =
        node_format(n, "axis=%lld, mode=\"wrap\"", (long long)node_int(n, "axis", 0));
    node_out(n, 0, emit2(n, "take", attrs, node_need(n, 0), node_need(n, 1)));
}

static void tile(struct node *n)
{
    int64_list repeats = { 0 };
    const bt_value *x = node_need(n, 0);
    if (!value_ints(n, node_need(n, 1), &repeats))
        node_fail(n, BT_ERR_UNSUPPORTED, "repeats are not known before run time");
    if (!n->status)
        node_out(n, 0,
                 emit1(n, "tile",
                       node_format(n, "reps=%s", format_ints(n, repeats.len, repeats.at)),
                       x));
}

// clang-format off
const struct conversion convert_shape[] = {
    { "Constant", 1, constant, NULL }, { "ConstantOfShape", 9, constant_of_shape, NULL },
    { "Shape", 1, shape, NULL }, { "Size", 1, size, NULL }, { "Reshape", 5, reshape, NULL }, { "Expand", 8, expand, NULL },
    { "Transpose", 1, transpose, NULL }, { "Squeeze", 1, squeeze, NULL }, { "Unsqueeze", 1, unsqueeze, NULL },
    { "Concat", 4, concat, NULL }, { "Split", 2, split, NULL },
    { "Slice", 1, slice_attrs, NULL }, { "Slice", 10, slice_inputs, NULL },
    { "Gather", 1, gather, NULL }, { "Tile", 6, tile, NULL },
    { 0 },
};
// clang-format on
