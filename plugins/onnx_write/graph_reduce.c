/* Calls that reduce, add up or put in order along axes. */
#include <string.h>

#include "graph.h"

/* A reduction of a value over the axes of the call. */
static const char *add_reduction(struct nodes *s, const char *out, const char *onnx,
                                 const char *data, int keeps)
{
    const bt_ints *axes = bt_attr_find(s->call->op, s->call->attrs, "axis", BT_ATTR_INTS);
    const int is_given = axes && axes->n != BT_NONE_LIST;
    if (bt_call_int(s->call, "exclude", 0))
        nodes_fail(s, "`exclude` names the axes that stay");
    const char *list = is_given ? nodes_ints(s, (uint32_t)axes->n, axes->at) : NULL;
    attribute_int(s->g, &s->attributes, "keepdims", keeps);
    if (is_given && !axes->n)
        attribute_int(s->g, &s->attributes, "noop_with_empty_axes", 1);
    return nodes_add(s, out, onnx, data, list, NULL);
}

static int keeps_dims(const bt_call *call)
{
    return (int)bt_call_int(call, "keepdims", 0);
}

bt_status write_reduce(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    add_reduction(&s, out, onnx, nodes_arg(&s, 0), keeps_dims(call));
    return s.status;
}

/* Truth values as the integers 0 and 1. */
bt_status write_truth(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *data = nodes_cast(&s, NULL, BT_BOOL, BT_INT32, nodes_arg(&s, 0));
    data = add_reduction(&s, NULL, onnx, data, keeps_dims(call));
    nodes_cast(&s, out, BT_INT32, BT_BOOL, data);
    return s.status;
}

/* The mean of the squares of distances to the mean, or its root. */
bt_status write_variance(struct graph *g, const bt_call *call, const char *onnx,
                         const char *out)
{
    struct nodes s = nodes_of(g, call);
    const int is_root = strcmp(onnx, "Sqrt") == 0;
    if (bt_call_int(call, "unbiased", 0))
        nodes_fail(&s, "`unbiased` divides by one less than the count");
    const char *mean = call->narg > 1
                           ? nodes_arg(&s, 1)
                           : add_reduction(&s, NULL, "ReduceMean", nodes_arg(&s, 0), 1);
    const char *apart = nodes_add(&s, NULL, "Sub", nodes_arg(&s, 0), mean, NULL);
    apart = nodes_add(&s, NULL, "Mul", apart, apart, NULL);
    apart =
        add_reduction(&s, is_root ? NULL : out, "ReduceMean", apart, keeps_dims(call));
    if (is_root)
        nodes_add(&s, out, onnx, apart, NULL);
    return s.status;
}

/* x / sqrt(max(sum of squares, eps)) */
bt_status write_l2(struct graph *g, const bt_call *call, const char *onnx,
                   const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    const char *sum = add_reduction(&s, NULL, onnx, nodes_arg(&s, 0), 1);
    const char *least = nodes_number(&s, dtype, call_float(call, "eps"));
    sum = nodes_add(&s, NULL, "Max", sum, least, NULL);
    sum = nodes_add(&s, NULL, "Sqrt", sum, NULL);
    nodes_add(&s, out, "Div", nodes_arg(&s, 0), sum, NULL);
    return s.status;
}

/* Along one axis, or of all elements in a row. */
bt_status write_position(struct graph *g, const bt_call *call, const char *onnx,
                         const char *out)
{
    static const int64_t flat = -1;
    struct nodes s = nodes_of(g, call);
    const bt_ints axes = call_list(call, "axis");
    const char *data = nodes_arg(&s, 0);
    if (axes.n > 1 || bt_call_int(call, "exclude", 0) || (!axes.n && keeps_dims(call)))
        nodes_fail(&s, "positions are along one axis there");
    if (!axes.n)
        data = nodes_add(&s, NULL, "Reshape", data, nodes_ints(&s, 1, &flat), NULL);
    attribute_int(g, &s.attributes, "axis", axes.n ? axes.at[0] : 0);
    attribute_int(g, &s.attributes, "keepdims", keeps_dims(call));
    attribute_int(g, &s.attributes, "select_last_index",
                  bt_call_int(call, "select_last_index", 0));
    const char *at = nodes_add(&s, NULL, onnx, data, NULL);
    nodes_cast(&s, out, BT_INT64, bt_tensor_dtype(call->base.type), at);
    return s.status;
}

