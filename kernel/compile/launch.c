/* Kernels that run. */
#include "base/ctx.h"
#include "compile/lower.h"

const bt_running_kernel *bt_ctx_running(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->running, __ATOMIC_ACQUIRE);
}

bt_status bt__launch(bt_ctx *ctx, const bt_target_use *use, void *loaded, uint32_t number,
                     const char *kernel, uint32_t nbuffer, void *const *buffers)
{
    const bt_running_kernel running = { use->text, kernel, nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->launch(ctx, loaded, number, buffers);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}
