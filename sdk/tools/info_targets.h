/* baton info MODEL --target LIST: which target computes what. */
#ifndef INFO_TARGETS_H
#define INFO_TARGETS_H

#include <baton/baton.h>
#include <baton/ir.h>

#include "tool.h"

/* Compiles `entry` of a typed module as run does by these options, and prints its
 * primitive functions. */
int print_targets(struct tool *, const bt_module *, const bt_global *entry,
                  const bt_program_options *);

#endif
