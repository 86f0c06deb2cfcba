/* What flat programs have: see verify-flat. */
#ifndef PASSES_LANGUAGE_FLAT_H
#define PASSES_LANGUAGE_FLAT_H

#include <baton/pass.h>

/* Whether a function of the type has parameters other than dims. */
int flat_is_generic(const bt_type *);

#endif
