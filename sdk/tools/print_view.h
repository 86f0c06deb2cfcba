/* Other views of a program: baton opt --print. */
#ifndef PRINT_VIEW_H
#define PRINT_VIEW_H

#include <baton/ir.h>

#include "tool.h"

/* Computes an analysis of that name and prints what it shows. */
int print_view(struct tool *, const bt_module *, const char *analysis);

#endif
