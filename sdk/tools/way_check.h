/* Whether the ways to compute on target cpu that a plugin brings compute the same. */
#ifndef WAY_CHECK_H
#define WAY_CHECK_H

#include "guard.h"
#include "tool.h"

/* Compiles the cases of all operators so that each way is taken wherever it has a program, and
 * compares with the evaluator; prints what is wrong. *nbroken counts the ways that are. */
int check_ways(struct tool *, const char *plugin, struct guard *, uint32_t *nbroken);

#endif
