/* Whether the libraries of a plugin have types, whatever of them programs use. */
#ifndef LIBRARY_CHECK_H
#define LIBRARY_CHECK_H

#include <baton/plugin.h>

#include "tool.h"

/* Prints what is wrong with each. *nbroken counts them. */
int check_libraries(struct tool *, const char *plugin, uint32_t *nbroken);

#endif
