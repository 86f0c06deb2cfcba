/* Which loops are done by lanes. */
#include "vectorise.h"

bt_status cpu_vectorise(bt_loops *loops, const struct cpu_config *config)
{
    (void)config;
    return loops->body.len
               ? bt_fail(loops->ctx, BT_ERR_UNSUPPORTED,
                         "%s: its loops cannot be done by strips", loops->name)
               : NULL;
}
