/* Whether the two sides of a rewriting rule are equal. */
#ifndef RULE_TRY_H
#define RULE_TRY_H

#include <baton/pass.h>

struct rule_trial {
    uint32_t nmade, napplied; /* programs of its pattern; those that it was applied to */
    const char *fault; /* lines that say why it is wrong; NULL: nothing was found */
};

/* Makes programs of the rule's pattern, has the rule's pass rewrite them by this rule alone,
 * and runs both on random and on special values: they agree as far as the rule says
 * (rules.md), and rewriting them comes to an end. The fault lives in the arena. */
bt_status rule_try(bt_ctx *, bt_arena *, const bt_rule *,
                   struct rule_trial *out) BT_MUST_USE;

#endif
