/*
 * What has no batched form: for one example after another.
 *
 *     %loop = fn (%i: int64, %y: Tensor[(n, 3), float32]) {
 *         if (less(%i, n)) {
 *             %z = .. take(%x, %i, axis=0) ..;
 *             %loop(add(%i, 1), scatter_nd(%y, reshape(%i, [1]), %z))
 *         } else { (%y,) }
 *     };
 *     %loop(0, zeros)
 */
#include "batches/batching.h"

#include <string.h>

#include "common/chain.h"
#include "common/leaves.h"

/* ---- what it needs ---- */

struct needs {
    struct batching *batch;
    bt_vec(const bt_value *) values; /* old ones that differ by example */
    bt_map closures;                 /* the first of each group that holds such */
};

static bt_status add_need(struct needs *n, const bt_value *old)
{
    if (bt_map_find(&n->batch->closures, old)) {
        const bt_closure_value *first = bt_as_closure(old)->group->at[0];
        return bt_map_put(&n->closures, first, (void *)1) ? NULL : bt_no_memory();
    }
    if (!batching_mask(n->batch, old))
        return NULL;
    for (uint32_t i = 0; i < n->values.len; i++) {
        if (n->values.at[i] == old)
            return NULL;
    }
    return BT_PUSH(n->batch->copy->arena, &n->values, old) ? NULL : bt_no_memory();
}

static bt_status add_block(struct needs *n, const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(n->batch->copy->arena, block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        for (uint32_t k = 0; k < blocks.at[i]->nbinding; k++) {
            const bt_value *inner = blocks.at[i]->bindings[k];
            for (uint32_t j = 0; j < bt_value_noperand(inner); j++)
                BT_TRY(add_need(n, bt_value_operand(inner, j)));
        }
        BT_TRY(add_need(n, blocks.at[i]->result));
    }
    return NULL;
}

static bt_status find_needs(struct needs *n, const bt_value *old)
{
    bt_map_init(&n->closures, n->batch->copy->arena, 0);
    for (uint32_t i = 0; i < bt_value_noperand(old); i++)
        BT_TRY(add_need(n, bt_value_operand(old, i)));
    for (uint32_t i = 0; i < bt_value_nregion(old); i++)
        BT_TRY(add_block(n, bt_value_region(old, i)));
    for (uint32_t i = 0; i < n->closures.len; i++) {
        const bt_closure_group *group =
            ((const bt_closure_value *)n->closures.at[i].key)->group;
        for (uint32_t k = 0; k < group->n; k++)
            BT_TRY(add_block(n, group->at[k]->func->block));
    }
    return NULL;
}

/* How many examples there are. */
static bt_status count(struct batching *b, const struct needs *n, const bt_value **out)
{
    const bt_value *value;
    BT_TRY(copy_operand(b->copy, n->values.at[0], NULL, &value));
    const uint8_t *mask = batching_mask(b, n->values.at[0]);
    const bt_list_type *tuple;
    while ((tuple = bt_as_tuple_type(value->type))) {
        uint32_t field = 0;
        for (uint32_t k = 0; !memchr(mask, 1, k = bt_type_nleaf(tuple->at[field]));) {
            mask += k;
            field++;
        }
        BT_TRY(bt_build_proj(b->copy->b, value, field, &value));
    }
    return bt_build_formula(b->copy->b, NULL, 1, &value, "x: t[n, ..] => y: int64[] = n",
                            out);
}

/* ---- rows ---- */

static bt_status row_of(struct batching *b, const bt_value *value, const uint8_t *mask,
                        const bt_value *i, const bt_value **out)
{
    struct chain chain = { .builder = b->copy->b };
    leaf_values leaves = { 0 };
    BT_TRY(leaves_split(b->copy->b, b->copy->arena, value, &leaves));
    for (uint32_t k = 0; k < leaves.len; k++) {
        if (mask[k])
            leaves.at[k] = chain_op2(&chain, "take", "axis=0", leaves.at[k], i);
    }
    const bt_value *const *at = leaves.at;
    BT_TRY(chain.status);
    return leaves_join(b->copy->b, b->copy->arena, value->type, &at, out);
}

/* ---- the loop ---- */

struct loop {
    struct batching *batch;
    const bt_value *old, *count, *closure;
    const struct needs *needs;
    uint32_t n; /* tensors of the result */
    const bt_type **types;
};

