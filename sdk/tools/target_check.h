/* Whether the targets of a plugin can be used as they stand. */
#ifndef TARGET_CHECK_H
#define TARGET_CHECK_H

#include "guard.h"
#include "tool.h"

/* Opens each, looks for the operators of its patterns, and tries its queues, its memory, programs,
 * calls of all operators that it takes, and failures; prints what is wrong. *nbroken counts
 * targets with faults. */
int check_targets(struct tool *, const char *plugin, struct guard *, uint32_t *nbroken);
/* --timeout and --every, as they are given or else; gives an exit code. */
int check_target_options(struct tool *, int64_t *seconds, int64_t *every);

#endif
