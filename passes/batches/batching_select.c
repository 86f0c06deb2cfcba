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

static bt_status guard(struct reads *r, const bt_value *value, const uint8_t **mask,
                       const bt_value **out)
{
    struct copy *c = r->batch->copy;
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    *out = value;
    if (!tuple) {
        const int differs = *(*mask)++;
        return differs && bt_dtype_is_float(bt_tensor_dtype(value->type))
                   ? guard_tensor(r, value, out)
                   : NULL;
    }
    const bt_value **fields = BT_NEWS(c->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(c->b, value, i, &fields[i]));
        BT_TRY(guard(r, fields[i], mask, &fields[i]));
    }
    return bt_build_tuple(c->b, tuple->n, fields, out);
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
    BT_TRY(guard(r, now, &mask, &now));
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
                        const bt_type *type, const bt_value *const *sides,
                        const bt_value **out)
{
    struct copy *c = b->copy;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        const bt_value *args[] = { condition, sides[0], sides[1] };
        return bt_build_formula(c->b, NULL, 3, args,
                                "c: bool[n], a: t[n, ..], b: t[n, ..] => "
                                "y: t[i in n, ..] = select(c[i], a[i, ..], b[i, ..])",
                                out);
    }
    const bt_value **fields = BT_NEWS(c->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        const bt_value *both[2];
        for (uint32_t k = 0; k < 2; k++)
            BT_TRY(bt_build_proj(c->b, sides[k], i, &both[k]));
        BT_TRY(choose(b, condition, tuple->at[i], both, &fields[i]));
    }
    return bt_build_tuple(c->b, tuple->n, fields, out);
}

bt_status batching_select(struct batching *b, const bt_if *branch, const bt_value **out)
{
    const bt_value *condition, *sides[2];
    BT_TRY(copy_operand(b->copy, branch->condition, NULL, &condition));
    BT_TRY(make_side(b, branch->then_block, condition, 0, &sides[0]));
    BT_TRY(make_side(b, branch->else_block, condition, 1, &sides[1]));
    bt_builder_like(b->copy->b, &branch->base);
    return choose(b, condition, branch->base.type, sides, out);
}
