/* Dims that only the run knows: which value has each of them first. */
#include "ir/walk.h"

struct search {
    bt_ctx *ctx;
    bt_store *store;
    bt_map *births;
    const bt_value *value; /* at hand */
    int failed;
};

static const bt_type *note_dim(bt_subst *subst, const bt_type *leaf)
{
    struct search *s = subst->state;
    if (leaf->kind == BT_TYPE_OPAQUE && !bt_map_find(s->births, leaf))
        s->failed |= !bt_map_put(s->births, leaf, (void *)(uintptr_t)s->value);
    return NULL;
}

static bt_status note_terms(struct search *s, uint32_t n, const bt_type *const *terms)
{
    bt_subst subst = { .leaf = note_dim, .state = s };
    for (uint32_t i = 0; i < n; i++) {
        if (terms[i] && terms[i]->has & BT_HAS_OPAQUE &&
            !bt_type_subst(s->store, &subst, terms[i]))
            return bt_store_why(s->ctx, s->store);
    }
    return s->failed ? bt_no_memory() : NULL;
}

bt_status bt__value_births(bt_ctx *ctx, bt_store *store, const bt_value *value,
                           bt_map *births)
{
    struct search s = { ctx, store, births, value, 0 };
    const bt_contents *contents = bt_as_call(value) ? bt_as_call(value)->contents : NULL;
    // what a closure's type mentions comes from its block, or from around it
    if (value->kind != BT_VALUE_CLOSURE)
        BT_TRY(note_terms(&s, 1, &value->type));
    return contents ? note_terms(&s, contents->n, contents->dims) : NULL;
}

static bt_status note_params(bt_ctx *ctx, bt_store *store, const bt_block *block,
                             bt_map *births)
{
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(bt__value_births(ctx, store, &block->params[i]->base, births));
    return NULL;
}

bt_status bt_block_births(bt_ctx *ctx, bt_store *store, bt_arena *arena,
                          const bt_block *block, bt_map *births)
{
    bt__walk walk;
    bt__walk_begin(&walk, arena, block);
    BT_TRY(note_params(ctx, store, block, births));
    for (const bt_value *value; (value = bt__walk_next(&walk));) {
        BT_TRY(bt__value_births(ctx, store, value, births));
        for (uint32_t i = 0; i < bt_value_nregion(value); i++)
            BT_TRY(note_params(ctx, store, bt_value_region(value, i), births));
    }
    return walk.failed ? bt_no_memory() : NULL;
}
