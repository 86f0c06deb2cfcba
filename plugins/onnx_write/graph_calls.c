/*
 * Operators of Baton as those of ONNX, operator set 18: a row each, with the function that writes
 * its nodes. Rows whose operators have attributes of the same meaning read these by name.
 */
#include "graph.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *op, *onnx;
    uint32_t dtypes; /* that the standard gives its operands: bits 1 << type_number */
    bt_status (*write)(struct graph *, const bt_call *, const char *onnx,
                       const char *out);
};

static uint32_t rank_of(const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    return shape ? shape->n : 0;
}

static bt_status names_of(struct graph *g, uint32_t n, const bt_value *const *values,
                          const char ***out)
{
    *out = BT_NEWS(g->arena, const char *, n + 1);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(graph_name(g, values[i], &(*out)[i]));
    return NULL;
}

static bt_status add_node(struct graph *g, const bt_call *call, const char *onnx,
                          const char *out, const bt_text *attributes)
{
    const char **in;
    BT_TRY(names_of(g, call->narg, call->args, &in));
    return graph_node(g, onnx, call->narg, in, out, attributes);
}

/* ---- element by element ---- */

static bt_status write_plain(struct graph *g, const bt_call *call, const char *onnx,
                             const char *out)
{
    bt_text attrs;
    bt_text_init(&attrs, g->arena);
    if (call->attrs && bt_attrs_print(g->ctx, call->op, call->attrs, &attrs))
        return refuse_call(g, call, "it has attributes that ONNX's has not");
    return add_node(g, call, onnx, out, NULL);
}

static bt_status write_cast(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    const int64_t type = type_number(bt_tensor_dtype(call->base.type));
    bt_text attributes;
    if (!type)
        return refuse_call(g, call, "ONNX has no such type of elements");
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "to", type);
    return add_node(g, call, onnx, out, &attributes);
}

static bt_status write_axis(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    bt_text attributes;
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "axis", bt_call_int(call, "axis", -1));
    return add_node(g, call, onnx, out, &attributes);
}

/* ---- shapes ---- */

/* To the dims of a type, of which one may be open. */
static bt_status reshape_to(struct graph *g, const bt_call *call, const bt_value *from,
                            uint32_t n, const int64_t *dims, const char *out)
{
    const char *in[2];
    uint32_t nopen = 0;
    for (uint32_t i = 0; i < n; i++)
        nopen += dims[i] == -1;
    if (nopen > 1)
        return refuse_call(g, call,
                           "more than one dim of its result is open: --dim NAME=N "
                           "gives one a size");
    BT_TRY(graph_name(g, from, &in[0]));
    BT_TRY(graph_ints(g, n, dims, &in[1]));
    return graph_node(g, "Reshape", 2, in, out, NULL);
}

static bt_status write_reshape(struct graph *g, const bt_call *call, const char *onnx,
                               const char *out)
{
    const bt_shape_type *shape = bt_tensor_shape(call->base.type);
    int64_t dims[BT_MAX_RANK];
    (void)onnx;
    if (!shape || shape->rest)
        return refuse_call(g, call, "the rank of its result is not known");
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &dims[i]))
            dims[i] = -1;
        else if (!dims[i])
            return refuse_call(g, call, "an extent of 0 is a code there");
    }
    return reshape_to(g, call, call->args[0], shape->n, dims, out);
}

static bt_status write_flatten(struct graph *g, const bt_call *call, const char *onnx,
                               const char *out)
{
    return add_node(g, call, onnx, out, NULL); // axis 1 is its default
}

static bt_status write_transpose(struct graph *g, const bt_call *call, const char *onnx,
                                 const char *out)
{
    const uint32_t n = rank_of(call->args[0]);
    int64_t axes[BT_MAX_RANK];
    bt_text attributes;
    bt_text_init(&attributes, g->arena);
    if (bt_call_ints(call, "axes", n, axes)) {
        for (uint32_t i = 0; i < n; i++)
            axes[i] += axes[i] < 0 ? n : 0;
        attribute_ints(g, &attributes, "perm", n, axes);
    }
    return add_node(g, call, onnx, out, &attributes);
}

static bt_status write_concat(struct graph *g, const bt_call *call, const char *onnx,
                              const char *out)
{
    const bt_tuple_value *tuple = bt_as_tuple(call->args[0]);
    const char **in;
    bt_text attributes;
    if (!tuple)
        return refuse_call(g, call, "what is joined is no tuple of values");
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "axis", bt_call_int(call, "axis", 0));
    BT_TRY(names_of(g, tuple->nfield, tuple->fields, &in));
    return graph_node(g, onnx, tuple->nfield, in, out, &attributes);
}

