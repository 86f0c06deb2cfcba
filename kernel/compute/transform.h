/*
 * Transforms of loops: each makes a program that computes the same in another order, or
 * refuses.
 *
 *     for i0 in 6 {                      for i0 in 2 {
 *         y[i0] = x[i0]      split 3         for i1 in 3 {
 *     }                         ->               y[3*i0 + i1] = x[3*i0 + i1]
 *
 * A loop is addressed by its statement. What is not legal, or is not seen to be, is
 * refused by BT_ERR_UNSUPPORTED with the reason, and the program stays as it was.
 * Reducers take their values in any order (reducers.def), so accumulators do not hold
 * loops in place; where floats are summed, that changes rounding and nothing else.
 */
#ifndef COMPUTE_TRANSFORM_H
#define COMPUTE_TRANSFORM_H

#include "compute/loops.h"

/* ---- one loop ---- */

enum {
    BT__REST_GUARD, /* the last turns are behind a condition */
    BT__REST_LOOP   /* a loop of its own after it */
};
/* The loop becomes one over tiles of `by` turns; *inner: that inside one. */
bt_status bt__loops_split(struct bt__loops *, bt__stmt *loop, int64_t by, uint32_t rest,
                          bt__stmt **inner) BT_MUST_USE;
/* Its turns one after the other. */
bt_status bt__loops_unroll(struct bt__loops *, bt__stmt *loop) BT_MUST_USE;
/* Several loops, split where conditions in the body begin or cease to hold; `loop` is the
 * longest. */
bt_status bt__loops_peel(struct bt__loops *, bt__stmt *loop) BT_MUST_USE;
/* Turns may run at once. */
bt_status bt__loops_parallel(struct bt__loops *, bt__stmt *loop) BT_MUST_USE;
/* What does not change from turn to turn is done before the loop: its only condition,
 * values of locals, checks. */
bt_status bt__loops_hoist(struct bt__loops *, bt__stmt *loop) BT_MUST_USE;

/* ---- two loops ---- */

/* The loop and the one that is all its body change places: it stays the outer's
 * statement, which goes inside. */
bt_status bt__loops_interchange(struct bt__loops *, bt__stmt *outer) BT_MUST_USE;
/* These two as one: their indices stand in sums that allow it. */
bt_status bt__loops_collapse(struct bt__loops *, bt__stmt *outer) BT_MUST_USE;
/* The loop and the one after it, of as many turns, as one loop. */
bt_status bt__loops_merge(struct bt__loops *, bt__stmt *first) BT_MUST_USE;
/* The reverse, at statement `at` of the body; *second: the loop of what is after it.
 * Locals that hold something in between get an element for each turn. */
bt_status bt__loops_distribute(struct bt__loops *, bt__stmt *loop, uint32_t at,
                               bt__stmt **second) BT_MUST_USE;

/* ---- buffers ---- */

/* A buffer that only one turn at a time uses gets the size that a turn needs: with merge
 * before it, the producer is computed where its consumer is. */
bt_status bt__loops_shrink(struct bt__loops *, bt__stmt *loop,
                           uint32_t buffer) BT_MUST_USE;
/* What the loop reads of a buffer is copied before it, in the order in which it is read,
 * to a buffer of this role: BT__BUFFER_TEMP or, inside another loop, _LOCAL. */
bt_status bt__loops_pack(struct bt__loops *, bt__stmt *loop, uint32_t buffer,
                         uint32_t role) BT_MUST_USE;

/* ---- kernels ---- */

/*
 * What a kernel does:  for m, n, k: c[m*cm + n*cn] += a[m*am + k*ak] * b[k*bk + n*bn]
 * Called as  name(&c, &a, &b, M, N, K, cm, cn, am, ak, bk, bn).
 */
enum { BT__ROLE_M, BT__ROLE_N, BT__ROLE_K, BT__NROLE };
struct bt__contract {
    const char *name;
    bt_dtype a, b, c; /* of the buffers */
    struct {
        int64_t least, most, multiple; /* 0: any */
    } extents[BT__NROLE];
    int64_t strides[6]; /* cm cn am ak bk bn; BT__ANY_STRIDE */
};
#define BT__ANY_STRIDE INT64_MIN
/* The nest becomes a call of the kernel. */
bt_status bt__loops_tensorize(struct bt__loops *, bt__stmt *nest,
                              const struct bt__contract *) BT_MUST_USE;

/* ---- all ---- */

/* Loops of no turn and of one, conditions that hold or cannot, empty blocks go. After a
 * failure, part of it is done. */
