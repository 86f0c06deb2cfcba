#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <baton/ir.h>

#include "tool.h"

/* Prints a module, with spans where --spans is given: to standard output (path NULL or
 * "-", which leaves nothing out on a terminal), or to a file as write_program does, after
 * check_program. */
int print_program(struct tool *, const bt_module *, const char *path);
/* To a file, large constants to a .npz of the same name beside it. */
int write_program(struct tool *, const bt_module *, const char *path);
/* Before anything is written: these two files, and one `more` if not NULL, which is to hold
 * `what`, differ from each other and from all that was read. EXIT_USAGE with a message if
 * not. */
int check_program(struct tool *, const char *path, const char *more, const char *what);

#endif