static bt_status write_reduce(struct graph *g, const bt_call *call, const char *onnx,
                              const char *out)
{
    const bt_ints *axes = bt_attr_find(call->op, call->attrs, "axis", BT_ATTR_INTS);
    const char *in[2];
    uint32_t n = 1;
    bt_text attributes;
    if (bt_call_int(call, "exclude", 0))
        return refuse_call(g, call, "`exclude` names the axes that stay");
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "keepdims", bt_call_int(call, "keepdims", 0));
    BT_TRY(graph_name(g, call->args[0], &in[0]));
    if (axes && axes->n != BT_NONE_LIST) {
        if (!axes->n)
            attribute_int(g, &attributes, "noop_with_empty_axes", 1);
        BT_TRY(graph_ints(g, (uint32_t)axes->n, axes->at, &in[n++]));
    }
    return graph_node(g, onnx, n, in, out, &attributes);
}

/* ---- layers ---- */

static int has_layouts(const bt_call *call, const char *data, const char *weights)
{
    const char *found = bt_call_text(call, weights ? "data_layout" : "layout"),
               *out = bt_call_text(call, "out_layout");
    return strcmp(found, data) == 0 && (!*out || strcmp(out, data) == 0) &&
           (!weights || strcmp(bt_call_text(call, "kernel_layout"), weights) == 0);
}

static int is_one_type(const bt_call *call)
{
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    return dtype == bt_tensor_dtype(call->args[0]->type) &&
           dtype == bt_tensor_dtype(call->args[1]->type);
}

static bt_status write_conv(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    int64_t strides[2], padding[4], dilation[2];
    bt_text attributes;
    if (!has_layouts(call, "NCHW", "OIHW") || !is_one_type(call))
        return refuse_call(g, call,
                           "Conv takes data as NCHW, weights as OIHW, of one type");
    if (!bt_call_ints(call, "strides", 2, strides) ||
        !bt_call_ints(call, "padding", 4, padding) ||
        !bt_call_ints(call, "dilation", 2, dilation))
        return refuse_call(g, call, "its windows are not of two axes");
    bt_text_init(&attributes, g->arena);
    attribute_ints(g, &attributes, "strides", 2, strides);
    attribute_ints(g, &attributes, "pads", 4, padding);
    attribute_ints(g, &attributes, "dilations", 2, dilation);
    attribute_int(g, &attributes, "group", bt_call_int(call, "groups", 1));
    return add_node(g, call, onnx, out, &attributes);
}

static bt_status write_pool(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    const int is_mean = strcmp(onnx, "AveragePool") == 0;
    int64_t size[2], strides[2], padding[4], dilation[2];
    bt_text attributes;
    if (!has_layouts(call, "NCHW", NULL))
        return refuse_call(g, call, "pools of ONNX take data as NCHW");
    if (!bt_call_ints(call, "pool_size", 2, size) ||
        !bt_call_ints(call, "strides", 2, strides) ||
        !bt_call_ints(call, "padding", 4, padding) ||
        !bt_call_ints(call, "dilation", 2, dilation))
        return refuse_call(g, call, "its windows are not of two axes");
    if (is_mean && (dilation[0] != 1 || dilation[1] != 1))
        return refuse_call(g, call, "AveragePool has no dilations");
    bt_text_init(&attributes, g->arena);
    attribute_ints(g, &attributes, "kernel_shape", 2, size);
    attribute_ints(g, &attributes, "strides", 2, strides);
    attribute_ints(g, &attributes, "pads", 4, padding);
    attribute_int(g, &attributes, "ceil_mode", bt_call_int(call, "ceil_mode", 0));
    if (is_mean)
        attribute_int(g, &attributes, "count_include_pad",
                      bt_call_int(call, "count_include_pad", 0));
    else
        attribute_ints(g, &attributes, "dilations", 2, dilation);
    return add_node(g, call, onnx, out, &attributes);
}

static bt_status write_global_pool(struct graph *g, const bt_call *call, const char *onnx,
                                   const char *out)
{
    return has_layouts(call, "NCHW", NULL)
               ? add_node(g, call, onnx, out, NULL)
               : refuse_call(g, call, "pools of ONNX take data as NCHW");
}

/* x w^T */
static bt_status write_dense(struct graph *g, const bt_call *call, const char *onnx,
                             const char *out)
{
    bt_text attributes;
    if (rank_of(call->args[0]) != 2 || !is_one_type(call))
        return refuse_call(g, call, "Gemm takes matrices of one type");
    bt_text_init(&attributes, g->arena);
    attribute_int(g, &attributes, "transB", 1);
    return add_node(g, call, onnx, out, &attributes);
}

/* Along an axis that is not the last the bias needs axes of extent 1 behind its own. */
static bt_status write_bias(struct graph *g, const bt_call *call, const char *onnx,
                            const char *out)
{
    const uint32_t rank = rank_of(call->args[0]);
    const int64_t given = bt_call_int(call, "axis", 1),
                  axis = given < 0 ? given + rank : given;
    const uint32_t n = rank - (uint32_t)axis;
    int64_t dims[BT_MAX_RANK] = { -1 };
    const char *in[2];
    if (n == 1)
        return add_node(g, call, onnx, out, NULL);
    for (uint32_t i = 1; i < n; i++)
        dims[i] = 1;
    BT_TRY(graph_name(g, call->args[0], &in[0]));
    BT_TRY(graph_new_name(g, NULL, &in[1]));
    BT_TRY(reshape_to(g, call, call->args[1], n, dims, in[1]));
    return graph_node(g, onnx, 2, in, out, NULL);
}

