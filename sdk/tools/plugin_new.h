#ifndef PLUGIN_NEW_H
#define PLUGIN_NEW_H

#include "tool.h"

/* baton plugin new KIND NAME [FOLDER]: a plugin that builds, from the templates beside
 * the program. */
int plugin_new(struct tool *);

#endif
