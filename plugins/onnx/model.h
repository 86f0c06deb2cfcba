/* An ONNX model as its file states it. Names and texts are NUL-terminated copies;
 * tensors' contents stay in the file. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <baton/importer.h>

#include "wire.h"

typedef bt_vec(int64_t) int64_list;
typedef bt_vec(float) float_list;
typedef bt_vec(const char *) text_list;

/* TensorProto. Elements stand in `raw`, or in one of the typed lists, or in another
 * file. */
struct onnx_tensor {
    const char *name;
    int64_t data_type;
    int64_list dims;
    struct slice raw;
    uint32_t has_raw, is_external;
    bt_vec(struct field) lists; /* typed lists, packed or one by one, in order */
    const char *location;
    int64_t offset, length; /* of external data; length -1: to the end */
};

/* TensorShapeProto.Dimension: a number, a symbol, or neither. */
struct onnx_dim {
    int64_t value; /* -1: not a number */
    const char *symbol;
};

/* ValueInfoProto. `kind`: the field of its TypeProto, TYPE_TENSOR or something else. */
enum { TYPE_NONE = 0, TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_OPTIONAL = 9 };
struct onnx_value_info {
    const char *name;
    uint32_t kind;
    int64_t elem_type;
    uint32_t has_shape;
    bt_vec(struct onnx_dim) dims;
};

struct onnx_graph;

/* AttributeProto. `type` says which of the fields counts; where a file leaves it out, it
 * is that of the first one given. */
enum {
    ATTR_NONE,
    ATTR_FLOAT,
    ATTR_INT,
    ATTR_STRING,
    ATTR_TENSOR,
    ATTR_GRAPH,
    ATTR_FLOATS,
    ATTR_INTS,
    ATTR_STRINGS
};
struct onnx_attr {
    const char *name;
    int64_t type;
    const char *ref; /* within a function: the attribute of the call that it stands for;
                        NULL: it has a value of its own */
    int64_t i;
    float f;
    const char *s; /* NULL where it is no text */
    struct onnx_tensor *t;
    struct onnx_graph *g;
    int64_list ints;
    float_list floats;
    text_list strings;
};

struct onnx_node {
    const char *name, *op, *domain, *overload; /* domain "" for ai.onnx */
    text_list inputs;                          /* "": absent */
    text_list outputs;
    bt_vec(struct onnx_attr) attrs;
};

struct onnx_graph {
    const char *name;
    bt_vec(struct onnx_node) nodes;
    bt_vec(struct onnx_tensor) initializers;
    bt_vec(struct onnx_value_info) inputs, outputs;
};

struct onnx_opset {
    const char *domain;
    int64_t version;
};

typedef bt_vec(struct onnx_opset) opset_list;

/* FunctionProto: a node of its name stands for its nodes. */
struct onnx_function {
    const char *name, *domain, *overload;
    text_list inputs, outputs;
    text_list attr_names;              /* that a call must give */
    bt_vec(struct onnx_attr) defaults; /* that it may give */
    opset_list opsets;
    struct onnx_graph body; /* nodes only */
};

struct onnx_model {
    const char *path; /* for messages */
    int64_t ir_version;
    const char *producer, *producer_version;
    opset_list opsets;
    struct onnx_graph graph;
    uint32_t has_graph;
    bt_vec(struct onnx_function) functions;
};

/* What messages call a node: its name, else its first result, else its operator. */
const char *onnx_node_name(const struct onnx_node *);

/* Reads a ModelProto.
 * errors  BT_ERR_FORMAT with the byte offset, BT_ERR_LIMIT */
bt_status onnx_model_read(bt_ctx *, bt_arena *, const char *path, const void *bytes,
                          size_t nbytes, struct onnx_model *out);
/* Reads a TensorProto, the content of a .pb file. */
bt_status onnx_tensor_read(bt_ctx *, bt_arena *, const char *path, const void *bytes,
                           size_t nbytes, struct onnx_tensor *out);

#endif
