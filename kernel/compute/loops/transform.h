/* What transforms of loops share; the transforms are in <baton/loops.h>. */
#ifndef COMPUTE_LOOPS_TRANSFORM_H
#define COMPUTE_LOOPS_TRANSFORM_H

#include <baton/loops.h>

#include "compute/graph/graph.h"

/* ---- what transforms share: places and edits (edit.c) ---- */

/* Where a statement stands. */
struct bt__place {
    bt_stmts *block; /* block->at[at] is the statement */
    uint32_t at;
    uint64_t open; /* indices of the loops around */
};
bt_status bt__loops_find_loop(bt_loops *, const bt_stmt *,
                              struct bt__place *out) BT_MUST_USE;
bt_status bt__loops_refuse(const bt_loops *, const char *format, ...) BT_FAILURE
    BT_PRINTF(2, 3);

/* New expressions for a statement and those inside. They are put in place only when all
 * are made; the second time, the old ones are. */
typedef const bt_node *bt__change_fn(void *self, const bt_stmt *, const bt_node **slot);
struct bt__edit {
    bt_nodes made;
    uint32_t at;
};
bt_status bt__edit_make(bt_loops *, bt_stmt *, bt__change_fn *change, void *self,
                        struct bt__edit *out) BT_MUST_USE;
void bt__edit_swap(bt_stmt *, struct bt__edit *);

/* Replaces an index by an expression. */
struct bt__by_index {
    bt_graph *graph;
    uint32_t number;
    const bt_node *by;
};
const bt_node *bt__change_index(void *by_index, const bt_stmt *, const bt_node **slot);
/* Whether the loop may have more iterations than one. */
static inline int bt__loops_repeats(const bt_stmt *loop)
{
    int64_t extent = bt_node_number(loop->extent);
    return extent < 0 || extent > 1;
}
/* Whether it is a parallel loop, or has one inside. */
int bt__stmt_has_parallel(const bt_stmt *);
/* ---- what touches what (depend.c) ---- */

struct bt__access {
    uint32_t buffer;
    const bt_node *offset; /* NULL: anywhere */
    uint32_t writes;
    uint32_t takes; /* 1 + the reducer: such accesses may change places */
    bt_dtype of;
};
typedef bt_vec(struct bt__access) bt__accesses;
/* All of a statement and those inside. 0: no memory. */
int bt__accesses_of(bt_loops *, const bt_stmt *, bt__accesses *out);
/* Whether a statement outside of the loop uses the buffer; 1 also without memory. */
int bt__buffer_used_outside(bt_loops *, uint32_t buffer, const bt_stmt *loop);
/* 0: where index `number` differs, two accesses never touch one element, whatever the
 * indices not in `outer` are. */
int bt__accesses_meet(const bt_node *a, const bt_node *b, uint64_t outer,
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

/* ---- locals (local.c) ---- */

/* Whether every read of the local finds what was stored before it in the same iteration
 * of the loop, or outside of it, after it: so iterations could have one each. -1: no
 * memory. */
int bt__local_is_private(bt_loops *, uint32_t buffer, const bt_stmt *loop);
/* This for all locals, by number; NULL: no memory. */
uint8_t *bt__locals_private(bt_loops *, const bt_stmt *loop);

#endif
