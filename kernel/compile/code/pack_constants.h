/* Kernels of constants, run when a module is compiled. */
#ifndef COMPILE_PACK_CONSTANTS_H
#define COMPILE_PACK_CONSTANTS_H

#include "compile/code/code.h"

/* Runs those invocations of lowered functions that read nothing but constants, and puts
 * the next version, which has what they wrote as constants, in *module's place; kernels
 * that it does not invoke leave the list. Says how many bytes constants
 * have: before, and after.
 * errors  of the target: compile, load, launch */
bt_status bt__pack_constants(struct bt__kernels *, bt_module **module, uint64_t *unpacked,
                             uint64_t *packed) BT_MUST_USE;
/* Whether a kernel that an invocation runs on constants makes little of them, and takes no more than a
 * compiler may. Packing pads, and makes at most some copies of what it packs; what grows a program
 * without bounds, a tensor of zeros, stays in it as the kernel. */
bt_status bt__pack_may_run(bt_ctx *, bt_arena *, const bt_kernel *, const bt_call *invoke,
                           int *out) BT_MUST_USE;

#endif
