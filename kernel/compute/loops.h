/*
 * Loop IR: how a graph is computed.
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
 * Buffers are flat; arrays were laid out row major. Expressions are nodes of a graph
 * whose arrays are the buffers, indices its index nodes: a loop's number is its own among
 * those it stands in. Turns of a parallel loop may run at once: each has its own locals.
 */
#ifndef COMPUTE_LOOPS_H
#define COMPUTE_LOOPS_H

#include "compute/graph.h"

enum {
    BT__BUFFER_IN,
    BT__BUFFER_OUT,
    BT__BUFFER_TEMP, /* written by one nest, read by later ones */
    BT__BUFFER_LOCAL /* a turn's own */
};

enum {
    BT__STMT_FOR,
    BT__STMT_IF,
    BT__STMT_STORE, /* buffer[offset] = value */
    BT__STMT_TAKE,  /* an accumulator takes a value */
    BT__STMT_CHECK, /* fails unless the condition holds */
    BT__STMT_CALL   /* a kernel of the target, on addresses and integers */
};

typedef struct bt__stmt bt__stmt;
typedef bt_vec(bt__stmt *) bt__stmts;

/* An argument of a call: the address of an element, or an integer. */
struct bt__call_arg {
    uint32_t is_address, buffer;
    const bt__node *value; /* the element's offset, or the integer */
};

struct bt__stmt {
    uint32_t kind;                  /* BT__STMT_... */
    uint32_t index;                 /* FOR: number of its index */
    uint32_t is_parallel;           /* FOR */
    int64_t extent;                 /* FOR: turns, from 0 */
    const bt__node *condition;      /* IF, CHECK */
    bt__stmts body;                 /* FOR, IF */
    bt__stmts otherwise;            /* IF */
    uint32_t buffer;                /* STORE, TAKE */
    uint32_t buffer2;               /* TAKE, of reducers with two values */
    const bt__node *offset, *value; /* STORE, TAKE */
    uint32_t reducer;               /* TAKE */
    bt_dtype of;                    /* TAKE: what the reducer was given */
    const bt__node *position;       /* TAKE: of the value, for arg reducers */
    const char *callee;             /* CALL */
    uint32_t narg;
    struct bt__call_arg *args;
    const char *array; /* CHECK: what is read, ... */
    uint32_t axis;     /* ... along which axis, ... */
    int64_t bound;     /* ... of which extent */
};

struct bt__loops {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *name;
    bt__graph *graph;       /* buffers and expressions */
    bt_vec(uint32_t) roles; /* of the buffers: BT__BUFFER_... */
    bt__stmts body;
};

/* ---- building (loops_build.c): NULL, or 0, where the graph has failed or there is no
 * memory; bt__loops_why ---- */

struct bt__loops *bt__loops_create(bt_ctx *, bt_arena *, const char *name);
/* The name, or one like it where it is none in the text. NULL: no memory. */
const char *bt__loops_word(bt_arena *, const char *name);
bt_status bt__loops_why(const struct bt__loops *);
/* nelem >= 0; *out: its number. The name is kept by reference. */
int bt__loops_add_buffer(struct bt__loops *, uint32_t role, const char *name, bt_dtype,
                         int64_t nelem, uint32_t *out);
int64_t bt__loops_nelem(const struct bt__loops *, uint32_t buffer);
bt__stmt *bt__stmt_add(struct bt__loops *, bt__stmts *to, uint32_t kind);
const bt__node *bt__loops_read(struct bt__loops *, uint32_t buffer,
                               const bt__node *offset);

/* The loops of a graph, stage by stage, accumulators in float64 where they are floats:
 * nothing is rearranged (lower.c). */
bt_status bt__lower(bt_ctx *, bt_arena *, const char *name, bt__graph *,
                    struct bt__loops **out) BT_MUST_USE;
/* As text, which parses back (loops_print.c). */
bt_status bt__loops_print(const struct bt__loops *, bt_text *out) BT_MUST_USE;
/* The reverse. errors BT_ERR_SYNTAX at its place, BT_ERR_LIMIT (loops_parse.c) */
bt_status bt__loops_parse(bt_ctx *, bt_arena *, const char *file, const char *text,
                          size_t nbytes, struct bt__loops **out) BT_MUST_USE;
/* Runs them element by element, for tests of all that makes or changes loops
 * (loops_run.c). data: of the buffers that are in or out.
 * errors BT_ERR_RUNTIME: a check, a read or a store out of bounds; BT_ERR_UNSUPPORTED: a
 * call */
bt_status bt__loops_run(bt_ctx *, const struct bt__loops *,
                        void *const *data) BT_MUST_USE;

/* A call's argument while it runs: an element and how many there are from it on, or an
 * integer. */
struct bt__call_value {
    void *address;
    int64_t nelem, integer;
};
struct bt__loops_options {
    /* Not 0: turns of parallel loops run in an order drawn by it, and locals hold rubbish
     * where a turn starts. */
    uint64_t seed;
    /* Does what the target's kernels do; NULL: calls are refused. */
    bt_status (*call)(void *self, const char *callee, uint32_t narg,
                      const struct bt__call_value *args);
    void *self;
};
bt_status bt__loops_run_with(bt_ctx *, const struct bt__loops *, void *const *data,
                             const struct bt__loops_options *) BT_MUST_USE;

#endif
