/* Whether the targets of a plugin can be used as they stand. */
#ifndef TARGET_CHECK_H
#define TARGET_CHECK_H

#include "guard.h"
#include "tool.h"

/* Opens each, looks for the operators of its patterns, and tries its queues, its memory, programs,
 * calls of all operators that it takes, and failures; prints what is wrong. *nbroken counts
 * targets with faults. */
int check_targets(struct tool *, const char *plugin, struct guard *, uint32_t *nbroken);

#endif
