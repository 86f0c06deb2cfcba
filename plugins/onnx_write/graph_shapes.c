/* Calls that move elements. */
#include <string.h>

#include "graph.h"

bt_status write_reshape(struct graph *g, const bt_call *call, const char *onnx,
                        const char *out)
{
    struct nodes s = nodes_of(g, call);
    (void)onnx;
    nodes_reshape(&s, out, bt_tensor_shape(call->base.type), nodes_arg(&s, 0));
    return s.status;
}

bt_status write_broadcast(struct graph *g, const bt_call *call, const char *onnx,
                          const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *shape = call->narg > 1
                            ? nodes_add(&s, NULL, "Shape", nodes_arg(&s, 1), NULL)
                            : nodes_shape(&s, bt_tensor_shape(call->base.type));
    nodes_add(&s, out, onnx, nodes_arg(&s, 0), shape, NULL);
    return s.status;
}

bt_status write_transpose(struct graph *g, const bt_call *call, const char *onnx,
                          const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t n = rank_of(call->args[0]);
    int64_t axes[BT_MAX_RANK];
    if (bt_call_ints(call, "axes", n, axes)) {
        for (uint32_t i = 0; i < n; i++)
            axes[i] = axis_of(axes[i], n);
        attribute_ints(g, &s.attributes, "perm", n, axes);
    }
    return nodes_end(&s, out, onnx);
}

bt_status write_concat(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *const *in;
    uint32_t n;
    BT_TRY(graph_fields(g, call->args[0], &n, &in));
    attribute_int(g, &s.attributes, "axis", bt_call_int(call, "axis", 0));
    nodes_add_n(&s, out, onnx, n, in);
    return s.status;
}

/* Along a new axis, which each gets. */
bt_status write_stack(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    const int64_t axis = bt_call_int(call, "axis", 0);
    const char *const *in, **wide;
    uint32_t n;
    BT_TRY(graph_fields(g, call->args[0], &n, &in));
    if (!(wide = BT_NEWS(g->arena, const char *, n + 1)))
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        wide[i] = nodes_add(&s, NULL, "Unsqueeze", in[i], nodes_ints(&s, 1, &axis), NULL);
    attribute_int(g, &s.attributes, "axis", axis);
    nodes_add_n(&s, out, onnx, n, wide);
    return s.status;
}

/* ---- parts ---- */

/* The lists of Slice, of at most so many axes. */
struct ranges {
    uint32_t n;
    int64_t begin[BT_MAX_RANK], end[BT_MAX_RANK], axes[BT_MAX_RANK], steps[BT_MAX_RANK];
};

static const char *add_slice(struct nodes *s, const char *out, const struct ranges *r)
{
    const char *begin = nodes_ints(s, r->n, r->begin), *end = nodes_ints(s, r->n, r->end),
               *axes = nodes_ints(s, r->n, r->axes),
               *steps = nodes_ints(s, r->n, r->steps);
    return nodes_add(s, out, "Slice", nodes_arg(s, 0), begin, end, axes, steps, NULL);
}

bt_status write_slice(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    struct ranges r = { 0 };
    const bt_ints begin = call_list(call, "begin"), end = call_list(call, "end"),
                  axes = call_list(call, "axes"), strides = call_list(call, "strides");
    const int is_size = strcmp(bt_call_text(call, "slice_mode"), "size") == 0;
    (void)onnx;
    for (; r.n < begin.n && r.n < BT_MAX_RANK; r.n++) {
        const uint32_t i = r.n;
        r.begin[i] = begin.at[i];
        r.end[i] = i < end.n ? end.at[i] : INT64_MAX;
        if (is_size && r.end[i] < 0)
            r.end[i] = INT64_MAX;
        else if (is_size)
            r.end[i] = begin.at[i] < 0 && begin.at[i] + end.at[i] >= 0
                           ? INT64_MAX
                           : begin.at[i] + end.at[i];
        r.axes[i] = i < axes.n ? axes.at[i] : i;
        r.steps[i] = i < strides.n && !is_size ? strides.at[i] : 1;
    }
    add_slice(&s, out, &r);
    return s.status;
}

bt_status write_reverse(struct graph *g, const bt_call *call, const char *onnx,
                        const char *out)
{
    struct nodes s = nodes_of(g, call);
    const struct ranges r = { .n = 1,
                              .begin = { -1 },
                              .end = { INT64_MIN },
                              .axes = { bt_call_int(call, "axis", 0) },
                              .steps = { -1 } };
    (void)onnx;
    add_slice(&s, out, &r);
    return s.status;
}

