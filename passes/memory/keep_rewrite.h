/* Passes that have values of blocks computed again, by a plan of each block. */
#ifndef PASSES_MEMORY_KEEP_REWRITE_H
#define PASSES_MEMORY_KEEP_REWRITE_H

#include "memory/keep.h"

/* Plans every block that is in no primitive function by `plan`, which sets *is_changed where
 * steps were added, and makes the program so. The pass needs the analysis effects. */
bt_status keep_run(bt_ctx *, bt_pass_call *,
                   bt_status (*plan)(void *state, const struct keep_facts *,
                                     struct keep_plan *, int *is_changed),
                   void *state, bt_module **out);

#endif
