/*
 * Code of kernels: made, loaded, launched, whoever does it.
 *
 *     compiled.c        from a fused module to what sessions of executors share
 *     code.c            code, by its form: made, loaded, called
 *     launch.c          a kernel launched, memory copied; by queues too
 *     pack_constants.c  kernels of constants are run
 *     constants.c       constants in memory of targets' own
 *     evaluator.c       a primitive function computed without code
 *     cost.c            work and traffic of a call
 */
#ifndef COMPILE_CODE_H
#define COMPILE_CODE_H

#include "compile/lower/lower.h"

/* Has a target make code of some kernels: of any form, where C text is compiled, or of
 * this one as it is. It lives in the arena.
 * errors  BT_ERR_PLUGIN: what it gives is no code; BT_ERR_UNSUPPORTED: not of this form */
bt_status bt__compile_code(bt_ctx *, bt_arena *, const bt_target_use *, uint32_t form,
                           uint32_t n, const bt_kernel *const *,
                           bt_kernel_code *const **out) BT_MUST_USE;
/* Makes code ready to run; the codes must live as long.
 * errors  BT_ERR_PLUGIN: the target says that it did, but gives nothing */
bt_status bt__load_code(bt_ctx *, const bt_target_use *, uint32_t n,
                        const bt_kernel_code *const *, void **loaded) BT_MUST_USE;
void bt__unload_code(const bt_target_use *, void *loaded); /* accepts NULL */
/* Has a target make code of some kernels, in the arena, and load it, unless it is to stay
 * text. Where it refuses and others could take them, `refusing` is set. */
bt_status bt__make_code(struct bt__kernels *, bt_arena *, uint32_t target, uint32_t form,
                        uint32_t n, const bt_kernel *const *,
                        bt_kernel_code *const **codes, void **loaded) BT_MUST_USE;
/* Runs a kernel of a target that loads nothing itself: all its phases, in the thread of
 * the caller, whose scratch begins the workspace. */
bt_status bt__call_functions(bt_ctx *, const void *loaded, uint32_t number,
                             const char *kernel, const bt_kernel_call *) BT_MUST_USE;
/* Runs a kernel, by its number at load; bt_ctx_running tells of it meanwhile. */
bt_status bt__launch(bt_ctx *, const bt_target_use *, void *loaded, uint32_t number,
                     const char *kernel, const bt_kernel_call *) BT_MUST_USE;
/* Puts one into a queue; the same otherwise. */
bt_status bt__enqueue(bt_ctx *, const bt_target_use *, void *loaded, uint32_t number,
                      const char *kernel, const bt_kernel_call *, const bt_order *,
                      uint64_t *value) BT_MUST_USE;
/* A block of a target's own memory, not NULL, of so many bytes or one.
 * errors  BT_ERR_PLUGIN: the target says that it is there, but gives nothing */
bt_status bt__alloc(bt_ctx *, const bt_target_use *, uint64_t nbytes,
                    void **out) BT_MUST_USE;
/* errors  BT_ERR_ARGUMENT: a target's number that has no memory of its own */
bt_status bt__has_memory(bt_ctx *, const bt_compiled *, uint32_t target) BT_MUST_USE;
/* Copies to or from a target's own memory, to the end. */
bt_status bt__copy(bt_ctx *, const bt_target_use *, const bt_buffer *to,
                   const bt_buffer *from) BT_MUST_USE;
/* bt_compiled_launch_hosted, of a target's own number; around: NULL, the buffers are the
 * target's. */
bt_status bt__launch_hosted(bt_ctx *, const bt_target_use *, void *loaded,
                            uint32_t number, const char *kernel, const bt_kernel_call *,
                            const bt_host_block *around) BT_MUST_USE;

#endif
