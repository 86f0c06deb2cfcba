/*
 * Compiling a module for a target.
 *
 *     lower.c           primitive calls become storage and invocations of kernels
 *     view.c            functions that only change the shape
 *     pack_constants.c  kernels of constants are run
 *     compiled.c        target instances, code, and what holds them together
 */
#ifndef COMPILE_LOWER_H
#define COMPILE_LOWER_H

#include <baton/target.h>

/* Kernels of a module, in the order in which they were found. */
struct bt__kernels {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target *target;
    void *instance;
    bt_map primitives; /* global -> struct bt__primitive * */
    bt_vec(const bt_kernel *) kernels;
};
/* A primitive function, lowered. */
struct bt__primitive {
    bt_lowering lowering;
    uint32_t first; /* of its kernels */
};

/* A version of the module in which `entry` is lowered.
 * errors  BT_ERR_UNSUPPORTED: a binding that is no call of a primitive function, tuple or
 *         projection; dims that are not numbers; what the target refuses */
bt_status bt__lower_entry(struct bt__kernels *, const bt_module *, const bt_global *entry,
                          bt_module **out) BT_MUST_USE;

/* Whether a function of one tensor gives that tensor's elements, all and in their order:
 * then it needs no kernel. */
bt_status bt__func_is_view(bt_ctx *, bt_arena *, const bt_func *, int *out) BT_MUST_USE;

#endif
