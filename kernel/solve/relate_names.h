/* What the relations of signatures and formulas share. */
#ifndef SOLVE_RELATE_NAMES_H
#define SOLVE_RELATE_NAMES_H

#include "compute/formula/signature.h"

/* Names of a signature and the terms that they stand for in one call, as far as known. */
struct bt__relate_names {
    bt_map dims;   /* name -> const bt_type *, kind Dim */
    bt_map dtypes; /* name -> const bt_type *, kind DType */
};

/* The patterns of a call's inputs: those of the operator's row, or of the formula that the
 * call brings. */
bt_status bt__relate_signature(bt_solver *, const bt_relation_call *,
                               const struct bt__signature **out) BT_MUST_USE;
/* Checks the arguments and binds the names; *waits: some equality is still open. */
bt_status bt__relate_bind(bt_solver *, const bt_relation_call *,
                          struct bt__relate_names *, uint32_t *waits) BT_MUST_USE;

/* A dim of a shape counted from one end; NULL where a shape variable may stand. */
const bt_type *bt__shape_dim(const bt_type *shape, uint32_t axis, int from_right);
/* Whether that many dims at each end are known. */
int bt__shape_has_ends(const bt_type *shape, uint32_t front, uint32_t back);
/* The shape without them. NULL: no memory. */
const bt_type *bt__shape_slice(bt_store *, const bt_type *shape, uint32_t front,
                               uint32_t back);

#endif
