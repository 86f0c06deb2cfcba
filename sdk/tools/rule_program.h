/* Programs made of the pattern of a rewriting rule. */
#ifndef RULE_PROGRAM_H
#define RULE_PROGRAM_H

#include "cases.h"

enum { RULE_NEXTENT = 3 };

struct rule_program {
    const char *text; /* NULL: this draw gives none */
    uint32_t nparam;  /* tensors, in the order of its parameters */
    struct case_leaf params[CASE_MAX_LEAF];
};

/* A program whose @main is a call that has the form of the pattern, on names of random
 * types: many are ill-typed, which the solver says. What is drawn follows from the seed,
 * but for the element type: numbers in a row have all of them in turn. A dim is 1, or one of
 * `extents`, RULE_NEXTENT of them; NULL: one small extent, which is drawn. */
bt_status rule_program_make(bt_ctx *, bt_arena *, const char *rule, uint32_t number,
                            uint64_t seed, const int64_t *extents,
                            struct rule_program *out) BT_MUST_USE;
/* A text's typed module. */
bt_status rule_program_read(bt_ctx *, const char *text, bt_module **out) BT_MUST_USE;

#endif
