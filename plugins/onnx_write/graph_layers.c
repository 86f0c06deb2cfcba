/* Layers: windows, products of matrices, normalisations. */
#include <string.h>

#include "graph.h"

/* ---- windows ---- */

enum { MAX_SPACE = 3 };

/* Batch, channels and as many axes of space. */
static int has_layouts(const bt_call *call, uint32_t nspace, const char *weights)
{
    static const char *const data[] = { "", "NCW", "NCHW", "NCDHW" };
    const char *found = bt_call_text(call, weights ? "data_layout" : "layout"),
               *out = bt_call_text(call, "out_layout"), *want;
    if (nspace < 1 || nspace > MAX_SPACE)
        return 0;
    want = data[nspace];
    return strcmp(found, want) == 0 && (!*out || strcmp(out, want) == 0) &&
           (!weights || (strncmp(bt_call_text(call, "kernel_layout"), weights, 2) == 0 &&
                         strcmp(bt_call_text(call, "kernel_layout") + 2, want + 2) == 0));
}

/* Attributes of n numbers each; 0: one is of another length. */
static int add_lists(struct nodes *s, uint32_t n, const char *const (*names)[2])
{
    int64_t list[2 * MAX_SPACE];
    for (; (*names)[0]; names++) {
        const uint32_t size = strcmp((*names)[1], "pads") == 0 ? 2 * n : n;
        if (!bt_call_ints(s->call, (*names)[0], size, list))
            return 0;
        attribute_ints(s->g, &s->attributes, (*names)[1], size, list);
    }
    return 1;
}

bt_status write_conv(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    static const char *const lists[][2] = { { "strides", "strides" },
                                            { "padding", "pads" },
                                            { "dilation", "dilations" },
                                            { NULL, NULL } };
    static const char *const behind[][2] = { { "output_padding", "output_padding" },
                                             { NULL, NULL } };
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]), n = rank < 2 ? 0 : rank - 2;
    const int is_transposed = strcmp(onnx, "ConvTranspose") == 0;
    if (!has_layouts(call, n, is_transposed ? "IO" : "OI") || !has_one_type(call))
        return refuse_call(
            g, call,
            is_transposed
                ? "ConvTranspose takes data as NCHW, weights as IOHW, of one type"
                : "Conv takes data as NCHW, weights as OIHW, of one type");
    if (!add_lists(&s, n, lists) || (is_transposed && !add_lists(&s, n, behind)))
        return refuse_call(g, call, "its windows are not of the axes of space");
    attribute_int(g, &s.attributes, "group", bt_call_int(call, "groups", 1));
    return nodes_end(&s, out, onnx);
}

bt_status write_pool(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    static const char *const lists[][2] = { { "pool_size", "kernel_shape" },
                                            { "strides", "strides" },
                                            { "padding", "pads" },
                                            { NULL, NULL } };
    struct nodes s = nodes_of(g, call);
    const int is_mean = strcmp(onnx, "AveragePool") == 0;
    const uint32_t rank = rank_of(call->args[0]), n = rank < 2 ? 0 : rank - 2;
    int64_t dilation[MAX_SPACE];
    if (!has_layouts(call, n, NULL))
        return refuse_call(g, call, "pools of ONNX take data as NCHW");
    if (!add_lists(&s, n, lists) || !bt_call_ints(call, "dilation", n, dilation))
        return refuse_call(g, call, "its windows are not of the axes of space");
    for (uint32_t i = 0; i < n; i++) {
        if (is_mean && dilation[i] != 1)
            return refuse_call(g, call, "AveragePool has no dilations");
    }
    attribute_int(g, &s.attributes, "ceil_mode", bt_call_int(call, "ceil_mode", 0));
    if (is_mean)
        attribute_int(g, &s.attributes, "count_include_pad",
                      bt_call_int(call, "count_include_pad", 0));
    else
        attribute_ints(g, &s.attributes, "dilations", n, dilation);
    return nodes_end(&s, out, onnx);
}

bt_status write_global_pool(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    if (!has_layouts(call, rank < 2 ? 0 : rank - 2, NULL))
        nodes_fail(&s, "pools of ONNX take data as NCHW");
    return nodes_end(&s, out, onnx);
}

/* One window over all of space. */
bt_status write_adaptive_pool(struct graph *g, const bt_call *call, const char *onnx,
                              const char *out)
{
    for (uint32_t i = 2; i < rank_of(&call->base); i++) {
        if (extent_of(&call->base, i) != 1)
            return refuse_call(g, call,
                               "GlobalAveragePool and GlobalMaxPool give one "
                               "element of each channel");
    }
    return write_global_pool(g, call, onnx, out);
}

/* ---- products ---- */

/* An argument with its last two axes swapped, if that is asked. */
static const char *add_matrix(struct nodes *s, uint32_t index, int is_swapped)
{
    const uint32_t rank = rank_of(s->call->args[index]);
    int64_t axes[BT_MAX_RANK];
    const char *name = nodes_arg(s, index);
    if (!is_swapped || rank < 2)
        return name;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    attribute_ints(s->g, &s->attributes, "perm", rank, axes);
    return nodes_add(s, NULL, "Transpose", name, NULL);
}

