/* Dims that only the run knows, in copies: what a copy gives has its own. */
#include "common/copy.h"
#include "common/dims.h"

bt_status copy_put_result(struct copy *c, const bt_value *old, const bt_value *now)
{
    const struct dims_map m = { .ctx = c->ctx, .arena = c->arena, .store = c->store };
    dims_of_type was = { 0 }, is = { 0 };
    if (old->type->has & BT_HAS_OPAQUE) {
        BT_TRY(dims_list(&m, old->type, &was));
        BT_TRY(dims_list(&m, now->type, &is));
    }
    for (uint32_t i = 0; was.len == is.len && i < is.len; i++) {
        if (was.at[i]->kind == BT_TYPE_OPAQUE)
            BT_TRY(copy_put_type(c, was.at[i], is.at[i]));
    }
    return copy_put(c, old, now);
}

struct around {
    bt_map dims; /* that values from around a block have */
    int failed;
};

static const bt_type *note_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct around *a = subst->state;
    if (leaf->kind == BT_TYPE_OPAQUE)
        a->failed |= !bt_map_put(&a->dims, leaf, a);
    return NULL;
}

static bt_status note_around(struct copy *c, const bt_value *value, struct around *a)
{
    bt_subst subst = { .leaf = note_leaf, .state = a };
    if (value->type && value->type->has & BT_HAS_OPAQUE &&
        !bt_type_subst(c->store, &subst, value->type))
        return bt_store_why(c->ctx, c->store);
    return a->failed ? bt_no_memory() : NULL;
}

/* Those of its parameters, too, in whose place others stand. */
static bt_status find_around(struct copy *c, const bt_block *block, struct around *a)
{
    bt_blocks blocks = { 0 };
    bt_map inside;
    bt_map_init(&inside, c->arena, 0);
    BT_TRY(bt_block_nested(c->arena, block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        for (uint32_t k = 0; k < blocks.at[i]->nparam; k++) {
            if (!bt_map_put(&inside, blocks.at[i]->params[k], a))
                return bt_no_memory();
        }
        for (uint32_t k = 0; k < blocks.at[i]->nbinding; k++) {
            if (!bt_map_put(&inside, blocks.at[i]->bindings[k], a))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(note_around(c, &block->params[i]->base, a));
    for (uint32_t i = 0; i < inside.len; i++) {
        const bt_value *value = inside.at[i].key;
        for (uint32_t k = 0; k < bt_value_noperand(value); k++) {
            if (!bt_map_find(&inside, bt_value_operand(value, k)))
                BT_TRY(note_around(c, bt_value_operand(value, k), a));
        }
    }
    return NULL;
}

bt_status copy_renew_dims(struct copy *c, const bt_block *block)
{
    struct around around = { 0 };
    bt_map births;
    bt_map_init(&births, c->arena, 0);
    bt_map_init(&around.dims, c->arena, 0);
    BT_TRY(bt_block_births(c->ctx, c->store, c->arena, block, &births));
    if (births.len)
        BT_TRY(find_around(c, block, &around));
    for (uint32_t i = 0; i < births.len; i++) {
        const bt_opaque_type *old = births.at[i].key;
        if (bt_map_find(&around.dims, old))
            continue;
        const bt_type *now = bt_dim_opaque(c->store, old->name);
        if (!now)
            return bt_store_why(c->ctx, c->store);
        BT_TRY(copy_put_type(c, births.at[i].key, now));
    }
    return NULL;
}
