/*
 * From a typed module to a compiled one, within a budget of memory.
 *
 *     fuse{1000}, plan{1000}: 1040     fuse{984}, plan{1000}: 1008     fuse{968}, plan{1000}: 996
 *
 * What is computed again is chosen before kernels are known, and what tensors take behind that, by
 * what is planned: it may be some more.
 */
#include <baton/compiled.h>

#include "base/ctx.h"

/* What is aimed at, in 64ths of the budget. */
static const uint32_t aims[] = { 64, 63, 62, 60, 56, 48, 32 };

struct way {
    bt_status (*check)(void *self, const bt_module *fused);
    void *self;
    bt_module *fused; /* NULL: none was yet */
    bt_compiled *out;
};

/* *is_same: what is fused is what was fused before. */
static bt_status try_aim(bt_ctx *ctx, const bt_module *typed,
                         const bt_compile_options *options, uint32_t aim, struct way *w,
                         int *is_same)
{
    bt_compile_options less = *options;
    bt_module *fused;
    less.memory -= options->memory / 64 * (64 - aim);
    BT_TRY(bt_fuse(ctx, typed, &less, &fused));
    *is_same = w->fused && bt_module_equal(w->fused, fused);
    if (*is_same) {
        bt_module_unref(fused);
        return NULL;
    }
    bt_module_unref(w->fused);
    w->fused = fused;
    if (w->check)
        BT_TRY(w->check(w->self, fused));
    return bt_compile(ctx, fused, options, &w->out);
}

bt_status bt_compile_typed_sized(bt_ctx *ctx, const bt_module *typed,
                                 const bt_compile_options *given, size_t nbytes,
                                 bt_status (*check)(void *self, const bt_module *fused),
                                 void *self, bt_module **fused, bt_compiled **out)
{
    bt_compile_options options;
    struct way way = { .check = check, .self = self };
    bt_status status = NULL;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    for (uint32_t i = 0; i < BT_COUNT(aims) && !way.out; i++) {
        int is_same = 0;
        bt_status said = try_aim(ctx, typed, &options, aims[i], &way, &is_same);
        if (!is_same)
            status = said;
        if (status && (!options.memory || status->code != BT_ERR_LIMIT))
            break;
    }
    if (!status && fused)
        *fused = bt_module_ref(way.fused);
    bt_module_unref(way.fused);
    if (!status)
        *out = way.out;
    return status;
}
