/* What the parts of a bt_compute share. */
#ifndef COMPUTE_EVALUATE_COMPUTE_H
#define COMPUTE_EVALUATE_COMPUTE_H

#include <baton/compute.h>

#include "compute/compose/copy.h"
#include "compute/evaluate/bytecode.h"
#include "compute/formula/cache.h"
#include "compute/formula/call.h"

/* What plain C takes as a leaf of its arguments. */
struct bt__eval_leaf {
    bt_tensor *constant; /* NULL: the input */
    uint32_t input;
};

struct bt_compute {
    bt_registry *registry;
    bt_arena *arena;
    const char *name;
    struct bt__call call;
    /* With a graph: */
    uint32_t is_joined;           /* of a function: its graph is there from the start */
    struct bt__instance instance; /* without formula: of a function, or plain C */
    struct bt__formulas *formulas; /* among them that of the instance */
    bt_arena *made;               /* of the last instantiation: graph and leaves */
    bt_arena *coded;              /* of the last bytecode, and its strides */
    bt_graph *graph;
    const bt_array **results; /* its results, before elements became parts */
    struct bt__bytecode *bytecode;
    const struct bt__leaf *leaves; /* it was made for these */
    const int64_t *const *strides; /* and the bytecode for these */
    /* With plain C: */
    const bt_op *op;
    bt_store *store; /* own, for the types */
    const void *attrs;
    uint32_t narg, nleaf; /* of the operator's call */
    const uint32_t *arg_nleaf;
    struct bt__eval_leaf *sources; /* of the leaves */
    const bt_type *const *args;
    const bt_type *result;
};

/* ---- what a compiler may compute (folding.c) ---- */

struct bt__folding {
    int64_t steps; /* multiply-adds, and elements of what is read and made */
    int64_t read;  /* bytes */
    int64_t made;  /* bytes, with what is between */
};

/* Whether it is within the bound, which is one for all who compute while they compile. */
int bt__may_fold(const struct bt__folding *);
/* Adds to a sum; INT64_MAX where that is more, or the part is below 0, not known. */
void bt__folding_add(int64_t *sum, int64_t part);
/* Adds a run on these inputs, for which its graph, if it has one, is instantiated. */
bt_status bt__folding_add_run(struct bt__folding *, const bt_compute *, uint32_t nin,
                              const bt_tensor *const *in) BT_MUST_USE;

/* ---- formulas (compute_formula.c) ---- */

bt_status bt__compute_take_formula(bt_ctx *, bt_compute *,
                                   const bt_formula_call *) BT_MUST_USE;
/* All operators that the function calls. */
bt_status bt__compute_take_func(bt_ctx *, bt_compute *, const bt_func *,
                                struct bt__copying *) BT_MUST_USE;
/* The graph for these inputs: that of the last call when nothing differs. */
bt_status bt__compute_instantiate(bt_ctx *, bt_compute *, uint32_t nin,
                                  const bt_tensor *const *in) BT_MUST_USE;
bt_status bt__compute_run_formula(bt_ctx *, bt_compute *, uint32_t nin,
                                  const bt_tensor *const *in,
                                  bt_tensor **out) BT_MUST_USE;

/* ---- plain C (compute_eval.c) ---- */

/* The call by itself; or binding, the call in a function with this block, whose parameters
 * are the inputs.
 * errors BT_ERR_UNSUPPORTED: an argument that is neither a parameter nor a constant tensor;
 *        an operator without plain C */
bt_status bt__compute_take_eval(bt_ctx *, bt_compute *, const bt_formula_call *,
                                const bt_call *binding,
                                const bt_block *block) BT_MUST_USE;
bt_status bt__compute_run_eval(bt_ctx *, bt_compute *, const bt_tensor *const *in,
                               bt_tensor **out) BT_MUST_USE;

#endif
