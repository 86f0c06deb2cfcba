/* Whether a target computes each operator that it takes as the evaluator does. */
#ifndef TARGET_CASES_H
#define TARGET_CASES_H

#include <baton/compiled.h>

/* Cases whose first tensor is of one element type. */
struct target_type {
    bt_dtype dtype;       /* 0: they have no tensor */
    uint32_t nop;         /* operators of which something is taken */
    const bt_op *last_op; /* of these the last */
    uint32_t ncase, ntaken, nwrong;
};

/* Why nothing of some operators is taken. */
struct target_refusal {
    const char *why;
    uint32_t nop;
    bt_text names;
};

struct target_cases {
    uint32_t nop,
        ncall;         /* operators, and calls with a function that the target computes */
    uint32_t nwrong;   /* of these calls */
    uint32_t nrefused; /* calls that `supports` takes, and lower or compile does not */
    uint32_t nunnamed; /* operators that no pattern names: they were not tried */
    const char *fault; /* the first of each operator, in lines; NULL: nothing was found */
    bt_vec(struct target_type) types;         /* in the order of their numbers */
    bt_vec(struct target_refusal *) refusals; /* in the order of their first operators */
};

/* Every `every`-th call of all operators, on their cases and on those like them (case_vary.h): of
 * all element types, with sizes 0 and 1, of those that it takes with larger ones too; alone, between calls of operators that are drawn,
 * and with constants behind the first argument. What the target takes of it is launched on
 * memory with known bytes around it (kernel_check.h). What is found lives in the arena. */
bt_status target_cases(bt_ctx *, bt_arena *, const bt_target_use *, uint32_t every,
                       struct target_cases *out) BT_MUST_USE;

#endif
