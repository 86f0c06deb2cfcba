/* Whether a target computes each operator that it takes as the evaluator does. */
#ifndef TARGET_CASES_H
#define TARGET_CASES_H

#include <baton/compiled.h>

struct target_cases {
    uint32_t nop, ncall; /* operators, and calls with a function that the target takes */
    uint32_t nwrong;     /* of these calls */
    const char *fault; /* the first of each operator, in lines; NULL: nothing was found */
};

/* Every `every`-th call of all operators, on their cases and on those like them (case_vary.h): of
 * all element types, with sizes 0 and 1; alone, between calls of operators that are drawn,
 * and with constants behind the first argument. What the target takes of it is launched on
 * memory with known bytes around it (kernel_check.h). What is found lives in the arena. */
bt_status target_cases(bt_ctx *, bt_arena *, const bt_target_use *, uint32_t every,
                       struct target_cases *out) BT_MUST_USE;

#endif
