/* Proofs that reads stay in bounds. */
#ifndef COMPUTE_BOUNDS_H
#define COMPUTE_BOUNDS_H

#include "compute/graph.h"

/* What is known to hold where a node is evaluated: conjuncts of the conditions around it,
 * outermost last. */
struct bt__facts {
    const struct bt__facts *outer;
    bt__nodes conjuncts;
};

/* Whether a condition holds wherever the facts do; 0 also where that is not seen. */
int bt__facts_imply(bt__graph *, const struct bt__facts *, const bt__node *condition);
/* Whether 0 <= index < extent. */
int bt__facts_bound(bt__graph *, const struct bt__facts *, const bt__node *index,
                    const bt__node *extent);
/* Whether every read in an expression is in bounds wherever the facts hold. */
int bt__facts_cover(bt__graph *, const struct bt__facts *, const bt__node *);

#endif
