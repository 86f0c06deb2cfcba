/*
 * For authors of targets: loop IR, how a graph is computed, and the transforms that make
 * schedules.
 *
 *     loops fused_dense_relu {
 *         in a0: float32[12]
 *         in a1: float32[20]
 *         out s0: float32[15]
 *         local t0: float64[1]
 *         parallel i0 in 3 {
 *             for i1 in 5 {
 *                 t0[0] = float64(0.0)
 *                 for i2 in 4 {
 *                     t0[0] sum[float32]= (a0[4*i0 + i2] * a1[4*i1 + i2])
 *                 }
 *                 s0[5*i0 + i1] = max(float32(t0[0]), float32(0.0))
 *             }
 *         }
 *     }
 *
 * Extents that are not known yet are expressions of dims, which stand behind the name:
 *
 *     loops copy<n: Dim in 1..64> {
 *         in a0: float32[8*n]
 *         out s0: float32[8*n]
 *         for i0 in n {
 *             for i1 in 8 {
 *                 s0[8*i0 + i1] = a0[8*i0 + i1]
 *             }
 *         }
 *     }
 *
 * Buffers are flat; arrays were laid out row major. Expressions are nodes of a graph
 * whose arrays are the buffers, indices its index nodes: a loop's number is its own among
 * those it stands in. Iterations of a parallel loop may run at once, with their own locals.
 */
#ifndef BATON_LOOPS_H
#define BATON_LOOPS_H

#include <baton/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Buffers of kernels and of loops. */
enum {
    BT_BUFFER_INPUT,
    BT_BUFFER_OUTPUT,
    BT_BUFFER_TEMP, /* of one run of a kernel, or of a primitive function's kernels */
    BT_BUFFER_LOCAL /* of one iteration */
};

enum {
    BT_STMT_FOR,
    BT_STMT_IF,
    BT_STMT_STORE, /* buffer[offset] = value */
    BT_STMT_TAKE,  /* an accumulator takes a value */
    BT_STMT_CHECK, /* fails unless the condition holds */
    BT_STMT_CALL   /* a kernel of the target, on addresses and integers */
};

typedef struct bt_stmt bt_stmt;
typedef bt_vec(bt_stmt *) bt_stmts;

/* An argument of a call: the address of an element, or an integer. */
typedef struct bt_call_arg {
    uint32_t is_address, buffer;
    const bt_node *value; /* the element's offset, or the integer */
} bt_call_arg;

struct bt_stmt {
    uint32_t kind;                 /* BT_STMT_... */
    uint32_t index;                /* FOR: number of its index */
    uint32_t is_parallel;          /* FOR */
    const bt_node *extent;         /* FOR: iterations, from 0; CHECK: of the axis */
    const bt_node *condition;      /* IF, CHECK */
    bt_stmts body;                 /* FOR, IF */
    bt_stmts otherwise;            /* IF */
    uint32_t buffer;               /* STORE, TAKE */
    uint32_t buffer2;              /* TAKE, of reducers with two values */
    const bt_node *offset, *value; /* STORE, TAKE */
    uint32_t reducer;              /* TAKE */
    bt_dtype of;                   /* TAKE: what the reducer was given */
    const bt_node *position;       /* TAKE: of the value, for arg reducers */
    const char *callee;            /* CALL */
    uint32_t narg;
    bt_call_arg *args;
    const char *array; /* CHECK: what is read, ... */
    uint32_t axis;     /* ... along which axis */
};

typedef struct bt_loops {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *name;
    bt_graph *graph;          /* buffers and expressions */
    bt_vec(uint32_t) roles;   /* of the buffers: BT_BUFFER_... */
    bt_vec(uint32_t) results; /* buffers: the graph's results in order */
    bt_stmts body;
} bt_loops;

/* ---- building : NULL, or 0, where the graph has failed or there is no
 * memory; bt_loops_why ---- */

BT_API bt_loops *bt_loops_create(bt_ctx *, bt_arena *, const char *name);
/* The name, or one like it where it is none in the text. NULL: no memory. */
BT_API const char *bt_loops_word(bt_arena *, const char *name);
BT_API bt_status bt_loops_why(const bt_loops *);
/* nelem: a number or an expression of dims; *out: the buffer's number. The name is kept by
 * reference. */
BT_API int bt_loops_add_buffer(bt_loops *, uint32_t role, const char *name, bt_dtype,
                               const bt_node *nelem, uint32_t *out);
/* -1: it is known when the loops run. */
BT_API int64_t bt_loops_nelem(const bt_loops *, uint32_t buffer);
BT_API bt_stmt *bt_stmt_add(bt_loops *, bt_stmts *to, uint32_t kind);
BT_API const bt_node *bt_loops_read(bt_loops *, uint32_t buffer, const bt_node *offset);

