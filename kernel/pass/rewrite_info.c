/* What the rewriting driver knows of the old program. */
#include "ir/walk.h"
#include "pass/rewrite.h"

struct bt__info *bt__rewrite_info(const bt_rewrite *rw, const bt_value *value)
{
    return bt_map_find(&rw->infos, value);
}

static struct bt__info *get_info(bt_rewrite *rw, const bt_value *value)
{
    struct bt__info *info = bt__rewrite_info(rw, value);
    if (info)
        return info;
    info = BT_NEW(rw->arena, struct bt__info);
    return info && bt_map_put(&rw->infos, value, info) ? info : NULL;
}

static bt_status learn_use(void *self, const bt_value *user, const bt_value *used)
{
    bt_rewrite *rw = self;
    struct bt__info *info = get_info(rw, used);
    return info && BT_PUSH(rw->arena, &info->users, user) ? NULL : bt_no_memory();
}

static bt_status learn_block(bt_rewrite *rw, const bt_block *block, const bt_value *owner)
{
    struct bt__block_info *info = BT_NEW(rw->arena, struct bt__block_info);
    if (!info || !bt_map_put(&rw->blocks, block, info))
        return bt_no_memory();
    info->owner = owner;
    return NULL;
}

static bt_status learn_params(bt_rewrite *rw, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        struct bt__info *info = get_info(rw, param);
        if (!info)
            return bt_no_memory();
        info->block = block;
        BT_TRY(bt__value_births(rw->ctx, rw->store, param, &rw->births));
    }
    return NULL;
}

bt_status bt__rewrite_rename_opaques(bt_rewrite *rw, struct bt__scope *scope,
                                     const bt_block *block)
{
    bt_map own;
    if (!rw->births.len)
        return NULL;
    bt_map_init(&own, rw->arena, 0);
    BT_TRY(bt_block_births(rw->ctx, rw->store, rw->arena, block, &own));
    for (uint32_t i = 0; i < own.len; i++) {
        const bt_opaque_type *old = own.at[i].key;
        const bt_value *value = own.at[i].value;
        if (bt_map_find(&scope->types, old) || bt_map_find(&rw->births, old) != value ||
            (value->kind == BT_VALUE_PARAM &&
             bt__rewrite_info(rw, value)->block == block))
            continue;
        const bt_type *fresh = bt_dim_opaque(rw->store, old->name);
        if (!fresh || !bt_map_put(&scope->types, old, (void *)(uintptr_t)fresh))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- a whole function ---- */

static bt_status learn_binding(bt_rewrite *rw, const bt__walk *walk,
                               const bt_value *value)
{
    struct bt__info *info = get_info(rw, value);
    if (!info)
        return bt_no_memory();
    info->block = bt__walk_block(walk);
    info->position = bt__walk_position(walk);
    BT_TRY(bt__value_births(rw->ctx, rw->store, value, &rw->births));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++) {
        BT_TRY(learn_block(rw, bt_value_region(value, i), value));
        BT_TRY(learn_params(rw, bt_value_region(value, i)));
    }
    return bt__value_uses(value, learn_use, rw);
}

bt_status bt__rewrite_learn(bt_rewrite *rw, const bt_block *block)
{
    bt__walk walk;
    const bt_value *value;
    if (bt_map_find(&rw->blocks, block))
        return NULL;
    BT_TRY(learn_block(rw, block, NULL));
    BT_TRY(learn_params(rw, block));
    bt__walk_begin(&walk, rw->arena, block);
    while ((value = bt__walk_next(&walk)))
        BT_TRY(learn_binding(rw, &walk, value));
    if (walk.failed)
        return bt_no_memory();
    return learn_use(rw, NULL, block->result);
}
