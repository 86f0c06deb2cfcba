/* What a check of a target finds: the first fault counts. */
#ifndef TARGET_FAULT_H
#define TARGET_FAULT_H

#include <baton/base.h>

/* Sets *fault, if it is NULL, to a text in the arena. */
void target_fault(bt_arena *, const char **fault, const char *format, ...)
    BT_PRINTF(3, 4);

#endif
