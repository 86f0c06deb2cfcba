/* One call of an operator, taken apart and copied: nothing points into the call's
 * store. */
#ifndef COMPUTE_FORMULA_CALL_H
#define COMPUTE_FORMULA_CALL_H

#include "compute/formula/instantiate.h"

/* A leaf of a type: what is known of a tensor. */
struct bt__leaf_type {
    bt_dtype dtype;    /* 0: not known */
    uint32_t has_rank; /* 0: neither rank nor dims are known */
    uint32_t rank;
    const int64_t *dims; /* -1: not known */
};
struct bt__call {
    uint32_t narg, nleaf, nresult, nattr;
    const struct bt__arg *args;
    const struct bt__leaf_type *leaves;
    const struct bt__leaf_type *results; /* the result's leaves */
    uint32_t result_is_tuple;
    const struct bt__attr_value *attrs;
};

/* errors BT_ERR_UNSUPPORTED: an argument that is not made of tensors */
bt_status bt__call_read(bt_ctx *, bt_arena *, const bt_formula_call *,
                        struct bt__call *out) BT_MUST_USE;
/* Parameters and result of a function, as if they were a call's. */
bt_status bt__call_read_func(bt_ctx *, bt_arena *, const bt_func *,
                             struct bt__call *out) BT_MUST_USE;
/* Whether dtypes and ranks of all arguments are known: a formula can be checked. */
int bt__call_has_ranks(const struct bt__call *);

#endif
