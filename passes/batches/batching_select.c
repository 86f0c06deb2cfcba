/*
 * A branch by a condition that differs by example: both sides are computed for all, and each example
 * takes its own.
 *
 *     if (%c) { log(%x) } else { %x }        %safe = select(%c, %x, 1)
 *                                            select(%c, log(%safe), %x)
 *
 * What a side reads that differs, and is a float, is 1 for those who take the other side: where the side is not
 * meant for their values its derivative may be infinite, and 0 times that is NaN. To what was read the
 * choice gives back 0.
 */
#include "batches/batching.h"

#include "common/leaves.h"

/* ---- what a side reads ---- */

struct reads {
    struct batching *batch;
    const bt_value *condition;
    int is_else;
    bt_map before; /* old values -> the new ones outside of the side */
};

static bt_status guard_tensor(struct reads *r, const bt_value *value,
                              const bt_value **out)
{
    const bt_value *args[] = { r->condition, value };
    return bt_build_formula(
        r->batch->copy->b, NULL, 2, args,
        r->is_else
            ? "c: bool[n], x: t[n, ..] => y: t[i in n, ..] = select(c[i], 1, x[i, ..])"
            : "c: bool[n], x: t[n, ..] => y: t[i in n, ..] = select(c[i], x[i, ..], 1)",
        out);
}

static bt_status guard(struct reads *r, const bt_value *value, const uint8_t *mask,
                       const bt_value **out)
{
    struct copy *c = r->batch->copy;
    leaf_values leaves = { 0 };
    BT_TRY(leaves_split(c->b, c->arena, value, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++) {
        if (mask[i] && bt_dtype_is_float(bt_tensor_dtype(leaves.at[i]->type)))
            BT_TRY(guard_tensor(r, leaves.at[i], &leaves.at[i]));
    }
    const bt_value *const *at = leaves.at;
    return leaves_join(c->b, c->arena, value->type, &at, out);
}

static bt_status guard_read(struct reads *r, const bt_value *old)
{
    struct copy *c = r->batch->copy;
    const uint8_t *mask = batching_mask(r->batch, old);
    const bt_value *now = bt_map_find(&c->values, old);
    if (!mask || !now || !batching_is_tensors(old->type) || bt_map_find(&r->before, old))
        return NULL;
    if (!bt_map_put(&r->before, old, (void *)(uintptr_t)now))
        return bt_no_memory();
    bt_builder_like(c->b, old);
    BT_TRY(guard(r, now, mask, &now));
    return copy_put(c, old, now);
}

static bt_status guard_reads(struct reads *r, const bt_block *side)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(r->batch->copy->arena, side, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        for (uint32_t k = 0; k < blocks.at[i]->nbinding; k++) {
            const bt_value *inner = blocks.at[i]->bindings[k];
            for (uint32_t j = 0; j < bt_value_noperand(inner); j++)
                BT_TRY(guard_read(r, bt_value_operand(inner, j)));
        }
    }
    return NULL;
}

static bt_status make_side(struct batching *b, const bt_block *side,
                           const bt_value *condition, int is_else, const bt_value **out)
{
    struct copy *c = b->copy;
    struct reads reads = { .batch = b, .condition = condition, .is_else = is_else };
    bt_map_init(&reads.before, c->arena, 0);
    BT_TRY(guard_reads(&reads, side));
    BT_TRY(copy_bindings(c, side, NULL, out));
    for (uint32_t i = 0; i < reads.before.len; i++)
        BT_TRY(copy_put(c, reads.before.at[i].key, reads.before.at[i].value));
    return batching_widen_full(b, side->result, *out, out);
}

/* ---- the choice ---- */

static bt_status choose(struct batching *b, const bt_value *condition,
                        const bt_value *const *sides, const bt_value **out)
{
    struct copy *c = b->copy;
    leaf_values leaves[2] = { { 0 }, { 0 } };
    for (uint32_t k = 0; k < 2; k++)
        BT_TRY(leaves_split(c->b, c->arena, sides[k], &leaves[k]));
    for (uint32_t i = 0; i < leaves[0].len; i++) {
        const bt_value *args[] = { condition, leaves[0].at[i], leaves[1].at[i] };
        BT_TRY(bt_build_formula(c->b, NULL, 3, args,
                                "c: bool[n], a: t[n, ..], b: t[n, ..] => "
                                "y: t[i in n, ..] = select(c[i], a[i, ..], b[i, ..])",
                                &leaves[0].at[i]));
    }
    const bt_value *const *at = leaves[0].at;
    return leaves_join(c->b, c->arena, sides[0]->type, &at, out);
}

bt_status batching_select(struct batching *b, const bt_if *branch, const bt_value **out)
{
    const bt_value *condition, *sides[2];
    BT_TRY(copy_operand(b->copy, branch->condition, NULL, &condition));
    BT_TRY(make_side(b, branch->then_block, condition, 0, &sides[0]));
    BT_TRY(make_side(b, branch->else_block, condition, 1, &sides[1]));
    bt_builder_like(b->copy->b, &branch->base);
    return choose(b, condition, sides, out);
}
