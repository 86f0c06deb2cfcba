/* What the parts of a bt_compute share. */
#ifndef COMPUTE_EVALUATE_COMPUTE_H
#define COMPUTE_EVALUATE_COMPUTE_H

#include <baton/compute.h>

#include "compute/compose/copy.h"
#include "compute/evaluate/bytecode.h"
#include "compute/formula/call.h"

struct bt_compute {
    bt_registry *registry;
    bt_arena *arena;
    const bt_op *op;
    const char *name;
    struct bt__call call;
    /* With a graph: */
    uint32_t is_joined;           /* of a function: its graph is there from the start */
    struct bt__instance instance; /* without formula: of a function, or plain C */
    bt_arena *made;               /* of the last instantiation: graph and leaves */
    bt_arena *coded;              /* of the last bytecode, and its strides */
    bt_graph *graph;
    struct bt__bytecode *bytecode;
    const struct bt__leaf *leaves; /* it was made for these */
    const int64_t *const *strides; /* and the bytecode for these */
    /* With plain C: */
    bt_store *store; /* own, for the types */
    const void *attrs;
    const bt_type *const *args;
    const bt_type *result;
};

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

bt_status bt__compute_take_eval(bt_ctx *, bt_compute *,
                                const bt_formula_call *) BT_MUST_USE;
bt_status bt__compute_run_eval(bt_ctx *, bt_compute *, uint32_t nin,
                               const bt_tensor *const *in, bt_tensor **out) BT_MUST_USE;

#endif
