/* A graph of ONNX under construction. */
#ifndef ONNX_WRITE_GRAPH_H
#define ONNX_WRITE_GRAPH_H

#include <baton/ir.h>
#include <baton/op.h>

struct graph {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_store *store;       /* of the module, for places */
    bt_text nodes, initializers; /* fields of the graph's message */
    bt_map names;                /* of values */
    bt_map taken;                /* these names */
    uint32_t nmade;
};

/* The name of a value, which is a parameter, a constant or a result of a node that was added.
 * errors  BT_ERR_UNSUPPORTED: none of these, or of a type that ONNX has not */
bt_status graph_name(struct graph *, const bt_value *, const char **out) BT_MUST_USE;
/* A name of its own, like that of the value. */
bt_status graph_new_name(struct graph *, const bt_value *, const char **out) BT_MUST_USE;
bt_status graph_set_name(struct graph *, const bt_value *, const char *) BT_MUST_USE;
/* A constant integer; a constant list of them. */
bt_status graph_int(struct graph *, bt_dtype, int64_t, const char **out) BT_MUST_USE;
bt_status graph_ints(struct graph *, uint32_t n, const int64_t *,
                     const char **out) BT_MUST_USE;

/* Attributes, as fields of a node's message. */
void attribute_int(struct graph *, bt_text *, const char *name, int64_t);
void attribute_ints(struct graph *, bt_text *, const char *name, uint32_t n,
                    const int64_t *);
/* A node; attributes: NULL: none. */
bt_status graph_node(struct graph *, const char *operator_, uint32_t n,
                     const char *const *in, const char *out,
                     const bt_text *attributes) BT_MUST_USE;

/* The number of a type of elements; 0: ONNX has it not. */
int64_t type_number(bt_dtype);
/* The refusal of a call, at its place. */
bt_status refuse_call(struct graph *, const bt_call *, const char *why) BT_FAILURE;

/* ---- graph_calls.c ---- */
/* The nodes of a call; `out`: the name of its result. */
bt_status add_call(struct graph *, const bt_call *, const char *out) BT_MUST_USE;

/* ---- graph_take.c ---- */
bt_status write_take(struct graph *, const bt_call *, const char *onnx,
                     const char *out) BT_MUST_USE;

#endif
