/* Lists of targets, as text. */
#ifndef PASS_TARGETS_H
#define PASS_TARGETS_H

#include <baton/target.h>

/* Names and options of a list, as bt_targets_open; nothing is opened. */
bt_status bt__targets_check(bt_ctx *, const char *list) BT_MUST_USE;
/* The name of the last of a list. */
bt_status bt__targets_last(bt_arena *, const char *list, const char **out) BT_MUST_USE;

#endif
