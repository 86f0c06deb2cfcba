/* What the calls of a program are computed by: baton opt --kernels. */
#ifndef PRINT_KERNELS_H
#define PRINT_KERNELS_H

#include <baton/ir.h>

#include "tool.h"

/* Whether `what` can be printed: "graph", "loops", "c", or NULL: nothing is to be. Gives
 * an exit code. */
int check_kernels_word(const struct tool *, const char *what);
/* Fuses a typed program as run does for these targets, and prints each of its primitive
 * functions: how the graph of its formulas computes it, the loops of that, in order of the
 * program; or the C text that the targets make of its kernels. */
int print_kernels(struct tool *, const bt_module *typed, const char *entry,
                  const char *targets, const char *what);

#endif
