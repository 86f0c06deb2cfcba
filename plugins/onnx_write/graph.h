/* A graph of ONNX under construction. */
#ifndef ONNX_WRITE_GRAPH_H
#define ONNX_WRITE_GRAPH_H

#include <baton/ir.h>
#include <baton/op.h>

struct graph {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_store *store;       /* of the module, for places */
    const bt_block *block;       /* of the function: its parameters have open dims */
    bt_text nodes, initializers; /* fields of the graph's message */
    bt_map names;                /* of values that are tensors */
    bt_map fields;               /* of calls that give tuples: an array of names */
    bt_map taken;                /* these names */
    uint32_t nmade;
};

/* The name of a value, which is a parameter, a constant or a result of a node that was added.
 * errors  BT_ERR_UNSUPPORTED: none of these, or of a type that ONNX has not */
bt_status graph_name(struct graph *, const bt_value *, const char **out) BT_MUST_USE;
/* The names of the fields of a tuple. */
bt_status graph_fields(struct graph *, const bt_value *, uint32_t *n,
                       const char *const **out) BT_MUST_USE;
/* A name of its own, like that of the value. */
bt_status graph_new_name(struct graph *, const bt_value *, const char **out) BT_MUST_USE;
bt_status graph_set_name(struct graph *, const bt_value *, const char *) BT_MUST_USE;
bt_status graph_set_fields(struct graph *, const bt_value *,
                           const char *const *) BT_MUST_USE;
/* A constant integer; a constant list of them; so many times a number. */
bt_status graph_int(struct graph *, bt_dtype, int64_t, const char **out) BT_MUST_USE;
bt_status graph_ints(struct graph *, uint32_t n, const int64_t *,
                     const char **out) BT_MUST_USE;
bt_status graph_fill(struct graph *, bt_dtype, uint32_t rank, const int64_t *dims, double,
                     const char **out) BT_MUST_USE;

/* Attributes, as fields of a node's message. */
void attribute_int(struct graph *, bt_text *, const char *name, int64_t);
void attribute_float(struct graph *, bt_text *, const char *name, double);
void attribute_text(struct graph *, bt_text *, const char *name, const char *);
void attribute_ints(struct graph *, bt_text *, const char *name, uint32_t n,
                    const int64_t *);
/* A node; attributes: NULL: none. */
bt_status graph_node(struct graph *, const char *operator_, uint32_t n,
                     const char *const *in, uint32_t nout, const char *const *out,
                     const bt_text *attributes) BT_MUST_USE;

/* Sets of types of elements: bits 1 << type_number. */
enum {
    FLOAT = 1 << 1,
    DOUBLE = 1 << 11,
    FLOATS = FLOAT | DOUBLE | 1 << 10,
    HALF = 1 << 16, // bfloat16
    REALS = FLOATS | HALF,
    INT8 = 1 << 3,
    UINT8 = 1 << 2,
    INT16 = 1 << 5,
    INTS = 1 << 6 | 1 << 7,    // int32, int64
    UINTS = 1 << 12 | 1 << 13, // uint32, uint64
    SIGNED = REALS | INTS | INT8 | INT16,
    SUMS = REALS | INTS | UINTS,
    NUMBERS = SIGNED | UINTS | UINT8 | 1 << 4,
    BITS = NUMBERS & ~REALS,
    BOOL = 1 << 9,
    ANY = NUMBERS | BOOL,
};

/* The number of a type of elements; 0: ONNX has it not. */
int64_t type_number(bt_dtype);
/* The refusal of a call, at its place. */
bt_status refuse_call(struct graph *, const bt_call *, const char *why) BT_FAILURE;

/* ---- graph_calls.c: the table ---- */
/* The nodes of a call; `out`: the name of its result, where that is a tensor. */
bt_status add_call(struct graph *, const bt_call *, const char *out) BT_MUST_USE;

/* A function that writes a call; `onnx`: what its row says. */
typedef bt_status write_fn(struct graph *, const bt_call *, const char *onnx,
                           const char *out);
#define ROW(op, onnx, types, write) write_fn write;
#include "operators.def"

/* ---- graph_nodes.c: what writers share ---- */
/* Nodes one behind another. After the first failure, which stays, nothing is added and names are
 * NULL. */
struct nodes {
    struct graph *g;
    const bt_call *call;
    bt_text attributes; /* of the next node */
    bt_status status;
};
struct nodes nodes_of(struct graph *, const bt_call *);
void nodes_fail(struct nodes *, const char *why);
const char *nodes_arg(struct nodes *, uint32_t index);
const char *nodes_ints(struct nodes *, uint32_t n, const int64_t *);
/* A scalar of the type of elements. */
const char *nodes_number(struct nodes *, bt_dtype, double);
/* A list of the extents of a shape: constants, and what parameters of the function tell. */
const char *nodes_shape(struct nodes *, const bt_shape_type *);
/* A node of the inputs up to NULL. out: NULL: a name is made. */
const char *nodes_add(struct nodes *, const char *out, const char *onnx, ...);
/* The same of an array of inputs. */
const char *nodes_add_n(struct nodes *, const char *out, const char *onnx, uint32_t n,
                        const char *const *in);
/* Cast where the types differ. */
const char *nodes_cast(struct nodes *, const char *out, bt_dtype from, bt_dtype to,
                       const char *in);
/* An argument that is a vector along an axis, as a tensor that broadcasts to others of that rank. */
const char *nodes_along(struct nodes *, uint32_t index, uint32_t axis, uint32_t rank);
/* To the shape of a type, of which one extent may be computed. */
const char *nodes_reshape(struct nodes *, const char *out, const bt_shape_type *,
                          const char *in);
/* A node of all arguments, with those attributes. */
bt_status nodes_end(struct nodes *, const char *out, const char *onnx);

uint32_t rank_of(const bt_value *);
/* Which of the axes, counted from 0. */
uint32_t axis_of(int64_t axis, uint32_t rank);
/* The extent of an axis; below 0: it is open. */
int64_t extent_of(const bt_value *, uint32_t axis);
double call_float(const bt_call *, const char *attr);
/* A list as it is given; n is 0 where it is None or there is none. */
bt_ints call_list(const bt_call *, const char *attr);
int has_one_type(const bt_call *);

#endif
