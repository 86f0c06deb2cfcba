/* From a formula and one call's types, dims and attributes to the compute graph. */
#ifndef COMPUTE_FORMULA_INSTANTIATE_H
#define COMPUTE_FORMULA_INSTANTIATE_H

#include "compute/formula/ast.h"
#include "compute/formula/signature.h"
#include "compute/graph/graph.h"

/* A leaf of a type: what is known of a tensor. */
struct bt__leaf {
    bt_dtype dtype; /* 0: not known */
    uint32_t rank;
    const int64_t *dims; /* -1: not known */
    uint32_t has_rank;   /* 0: neither rank nor dims are known */
};
struct bt__arg {
    uint32_t first, nleaf;
    uint32_t is_tuple;
};
/* An attribute's value. */
struct bt__attr_value {
    const char *name;
    uint32_t kind; /* BT_ATTR_... */
    uint32_t is_none;
    uint32_t n; /* elements of a list */
    const int64_t *ints;
    const bt_type *const *terms; /* dims that are not all numbers */
    const double *floats;
    bt_dtype dtype;
};

struct bt__instance {
    const char *op;
    const struct bt__signature *signature;
    const struct bt__formula *formula;
    uint32_t narg, nleaf, nattr;
    const struct bt__arg *args;
    const struct bt__leaf *leaves;
    const struct bt__attr_value *attrs;
    uint32_t takes_terms; /* an attribute's dim that is no number is a dim of the graph */
    uint32_t is_checked;  /* an index computed from elements needs no guard: the call may fail */
};

/* Checks the formula and makes its graph in `arena`. With dims that are not known only
 * the check is meaningful: extents may be DIM nodes.
 * errors  BT_ERR_NAME, BT_ERR_TYPE at a place in the formula; BT_ERR_RUNTIME: dims that
 *         do not fit the patterns or each other */
bt_status bt__instantiate(bt_ctx *, bt_arena *arena, const struct bt__instance *,
                          bt_graph **out) BT_MUST_USE;

#endif
