/* Type parameters: those that functions have, and those of what passes make. */
#ifndef PASSES_COMMON_VARS_H
#define PASSES_COMMON_VARS_H

#include <baton/pass.h>

/* New ones, each like one of these. */
bt_status vars_like(bt_ctx *, bt_arena *, bt_store *, uint32_t n, const bt_type *const *,
                    const bt_type ***out) BT_MUST_USE;

/* Whether a function of the type has parameters other than dims. */
int vars_are_generic(const bt_type *);

#endif
