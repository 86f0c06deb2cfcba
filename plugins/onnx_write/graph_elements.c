/* Calls that go element by element. */
#include <string.h>

#include "graph.h"

bt_status write_plain(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    bt_text attrs;
    bt_text_init(&attrs, g->arena);
    if (call->attrs && bt_attrs_print(g->ctx, call->op, call->attrs, &attrs))
        nodes_fail(&s, "it has attributes that ONNX's has not");
    return nodes_end(&s, out, onnx);
}

/* To the result's type; of cast_like the second argument is only looked at. */
bt_status write_cast(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    (void)onnx;
    nodes_cast(&s, out, bt_tensor_dtype(call->args[0]->type),
               bt_tensor_dtype(call->base.type), nodes_arg(&s, 0));
    return s.status;
}

bt_status write_axis(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    attribute_int(g, &s.attributes, "axis", bt_call_int(call, "axis", -1));
    return nodes_end(&s, out, onnx);
}

bt_status write_clip(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    const char *low = nodes_number(&s, dtype, call_float(call, "a_min")),
               *high = nodes_number(&s, dtype, call_float(call, "a_max"));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), low, high, NULL);
    return s.status;
}

bt_status write_leaky(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    attribute_float(g, &s.attributes, "alpha", call_float(call, "alpha"));
    return nodes_end(&s, out, onnx);
}

bt_status write_prelu(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    const uint32_t axis = axis_of(bt_call_int(call, "axis", 1), rank);
    const char *alpha = rank_of(call->args[1]) == 1 && axis < rank
                            ? nodes_along(&s, 1, axis, rank)
                            : nodes_arg(&s, 1);
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), alpha, NULL);
    return s.status;
}

bt_status write_bias(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    const uint32_t axis = axis_of(bt_call_int(call, "axis", 1), rank);
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), nodes_along(&s, 1, axis, rank), NULL);
    return s.status;
}

/* x w / (bias + alpha / size * sum of squares) ^ beta, over neighbouring channels. */
bt_status write_lrn(struct graph *g, const bt_call *call, const char *onnx,
                    const char *out)
{
    struct nodes s = nodes_of(g, call);
    if (axis_of(bt_call_int(call, "axis", 1), rank_of(call->args[0])) != 1)
        nodes_fail(&s, "LRN takes channels as axis 1");
    attribute_int(g, &s.attributes, "size", bt_call_int(call, "size", 5));
    attribute_float(g, &s.attributes, "alpha", call_float(call, "alpha"));
    attribute_float(g, &s.attributes, "beta", call_float(call, "beta"));
    attribute_float(g, &s.attributes, "bias", call_float(call, "bias"));
    return nodes_end(&s, out, onnx);
}

/* The same number everywhere, in the shape of the result. */
bt_status write_full(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *op = call->op->name, *value, *shape;
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    const int is_like = strstr(op, "_like") != NULL,
              is_full = strncmp(op, "full", 4) == 0;
    if (is_full) {
        const bt_dtype from = bt_tensor_dtype(call->args[is_like]->type);
        value = nodes_cast(&s, NULL, from, dtype, nodes_arg(&s, (uint32_t)is_like));
    } else {
        value = nodes_number(&s, dtype, strncmp(op, "ones", 4) == 0);
    }
    shape = is_like ? nodes_add(&s, NULL, "Shape", nodes_arg(&s, 0), NULL)
                    : nodes_shape(&s, bt_tensor_shape(call->base.type));
    nodes_add(&s, out, onnx, value, shape, NULL);
    return s.status;
}

bt_status write_range(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    if (bt_tensor_dtype(call->base.type) != bt_tensor_dtype(call->args[0]->type))
        nodes_fail(&s, "Range gives the type of its bounds");
    return nodes_end(&s, out, onnx);
}

/* Shape and Size give int64. */
bt_status write_size(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *size = nodes_add(&s, NULL, onnx, nodes_arg(&s, 0), NULL);
    nodes_cast(&s, out, BT_INT64, bt_tensor_dtype(call->base.type), size);
    return s.status;
}

bt_status write_trilu(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *k = nodes_cast(&s, NULL, bt_tensor_dtype(call->args[1]->type), BT_INT64,
                               nodes_arg(&s, 1));
    attribute_int(g, &s.attributes, "upper", bt_call_int(call, "upper", 1));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), k, NULL);
    return s.status;
}
