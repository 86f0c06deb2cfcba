#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <baton/ir.h>

#include "tool.h"

/* Prints a module, with spans where --spans is given: to standard output (path NULL or
 * "-", which leaves nothing out on a terminal), or to a file with the large constants in a
 * .npz of the same name beside it. */
int print_program(struct tool *, const bt_module *, const char *path);

#endif
