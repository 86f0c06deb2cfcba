/* Extents that a formula leaves to be inferred, and what `..` stands for. */
#ifndef COMPUTE_FORMULA_EXTENTS_H
#define COMPUTE_FORMULA_EXTENTS_H

#include "compute/formula/names.h"

struct bt__rest {
    uint32_t is_known;    /* 0: the stage has no `..` */
    uint32_t rank, first; /* axes, and the first one's index */
    const bt_node *extents[BT_MAX_RANK];
};

/* The extent of an index: of the axes that it indexes alone in unguarded reads of `body`
 * and `condition` (may be NULL), else in guarded ones, else the dim of its name. */
bt_status bt__extent_infer(struct bt__names *, const struct bt__ast_var *,
                           const bt__ast *body, const bt__ast *condition,
                           const bt_node **out) BT_MUST_USE;
/* The broadcast of all axes that `..` covers in the stage's reads. */
bt_status bt__rest_infer(struct bt__names *, const struct bt__ast_stage *,
                         struct bt__rest *out) BT_MUST_USE;

#endif
