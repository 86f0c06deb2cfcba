/* A target that is open, and who takes what it does not. */
#ifndef TARGET_BESIDE_H
#define TARGET_BESIDE_H

#include <baton/compiled.h>

struct target_beside {
    bt_targets both;
    const bt_target_use *at[2];
    bt_targets *reference; /* NULL: it is the target itself, or there is none */
};

/* The target stays as it is open, as a device may admit one. What is in `both` points into
 * *out. */
bt_status target_beside_open(bt_ctx *, const bt_target_use *,
                             struct target_beside *out) BT_MUST_USE;
void target_beside_close(struct target_beside *);

#endif