/* The loops of a graph, stage by stage, accumulators in float64 where they are floats:
 * nothing is rearranged. What is used more than once stands in a local, but for cheap
 * index arithmetic. */
BT_API bt_status bt_loops_lower(bt_ctx *, bt_arena *, const char *name, bt_graph *,
                                bt_loops **out) BT_MUST_USE;
typedef struct bt_lower_options {
    /* Whether a float32, or shorter, reduction is done in float32; NULL: none is. */
    int (*is_narrow)(void *self, const bt_node *reduce);
    void *self;
    /* 1: shared nodes stay in the expressions that use them, for schedules that compute
     * each once by themselves. Written as text, such loops may be very long. */
    uint32_t is_tree;
    /* Arrays in the order of their nests; one that is not among them has none, as somebody
     * else computes it. NULL: all in their own order. */
    const uint32_t *order;
    uint32_t norder;
    /* 1: a reduction whose terms address the elements that take them is done element by element,
     * each of which looks at all terms: nothing is stored to by several iterations. */
    uint32_t gathers;
} bt_lower_options;
BT_API bt_status bt_loops_lower_with(bt_ctx *, bt_arena *, const char *name, bt_graph *,
                                     const bt_lower_options *,
                                     bt_loops **out) BT_MUST_USE;
/* As text, as at the top of this page. */
BT_API bt_status bt_loops_print(const bt_loops *, bt_text *out) BT_MUST_USE;

/* ---- transforms ---- */

/*
 * Transforms of loops: each makes a program that computes the same in another order, or
 * refuses.
 *
 *     for i0 in 3 {                               for i0 in 12 {
 *         for i1 in 4 {               collapse        y[i0] = x[i0]
 *             y[4*i0 + i1] = ...          ->      }
 *
 * A loop is addressed by its statement. What is not legal, or cannot be shown to be, is
 * refused by BT_ERR_UNSUPPORTED with the reason, and the loops stay as they were.
 * Reducers take their values in any order (reducers.def), so accumulators do not hold
 * loops in place; where floats are summed, that changes rounding and nothing else.
 */

/* The iterations may run at once. */
BT_API bt_status bt_loops_parallel(bt_loops *, bt_stmt *loop) BT_MUST_USE;

/* The loop and the one that is its whole body as one loop, where the sums in which
 * their indices stand allow that. */
BT_API bt_status bt_loops_collapse(bt_loops *, bt_stmt *outer) BT_MUST_USE;
/* A statement and all in it: loops that are the whole body of another become one with it wherever
 * that is allowed. */
BT_API bt_status bt_loops_collapse_all(bt_loops *, bt_stmt *) BT_MUST_USE;
/* The loop and the one after it, of as many iterations, as one loop. */
BT_API bt_status bt_loops_merge(bt_loops *, bt_stmt *first) BT_MUST_USE;
/* A buffer that only one iteration at a time uses gets the size that an iteration
 * needs: with merge before it, the producer is computed where its consumer is. */
BT_API bt_status bt_loops_shrink(bt_loops *, bt_stmt *loop, uint32_t buffer) BT_MUST_USE;
/* Removes loops of no iteration or one, conditions that always or never hold, empty
 * blocks. After a failure, part of it is done. */
BT_API bt_status bt_loops_simplify(bt_loops *) BT_MUST_USE;

/* ---- walking and editing, for schedules of one's own ---- */

/* Calls `meet` for every expression of a statement and of those inside, in order, until
 * it gives 0. */
typedef int bt_meet_fn(void *self, bt_stmt *, const bt_node **slot);
BT_API int bt_stmt_walk(bt_stmt *, bt_meet_fn *meet, void *self);
/* Replaces nodes of which `replace` gives another; NULL: failure. */
typedef struct bt_by_node {
    bt_loops *loops;
    const bt_node *(*replace)(void *self, const bt_node *);
    void *self;
} bt_by_node;
BT_API const bt_node *bt_node_change(const bt_by_node *, const bt_node *);
/* The block with statement `at` replaced by others, which may be none. 0: no memory. */
BT_API int bt_stmts_replace(bt_loops *, bt_stmts *, uint32_t at, const bt_stmts *by);
/* Whether the body may be done statement by statement, each for all iterations: none needs
 * what another does, except accumulators that many add to, and locals that each iteration
 * has for itself, which is_private tells by buffer (may be NULL).
 * errors  BT_ERR_UNSUPPORTED: why not */
BT_API bt_status bt_loops_lanes(bt_loops *, bt_stmt *loop,
                                uint8_t *is_private) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
