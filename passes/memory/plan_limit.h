/* Whether a planned program is within a budget of memory. */
#ifndef PASSES_MEMORY_PLAN_LIMIT_H
#define PASSES_MEMORY_PLAN_LIMIT_H

#include <baton/pass.h>

/* What the entry needs, with all that it calls, beside its arguments, constants and results.
 * errors  BT_ERR_LIMIT: it has more bytes, for some values of the dims, and the message names the
 *         largest tensors that live where most do; or no number can be given, as of recursion */
bt_status plan_limit_check(bt_ctx *, bt_arena *, const bt_module *,
                           int64_t most) BT_MUST_USE;

#endif
