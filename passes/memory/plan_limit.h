/* Whether a planned program keeps to a budget of memory. */
#ifndef PASSES_MEMORY_PLAN_LIMIT_H
#define PASSES_MEMORY_PLAN_LIMIT_H

#include <baton/pass.h>

/* errors  BT_ERR_LIMIT: storage that tensors of a function share has more bytes, for some
 *         values of the dims; it names the largest that live where most do */
bt_status plan_limit_check(bt_ctx *, bt_arena *, const bt_module *,
                           int64_t most) BT_MUST_USE;

#endif
