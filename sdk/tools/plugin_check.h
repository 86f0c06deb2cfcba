#ifndef PLUGIN_CHECK_H
#define PLUGIN_CHECK_H

#include "tool.h"

/* baton plugin check ID [OPERATOR]: its tables against its manifest, and each of its
 * operators on the cases that it states. */
int plugin_check(struct tool *);

#endif
