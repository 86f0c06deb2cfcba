#ifndef LIST_GRADIENT_H
#define LIST_GRADIENT_H

#include "tool.h"

/* baton list ops NAME --gradient: the program of an operator's adjoints, at the first of its
 * cases that has some. */
int list_gradient(struct tool *, const char *name);

#endif
