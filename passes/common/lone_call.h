/* A call as a target would be asked for it: alone, in a primitive function. */
#ifndef PASSES_COMMON_LONE_CALL_H
#define PASSES_COMMON_LONE_CALL_H

#include <baton/compiled.h>
#include <baton/pass.h>

/* Whether a target takes the call where nothing else is computed with it. *refusal NULL:
 * it does, or it claims such calls only together with others, so that it is not asked.
 * errors  what `supports` fails with, other than BT_ERR_UNSUPPORTED */
bt_status lone_call_ask(bt_ctx *, bt_pass_call *, bt_store *, const bt_target_use *,
                        const bt_call *, bt_status *refusal) BT_MUST_USE;

#endif