static bt_status add_types(struct loop *l, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const uint8_t differs = 1;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(add_types(l, tuple->at[i]));
    if (tuple)
        return NULL;
    const char *wrong = !bt_as_tensor_type(type) ? "is no tensor"
                        : type->has & BT_HAS_OPAQUE
                            ? "is a tensor whose size only the run knows"
                        : bt_dtype_is_moved(bt_tensor_dtype(type))
                            ? "has elements that are not computed with"
                            : NULL;
    if (wrong)
        return bt_fail_at(l->batch->vmap->ctx, BT_ERR_UNSUPPORTED,
                          l->batch->vmap->module->store, l->old->span,
                          "vmap: %s is computed for one example after another, and %s: "
                          "such results are in no batch",
                          batching_shown(l->batch->vmap, l->old), wrong);
    return batching_type(l->batch->vmap, type, l->batch->size, &differs,
                         &l->types[l->n++]);
}

/* A tensor of zeros, whose rows are put in their places. */
static bt_status empty(struct batching *b, const bt_type *type, const bt_value **out)
{
    bt_text text;
    char name[BT_DTYPE_NAME_SIZE];
    const bt_shape_type *shape = bt_tensor_shape(type);
    bt_dtype_name(bt_tensor_dtype(type), name, sizeof(name));
    bt_text_init(&text, b->copy->arena);
    for (uint32_t i = 0; i < shape->n; i++)
        bt_text_addf(&text, "%sd%u", i ? ", " : "", i);
    bt_text_addf(&text, " => y: %s[", name);
    for (uint32_t i = 0; i < shape->n; i++)
        bt_text_addf(&text, "%si%u in d%u", i ? ", " : "", i, i);
    bt_text_addf(&text, "] = %s(0)", name);
    return bt_text_get(&text)
               ? bt_build_formula(b->copy->b, bt_as_tensor_type(type)->shape, 0, NULL,
                                  bt_text_get(&text), out)
               : bt_no_memory();
}

/* In the order in which they were found, which is that of the program. */
static bt_status copy_closures(const struct needs *n)
{
    const bt_map *all = &n->batch->closures;
    for (uint32_t i = 0; i < all->len; i++) {
        const bt_closure_value *closure = all->at[i].key;
        if (!bt_map_find(&n->closures, closure))
            continue;
        for (uint32_t k = 0; k < closure->group->n; k++)
            BT_TRY(copy_renew_dims(n->batch->copy, closure->group->at[k]->func->block));
        BT_TRY(copy_binding(n->batch->copy, &closure->base));
    }
    return NULL;
}

static bt_status make_step(struct loop *l, const bt_param *const *params,
                           const bt_value **out)
{
    struct batching *b = l->batch;
    struct copy *c = b->copy;
    struct chain chain = { .builder = c->b };
    const bt_value *now, *i = &params[0]->base;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, l->n + 1);
    leaf_values rows = { 0 };
    if (!args)
        return bt_no_memory();
    BT_TRY(copy_closures(l->needs));
    BT_TRY(copy_binding(c, l->old));
    BT_TRY(copy_operand(c, l->old, NULL, &now));
    BT_TRY(leaves_split(c->b, c->arena, now, &rows));
    args[0] = chain_op2(&chain, "add", NULL, i, chain_scalar(&chain, BT_INT64, 1));
    const bt_value *place = chain_op1(&chain, "reshape", "newshape=[1]", i);
    BT_TRY(chain.status);
    for (uint32_t k = 0; k < l->n; k++) {
        const bt_value *const put[] = { &params[k + 1]->base, place, rows.at[k] };
        BT_TRY(bt_build(c->b, "scatter_nd", NULL, put, 3, &args[k + 1]));
    }
    const bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                           .callee = l->closure,
                           .narg = l->n + 1,
                           .args = args };
    return bt_build_call(c->b, &call, out);
}

/* The rows of what is needed stand for it, and after that what stood for it before. */
static bt_status make_iteration(struct loop *l, const bt_param *const *params,
                                const bt_block **out)
{
    struct batching *b = l->batch;
    const uint32_t n = l->needs->values.len;
    const bt_value **before = BT_NEWS(b->copy->arena, const bt_value *, n), *again;
    if (!before)
        return bt_no_memory();
    BT_TRY(bt_block_begin(b->copy->b, 0, NULL));
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *old = l->needs->values.at[i], *row;
        const uint8_t *mask = batching_mask(b, old);
        BT_TRY(copy_operand(b->copy, old, NULL, &before[i]));
        BT_TRY(row_of(b, before[i], mask, &params[0]->base, &row));
        BT_TRY(copy_put(b->copy, old, row));
    }
    b->alone++;
    bt_status status = make_step(l, params, &again);
    b->alone--;
    BT_TRY(status);
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(copy_put(b->copy, l->needs->values.at[i], before[i]));
    return bt_block_end(b->copy->b, again, out);
}

