/* Kernels of a target that makes code and leaves loading and launching to others. */
#include "object.h"

#include <baton/kernel.h>

bt_status object_load(bt_ctx *ctx, uint32_t n, bt_kernel_code *const *codes,
                      bt_code **out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (codes[i]->form != BT_CODE_OBJECT || codes[i]->at != codes[0]->at ||
            codes[i]->nphase || codes[i]->scratch)
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "kernel %u is no function of one object, to be called once",
                           i);
    }
    const bt_code_object object = { "kernels", codes[0]->at, codes[0]->nbytes };
    return bt_code_load(ctx, 1, &object, NULL, out);
}

bt_status object_launch(bt_ctx *ctx, const bt_code *code, const bt_kernel_code *kernel,
                        const bt_kernel_call *call)
{
    bt_kernel_fn *run = (bt_kernel_fn *)bt_code_find(code, kernel->symbol);
    if (!run)
        return bt_fail(ctx, BT_ERR_NAME, "the object has no %s", kernel->symbol);
    const int32_t fault = run(call);
    return fault ? bt_kernel_fault(ctx, kernel->symbol, fault, kernel->nfault,
                                   kernel->faults)
                 : NULL;
}