bt_status write_matmul(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    if (!has_one_type(call))
        nodes_fail(&s, "MatMul takes matrices of one type");
    const char *a = add_matrix(&s, 0, (int)bt_call_int(call, "transpose_a", 0)),
               *b = add_matrix(&s, 1, (int)bt_call_int(call, "transpose_b", 0));
    nodes_add(&s, out, onnx, a, b, NULL);
    return s.status;
}

/* x w^T; of more axes than two as a product of matrices. */
bt_status write_dense(struct graph *g, const bt_call *call, const char *onnx,
                      const char *out)
{
    struct nodes s = nodes_of(g, call);
    if (!has_one_type(call))
        nodes_fail(&s, "Gemm takes matrices of one type");
    if (rank_of(call->args[0]) != 2) {
        nodes_add(&s, out, "MatMul", nodes_arg(&s, 0), add_matrix(&s, 1, 1), NULL);
        return s.status;
    }
    attribute_int(g, &s.attributes, "transB", 1);
    return nodes_end(&s, out, onnx);
}

bt_status write_einsum(struct graph *g, const bt_call *call, const char *onnx,
                       const char *out)
{
    struct nodes s = nodes_of(g, call);
    const char *const *in;
    uint32_t n;
    BT_TRY(graph_fields(g, call->args[0], &n, &in));
    attribute_text(g, &s.attributes, "equation", bt_call_text(call, "equation"));
    nodes_add_n(&s, out, onnx, n, in);
    return s.status;
}

/* ---- normalisations ---- */

/* gamma or beta, or, where it is not used, what changes nothing. */
static const char *add_factor(struct nodes *s, uint32_t index, const char *used,
                              double neutral)
{
    const int64_t n = extent_of(s->call->args[index], 0);
    const char *name = NULL;
    if (bt_call_int(s->call, used, 1))
        return nodes_arg(s, index);
    if (n < 0)
        nodes_fail(s, "it has no factors, and an open number of channels");
    if (!s->status)
        s->status =
            graph_fill(s->g, bt_tensor_dtype(s->call->base.type), 1, &n, neutral, &name);
    return name;
}

static const char *add_norm(struct nodes *s, const char *out, const char *onnx,
                            const char *data, const char *gamma, const char *beta)
{
    attribute_float(s->g, &s->attributes, "epsilon", call_float(s->call, "epsilon"));
    return nodes_add(s, out, onnx, data, gamma, beta, NULL);
}

/* With the factors and the summands of the call. */
static bt_status end_norm(struct nodes *s, const char *out, const char *onnx)
{
    const char *gamma = add_factor(s, 1, "scale", 1),
               *beta = add_factor(s, 2, "center", 0);
    add_norm(s, out, onnx, nodes_arg(s, 0), gamma, beta);
    return s->status;
}

bt_status write_layer_norm(struct graph *g, const bt_call *call, const char *onnx,
                           const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    if (axis_of(bt_call_int(call, "axis", -1), rank) != rank - 1)
        nodes_fail(&s, "LayerNormalization takes all axes up to the last one");
    return end_norm(&s, out, onnx);
}

bt_status write_instance_norm(struct graph *g, const bt_call *call, const char *onnx,
                              const char *out)
{
    struct nodes s = nodes_of(g, call);
    const uint32_t rank = rank_of(call->args[0]);
    if (rank < 3 || axis_of(bt_call_int(call, "axis", 1), rank) != 1)
        nodes_fail(&s, "InstanceNormalization takes channels as axis 1, and space");
    return end_norm(&s, out, onnx);
}

/* Each group as one channel, then factors of channels: the standard's own operator has, until set
 * 21, factors of groups. */
bt_status write_group_norm(struct graph *g, const bt_call *call, const char *onnx,
                           const char *out)
{
    struct nodes s = nodes_of(g, call);
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    const uint32_t rank = rank_of(call->args[0]);
    const int64_t ngroup = bt_call_int(call, "num_groups", 1), dims[] = { 0, ngroup, -1 };
    const int scales = (int)bt_call_int(call, "scale", 1),
              centers = (int)bt_call_int(call, "center", 1);
    const char *one, *zero, *data = nodes_arg(&s, 0);
    if (rank < 2 || axis_of(bt_call_int(call, "axis", 1), rank) != 1)
        return refuse_call(g, call, "groups are of channels as axis 1 there");
    BT_TRY(graph_fill(g, dtype, 1, &ngroup, 1, &one));
    BT_TRY(graph_fill(g, dtype, 1, &ngroup, 0, &zero));
    const char *shape =
        nodes_add(&s, NULL, "Shape", data, NULL); // 0: the batch, as it is
    data = nodes_add(&s, NULL, "Reshape", data, nodes_ints(&s, 3, dims), NULL);
    data = add_norm(&s, NULL, onnx, data, one, zero);
    data = nodes_add(&s, scales || centers ? NULL : out, "Reshape", data, shape, NULL);
    if (scales)
        data = nodes_add(&s, centers ? NULL : out, "Mul", data,
                         nodes_along(&s, 1, 1, rank), NULL);
    if (centers)
        nodes_add(&s, out, "Add", data, nodes_along(&s, 2, 1, rank), NULL);
    return s.status;
}
