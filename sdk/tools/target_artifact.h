/* Whether what is compiled for a target can be kept in a file. */
#ifndef TARGET_ARTIFACT_H
#define TARGET_ARTIFACT_H

#include <baton/compiled.h>

struct target_artifact {
    uint32_t ndamaged; /* files like it with damage, which were refused */
    const char *why;   /* nothing was tried, and why; NULL: it was */
    const char *fault; /* NULL: nothing was found */
};

/* One program, written to a file: read from there and loaded by an instance of its own it gives the
 * same bits; where the file says that its code needs something else of a machine, it is
 * refused; and so is each file with a bit, a few bytes, its end or its middle lost. Texts live in
 * the arena. */
bt_status target_artifact(bt_ctx *, bt_arena *, const bt_target_use *,
                          struct target_artifact *out) BT_MUST_USE;

#endif
