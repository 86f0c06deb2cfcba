/* outside-wide: fails where the sources of instruction sets were compiled otherwise than stated. */
#include <baton/pass.h>

#include "wide/width.h"

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    if (outside_width() != 1 || outside_width_wide() != 8)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "outside-wide: %d and %d, expected 1 and 8", outside_width(),
                       outside_width_wide());
    *out = bt_module_ref(call->module);
    return NULL;
}
static const bt_pass passes[] = {
    { .name = "outside-wide", .doc = "Change nothing.", .keeps = "*", .run = run },
    { 0 },
};
extern const bt_table bt_outside_wide_check[];
const bt_table bt_outside_wide_check[] = { BT_PASSES(passes), { 0 } };
