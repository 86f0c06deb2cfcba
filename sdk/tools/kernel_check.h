/*
 * Kernels against the evaluator: what an author of a target asks first.
 *
 *     kernel_check.c          a program's calls, one after the other, on interp's values
 *     kernel_check_launch.c   what a target does with the buffers of one call
 *     kernel_check_bound.c    by how much its results may differ
 */
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H

#include <baton/compiled.h>

/* How far a function's kernels are off, of all calls that were checked. */
struct kernel_error {
    double share; /* the largest difference as a share of its bound; above 1: wrong */
    double apart, bound; /* the largest of each, as shares of the largest value */
};

/* A function that has kernels. */
struct checked_func {
    const char *name, *way; /* "": its target does not say how it computes it */
    uint32_t ncall;         /* that were checked */
    struct kernel_error error;
};

struct kernel_check {
    uint32_t nkernel, ncall; /* kernels, calls of their functions that were checked */
    uint32_t nfirst;         /* of these calls, those of the first target of the list */
    uint32_t nwrong;         /* of these */
    uint32_t nopen;          /* calls that were not: of a size that no argument shows */
    uint32_t ndeclined;      /* ... that go to another target by their constants */
    double error;      /* the largest of those that were right, as a share of its bound */
    const char *where; /* ... and its function, in the arena; NULL: all are exact */
    uint32_t nfunc;
    const struct checked_func *funcs; /* by their first calls; in the arena */
};
/* Runs a program by interp on the inputs that are set, and launches the kernels of each
 * call of a primitive function on memory of their own. They must give what the
 * evaluator gives, within some units of the last place and what the way that the target took
 * allows (bt_lowering.error); the same bits when launched again;
 * write all of their outputs and nothing else, inputs and what lies around buffers least
 * of all; and compute in place where they say that they can. All calls that do otherwise
 * are reported, by target, function, kernel and element; *out is filled in any case.
 * Takes the evaluator's time.
 * errors  BT_ERR_PLUGIN: the first of these; BT_ERR_UNSUPPORTED: the program is an
 *         artifact or is not compiled; of the evaluator */
bt_status check_kernels(bt_ctx *, bt_arena *, struct bt_program *,
                        struct kernel_check *out) BT_MUST_USE;

/* The same of a module that is fused: its entry, on these arguments. */
bt_status check_module_kernels(bt_ctx *, bt_arena *, const bt_module *fused,
                               const char *entry, const bt_targets *,
                               bt_object *const *args,
                               struct kernel_check *out) BT_MUST_USE;

/* A call of a primitive function, and what it must give. */
struct kernel_call {
    bt_ctx *ctx;
    bt_arena *arena;             /* for as long as the call is checked */
    const bt_compiled *compiled; /* the function alone */
    const bt_lowering *lowering;
    const bt_func *func;
    const int64_t *dims; /* values of its type parameters */
    uint32_t nin, nout;  /* leaves */
    bt_tensor *const *in;
    const uint8_t *constant; /* of each of in: it is one of the program */
    bt_tensor *const *want;  /* what the evaluator gives */
    int has_next;            /* another target may take the function */
    /* Its target does not take it with its constants: BT_ERR_UNSUPPORTED of a kernel that
     * reads nothing else. The program has it on another target. */
    int *is_declined;
};

/* Launches the kernels on memory of their own, several times. *fault: what is wrong, in
 * the arena; NULL: nothing. */
bt_status check_kernel_call(const struct kernel_call *, const char **fault,
                            struct kernel_error *) BT_MUST_USE;

/* A dim of a function where its type parameters have these values. */
bt_status value_of_dim(bt_ctx *, bt_arena *, const bt_func *, const int64_t *dims,
                       const bt_type *dim, int64_t *out) BT_MUST_USE;

/* What an element may differ by where it is one call's: sums are taken in another order
 * and in fewer bits than the evaluator's. */
double rounding_bound(bt_dtype, double value, double largest);
/* The same for each element of a function's result, with what its calls make of the errors
 * of those before them; in the arena. *out NULL: a function with several results, layouts
 * or other bindings than calls, of which this is not known. */
bt_status find_bounds(const struct kernel_call *, const double **out) BT_MUST_USE;

#endif
