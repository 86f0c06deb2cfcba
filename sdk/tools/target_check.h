/* Whether the targets of a plugin can be used as they stand. */
#ifndef TARGET_CHECK_H
#define TARGET_CHECK_H

#include "tool.h"

/* Opens each, and looks for the operators of its patterns; prints what is wrong. *nbroken
 * counts targets with faults. */
int check_targets(struct tool *, const char *plugin, uint32_t *nbroken);

#endif
