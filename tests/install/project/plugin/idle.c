/* outside-idle: a pass that changes nothing. */
#include <baton/pass.h>

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)ctx;
    *out = bt_module_ref(call->module);
    return NULL;
}
static const bt_pass passes[] = {
    { .name = "outside-idle", .doc = "Change nothing.", .keeps = "*", .run = run },
    { 0 },
};
extern const bt_table bt_outside_idle[];
const bt_table bt_outside_idle[] = { BT_PASSES(passes), { 0 } };
