/* What both sides of an `if` compute is computed before it. */
#include "common/equality.h"
#include "simplify/control_flow.h"

static int is_movable(const struct control_flow *f, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (value->kind != BT_VALUE_CALL && value->kind != BT_VALUE_TUPLE &&
        value->kind != BT_VALUE_PROJ)
        return 0;
    return !bt_effects_of(f->effects, value) && !(value->type->has & BT_HAS_OPAQUE) &&
           !(call && (call->ncheck || call->contents));
}

struct seen {
    const bt_value *value;
    struct seen *next;
};

static bt_status add_seen(struct control_flow *f, bt_map *table, uint32_t hash,
                          const bt_value *value)
{
    const void *key = (const void *)((uintptr_t)hash + 1);
    struct seen *seen = BT_NEW(f->arena, struct seen);
    if (!seen)
        return bt_no_memory();
    *seen = (struct seen){ value, bt_map_find(table, key) };
    return bt_map_put(table, key, seen) ? NULL : bt_no_memory();
}

/* *both: bindings of the first block that the second one computes too -> not NULL.
 * Operands of equal bindings are equal too, so they move in the order of the block. */
static bt_status find_both(struct control_flow *f, const bt_if *branch,
                           struct equality *e, bt_map *both)
{
    const bt_block *a = branch->then_block, *b = branch->else_block;
    bt_map table;
    bt_map_init(&table, f->arena, 0);
    for (uint32_t i = 0; i < a->nbinding; i++) {
        if (!is_movable(f, a->bindings[i]))
            continue;
        BT_TRY(equality_learn(e, a->bindings[i]));
        BT_TRY(add_seen(f, &table, equality_hash(e, a->bindings[i]), a->bindings[i]));
    }
    for (uint32_t i = 0; table.len && i < b->nbinding; i++) {
        const bt_value *value = b->bindings[i];
        if (!is_movable(f, value))
            continue;
        BT_TRY(equality_learn(e, value));
        const void *key = (const void *)((uintptr_t)equality_hash(e, value) + 1);
        const struct seen *seen = bt_map_find(&table, key);
        while (seen && !equality_holds(e, seen->value, value))
            seen = seen->next;
        if (!seen)
            continue;
        BT_TRY(equality_follow(e, value, seen->value));
        if (!bt_map_put(both, seen->value, f))
            return bt_no_memory();
    }
    return NULL;
}

/* The binding again, before the `if`. */
static bt_status hoist_one(bt_rewrite *rewrite, const bt_value *old)
{
    struct control_flow *f = bt_rewrite_state(rewrite);
    uint32_t n = bt_value_noperand(old);
    const bt_value **operands = BT_NEWS(f->arena, const bt_value *, n), *now;
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *operand = bt_value_operand(old, i);
        operands[i] = bt_map_find(&f->hoisted, operand);
        if (!operands[i])
            BT_TRY(bt_rewrite_operand(rewrite, operand, &operands[i]));
    }
    bt_builder_like(bt_rewrite_builder(rewrite), old);
    BT_TRY(bt_build_again(bt_rewrite_builder(rewrite), old, operands, NULL, NULL, &now));
    return bt_map_put(&f->hoisted, old, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

bt_status control_flow_hoist(bt_rewrite *rewrite, const bt_if *branch)
{
    struct control_flow *f = bt_rewrite_state(rewrite);
    const bt_block *a = branch->then_block, *b = branch->else_block;
    struct equality e;
    bt_map both;
    if (!a->nbinding || !b->nbinding)
        return NULL;
    equality_init(&e, f->arena);
    bt_map_init(&both, f->arena, 0);
    BT_TRY(find_both(f, branch, &e, &both));
    for (uint32_t i = 0; both.len && i < a->nbinding; i++) {
        if (bt_map_find(&both, a->bindings[i]))
            BT_TRY(hoist_one(rewrite, a->bindings[i]));
    }
    for (uint32_t i = 0; both.len && i < b->nbinding; i++) {
        const bt_value *value = b->bindings[i], *first = equality_leader(&e, value);
        if (first != value &&
            !bt_map_put(&f->hoisted, value, bt_map_find(&f->hoisted, first)))
            return bt_no_memory();
    }
    bt_builder_like(bt_rewrite_builder(rewrite), &branch->base);
    return NULL;
}
