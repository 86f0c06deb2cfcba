/* Whether rules come to an end. */
#ifndef RULE_ENDS_H
#define RULE_ENDS_H

#include <baton/pass.h>

/* Runs the rule's pass with all of its rules on a program until nothing changes. Where the
 * rule goes on applying to what it, or what other rules, have put in place, says so at the
 * end of the text. */
bt_status rule_ends(bt_ctx *, bt_arena *, const bt_rule *, const bt_module *program,
                    bt_text *fault) BT_MUST_USE;

#endif
