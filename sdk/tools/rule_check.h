/* Whether what a plugin says of operators holds: its rules, its facets. */
#ifndef RULE_CHECK_H
#define RULE_CHECK_H

#include "tool.h"

/* Has every rule looked at by the pass that it is for; prints what is wrong. *nbroken counts rules
 * that are refused, and those that no pass reads. */
int check_rules(struct tool *, const char *plugin, uint32_t *nbroken);

/* Whether the operators that its facets are for are there. *nbroken counts those of none. */
int check_facets(struct tool *, const char *plugin, uint32_t *nbroken);

#endif
