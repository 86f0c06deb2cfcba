/* Programs that a target may take, for what checks it. */
#ifndef TARGET_PROGRAM_H
#define TARGET_PROGRAM_H

#include <baton/target.h>

#include "rule_program.h"

struct target_draw {
    const bt_target *target;
    uint64_t seed;
    const int64_t *extents; /* as rule_program_make has them */
    uint32_t ntried;
};

/* The next one, of its patterns in turn, or of simple operators where it has none;
 * out->text NULL: there are no more. */
bt_status target_program_draw(bt_ctx *, bt_arena *, struct target_draw *,
                              struct rule_program *out) BT_MUST_USE;

#endif
