/* What functions that write calls share: nodes one behind another, and attributes of calls. */
#include <stdarg.h>
#include <string.h>

#include "graph.h"

struct nodes nodes_of(struct graph *g, const bt_call *call)
{
    struct nodes nodes = { .g = g, .call = call };
    bt_text_init(&nodes.attributes, g->arena);
    return nodes;
}

void nodes_fail(struct nodes *s, const char *why)
{
    if (!s->status)
        s->status = refuse_call(s->g, s->call, why);
}

const char *nodes_arg(struct nodes *s, uint32_t index)
{
    const char *name = NULL;
    if (!s->status)
        s->status = graph_name(s->g, s->call->args[index], &name);
    return name;
}

const char *nodes_ints(struct nodes *s, uint32_t n, const int64_t *numbers)
{
    const char *name = NULL;
    if (!s->status)
        s->status = graph_ints(s->g, n, numbers, &name);
    return name;
}

const char *nodes_number(struct nodes *s, bt_dtype dtype, double number)
{
    const char *name = NULL;
    if (!s->status)
        s->status = graph_fill(s->g, dtype, 0, NULL, number, &name);
    return name;
}

const char *nodes_add_n(struct nodes *s, const char *out, const char *onnx, uint32_t n,
                        const char *const *in)
{
    if (!s->status && !out)
        s->status = graph_new_name(s->g, NULL, &out);
    if (!s->status)
        s->status = graph_node(s->g, onnx, n, in, 1, &out, &s->attributes);
    bt_text_init(&s->attributes, s->g->arena);
    return s->status ? NULL : out;
}

const char *nodes_add(struct nodes *s, const char *out, const char *onnx, ...)
{
    const char *in[8];
    uint32_t n = 0;
    va_list args;
    va_start(args, onnx);
    while (n < BT_COUNT(in) && (in[n] = va_arg(args, const char *)) != NULL)
        n++;
    va_end(args);
    return nodes_add_n(s, out, onnx, n, in);
}

bt_status nodes_end(struct nodes *s, const char *out, const char *onnx)
{
    const uint32_t n = s->call->narg;
    const char **in = BT_NEWS(s->g->arena, const char *, n + 1);
    if (!in)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        in[i] = nodes_arg(s, i);
    nodes_add_n(s, out, onnx, n, in);
    return s->status;
}

const char *nodes_cast(struct nodes *s, const char *out, bt_dtype from, bt_dtype to,
                       const char *in)
{
    if (from == to)
        return out ? nodes_add(s, out, "Identity", in, NULL) : in;
    if (!type_number(to))
        nodes_fail(s, "ONNX has no such type of elements");
    attribute_int(s->g, &s->attributes, "to", type_number(to));
    return nodes_add(s, out, "Cast", in, NULL);
}

/* ---- shapes ---- */

const char *nodes_along(struct nodes *s, uint32_t index, uint32_t axis, uint32_t rank)
{
    int64_t dims[BT_MAX_RANK] = { -1 };
    const uint32_t n = rank - axis;
    const char *name = nodes_arg(s, index);
    for (uint32_t i = 1; i < n; i++)
        dims[i] = 1;
    return n == 1 ? name
                  : nodes_add(s, NULL, "Reshape", name, nodes_ints(s, n, dims), NULL);
}

/* An extent that a parameter has, as a list of one. */
static const char *add_extent(struct nodes *s, const bt_type *dim)
{
    const bt_block *block = s->g->block;
    const char *name;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_shape_type *shape = bt_tensor_shape(block->params[i]->base.type);
        for (uint32_t k = 0; shape && !shape->rest && k < shape->n; k++) {
            if (shape->dims[k] != dim || s->status)
                continue;
            s->status = graph_name(s->g, &block->params[i]->base, &name);
            attribute_int(s->g, &s->attributes, "start", k);
            attribute_int(s->g, &s->attributes, "end", k + 1);
            return nodes_add(s, NULL, "Shape", name, NULL);
        }
    }
    nodes_fail(s, "an open dim of its result is none of a parameter: --dim NAME=N gives "
                  "it a size");
    return NULL;
}

const char *nodes_shape(struct nodes *s, const bt_shape_type *shape)
{
    int64_t dims[BT_MAX_RANK];
    const char *parts[BT_MAX_RANK];
    int is_open = 0;
    if (!shape || shape->rest) {
        nodes_fail(s, "the rank of its result is not known");
        return NULL;
    }
    for (uint32_t i = 0; i < shape->n; i++)
        is_open |= !bt_dim_is_const(shape->dims[i], &dims[i]);
    if (!is_open)
        return nodes_ints(s, shape->n, dims);
    for (uint32_t i = 0; i < shape->n; i++)
        parts[i] = bt_dim_is_const(shape->dims[i], &dims[i])
                       ? nodes_ints(s, 1, &dims[i])
                       : add_extent(s, shape->dims[i]);
    attribute_int(s->g, &s->attributes, "axis", 0);
    return nodes_add_n(s, NULL, "Concat", shape->n, parts);
}

const char *nodes_reshape(struct nodes *s, const char *out, const bt_shape_type *shape,
                          const char *in)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t nopen = 0;
    for (uint32_t i = 0; shape && !shape->rest && i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &dims[i])) {
            dims[i] = -1;
            nopen++;
        } else if (!dims[i]) {
            nodes_fail(s, "an extent of 0 is a code there");
        }
    }
    const int is_plain = shape && !shape->rest && nopen < 2;
    return nodes_add(s, out, "Reshape", in,
                     is_plain ? nodes_ints(s, shape->n, dims) : nodes_shape(s, shape),
                     NULL);
}

/* ---- calls ---- */

uint32_t rank_of(const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    return shape ? shape->n : 0;
}

uint32_t axis_of(int64_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

int64_t extent_of(const bt_value *value, uint32_t axis)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    int64_t extent;
    return shape && !shape->rest && axis < shape->n &&
                   bt_dim_is_const(shape->dims[axis], &extent)
               ? extent
               : -1;
}

double call_float(const bt_call *call, const char *attr)
{
    const double *number = bt_attr_find(call->op, call->attrs, attr, BT_ATTR_FLOAT);
    return number ? *number : 0;
}

bt_ints call_list(const bt_call *call, const char *attr)
{
    const bt_ints *list = bt_attr_find(call->op, call->attrs, attr, BT_ATTR_INTS);
    return list && list->n > 0 ? *list : (bt_ints){ 0 };
}

int has_one_type(const bt_call *call)
{
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    return dtype == bt_tensor_dtype(call->args[0]->type) &&
           dtype == bt_tensor_dtype(call->args[1]->type);
}
