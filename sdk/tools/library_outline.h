/* What a library defines. */
#ifndef LIBRARY_OUTLINE_H
#define LIBRARY_OUTLINE_H

#include <baton/plugin.h>

#include "tool.h"

/* Prints what a library imports, its types and the heads of its functions, each with the
 * comment above it. Returns the exit code. */
int print_library(struct tool *tool, const bt_provided *item);

#endif
