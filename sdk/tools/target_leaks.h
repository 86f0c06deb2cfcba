/* Whether a target gives back the memory that it takes. */
#ifndef TARGET_LEAKS_H
#define TARGET_LEAKS_H

#include <baton/compiled.h>

#include "guard.h"

struct target_leaks {
    const char *why;   /* nothing was tried, and why; NULL: it was */
    const char *fault; /* NULL: nothing was found */
};

/* Blocks of memory that are there after several calls, sessions and instances and were not
 * before: those of bt_alloc, whoever asks for them. Texts live in the arena. */
bt_status target_leaks(bt_ctx *, bt_arena *, const bt_target_use *, struct guard *,
                       struct target_leaks *out) BT_MUST_USE;

#endif
