/* Whether a target's own memory keeps what is copied there. */
#ifndef TARGET_MEMORY_H
#define TARGET_MEMORY_H

#include <baton/compiled.h>

/* Many blocks at once, and copies of odd sizes: from the host, to it, between blocks. *fault:
 * what is wrong, in the arena; NULL: nothing was found. */
bt_status check_memory(bt_ctx *, bt_arena *, const bt_target_use *,
                       const char **fault) BT_MUST_USE;

#endif
