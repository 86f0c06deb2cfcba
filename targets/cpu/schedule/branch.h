/* Two programs of one function as one, which chooses by a dim of the call. */
#ifndef CPU_BRANCH_H
#define CPU_BRANCH_H

#include <baton/loops.h>

/* Where dim `which` of the graph is `number`, the loops do what `other` does, else what they
 * did. The inputs and results of both are the same. *done 0: it has statements that cannot be
 * moved, and the loops stay as they were. */
bt_status cpu_branch(bt_loops *, uint32_t which, int64_t number, const bt_loops *other,
                     int *done) BT_MUST_USE;

#endif