bt_status write_cumsum(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    static const int64_t none = INT64_MIN, flat = -1;
    struct nodes s = nodes_of(g, call);
    const int64_t axis = bt_call_int(call, "axis", none);
    if (!(SUMS >> type_number(bt_tensor_dtype(call->base.type)) & 1))
        nodes_fail(
            &s,
            "CumSum gives no sums of that type; dtype=\"int32\" is one that it gives");
    const char *data = nodes_cast(&s, NULL, bt_tensor_dtype(call->args[0]->type),
                                  bt_tensor_dtype(call->base.type), nodes_arg(&s, 0));
    if (axis == none)
        data = nodes_add(&s, NULL, "Reshape", data, nodes_ints(&s, 1, &flat), NULL);
    attribute_int(g, &s.attributes, "exclusive", bt_call_int(call, "exclusive", 0));
    nodes_add(&s, out, onnx, data,
              nodes_number(&s, BT_INT64, axis == none ? 0 : (double)axis), NULL);
    return s.status;
}

/* ---- order ---- */

/* TopK along an axis: as many as there are where k is below 1. Positions are int64. */
static void add_top(struct nodes *s, int64_t k, const char *values, const char *positions)
{
    const bt_value *data = s->call->args[0];
    const bt_shape_type *shape = bt_tensor_shape(data->type);
    const uint32_t axis = axis_of(bt_call_int(s->call, "axis", -1), shape->n);
    const bt_shape_type extent = { .n = 1, .dims = &shape->dims[axis] };
    const char *in[2] = { nodes_arg(s, 0),
                          k < 1 ? nodes_shape(s, &extent) : nodes_ints(s, 1, &k) };
    const char *const out[2] = { values, positions };
    attribute_int(s->g, &s->attributes, "axis", axis);
    attribute_int(s->g, &s->attributes, "largest", !bt_call_int(s->call, "is_ascend", 1));
    if (!s->status)
        s->status = graph_node(s->g, "TopK", 2, in, 2, out, &s->attributes);
    bt_text_init(&s->attributes, s->g->arena);
}

static bt_status new_names(struct graph *g, uint32_t n, const char **out)
{
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(graph_new_name(g, NULL, &out[i]));
    return NULL;
}

bt_status write_sort(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *made[2];
    (void)onnx;
    BT_TRY(new_names(g, 2, made));
    if (strcmp(call->op->name, "sort") == 0) {
        add_top(&s, 0, out, made[1]);
        return s.status;
    }
    add_top(&s, 0, made[0], made[1]);
    nodes_cast(&s, out, BT_INT64, bt_tensor_dtype(call->base.type), made[1]);
    return s.status;
}

static bt_dtype dtype_of_positions(const bt_call *call)
{
    const bt_list_type *tuple = bt_as_tuple_type(call->base.type);
    return bt_tensor_dtype(tuple ? tuple->at[1] : call->base.type);
}

bt_status write_topk(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *type = bt_call_text(call, "ret_type"), *made[2];
    const int64_t k = bt_call_int(call, "k", 1);
    (void)onnx;
    BT_TRY(new_names(g, 2, made));
    if (strcmp(type, "values") == 0) {
        add_top(&s, k, out, made[1]);
        return s.status;
    }
    add_top(&s, k, made[0], made[1]);
    if (strcmp(type, "indices") == 0) {
        nodes_cast(&s, out, BT_INT64, dtype_of_positions(call), made[1]);
        return s.status;
    }
    const char **names = BT_NEWS(g->arena, const char *, 2);
    if (!names)
        return bt_no_memory();
    names[0] = made[0];
    names[1] = nodes_cast(&s, NULL, BT_INT64, dtype_of_positions(call), made[1]);
    BT_TRY(s.status);
    return graph_set_fields(g, &call->base, names);
}
