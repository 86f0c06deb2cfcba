/* Chains of calls, compiled for targets: the laws `graph` and `open` (check.c). They make programs
 * of their own: most of what other programs hold is not static. */
#ifndef RANDOM_CHAINS_H
#define RANDOM_CHAINS_H

#include "program.h"

extern const struct random_options known_chain;

/* target: a list too. */
bt_status check_known_chain(bt_ctx *, uint64_t seed, const char *target, bt_arena *);
bt_status check_open_dims(bt_ctx *, uint64_t seed, const char *target, bt_arena *);

#endif
