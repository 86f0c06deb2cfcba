/* Lists of targets, as text. */
#ifndef PASS_TARGETS_H
#define PASS_TARGETS_H

#include <baton/compiled.h>
#include <baton/op.h>

/* Those that are compiled for: a new reference to them, or to what the list opens. */
bt_status bt__targets_get(bt_ctx *, const bt_compile_options *,
                          bt_targets **out) BT_MUST_USE;
/* A target's option that both texts of options give, and with different values, of those that only
 * compiling heeds; one that `given` alone gives differs where it is not the default. NULL: there is
 * none, or of a failure. */
bt_status bt__options_differ(bt_ctx *, const bt_target *, const char *given,
                             const char *compiled, const char **out) BT_MUST_USE;
/* NULL, or that so many bytes do not fit into a block of its memory (BT_ERR_UNSUPPORTED). */
bt_status bt__target_holds(bt_ctx *, const bt_target_use *,
                           const bt_type *size) BT_MUST_USE;
/* The target that a primitive function's attribute names; NULL: none. */
const char *bt__target_wanted(const bt_func *);
/* Whether one of them is asked for functions that name none. */
int bt__target_is_asked(const bt_targets *, uint32_t target);
/* The name of the last of a list. */
bt_status bt__targets_last(bt_arena *, const char *list, const char **out) BT_MUST_USE;

#endif
