/* Whether the libraries of a plugin have types, whatever of them programs use. */
#ifndef LIBRARY_CHECK_H
#define LIBRARY_CHECK_H

#include <baton/plugin.h>

#include "tool.h"

/* Prints what is wrong with each. *nbroken counts them. */
int check_libraries(struct tool *, const char *plugin, uint32_t *nbroken);

/* The file with its text. NULL: no memory, or it is linked in and has no file. */
const char *library_path(const struct tool *, const bt_provided *);

#endif
