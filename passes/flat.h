/* What flat programs have: see verify-flat. */
#ifndef PASSES_FLAT_H
#define PASSES_FLAT_H

#include <baton/pass.h>

/* The call of a global that is all that a closure does: what it holds comes first among the
 * arguments, its parameters follow, in order. NULL: it does something else. */
const bt_call *flat_closure_call(const bt_closure_value *);
/* A variable or a wildcard. */
int flat_is_leaf(const bt_pattern *);
/* Whether a match is of a data type, and its patterns are constructors of variables and
 * wildcards, each once, and a variable or a wildcard at most at the end. */
int flat_is_match(const bt_match *);
/* Whether a function of the type has parameters other than dims. */
int flat_is_generic(const bt_type *);

#endif
