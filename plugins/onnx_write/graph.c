#include "graph.h"

#include <string.h>

#include "proto.h"

/* Fields of the messages NodeProto, AttributeProto and TensorProto (onnx.proto). */
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OPERATOR = 4,
    NODE_ATTRIBUTE = 5
};
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_TEXT = 3, TYPE_INTS = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };

int64_t type_number(bt_dtype dtype)
{
    static const struct {
        bt_dtype dtype;
        int64_t number;
    } rows[] = { { BT_FLOAT32, 1 },  { BT_UINT8, 2 },   { BT_INT8, 3 },
                 { BT_UINT16, 4 },   { BT_INT16, 5 },   { BT_INT32, 6 },
                 { BT_INT64, 7 },    { BT_BOOL, 9 },    { BT_FLOAT16, 10 },
                 { BT_FLOAT64, 11 }, { BT_UINT32, 12 }, { BT_UINT64, 13 },
                 { BT_BFLOAT16, 16 } };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (rows[i].dtype == dtype)
            return rows[i].number;
    }
    return 0;
}

bt_status refuse_call(struct graph *g, const bt_call *call, const char *why)
{
    return bt_fail_at(g->ctx, BT_ERR_UNSUPPORTED, g->store, call->base.span,
                      "%s is written as no operator of ONNX: %s", call->op->name, why);
}

/* ---- names ---- */

bt_status graph_set_name(struct graph *g, const bt_value *value, const char *name)
{
    return bt_map_put(&g->names, value, (void *)(uintptr_t)name) ? NULL : bt_no_memory();
}

bt_status graph_new_name(struct graph *g, const bt_value *value, const char **out)
{
    bt_text name;
    const char *own = value && value->name ? value->name : NULL;
    do {
        bt_text_init(&name, g->arena);
        if (own)
            bt_text_addf(&name, "%s", own);
        else
            bt_text_addf(&name, "v%u", g->nmade++);
        *out = bt_text_get(&name);
        if (!*out)
            return bt_no_memory();
        own = NULL;
    } while (bt_map_entry_find(&g->taken, *out));
    return bt_map_put(&g->taken, *out, NULL) ? NULL : bt_no_memory();
}

/* A tensor of a constant, by its own bytes in row-major order. */
static bt_status add_tensor(struct graph *g, const bt_tensor *tensor, const char *name)
{
    bt_text message;
    bt_tensor *dense;
    bt_text_init(&message, g->arena);
    BT_TRY(bt_tensor_dense(g->ctx, tensor, &dense));
    for (uint32_t i = 0; i < tensor->rank; i++)
        proto_int(&message, TENSOR_DIM, tensor->dims[i]);
    proto_int(&message, TENSOR_TYPE, type_number(tensor->dtype));
    proto_text(&message, TENSOR_NAME, name);
    if (dense->nelem) // no field is there of nothing
        proto_bytes(&message, TENSOR_BYTES, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    proto_message(&g->initializers, GRAPH_INITIALIZER, &message);
    return g->initializers.failed ? bt_no_memory() : NULL;
}

/* value: the constant, or what names it where the module does. */
static bt_status add_constant(struct graph *g, const bt_value *value,
                              const bt_const *constant, const char **out)
{
    const bt_tensor *tensor = bt_object_as_tensor(constant->object);
    if (!tensor || !type_number(tensor->dtype))
        return bt_fail_at(g->ctx, BT_ERR_UNSUPPORTED, g->store, value->span,
                          "a constant is of a type that ONNX has not");
    BT_TRY(graph_new_name(g, value, out));
    BT_TRY(graph_set_name(g, &constant->base, *out));
    return add_tensor(g, tensor, *out);
}

bt_status graph_name(struct graph *g, const bt_value *value, const char **out)
{
    const bt_value *known = bt_module_constant(g->module, value);
    const bt_const *constant = known ? bt_as_const(known) : NULL;
    *out = bt_map_find(&g->names, constant ? &constant->base : value);
    if (*out)
        return NULL;
    return constant
               ? add_constant(g, value, constant, out)
               : bt_fail_at(g->ctx, BT_ERR_UNSUPPORTED, g->store, value->span,
                            "ONNX files are written of calls of operators on tensors: "
                            "branches, functions, data and tuples stay in Baton's text");
}

bt_status graph_fields(struct graph *g, const bt_value *value, uint32_t *n,
                       const char *const **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    const char **names;
    if (!tuple && (*out = bt_map_find(&g->fields, value)) != NULL) {
        *n = bt_as_tuple_type(value->type)->n;
        return NULL;
    }
    if (!tuple)
        return bt_fail_at(g->ctx, BT_ERR_UNSUPPORTED, g->store, value->span,
                          "what is joined is no tuple of values that ONNX has");
    if (!(names = BT_NEWS(g->arena, const char *, tuple->nfield + 1)))
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++)
        BT_TRY(graph_name(g, tuple->fields[i], &names[i]));
    *n = tuple->nfield;
    *out = names;
    return NULL;
}