static bt_status make_body(struct loop *l, const bt_type *result)
{
    struct copy *c = l->batch->copy;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, l->n + 1);
    const bt_value **outs = BT_NEWS(c->arena, const bt_value *, l->n), *less, *value;
    const bt_block *blocks[2];
    bt_func func = { .result = result };
    const bt_func *made;
    if (!params || !outs)
        return bt_no_memory();
    BT_TRY(bt_build_param(c->b, "i", bt_type_scalar(c->store, BT_INT64), &params[0]));
    for (uint32_t k = 0; k < l->n; k++) {
        BT_TRY(bt_build_param(c->b, "rows", l->types[k], &params[k + 1]));
        outs[k] = &params[k + 1]->base;
    }
    BT_TRY(bt_block_begin(c->b, l->n + 1, params));
    const bt_value *const both[] = { &params[0]->base, l->count };
    BT_TRY(bt_build(c->b, "less", NULL, both, 2, &less));
    BT_TRY(make_iteration(l, params, &blocks[0]));
    BT_TRY(bt_block_begin(c->b, 0, NULL));
    BT_TRY(bt_build_tuple(c->b, l->n, outs, &value));
    BT_TRY(bt_block_end(c->b, value, &blocks[1]));
    BT_TRY(bt_build_if(c->b, less, blocks[0], blocks[1], &value));
    BT_TRY(bt_block_end(c->b, value, &func.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &func, &made));
    return bt_build_closure_body(c->b, l->closure, made);
}

static bt_status make_loop(struct loop *l, const bt_value **out)
{
    struct copy *c = l->batch->copy;
    struct chain chain = { .builder = c->b };
    const char *const name = "each";
    const bt_type **args = BT_NEWS(c->arena, const bt_type *, l->n + 1), *type;
    const bt_value **given = BT_NEWS(c->arena, const bt_value *, l->n + 1);
    const bt_type *result = bt_type_tuple(c->store, l->n, l->types);
    if (!args || !given)
        return bt_no_memory();
    args[0] = bt_type_scalar(c->store, BT_INT64);
    for (uint32_t k = 0; k < l->n; k++)
        args[k + 1] = l->types[k];
    type = bt_type_func(c->store, &(const bt_func_type){
                                      .narg = l->n + 1, .args = args, .result = result });
    if (!type || !args[0])
        return bt_store_why(c->ctx, c->store);
    bt_builder_like(c->b, l->old);
    bt_builder_name(c->b, NULL);
    BT_TRY(bt_build_closures(c->b, 1, &name, &type, &l->closure));
    BT_TRY(make_body(l, result));
    given[0] = chain_scalar(&chain, BT_INT64, 0);
    BT_TRY(chain.status);
    for (uint32_t k = 0; k < l->n; k++)
        BT_TRY(empty(l->batch, l->types[k], &given[k + 1]));
    const bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                           .callee = l->closure,
                           .narg = l->n + 1,
                           .args = given };
    return bt_build_call(c->b, &call, out);
}

bt_status batching_each(struct batching *b, const bt_value *old, const bt_value **out)
{
    struct copy *c = b->copy;
    struct needs needs = { .batch = b };
    struct loop l = { .batch = b, .old = old, .needs = &needs };
    const bt_type *type;
    const bt_value *given;
    leaf_values leaves = { 0 };
    l.types = BT_NEWS(c->arena, const bt_type *, bt_type_nleaf(old->type));
    if (!l.types)
        return bt_no_memory();
    BT_TRY(copy_type(c, old->type, &type));
    BT_TRY(add_types(&l, type));
    BT_TRY(find_needs(&needs, old));
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    BT_TRY(count(b, &needs, &l.count));
    BT_TRY(make_loop(&l, &given));
    BT_TRY(leaves_split(c->b, c->arena, given, &leaves));
    const bt_value *const *at = leaves.at;
    return leaves_join(c->b, c->arena, type, &at, out);
}
