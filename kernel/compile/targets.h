/* Lists of targets, as text. */
#ifndef COMPILE_TARGETS_H
#define COMPILE_TARGETS_H

#include <baton/target.h>

/* The name of the last of a list. */
bt_status bt__targets_last(bt_arena *, const char *list, const char **out) BT_MUST_USE;

#endif
