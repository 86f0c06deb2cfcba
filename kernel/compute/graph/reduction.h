/* A reduction while its condition is solved: see conditions.c. */
#ifndef COMPUTE_GRAPH_REDUCTION_H
#define COMPUTE_GRAPH_REDUCTION_H

#include "compute/graph/graph.h"

struct bt__reduction {
    bt_graph *graph;
    uint32_t reducer, first, nindex;
    const bt_node *extents[BT_MAX_INDEX];
    bt_nodes conjuncts; /* of the condition, each once */
    const bt_node *body;
};

/* The indices that it runs over. */
uint64_t bt__reduction_indices(const struct bt__reduction *);
/* The coefficient of an index that stands by itself, and in no other term; else 0. */
int64_t bt__lone_coef(const bt_node *linear, uint32_t index);
/* l of the conjunct 0 == l of int64; NULL: something else. */
const bt_node *bt__equal_term(const bt_node *conjunct);
/* 0 <= value < extent */
const bt_node *bt__in_range(bt_graph *, const bt_node *value, const bt_node *extent);

/* Conjuncts number `one` and `two` become `instead`. 0: failure. */
int bt__reduction_exchange(struct bt__reduction *, uint32_t one, uint32_t two,
                           const bt_node *instead);
/* Index k becomes `value`, in which it stands for a new index below `extent`, or does not
 * stand at all: then `extent` is NULL and it goes. The value is one of its own where `where`
 * holds, which takes the place of conjunct number `used`; UINT32_MAX: of none. 0: failure. */
int bt__reduction_put(struct bt__reduction *, uint32_t k, const bt_node *value,
                      const bt_node *extent, const bt_node *where, uint32_t used);

/* Equalities of quotients, remainders and digits: one of them becomes simpler. 1: done,
 * 0: there is none, -1: failure. */
int bt__reduction_join(struct bt__reduction *);   /* R1 */
int bt__reduction_digits(struct bt__reduction *); /* R2 */
int bt__reduction_divide(struct bt__reduction *); /* R3, R4 */
/* Equalities of an index with a stride that is 0 or 1, R6. 1: done, 0: there is none, -1:
 * failure. */
int bt__reduction_unstride(struct bt__reduction *);

#endif
