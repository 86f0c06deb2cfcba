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

/* ---- births of opaque dims ---- */

struct birth {
    bt_rewrite *rw;
    const bt_value *value;
    uint32_t failed;
};

static const bt_type *learn_opaque(bt_subst *subst, const bt_type *leaf)
{
    struct birth *birth = subst->state;
    bt_map *births = &birth->rw->births;
    if (leaf->kind == BT_TYPE_OPAQUE && !bt_map_find(births, leaf) &&
        !bt_map_put(births, leaf, (void *)(uintptr_t)birth->value))
        birth->failed = 1;
    return NULL;
}

/* Calls the leaf function for the terms that a binding brings forth. A closure brings
 * forth nothing: what its type mentions comes from its block, or from around it. */
static bt_status visit_terms(bt_rewrite *rw, const bt_value *value, bt_subst *subst)
{
    const bt_call *call = bt_as_call(value);
    if (value->kind == BT_VALUE_CLOSURE)
        return NULL;
    if (value->type && value->type->has & BT_HAS_OPAQUE &&
        !bt_type_subst(rw->store, subst, value->type))
        return bt_store_why(rw->ctx, rw->store);
    for (uint32_t i = 0; call && call->contents && i < call->contents->n; i++) {
        const bt_type *dim = call->contents->dims[i];
        if (dim->has & BT_HAS_OPAQUE && !bt_type_subst(rw->store, subst, dim))
            return bt_store_why(rw->ctx, rw->store);
    }
    return NULL;
}

static bt_status learn_births(bt_rewrite *rw, const bt_value *value)
{
    struct birth birth = { .rw = rw, .value = value };
    bt_subst subst = { .leaf = learn_opaque, .state = &birth };
    BT_TRY(visit_terms(rw, value, &subst));
    return birth.failed ? bt_no_memory() : NULL;
}

static bt_status learn_params(bt_rewrite *rw, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        struct bt__info *info = get_info(rw, param);
        if (!info)
            return bt_no_memory();
        info->block = block;
        BT_TRY(learn_births(rw, param));
    }
    return NULL;
}

struct renaming {
    bt_rewrite *rw;
    struct bt__scope *scope;
    const bt_value *value;
    uint32_t failed;
};

static const bt_type *rename_opaque(bt_subst *subst, const bt_type *leaf)
{
    struct renaming *r = subst->state;
    if (leaf->kind != BT_TYPE_OPAQUE || bt_map_find(&r->scope->types, leaf) ||
        bt_map_find(&r->rw->births, leaf) != r->value)
        return NULL;
    const bt_opaque_type *old = (const bt_opaque_type *)(const void *)leaf;
    const bt_type *fresh = bt_dim_opaque(r->rw->store, old->name);
    if (!fresh || !bt_map_put(&r->scope->types, leaf, (void *)(uintptr_t)fresh))
        r->failed = 1;
    return NULL;
}

bt_status bt__rewrite_rename_opaques(bt_rewrite *rw, struct bt__scope *scope,
                                     const bt_block *block)
{
    struct renaming renaming = { .rw = rw, .scope = scope };
    bt_subst subst = { .leaf = rename_opaque, .state = &renaming };
    bt__walk walk;
    if (!rw->births.len)
        return NULL;
    bt__walk_begin(&walk, rw->arena, block);
    for (const bt_value *value; (value = bt__walk_next(&walk));) {
        for (uint32_t i = 0; i < bt_value_nregion(value); i++) {
            const bt_block *region = bt_value_region(value, i);
            for (uint32_t k = 0; k < region->nparam; k++) {
                renaming.value = &region->params[k]->base;
                BT_TRY(visit_terms(rw, renaming.value, &subst));
            }
        }
        renaming.value = value;
        BT_TRY(visit_terms(rw, value, &subst));
    }
    return walk.failed || renaming.failed ? bt_no_memory() : NULL;
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
    for (uint32_t i = 0; i < bt_value_nregion(value); i++) {
        BT_TRY(learn_block(rw, bt_value_region(value, i), value));
        BT_TRY(learn_params(rw, bt_value_region(value, i)));
    }
    BT_TRY(learn_births(rw, value));
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
