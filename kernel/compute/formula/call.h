/* One call of an operator, taken apart and copied: nothing points into the call's
 * store. */
#ifndef COMPUTE_FORMULA_CALL_H
#define COMPUTE_FORMULA_CALL_H

#include "compute/formula/instantiate.h"

struct bt__call {
    uint32_t narg, nleaf, nresult, nattr;
    const struct bt__arg *args;
    const struct bt__leaf *leaves;
    const struct bt__leaf *results; /* the result's leaves */
    uint32_t result_is_tuple;
    const struct bt__attr_value *attrs;
};

/* errors BT_ERR_UNSUPPORTED: an argument that is not made of tensors */
bt_status bt__call_read(bt_ctx *, bt_arena *, const bt_formula_call *,
                        struct bt__call *out) BT_MUST_USE;
/* Parameters and result of a function, as if they were a call's. */
bt_status bt__call_read_types(bt_ctx *, bt_arena *, const char *name, uint32_t n,
                              const bt_type *const *params, const bt_type *result,
                              struct bt__call *out) BT_MUST_USE;
/* The formula of the operator for this call, and what it is instantiated from. *out points
 * into the call. */
bt_status bt__call_formula(bt_ctx *, bt_arena *, const bt_formula_call *,
                           const struct bt__call *, struct bt__instance *out) BT_MUST_USE;
/* Checks the formula as far as the types tell: nothing where a rank or a dtype is not
 * known. *out: the graph, in which every axis that they do not say is a dim of its own; NULL
 * where there was nothing to check. */
bt_status bt__call_graph(bt_ctx *, bt_arena *, const struct bt__instance *,
                         bt_graph **out) BT_MUST_USE;
/* Both, of a call of an operator that has a formula. */
bt_status bt__call_compose(bt_ctx *, bt_arena *, const bt_formula_call *,
                           bt_graph **out) BT_MUST_USE;

#endif