bt_status graph_set_fields(struct graph *g, const bt_value *value,
                           const char *const *names)
{
    return bt_map_put(&g->fields, value, (void *)(uintptr_t)names) ? NULL
                                                                   : bt_no_memory();
}

bt_status graph_int(struct graph *g, bt_dtype dtype, int64_t number, const char **out)
{
    bt_tensor *tensor;
    BT_TRY(graph_new_name(g, NULL, out));
    BT_TRY(bt_tensor_scalar_int(g->ctx, dtype, number, &tensor));
    bt_status status = add_tensor(g, tensor, *out);
    bt_tensor_unref(tensor);
    return status;
}

bt_status graph_ints(struct graph *g, uint32_t n, const int64_t *numbers,
                     const char **out)
{
    const int64_t dims[1] = { n };
    bt_tensor *tensor;
    BT_TRY(graph_new_name(g, NULL, out));
    BT_TRY(bt_tensor_create(g->ctx, BT_INT64, 1, dims, &tensor));
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_set_int(tensor, i, numbers[i]);
    bt_status status = add_tensor(g, tensor, *out);
    bt_tensor_unref(tensor);
    return status;
}

bt_status graph_fill(struct graph *g, bt_dtype dtype, uint32_t rank, const int64_t *dims,
                     double number, const char **out)
{
    bt_tensor *tensor;
    BT_TRY(graph_new_name(g, NULL, out));
    BT_TRY(bt_tensor_create(g->ctx, dtype, rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i, number);
    bt_status status = add_tensor(g, tensor, *out);
    bt_tensor_unref(tensor);
    return status;
}

/* ---- nodes ---- */

static bt_text begin_attribute(const struct graph *g, const char *name, int64_t type)
{
    bt_text message;
    bt_text_init(&message, g->arena);
    proto_text(&message, ATTRIBUTE_NAME, name);
    proto_int(&message, ATTRIBUTE_TYPE, type);
    return message;
}

void attribute_int(struct graph *g, bt_text *out, const char *name, int64_t number)
{
    bt_text message = begin_attribute(g, name, TYPE_INT);
    proto_int(&message, ATTRIBUTE_INT, number);
    proto_message(out, NODE_ATTRIBUTE, &message);
}

void attribute_float(struct graph *g, bt_text *out, const char *name, double number)
{
    bt_text message = begin_attribute(g, name, TYPE_FLOAT);
    proto_float(&message, ATTRIBUTE_FLOAT, number);
    proto_message(out, NODE_ATTRIBUTE, &message);
}

void attribute_text(struct graph *g, bt_text *out, const char *name, const char *text)
{
    bt_text message = begin_attribute(g, name, TYPE_TEXT);
    proto_text(&message, ATTRIBUTE_TEXT, text);
    proto_message(out, NODE_ATTRIBUTE, &message);
}

void attribute_ints(struct graph *g, bt_text *out, const char *name, uint32_t n,
                    const int64_t *numbers)
{
    bt_text message = begin_attribute(g, name, TYPE_INTS);
    for (uint32_t i = 0; i < n; i++)
        proto_int(&message, ATTRIBUTE_INTS, numbers[i]);
    proto_message(out, NODE_ATTRIBUTE, &message);
}

bt_status graph_node(struct graph *g, const char *operator_, uint32_t n,
                     const char *const *in, uint32_t nout, const char *const *out,
                     const bt_text *attributes)
{
    bt_text message;
    bt_text_init(&message, g->arena);
    for (uint32_t i = 0; i < n; i++)
        proto_text(&message, NODE_INPUT, in[i]);
    for (uint32_t i = 0; i < nout; i++)
        proto_text(&message, NODE_OUTPUT, out[i]);
    proto_text(&message, NODE_NAME, out[0]);
    proto_text(&message, NODE_OPERATOR, operator_);
    if (attributes && attributes->failed)
        return bt_no_memory();
    if (attributes && attributes->len)
        bt_text_add(&message, attributes->at, attributes->len);
    proto_message(&g->nodes, GRAPH_NODE, &message);
    return g->nodes.failed ? bt_no_memory() : NULL;
}
