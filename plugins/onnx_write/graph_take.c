/* Calls that take from positions, or put there. */
#include <string.h>

#include "graph.h"

/* Gather counts positions below 0 from the end, and fails beyond it. */
static const char *clip_positions(struct nodes *s, int64_t axis)
{
    const bt_dtype dtype = bt_tensor_dtype(s->call->args[1]->type);
    const bt_value *data = s->call->args[0];
    const int64_t extent = extent_of(data, axis_of(axis, rank_of(data)));
    if (extent < 1)
        nodes_fail(s, "positions are clipped to an axis that is open or empty: "
                      "--dim NAME=N gives it a size, and mode=\"fast\" says that "
                      "all lie within");
    const char *low = nodes_number(s, dtype, 0),
               *high = nodes_number(s, dtype, (double)extent - 1);
    return nodes_add(s, NULL, "Clip", nodes_arg(s, 1), low, high, NULL);
}

bt_status write_take(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    static const int64_t none = INT64_MIN;
    struct nodes s = nodes_of(g, call);
    const int64_t axis = bt_call_int(call, "axis", none);
    const bt_dtype index = bt_tensor_dtype(call->args[1]->type);
    const char *mode = bt_call_text(call, "mode");
    if (axis == none || bt_call_int(call, "batch_dims", 0) || strcmp(mode, "wrap") == 0)
        nodes_fail(&s, "Gather takes an axis, no batch dims, and does not wrap");
    if (index != BT_INT32 && index != BT_INT64)
        nodes_fail(&s, "Gather takes positions of int32 or int64");
    const char *at =
        strcmp(mode, "clip") == 0 ? clip_positions(&s, axis) : nodes_arg(&s, 1);
    attribute_int(g, &s.attributes, "axis", axis);
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), at, NULL);
    return s.status;
}

/* Positions as int64, which all of these take. */
static const char *add_positions(struct nodes *s, uint32_t index)
{
    return nodes_cast(s, NULL, bt_tensor_dtype(s->call->args[index]->type), BT_INT64,
                      nodes_arg(s, index));
}

/* Their first axis, which runs over the axes that they point into, as the last one. */
static const char *add_tuples(struct nodes *s, uint32_t index)
{
    const uint32_t rank = rank_of(s->call->args[index]);
    int64_t axes[BT_MAX_RANK] = { 0 };
    const char *at = add_positions(s, index);
    for (uint32_t i = 0; i + 1 < rank; i++)
        axes[i] = i + 1;
    attribute_ints(s->g, &s->attributes, "perm", rank, axes);
    return nodes_add(s, NULL, "Transpose", at, NULL);
}

bt_status write_gather(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *at = add_positions(&s, 1);
    attribute_int(g, &s.attributes, "axis", bt_call_int(call, "axis", 0));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), at, NULL);
    return s.status;
}

bt_status write_gather_nd(struct graph *g, const bt_call *call, const char *onnx,
                          const char *out)
{
    struct nodes s = nodes_of(g, call);
    if (bt_call_int(call, "batch_dims", 0))
        nodes_fail(&s, "it has batch dims");
    const char *at = add_tuples(&s, 1);
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), at, NULL);
    return s.status;
}

/* How what is put combines with what is there; "none" is the default. */
static void add_reduction(struct nodes *s, const char *how)
{
    if (strcmp(how, "mean") == 0)
        nodes_fail(s, "it has no reduction mean");
    if (strcmp(how, "update") != 0)
        attribute_text(s->g, &s->attributes, "reduction", how);
}

bt_status write_scatter(struct graph *g, const bt_call *call, const char *onnx,
                        const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *at = add_positions(&s, 1);
    attribute_int(g, &s.attributes, "axis", bt_call_int(call, "axis", 0));
    add_reduction(&s, bt_call_text(call, "reduction"));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), at, nodes_arg(&s, 2), NULL);
    return s.status;
}

bt_status write_scatter_nd(struct graph *g, const bt_call *call, const char *onnx,
                           const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *at = add_tuples(&s, 1);
    add_reduction(&s, bt_call_text(call, "mode"));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), at, nodes_arg(&s, 2), NULL);
    return s.status;
}

/* Where the class is that of the place: OneHot counts classes below 0 from the end. */
bt_status write_one_hot(struct graph *g, const bt_call *call, const char *onnx,
                        const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(&call->base);
    const int64_t axis = axis_of(bt_call_int(call, "axis", -1), rank),
                  depth = extent_of(&call->base, (uint32_t)axis);
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    int64_t dims[BT_MAX_RANK],
        *classes = BT_NEWS(g->arena, int64_t, depth < 1 ? 1 : depth);
    if (!classes)
        return bt_no_memory();
    if (depth < 1)
        return refuse_call(g, call, "its depth is open: --dim NAME=N gives it a size");
    for (int64_t i = 0; i < depth; i++)
        classes[i] = i;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? depth : 1;
    const char *at = nodes_add(&s, NULL, "Unsqueeze", add_positions(&s, 0),
                               nodes_ints(&s, 1, &axis), NULL);
    const char *place =
        nodes_add(&s, NULL, "Reshape", nodes_ints(&s, (uint32_t)depth, classes),
                  nodes_ints(&s, rank, dims), NULL);
    const char *is_there = nodes_add(&s, NULL, "Equal", at, place, NULL), *values[2];
    for (uint32_t i = 0; i < 2; i++)
        values[i] = nodes_cast(&s, NULL, bt_tensor_dtype(call->args[1 + i]->type), dtype,
                               nodes_arg(&s, 1 + i));
    nodes_add(&s, out, onnx, is_there, values[0], values[1], NULL);
    return s.status;
}
