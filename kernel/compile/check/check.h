/*
 * Kernels against the evaluator.
 *
 *     check.c          a program's calls, one after the other, on the evaluator's values
 *     check_launch.c   what a target does with the buffers of one call
 *     check_bound.c    by how much its results may differ
 */
#ifndef COMPILE_CHECK_H
#define COMPILE_CHECK_H

#include <baton/compiled.h>

#include "compile/code/code.h"

/* A call of a primitive function, and what it must give. */
struct bt__check_call {
    bt_ctx *ctx;
    bt_arena *arena; /* for as long as the call is checked */
    const bt_target_use *use;
    void *loaded;
    const struct bt__primitive *primitive;
    const bt_kernel *const *kernels; /* of the function */
    const uint32_t *numbers;         /* launch's, of these */
    uint32_t nin, nout;              /* leaves */
    bt_tensor *const *in;
    bt_tensor *const *want; /* what the evaluator gives */
};

/* Launches the kernels on memory of their own, several times. *fault: what is wrong, in
 * the arena; NULL: nothing. *error: the largest difference, as a share of the bound. */
bt_status bt__check_call(const struct bt__check_call *, const char **fault,
                         double *error) BT_MUST_USE;

/* What an element may differ by where it is one call's: sums are taken in another order
 * and in fewer bits than the evaluator's. */
double bt__rounding_bound(bt_dtype, double value, double largest);
/* The same for each element of a function's result, with what its calls make of the errors
 * of those before them; in the arena. *out NULL: a function with several results, layouts
 * or other bindings than calls, of which this is not known. */
bt_status bt__check_bounds(bt_ctx *, bt_arena *, const bt_func *, bt_tensor *const *in,
                           const double **out) BT_MUST_USE;

#endif
