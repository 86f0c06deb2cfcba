/* Whether queues of a target keep the order that they are given. */
#ifndef TARGET_QUEUES_H
#define TARGET_QUEUES_H

#include <baton/compiled.h>

/* Runs a kernel of the target, made of a program that it takes, through its queues: values of
 * commands grow, commands wait for events and for those before them, a failure says whose
 * it is. *fault: what it does otherwise, in the arena; NULL: nothing was found. *why: why
 * it was not tried; NULL: it was. */
bt_status check_queues(bt_ctx *, bt_arena *, const bt_target_use *, const char **fault,
                       const char **why) BT_MUST_USE;

#endif