/* By the extents of the parts where they are known, else in equal ones. */
bt_status write_split(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_list_type *tuple = bt_as_tuple_type(call->base.type);
    const uint32_t n = tuple->n,
                   axis = axis_of(bt_call_int(call, "axis", 0), rank_of(call->args[0]));
    const bt_ints *cuts =
        bt_attr_find(call->op, call->attrs, "indices_or_sections", BT_ATTR_INT_OR_INTS);
    const char **names = BT_NEWS(g->arena, const char *, n), *in[2];
    int64_t *extents = BT_NEWS(g->arena, int64_t, n);
    int is_open = 0;
    (void)out;
    if (!names || !extents)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_shape_type *shape = bt_tensor_shape(tuple->at[i]);
        is_open |= !shape || !bt_dim_is_const(shape->dims[axis], &extents[i]);
        BT_TRY(graph_new_name(g, NULL, &names[i]));
    }
    if (is_open && (!cuts || cuts->n != BT_SINGLE))
        return refuse_call(g, call, "parts of an axis that is open are equal there");
    attribute_int(g, &s.attributes, "axis", axis);
    if (is_open)
        attribute_int(g, &s.attributes, "num_outputs", n);
    in[0] = nodes_arg(&s, 0);
    in[1] = is_open ? NULL : nodes_ints(&s, n, extents);
    BT_TRY(s.status);
    BT_TRY(graph_node(g, onnx, is_open ? 1 : 2, in, n, names, &s.attributes));
    return graph_set_fields(g, &call->base, names);
}

/* ---- copies ---- */

bt_status write_tile(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_ints given = call_list(call, "reps");
    const uint32_t rank = rank_of(call->args[0]), n = rank_of(&call->base);
    int64_t reps[BT_MAX_RANK], axes[BT_MAX_RANK];
    const char *data = nodes_arg(&s, 0);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)i - n + given.n; // aligned at the right
        reps[i] = at < 0 ? 1 : given.at[at];
        axes[i] = i;
    }
    if (n > rank)
        data =
            nodes_add(&s, NULL, "Unsqueeze", data, nodes_ints(&s, n - rank, axes), NULL);
    nodes_add(&s, out, onnx, data, nodes_ints(&s, n, reps), NULL);
    return s.status;
}

/* Copies along a new axis behind the one that they belong to. */
bt_status write_repeat(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    const uint32_t axis = axis_of(bt_call_int(call, "axis", 0), rank);
    const int64_t behind = axis + 1;
    int64_t reps[BT_MAX_RANK + 1];
    for (uint32_t i = 0; i <= rank; i++)
        reps[i] = i == behind ? bt_call_int(call, "repeats", 1) : 1;
    const char *wide = nodes_add(&s, NULL, "Unsqueeze", nodes_arg(&s, 0),
                                 nodes_ints(&s, 1, &behind), NULL);
    wide = nodes_add(&s, NULL, onnx, wide, nodes_ints(&s, rank + 1, reps), NULL);
    nodes_reshape(&s, out, bt_tensor_shape(call->base.type), wide);
    return s.status;
}

/* ---- borders and blocks ---- */

bt_status write_pad(struct graph *g, const bt_call *call, const char *onnx,
                    const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_ints width = call_list(call, "pad_width");
    const uint32_t rank = rank_of(call->args[0]);
    const char *mode = bt_call_text(call, "pad_mode");
    int64_t pads[2 * BT_MAX_RANK];
    if (!*mode)
        mode = strcmp(bt_call_text(call, "mode"), "REFLECT") == 0 ? "reflect" : NULL;
    if (!mode || width.n != 2 * (int64_t)rank)
        return refuse_call(g, call,
                           "Pad has no borders that repeat the last element in a "
                           "mirror, and two widths of each axis");
    for (uint32_t i = 0; i < rank; i++) {
        pads[i] = width.at[2 * i];
        pads[rank + i] = width.at[2 * i + 1];
    }
    const char *in[3] = { nodes_arg(&s, 0), nodes_ints(&s, 2 * rank, pads) };
    if (call->narg > 1)
        in[2] = nodes_cast(&s, NULL, bt_tensor_dtype(call->args[1]->type),
                           bt_tensor_dtype(call->base.type), nodes_arg(&s, 1));
    attribute_text(g, &s.attributes, "mode", mode);
    nodes_add_n(&s, out, onnx, call->narg > 1 ? 3 : 2, in);
    return s.status;
}

bt_status write_blocks(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *mode = bt_call_text(call, "mode");
    if (strcmp(bt_call_text(call, "layout"), "NCHW") != 0)
        nodes_fail(&s, "it takes data as NCHW there");
    attribute_int(g, &s.attributes, "blocksize", bt_call_int(call, "block_size", 1));
    if (strcmp(mode, "CDR") == 0) // which the standard calls CRD
        attribute_text(g, &s.attributes, "mode", "CRD");
    return nodes_end(&s, out, onnx);
}
