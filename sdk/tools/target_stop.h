/* Whether a long kernel of a target comes to an end when it is asked to. */
#ifndef TARGET_STOP_H
#define TARGET_STOP_H

#include <baton/compiled.h>

struct target_stop {
    double ms;         /* that the kernel takes */
    const char *why;   /* why it was not tried; NULL: it was */
    const char *fault; /* NULL: nothing was found */
};

/* A kernel of a program of the target's patterns, of large extents, by queue or launch. Texts live
 * in the arena. */
bt_status target_stop(bt_ctx *, bt_arena *, const bt_target_use *,
                      struct target_stop *out) BT_MUST_USE;

#endif
