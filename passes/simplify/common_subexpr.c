/*
 * common-subexpr: compute equal expressions once.
 * Values are numbered block by block; an expression of an enclosing block, earlier in
 * it, stands for equal ones inside. What reads, writes, allocates, draws random numbers
 * or does I/O is never merged.
 * needs    effects
 * keeps    fused, matched; not what closures are
 * source   Briggs, Cooper, Simpson 1997 (dominator-tree value numbering)
 */
#include "common/equality.h"

/* An expression seen, in the chain of its hash. */
struct seen {
    const bt_value *value;
    struct seen *next;
};

/* A duplicate; it is linked from the binding that replaces it. */
struct follower {
    const bt_value *value;
    struct follower *next;
};

struct numbering {
    const bt_effects *effects;
    bt_arena *arena;
    struct equality equality;
    bt_map followers; /* what stands for others -> struct follower */
    struct seen **slots;
    uint32_t nslot;        /* a power of two */
    bt_vec(uint32_t) undo; /* slots entered, in order, to be taken back at the end of a
                              block */
};

static int is_mergeable(const struct numbering *n, const bt_value *value)
{
    if (value->kind != BT_VALUE_CALL && value->kind != BT_VALUE_TUPLE &&
        value->kind != BT_VALUE_PROJ)
        return 0;
    return !(bt_effects_of(n->effects, value) & BT_EFFECT_UNMERGED);
}

static bt_status follow(struct numbering *n, const bt_value *value, const bt_value *first)
{
    struct follower *follower = BT_NEW(n->arena, struct follower);
    if (!follower)
        return bt_no_memory();
    *follower = (struct follower){ value, bt_map_find(&n->followers, first) };
    if (!bt_map_put(&n->followers, first, follower))
        return bt_no_memory();
    return equality_follow(&n->equality, value, first);
}

static bt_status number_binding(struct numbering *n, const bt_value *value)
{
    BT_TRY(equality_learn(&n->equality, value));
    uint32_t slot = equality_hash(&n->equality, value) & (n->nslot - 1);
    for (const struct seen *seen = n->slots[slot]; seen; seen = seen->next) {
        if (equality_holds(&n->equality, seen->value, value))
            return follow(n, value, seen->value);
    }
    struct seen *seen = BT_NEW(n->arena, struct seen);
    if (!seen || !BT_PUSH(n->arena, &n->undo, slot))
        return bt_no_memory();
    *seen = (struct seen){ value, n->slots[slot] };
    n->slots[slot] = seen;
    return NULL;
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status number_block(struct numbering *n, const bt_block *block)
{
    uint32_t mark = n->undo.len;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(number_block(n, bt_value_region(value, k)));
        if (is_mergeable(n, value))
            BT_TRY(number_binding(n, value));
    }
    while (n->undo.len > mark) {
        struct seen **slot = &n->slots[n->undo.at[--n->undo.len]];
        *slot = (*slot)->next;
    }
    return NULL;
}

/* The provenance of the one that stays includes all that it stands for. */
static bt_status use_leader(bt_rewrite *rewrite, const bt_value *old,
                            const bt_value **out)
{
    const struct numbering *n = bt_rewrite_state(rewrite);
    const bt_value *found = equality_leader(&n->equality, old);
    if (found != old)
        return bt_rewrite_operand(rewrite, found, out);
    for (const struct follower *f = bt_map_find(&n->followers, old); f; f = f->next)
        bt_rewrite_from(rewrite, f->value);
    return NULL;
}

static const bt_rewriter rewriter = { .any = use_leader };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    enum { NSLOT = 1 << 14 };
    struct numbering n = { .arena = call->scratch, .nslot = NSLOT };
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    n.effects = effects;
    n.slots = BT_NEWS(call->scratch, struct seen *, NSLOT);
    if (!n.slots)
        return bt_no_memory();
    equality_init(&n.equality, call->scratch);
    bt_map_init(&n.followers, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        if (call->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(number_block(&n, call->module->globals[i]->func->block));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &n, out);
}

static const bt_pass passes[] = {
    {
        .name = "common-subexpr",
        .doc = "Compute equal expressions once.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %0 = exp(%x);\n"
               "        %1 = exp(%x);\n"
               "        add(%0, %1)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) {\n"
               "        %0 = exp(%x);\n"
               "        add(%0, %0)\n"
               "    }",
        .level = 2,
        .needs = "effects",
        .keeps = "fused matched",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_common_subexpr[] = { BT_PASSES(passes), { 0 } };
