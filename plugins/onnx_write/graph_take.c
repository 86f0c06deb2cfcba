/* Operator take, as Gather. */
#include "graph.h"

#include <string.h>

/* Gather counts positions below 0 from the end, and fails beyond it. */
static bt_status clip_positions(struct graph *g, const bt_call *call, int64_t axis,
                                const char **out)
{
    const bt_shape_type *shape = bt_tensor_shape(call->args[0]->type);
    const bt_dtype dtype = bt_tensor_dtype(call->args[1]->type);
    const int64_t at = axis < 0 && shape ? axis + shape->n : axis;
    const char *in[3];
    int64_t extent;
    if (!shape || shape->rest || !bt_dim_is_const(shape->dims[at], &extent) || !extent)
        return refuse_call(g, call,
                           "positions are clipped to an axis that is open or empty: "
                           "--dim NAME=N gives it a size, and mode=\"fast\" says that "
                           "all lie within");
    BT_TRY(graph_name(g, call->args[1], &in[0]));
    BT_TRY(graph_int(g, dtype, 0, &in[1]));
    BT_TRY(graph_int(g, dtype, extent - 1, &in[2]));
    BT_TRY(graph_new_name(g, NULL, out));
    return graph_node(g, "Clip", 3, in, *out, NULL);
}

bt_status write_take(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    static const int64_t none = INT64_MIN;
    const int64_t axis = bt_call_int(call, "axis", none);
    const bt_dtype index = bt_tensor_dtype(call->args[1]->type);
    const char *mode = bt_call_text(call, "mode"), *in[2];
    bt_text attributes;
    if (axis == none || bt_call_int(call, "batch_dims", 0) || strcmp(mode, "wrap") == 0)
        return refuse_call(g, call,
                           "Gather takes an axis, no batch dims, and does not wrap");
    if (index != BT_INT32 && index != BT_INT64)
        return refuse_call(g, call, "Gather takes positions of int32 or int64");
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "axis", axis);
    BT_TRY(graph_name(g, call->args[0], &in[0]));
    if (strcmp(mode, "clip") == 0)
        BT_TRY(clip_positions(g, call, axis, &in[1]));
    else
        BT_TRY(graph_name(g, call->args[1], &in[1]));
    return graph_node(g, onnx, 2, in, out, &attributes);
}
