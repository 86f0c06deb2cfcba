/* Whether the schemes and calibrations of a plugin say what there can be. */
#ifndef QUANT_CHECK_H
#define QUANT_CHECK_H

#include "guard.h"
#include "tool.h"

/* Tries each on small programs, with the options that it has by itself, and prints what is
 * wrong. *nbroken counts those. */
int check_quant(struct tool *, const char *plugin, struct guard *, uint32_t *nbroken);

#endif
