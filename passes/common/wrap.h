/* Functions that do nothing but call another one. */
#ifndef PASSES_COMMON_WRAP_H
#define PASSES_COMMON_WRAP_H

#include <baton/pass.h>

/* The head of one that calls an external function, of which no names are known: all of *out but the
 * block, and its parameters. */
bt_status wrap_external(bt_ctx *, bt_builder *, bt_arena *, const bt_global *,
                        bt_func *out, const bt_param ***params) BT_MUST_USE;
/* The block of one with such a head, that is, the call of the global. */
bt_status wrap_call(bt_builder *, const bt_global *, uint32_t n, const bt_param *const *,
                    bt_func *) BT_MUST_USE;

#endif
