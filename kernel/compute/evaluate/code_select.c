/*
 * Selections. A condition that is linear in the indices cuts the lanes into windows, and
 * each branch runs on its own; one cell decides for all lanes; else both run and reads
 * that rely on the condition go by its mask.
 */
#include "compute/evaluate/code.h"

static int are_limits(struct bt__coder *c, const bt_nodes *conjuncts)
{
    const bt_node *terms[2];
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (!bt__limit_terms(c, conjuncts->at[i], terms))
            return 0;
    }
    return 1;
}

static bt_status open_branch(struct bt__coder *c, struct bt__block *b,
                             struct bt__block *parent, bt__instrs *code,
                             const bt_node *condition)
{
    bt__block_open(c, b, parent, code);
    b->is_guard = 1;
    return bt_node_conjuncts(c->arena, condition, &b->facts.conjuncts) ? NULL
                                                                       : bt_no_memory();
}

/* The side's value moved to `out` at the end of its block. */
static bt_status emit_branch(struct bt__coder *c, struct bt__block *b,
                             const bt_node *side, struct bt__reg out)
{
    bt__instr in = { .run = bt__run_move, .out = out };
    BT_TRY(bt__emit(c, b, side, &in.a));
    return bt__block_push(c, b, in);
}

/* Sides on windows of lanes, or one of them: `limits` tells which lanes go where. */
static bt_status emit_ways(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                           struct bt__choice *choice, bt__instr in, struct bt__reg *out)
{
    struct bt__block branch;
    const bt_node *other = bt_node_scalar(c->graph, BT_SCALAR_NOT, node->args[0], NULL);
    uint32_t step = bt__block_varies(b, node);
    if (!other)
        return bt__code_why(c);
    BT_TRY(bt__reg_new(c, b, step, out));
    BT_TRY(open_branch(c, &branch, b, &choice->branches[0], node->args[0]));
    BT_TRY(emit_branch(c, &branch, node->args[1], *out));
    BT_TRY(open_branch(c, &branch, b, &choice->branches[1], other));
    BT_TRY(emit_branch(c, &branch, node->args[2], *out));
    in.choice = choice;
    return bt__block_push(c, b, in);
}

static bt_status add_limits(struct bt__coder *c, struct bt__block *b,
                            const bt_node *conjunct, struct bt__choice *choice)
{
    const bt_node *terms[2];
    uint32_t n = bt__limit_terms(c, conjunct, terms);
    for (uint32_t k = 0; k < n; k++) {
        bt_linear l;
        struct bt__limit limit = { 0 };
        bt_node_as_linear(terms[k], &l);
        BT_TRY(bt__cursor_new(c, b, &l, &limit.cursor, &limit.lane));
        if (!BT_PUSH(c->arena, &choice->limits, limit))
            return bt_no_memory();
    }
    return NULL;
}

/* out = strip(a, b) of bools. */
static bt_status emit_logic(struct bt__coder *c, struct bt__block *b, uint32_t which,
                            struct bt__reg x, struct bt__reg y, struct bt__reg *out)
{
    bt__instr in = {
        .run = bt__run_strip, .a = x, .b = y, .strip = bt__scalar_strip(which, BT_BOOL)
    };
    BT_TRY(bt__reg_new(c, b, x.step | y.step, &in.out));
    *out = in.out;
    return bt__block_push(c, b, in);
}

/* A block whose reads go by a mask: that of the block around it, and `mask`. */
static bt_status open_masked(struct bt__coder *c, struct bt__block *branch,
                             struct bt__block *b, bt__instrs *code,
                             const bt_node *condition, struct bt__reg mask)
{
    bt__block_open(c, branch, b, code);
    branch->is_guard = 1;
    if (!bt_node_conjuncts(c->arena, condition, &branch->mask_facts.conjuncts))
        return bt_no_memory();
    if (b->mask.at)
        BT_TRY(emit_logic(c, branch, BT_SCALAR_AND, mask, b->mask, &mask));
    branch->mask = mask;
    return NULL;
}

/* One side by the lane: both run, reads that rely on the condition by its mask. */
static bt_status emit_masked(struct bt__coder *c, struct bt__block *b,
                             const bt_node *node, struct bt__reg condition,
                             struct bt__reg *out)
{
    bt__instr in = { .run = bt__run_select, .a = condition };
    bt__instr both = { .run = bt__run_both,
                       .choice = BT_NEW(c->arena, struct bt__choice) };
    const bt_node *other = bt_node_scalar(c->graph, BT_SCALAR_NOT, node->args[0], NULL);
    struct bt__block branches[2];
    struct bt__reg opposite;
    if (!both.choice || !other)
        return bt__code_why(c);
    BT_TRY(emit_logic(c, b, BT_SCALAR_NOT, condition, condition, &opposite));
    BT_TRY(open_masked(c, &branches[0], b, &both.choice->branches[0], node->args[0],
                       condition));
    BT_TRY(bt__emit(c, &branches[0], node->args[1], &in.b));
    BT_TRY(open_masked(c, &branches[1], b, &both.choice->branches[1], other, opposite));
    BT_TRY(bt__emit(c, &branches[1], node->args[2], &in.c));
    BT_TRY(bt__block_push(c, b, both));
    BT_TRY(bt__reg_new(c, b, in.a.step | in.b.step | in.c.step, &in.out));
    *out = in.out;
    return bt__block_push(c, b, in);
}

bt_status bt__masked_open(struct bt__coder *c, struct bt__block *b,
                          const bt_nodes *conjuncts, struct bt__masked *out)
{
    const bt_node *condition = bt_node_bool(c->graph, 1);
    struct bt__reg mask;
    *out = (struct bt__masked){ .choice = BT_NEW(c->arena, struct bt__choice) };
    for (uint32_t i = 0; i < conjuncts->len; i++)
        condition = bt_node_and(c->graph, condition, conjuncts->at[i]);
    if (!condition || !out->choice)
        return bt__code_why(c);
    BT_TRY(bt__emit(c, b, condition, &mask));
    if (!mask.step) {
        out->choice->condition = mask;
        return open_branch(c, &out->block, b, &out->choice->branches[0], condition);
    }
    BT_TRY(open_masked(c, &out->block, b, &out->choice->branches[0], condition, mask));
    out->mask = out->block.mask;
    return NULL;
}

bt_status bt__masked_close(struct bt__coder *c, struct bt__masked *masked)
{
    bt__instr in = { .run = masked->mask.at ? bt__run_both : bt__run_branch,
                     .choice = masked->choice };
    return bt__block_push(c, masked->block.parent, in);
}

bt_status bt__emit_select(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                          struct bt__reg *out)
{
    bt_nodes conjuncts = { 0 };
    struct bt__choice *choice = BT_NEW(c->arena, struct bt__choice);
    struct bt__reg condition;
    if (!choice || !bt_node_conjuncts(c->arena, node->args[0], &conjuncts))
        return bt_no_memory();
    if (are_limits(c, &conjuncts)) {
        for (uint32_t i = 0; i < conjuncts.len; i++)
            BT_TRY(add_limits(c, b, conjuncts.at[i], choice));
        return emit_ways(c, b, node, choice, (bt__instr){ .run = bt__run_choose }, out);
    }
    BT_TRY(bt__emit(c, b, node->args[0], &condition));
    if (!condition.step) {
        choice->condition = condition;
        return emit_ways(c, b, node, choice, (bt__instr){ .run = bt__run_branch }, out);
    }
    return emit_masked(c, b, node, condition, out);
}
