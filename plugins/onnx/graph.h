/* A graph becoming a block: the import as a whole, names in scope, calls of functions. */
#ifndef ONNX_GRAPH_H
#define ONNX_GRAPH_H

#include "given.h"
#include "model.h"
#include "tensor.h"

struct scope {
    struct scope *outer;
    bt_map values;       /* name -> bt_value; NULL: an input that was left out */
    bt_map initializers; /* name -> struct onnx_tensor not yet used */
};

/* A function whose nodes are being converted in the place of a call. */
struct frame {
    const struct onnx_function *function;
    const struct onnx_node *call; /* its attributes have values */
    struct frame *outer;
};

struct onnx_import {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    bt_builder *builder;
    const struct onnx_model *model;
    struct onnx_files files;
    struct given given, fixed; /* dims, inputs */
    const opset_list *opsets;  /* of the model, or of the function being expanded */
    uint32_t source;
    struct scope *scope;
    struct frame *frame;
    uint32_t depth;   /* of graphs and functions being converted */
    uint32_t nnode;   /* converted so far, each time it is: functions multiply them */
    bt_map operators; /* "ai.onnx.Pad" -> its versions */
    bt_map symbols;   /* dim_param -> bt_type of kind Dim */
    bt_map known;     /* calls that are kept -> the constant that each is known to give */
    bt_vec(const bt_type *) vars;
};

/* The version of a domain's operator set; 0: none is stated. */
int64_t opset_version(const opset_list *, const char *domain);
/* The function that a node names; NULL: it names an operator. */
const struct onnx_function *find_function(const struct onnx_model *,
                                          const struct onnx_node *);

/* A graph's nodes in the innermost open block, its inputs bound to `args`; *results has
 * an element for each of its outputs. */
bt_status convert_graph(struct onnx_import *, const struct onnx_graph *, uint32_t narg,
                        const bt_value *const *args, const bt_value *const **results);

/* The model's graph as function main. */
bt_status import_main(struct onnx_import *, const bt_func **out);

#endif
