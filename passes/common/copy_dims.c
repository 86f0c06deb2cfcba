/* Dims that only the run knows, in copies: what a copy gives has its own. */
#include "common/copy.h"
#include "common/dims.h"

struct renewing {
    struct copy *c;
    bt_map kept; /* those that values from around the block have */
    int is_around;
    bt_status failed;
};

static const bt_type *renew_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct renewing *r = subst->state;
    if (r->failed || leaf->kind != BT_TYPE_OPAQUE || bt_map_find(&r->kept, leaf))
        return NULL;
    if (r->is_around) {
        r->failed = bt_map_put(&r->kept, leaf, r) ? NULL : bt_no_memory();
        return NULL;
    }
    const bt_opaque_type *old = (const bt_opaque_type *)(const void *)leaf;
    const bt_type *now = bt_dim_opaque(r->c->store, old->name);
    r->failed =
        now ? copy_put_type(r->c, leaf, now) : bt_store_why(r->c->ctx, r->c->store);
    // once
    if (!r->failed && !bt_map_put(&r->kept, leaf, r))
        r->failed = bt_no_memory();
    return NULL;
}

static bt_status renew_value(struct renewing *r, const bt_value *value, int is_around)
{
    const bt_call *call = is_around ? NULL : bt_as_call(value);
    bt_subst subst = { .leaf = renew_leaf, .state = r };
    r->is_around = is_around;
    int whole = !(value->type->has & BT_HAS_OPAQUE) ||
                bt_type_subst(r->c->store, &subst, value->type);
    for (uint32_t i = 0; call && call->contents && i < call->contents->n; i++)
        whole &= bt_type_subst(r->c->store, &subst, call->contents->dims[i]) != NULL;
    return r->failed ? r->failed : whole ? NULL : bt_store_why(r->c->ctx, r->c->store);
}

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

typedef bt_vec(const bt_value *) values;

/* Parameters and bindings of the block and of those in it, its own parameters first. */
static bt_status list_values(struct copy *c, const bt_block *block, bt_map *places,
                             values *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(c->arena, block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        const bt_block *b = blocks.at[i];
        for (uint32_t k = 0; k < b->nparam + b->nbinding; k++) {
            const bt_value *value =
                k < b->nparam ? &b->params[k]->base : b->bindings[k - b->nparam];
            if (!BT_PUSH(c->arena, out, value) || !bt_map_put(places, value, out))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status copy_renew_dims(struct copy *c, const bt_block *block)
{
    struct renewing r = { .c = c };
    values list = { 0 };
    bt_map inside;
    bt_map_init(&r.kept, c->arena, 0);
    bt_map_init(&inside, c->arena, 0);
    BT_TRY(list_values(c, block, &inside, &list));
    for (uint32_t i = 0; i < list.len; i++) {
        const bt_value *value = list.at[i];
        if (i < block->nparam)
            BT_TRY(renew_value(&r, value, 1));
        for (uint32_t k = 0; k < bt_value_noperand(value); k++) {
            const bt_value *operand = bt_value_operand(value, k);
            if (operand->type && !bt_map_find(&inside, operand))
                BT_TRY(renew_value(&r, operand, 1));
        }
    }
    for (uint32_t i = block->nparam; i < list.len; i++)
        BT_TRY(renew_value(&r, list.at[i], 0));
    return NULL;
}