/* ---- the table ---- */

// clang-format off
/* By the numbers of types in files (type_number). */
enum {
    HALF = 1 << 16, // bfloat16
    FLOATS = 1 << 1 | 1 << 10 | 1 << 11,
    REALS = FLOATS | HALF,
    INT8 = 1 << 3,
    UINT8 = 1 << 2,
    INTS = 1 << 6 | 1 << 7,    // int32, int64
    UINTS = 1 << 12 | 1 << 13, // uint32, uint64
    SIGNED = REALS | INTS | INT8 | 1 << 5,
    SUMS = REALS | INTS | UINTS,
    NUMBERS = SIGNED | UINTS | UINT8 | 1 << 4,
    ANY = NUMBERS | 1 << 9, // bool
};

static const struct row rows[] = {
    { "abs", "Abs", NUMBERS, write_plain },
    { "add", "Add", NUMBERS, write_plain },
    { "cast", "Cast", ANY, write_cast },
    { "ceil", "Ceil", REALS, write_plain },
    { "concatenate", "Concat", ANY, write_concat },
    { "cos", "Cos", FLOATS, write_plain },
    { "divide", "Div", NUMBERS, write_plain },
    { "equal", "Equal", ANY, write_plain },
    { "erf", "Erf", REALS, write_plain },
    { "exp", "Exp", REALS, write_plain },
    { "expand_dims", "Reshape", ANY, write_reshape },
    { "floor", "Floor", REALS, write_plain },
    { "greater", "Greater", NUMBERS, write_plain },
    { "less", "Less", NUMBERS, write_plain },
    { "log", "Log", REALS, write_plain },
    { "max", "ReduceMax", SUMS | INT8 | UINT8, write_reduce },
    { "maximum", "Max", NUMBERS, write_plain },
    { "mean", "ReduceMean", SUMS, write_reduce },
    { "min", "ReduceMin", SUMS | INT8 | UINT8, write_reduce },
    { "minimum", "Min", NUMBERS, write_plain },
    { "multiply", "Mul", NUMBERS, write_plain },
    { "negative", "Neg", SIGNED, write_plain },
    { "nn.avg_pool2d", "AveragePool", FLOATS, write_pool },
    { "nn.batch_flatten", "Flatten", ANY, write_flatten },
    { "nn.bias_add", "Add", NUMBERS, write_bias },
    { "nn.conv2d", "Conv", FLOATS, write_conv },
    { "nn.dense", "Gemm", SUMS, write_dense },
    { "nn.global_avg_pool2d", "GlobalAveragePool", FLOATS, write_global_pool },
    { "nn.log_softmax", "LogSoftmax", REALS, write_axis },
    { "nn.max_pool2d", "MaxPool", FLOATS | INT8 | UINT8, write_pool },
    { "nn.relu", "Relu", SIGNED, write_plain },
    { "nn.softmax", "Softmax", REALS, write_axis },
    { "power", "Pow", INTS | REALS, write_plain },
    { "prod", "ReduceProd", SUMS, write_reduce },
    { "reshape", "Reshape", ANY, write_reshape },
    { "sigmoid", "Sigmoid", REALS, write_plain },
    { "sin", "Sin", FLOATS, write_plain },
    { "sqrt", "Sqrt", REALS, write_plain },
    { "squeeze", "Reshape", ANY, write_reshape },
    { "subtract", "Sub", NUMBERS, write_plain },
    { "sum", "ReduceSum", SUMS, write_reduce },
    { "take", "Gather", ANY, write_take },
    { "tanh", "Tanh", REALS, write_plain },
    { "transpose", "Transpose", ANY, write_transpose },
    { "where", "Where", ANY, write_plain },
};
// clang-format on

static bt_status check_dtypes(struct graph *g, const bt_call *call, const struct row *row)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        char name[BT_DTYPE_NAME_SIZE], why[128];
        if (!bt_tensor_shape(call->args[i]->type))
            continue; // a tuple, of tensors that have been written
        const bt_dtype dtype = bt_tensor_dtype(call->args[i]->type);
        if (row->dtypes >> type_number(dtype) & 1)
            continue;
        snprintf(why, sizeof(why), "%s takes no %s; cast to a type that it takes",
                 row->onnx, bt_dtype_name(dtype, name, sizeof(name)));
        return refuse_call(g, call, why);
    }
    return NULL;
}

bt_status add_call(struct graph *g, const bt_call *call, const char *out)
{
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(rows[i].op, call->op->name) != 0)
            continue;
        BT_TRY(check_dtypes(g, call, &rows[i]));
        return rows[i].write(g, call, rows[i].onnx, out);
    }
    return refuse_call(g, call, "no row of plugin baton.onnx.write says how");
}
