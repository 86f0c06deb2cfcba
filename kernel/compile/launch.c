/* Kernels that run. */
#include "base/ctx.h"
#include "compile/lower.h"

const uint32_t *bt_ctx_stop(const bt_ctx *ctx)
{
    return &ctx->cancelled;
}

const bt_running_kernel *bt_ctx_running(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->running, __ATOMIC_ACQUIRE);
}

bt_status bt__launch(bt_ctx *ctx, const bt_target_use *use, void *loaded, uint32_t number,
                     const char *kernel, const bt_kernel_call *call)
{
    const bt_running_kernel running = { use->text, kernel, call->nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->launch(ctx, loaded, number, call);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}
