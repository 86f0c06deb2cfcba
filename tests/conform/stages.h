/* Random formulas of several stages, whose operands broadcast. */
#ifndef CONFORM_STAGES_H
#define CONFORM_STAGES_H

#include <baton/op.h>

enum { STAGES_MAX_INPUT = 4 };

/* An operator without a relation of its own, and a case of it. Of the case's sizes those that
 * are above 1 need not fit each other: each of them is the name of a dim. One seed, one
 * operator. Texts live in the arena. */
struct stages {
    bt_op op;
    bt_op_input inputs[STAGES_MAX_INPUT + 1];
    const char *text; /* of the case */
};
bt_status stages_make(bt_arena *, uint64_t seed, struct stages *out) BT_MUST_USE;

#endif
