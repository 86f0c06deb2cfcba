/* What the values that -i gives settle of a program before it is compiled. */
#ifndef SPECIALISE_H
#define SPECIALISE_H

#include "tool.h"

struct specialise {
    struct tool *tool;
    const char *const *inputs;     /* of -i; NULL: none */
    const char **dims;             /* of --dim, and what was found; NULL-terminated */
    const char **fixed;            /* of --fix, likewise */
    uint32_t nround, ndim, nfixed; /* of what is known to do */
};

/* Has `options` ask for dims and small inputs by what -i says, unless --no-specialise
 * forbids it or nothing is given. */
int begin_specialise(struct tool *, struct specialise *, bt_program_options *options);
/* Says in a line what was settled, and gives the texts of -i without those of inputs that
 * are constants now: NULL-terminated; NULL: there was no -i. */
int end_specialise(struct specialise *, const char *const **inputs);

#endif