bt_status bt__loops_simplify(struct bt__loops *) BT_MUST_USE;

/* ---- what transforms share: places and edits (transform_edit.c) ---- */

struct bt__place {
    bt__stmts *block; /* block->at[at] is the statement */
    uint32_t at;
    uint64_t open;           /* indices of the loops around */
    uint32_t is_in_parallel; /* one of them is parallel */
};
/* 0: not in the program. */
int bt__loops_find(struct bt__loops *, const bt__stmt *, struct bt__place *out);
bt_status bt__loops_find_loop(struct bt__loops *, const bt__stmt *,
                              struct bt__place *out) BT_MUST_USE;
bt_status bt__loops_refuse(const struct bt__loops *, const char *format, ...) BT_FAILURE
    BT_PRINTF(2, 3);

/* Calls `meet` for every expression of a statement and of those inside, in order, until
 * it gives 0. */
typedef int bt__meet_fn(void *self, bt__stmt *, const bt__node **slot);
int bt__stmt_walk(bt__stmt *, bt__meet_fn *meet, void *self);

/* New expressions for a statement and those inside. They are put in place only when all
 * are made; the second time, the old ones are. */
typedef const bt__node *bt__change_fn(void *self, const bt__stmt *,
                                      const bt__node **slot);
struct bt__edit {
    bt__nodes made;
    uint32_t at;
};
bt_status bt__edit_make(struct bt__loops *, bt__stmt *, bt__change_fn *change, void *self,
                        struct bt__edit *out) BT_MUST_USE;
void bt__edit_swap(bt__stmt *, struct bt__edit *);

/* Replaces an index by an expression. */
struct bt__by_index {
    bt__graph *graph;
    uint32_t number;
    const bt__node *by;
};
const bt__node *bt__change_index(void *by_index, const bt__stmt *, const bt__node **slot);
/* Replaces nodes of which `replace` gives another; NULL: failure. */
struct bt__by_node {
    struct bt__loops *loops;
    const bt__node *(*replace)(void *self, const bt__node *);
    void *self;
};
const bt__node *bt__node_change(const struct bt__by_node *, const bt__node *);

/* Deep copies; NULL: no memory. */
bt__stmt *bt__stmt_copy(struct bt__loops *, const bt__stmt *);
/* Indices of the loops in a statement. */
uint64_t bt__stmt_indices(const bt__stmt *);
/* Whether it is a parallel loop, or has one inside. */
int bt__stmt_has_parallel(const bt__stmt *);
/* One that is not among the used; -1: there is none. */
int bt__index_unused(uint64_t used);
/* The block with statement `at` replaced by others, which may be none. 0: no memory. */
int bt__stmts_replace(struct bt__loops *, bt__stmts *, uint32_t at, const bt__stmts *by);

/* ---- what touches what (transform_depend.c) ---- */

struct bt__access {
    uint32_t buffer;
    const bt__node *offset; /* NULL: anywhere */
    uint32_t writes;
    uint32_t takes; /* 1 + the reducer: such accesses may change places */
    bt_dtype of;
};
typedef bt_vec(struct bt__access) bt__accesses;
/* All of a statement and those inside. 0: no memory. */
int bt__accesses_of(struct bt__loops *, const bt__stmt *, bt__accesses *out);
/* Whether a statement outside of the loop uses the buffer; 1 also without memory. */
int bt__buffer_used_outside(struct bt__loops *, uint32_t buffer, const bt__stmt *loop);
/* 0: where index `number` differs, two accesses never touch one element, whatever the
 * indices not in `outer` are. */
int bt__accesses_meet(const bt__node *a, const bt__node *b, uint64_t outer,
                      uint32_t number);

struct bt__conflict_question {
    const bt__accesses *a, *b;
    uint64_t outer; /* indices that have one value throughout */
    uint32_t number;
    const uint8_t *is_private; /* by buffer: those do not count */
    uint32_t is_parallel;      /* accumulators count */
};
/* The first pair in conflict, one of which writes; NULL: none. */
const struct bt__access *bt__conflict_find(const struct bt__conflict_question *);

/* ---- locals (transform_local.c) ---- */

/* Whether every read of the local finds what was stored before it in the same turn of the
 * loop, or outside of it, after it: so turns could have one each. -1: no memory. */
int bt__local_is_private(struct bt__loops *, uint32_t buffer, const bt__stmt *loop);
/* This for all locals, by number; NULL: no memory. */
uint8_t *bt__locals_private(struct bt__loops *, const bt__stmt *loop);

#endif
