/* Whether programs that a target has a part in compute what the executor interp does. */
#ifndef TARGET_RUN_H
#define TARGET_RUN_H

#include <baton/compiled.h>

struct target_run {
    uint32_t nrun, nopen; /* programs; those with open dims */
    uint32_t nseveral;    /* of nrun: with a function of several kernels */
    uint32_t ncodes;      /* of nrun: networks of codes */
    const char *fault;    /* lines that say what is wrong; NULL: nothing was found */
};

/* Programs of its patterns, or of simple operators where it has none: two calls, so that
 * their tensors lie side by side, with dims that are known and, where the target takes
 * such, that are open: equal and different ones, 0, and some larger than a vector or a tile.
 * Then networks of codes. What is found lives in the arena. */
bt_status target_run(bt_ctx *, bt_arena *, const bt_target_use *,
                     struct target_run *out) BT_MUST_USE;
/* The kernels of the same programs, of known dims, each launched alone and waited for: what it
 * computes, and what it writes beside its output. */
bt_status target_run_kernels(bt_ctx *, bt_arena *, const bt_target_use *,
                             struct target_run *out) BT_MUST_USE;

#endif
