/* Branches of which it is known which way they go: what pass simplify-control-flow knows. */
#ifndef PASSES_SIMPLIFY_CONTROL_FLOW_H
#define PASSES_SIMPLIFY_CONTROL_FLOW_H

#include "common/refuted.h"

/* What is known of a value inside of a region of a branch on it: of a condition the side,
 * of data the pattern that it matched. */
struct branch_fact {
    uint32_t region;
    const bt_pattern *pattern;
};

struct control_flow {
    bt_arena *arena;
    const bt_effects *effects;
    bt_map facts; /* while regions are walked: value -> struct branch_fact */
    bt_map
        known; /* an `if` or a match -> the struct branch_fact that holds of its operand */
    bt_map hoisted; /* binding of both sides of an `if` -> the one before it */
    open_checks checks;
};

/* Takes a region in place of its branch, unless its dims refute what is checked of the branch's:
 * that is left to the run, which may never come there. */
bt_status control_flow_take(bt_rewrite *, const bt_value *branch, const bt_block *region,
                            uint32_t narg, const bt_value *const *args,
                            const bt_value **out) BT_MUST_USE;
/* Whether all regions of a branch are the same, without parameters. */
bt_status control_flow_equal(bt_rewrite *, const bt_value *branch, int *out) BT_MUST_USE;
/* control_flow_match.c; *out NULL: it stays */
bt_status control_flow_match(bt_rewrite *, const bt_match *,
                             const bt_value **out) BT_MUST_USE;
/* What both sides compute, before the `if`: flow.hoisted (control_flow_hoist.c). */
bt_status control_flow_hoist(bt_rewrite *, const bt_if *) BT_MUST_USE;

#endif
