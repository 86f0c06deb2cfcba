/* Whether the rules of a plugin can be read, and who goes by them. */
#ifndef RULE_CHECK_H
#define RULE_CHECK_H

#include "tool.h"

/* Has every rule looked at by the pass that it is for; prints what is wrong. *nbroken counts rules
 * that are refused, and those that no pass reads. */
int check_rules(struct tool *, const char *plugin, uint32_t *nbroken);

#endif
