/* A graph becoming a block: names in scope, and what a node's conversion may ask and
 * build. */
#ifndef ONNX_GRAPH_H
#define ONNX_GRAPH_H

#include "model.h"

struct scope {
    struct scope *outer;
    bt_map values;       /* name -> bt_value */
    bt_map initializers; /* name -> struct onnx_tensor not yet used */
};

struct importer {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    bt_builder *builder;
    const struct onnx_model *model;
    const char *folder;
    const char *const *dim_values; /* "n=4" */
    int64_t opset;                 /* of ai.onnx */
    uint32_t source;
    struct scope *scope;
    bt_map symbols; /* dim_param -> bt_type of kind Dim */
    bt_vec(const bt_type *) vars;
};

/* A graph as a block of the builder, its inputs bound to `args`; outputs as a tuple, or
 * alone where there is one. */
bt_status graph_block(struct importer *, const struct onnx_graph *, uint32_t narg,
                      const bt_value *const *args, const bt_value **result);

/* The model's graph as function main. */
bt_status import_main(struct importer *, const bt_func **out);

#endif
