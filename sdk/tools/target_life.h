/* Whether a target stands what happens to a session: others beside it, and failures. */
#ifndef TARGET_LIFE_H
#define TARGET_LIFE_H

#include <baton/compiled.h>

#include "guard.h"

struct target_life {
    uint32_t nfailed;  /* allocations that failed, each in a call of its own */
    uint32_t is_alone; /* it opens only once */
    const char *why;   /* nothing was tried, and why; NULL: it was */
    const char *fault; /* NULL: nothing was found */
};

/* One program, in sessions of several threads at once, each with a context of its own; by two
 * instances in turn, of which one goes; while each allocation of a call fails, and cancelled:
 * then the call has an error, and the next gives what it should or says why not. All gives the
 * same bits. Texts live in the arena. */
bt_status target_life(bt_ctx *, bt_arena *, const bt_target_use *, struct guard *,
                      struct target_life *out) BT_MUST_USE;

#endif
