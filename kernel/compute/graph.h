/*
 * The canonical compute graph: what a formula computes for given dims, dtypes and
 * attributes, without names.
 *
 * Expressions are nodes, shared where they are equal. Integer arithmetic on int64 is kept
 * as LINEAR over atoms (indices and whatever is not linear), comparisons of it as
 * 0 <= LINEAR and 0 == LINEAR, arguments of commuting operators in one order: two ways of
 * writing a thing give the same node.
 *
 * Indices are numbers: axis a of the stage is a, a reduction takes the numbers after
 * those it is nested in. So equal reductions are equal nodes.
 */
#ifndef COMPUTE_GRAPH_H
#define COMPUTE_GRAPH_H

#include "compute/reduce.h"

enum {
    BT__NODE_CONST,  /* value */
    BT__NODE_INDEX,  /* number `which`, 0 .. high */
    BT__NODE_DIM,    /* a dim that is not known yet: axis value.i of array `which` */
    BT__NODE_LINEAR, /* int64: value.i + sum of coefs[k] * args[k] */
    BT__NODE_SCALAR, /* scalar operator `which` */
    BT__NODE_CAST,   /* args[0] as dtype */
    BT__NODE_SELECT, /* args[0] ? args[1] : args[2]; the other one is not evaluated */
    BT__NODE_READ,   /* array `which` at args */
    BT__NODE_REDUCE  /* reducer `which` of args[1] where args[0] holds, over the indices
                        first ... first + nindex - 1 below coefs[0 ...] */
};

typedef struct bt__node bt__node;
struct bt__node {
    uint32_t kind, which;
    bt_dtype dtype;
    uint32_t id, depth;
    uint32_t reads;   /* 1: reads an array, itself or below */
    uint32_t reduces; /* 1: reduces, likewise */
    uint64_t hash;
    uint64_t free;     /* bit i: depends on index i */
    int64_t low, high; /* of an integer: bounds of its int64 */
    union bt__cell value;
    uint32_t narg, nindex, first;
    const bt__node *const *args;
    const int64_t *coefs;
};
enum { BT__MAX_INDEX = 64 };
static inline uint64_t bt__index_bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* Inputs first, then stages in order. */
struct bt__array {
    const char *name; /* for messages */
    bt_dtype dtype;
    uint32_t rank;
    const bt__node *const *extents;
    const bt__node *body; /* NULL: an input */
};

typedef struct bt__graph {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_status status; /* the first failure; constructors then give NULL */
    uint32_t nnode;
    const bt__node **slots; /* of the hash table */
    uint32_t nslot;
    uint32_t narray, ninput, cap_array;
    struct bt__array *arrays;
    uint32_t nresult;
    const uint32_t *results; /* arrays */
} bt__graph;

/* Everything lives in `arena`. NULL: no memory. */
bt__graph *bt__graph_create(bt_ctx *, bt_arena *arena);

/* Adds an array; *out: its number. 0: no memory. */
int bt__graph_add_array(bt__graph *, const struct bt__array *, uint32_t *out);

/* Constructors: NULL when an argument is NULL or on failure (graph->status). */
const bt__node *bt__node_const(bt__graph *, bt_dtype, union bt__cell);
const bt__node *bt__node_int(bt__graph *, int64_t);
const bt__node *bt__node_bool(bt__graph *, int);
/* extent < 0: unknown. Of an extent of 1 the constant 0. */
const bt__node *bt__node_index(bt__graph *, uint32_t number, int64_t extent);
const bt__node *bt__node_dim(bt__graph *, uint32_t array, uint32_t axis);
/* Of one dtype, accepted by the operator. */
const bt__node *bt__node_scalar(bt__graph *, uint32_t which, const bt__node *a,
                                const bt__node *b);
const bt__node *bt__node_cast(bt__graph *, bt_dtype, const bt__node *);
const bt__node *bt__node_select(bt__graph *, const bt__node *condition, const bt__node *a,
                                const bt__node *b);
const bt__node *bt__node_read(bt__graph *, uint32_t array, bt_dtype, uint32_t rank,
                              const bt__node *const *indices);
/* As it stands; bt__reduction_build (conditions.h) solves and simplifies first. */
const bt__node *bt__node_reduce(bt__graph *, uint32_t reducer, uint32_t first,
                                uint32_t nindex, const int64_t *extents,
                                const bt__node *condition, const bt__node *body);
/* A value that a stage of its dtype would store: rounded to it, where it is a float that
 * is computed in more bits. */
const bt__node *bt__node_round(bt__graph *, const bt__node *);
/* The same operation on other arguments; `first` is that of a reduction. */
const bt__node *bt__node_again(bt__graph *, const bt__node *like, uint32_t first,
                               const bt__node *const *args);
/* value + sum of coefs * atoms, in normal form. */
const bt__node *bt__node_linear(bt__graph *, int64_t constant, uint32_t n,
                                const bt__node *const *atoms, const int64_t *coefs);

/* An int64 node as constant + terms. */
struct bt__linear {
    int64_t constant;
    uint32_t n;
    const bt__node *const *atoms;
    const int64_t *coefs;
    const bt__node *self[1];
    int64_t one[1];
};
void bt__node_as_linear(const bt__node *, struct bt__linear *out);
/* Coefficient of an index in the linear form; 0 where it does not stand by itself. */
int64_t bt__linear_coef(const struct bt__linear *, uint32_t index);

static inline int bt__node_is_const(const bt__node *node, int64_t *out)
{
    if (node->kind != BT__NODE_CONST || bt__dtype_is_float(node->dtype))
        return 0;
    *out = node->value.i;
    return 1;
}
static inline int bt__node_is_true(const bt__node *node)
{
    return node->kind == BT__NODE_CONST && node->dtype == BT_BOOL && node->value.i;
}
static inline int bt__node_is_false(const bt__node *node)
{
    return node->kind == BT__NODE_CONST && node->dtype == BT_BOOL && !node->value.i;
}
/* The conjuncts of a condition: those of `and`, else itself, none of true. 0: no
 * memory. */
typedef bt_vec(const bt__node *) bt__nodes;
int bt__node_conjuncts(bt_arena *, const bt__node *, bt__nodes *out);
const bt__node *bt__node_and(bt__graph *, const bt__node *, const bt__node *);

/* Replaces index `number` by `by` and moves the numbers above it one down, inside
 * reductions too. */
const bt__node *bt__node_replace_index(bt__graph *, const bt__node *, uint32_t number,
                                       const bt__node *by);
/* Replaces index `number` by `by`; all other numbers stay. */
const bt__node *bt__node_substitute(bt__graph *, const bt__node *, uint32_t number,
                                    const bt__node *by);

#endif
