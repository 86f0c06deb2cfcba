/* The copy of a function with the examples of a batch. */
#include "batches/batching.h"

#include <string.h>

/* ---- the same for all examples, for each of them ---- */

static bt_status repeat(struct batching *b, const bt_value *value, const bt_value **out)
{
    bt_store *store = b->copy->store;
    const bt_type *dims = bt_type_shape(store, 1, &b->size);
    if (!dims)
        return bt_store_why(b->copy->ctx, store);
    return bt_build_formula(b->copy->b, dims, 1, &value,
                            "x: t[..], n => y: t[i in n, ..] = x[..]", out);
}

/* Before masks are walked: what the value is without. */
static bt_status widen(struct batching *b, const bt_value *value, const bt_type *type,
                       const uint8_t **have, const uint8_t **want, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    int differs = 0;
    const uint32_t n = bt_type_nleaf(type);
    *out = value;
    for (uint32_t i = 0; i < n; i++)
        differs |= (*want)[i] && !(*have && (*have)[i]);
    if (!differs || !tuple) {
        *want += n;
        *have += *have ? n : 0;
        return differs ? repeat(b, value, out) : NULL;
    }
    const bt_value **fields = BT_NEWS(b->copy->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(b->copy->b, value, i, &fields[i]));
        BT_TRY(widen(b, fields[i], tuple->at[i], have, want, &fields[i]));
    }
    return bt_build_tuple(b->copy->b, tuple->n, fields, out);
}

bt_status batching_widen(struct batching *b, const bt_value *value, const uint8_t *have,
                         const uint8_t *want, const bt_value **out)
{
    return widen(b, value, value->type, &have, &want, out);
}

bt_status batching_widen_full(struct batching *b, const bt_value *old,
                              const bt_value *now, const bt_value **out)
{
    uint8_t *full;
    BT_TRY(batching_full(b->vmap, old->type, &full));
    return batching_widen(b, now, batching_mask(b, old), full, out);
}

/* ---- calls ---- */

bt_status batching_call(struct batching *b, const struct batching_func *f, uint32_t narg,
                        const bt_value *const *args, const uint8_t *const *masks,
                        uint32_t ntype_arg, const bt_type *const *type_args,
                        const bt_value **out)
{
    struct copy *c = b->copy;
    const bt_value **now = BT_NEWS(c->arena, const bt_value *, narg);
    const bt_type **terms = BT_NEWS(c->arena, const bt_type *, ntype_arg + 1);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = narg, .args = now };
    const uint8_t *want = f->mask;
    if (!now || !terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg; i++) {
        BT_TRY(batching_widen(b, args[i], masks[i], want, &now[i]));
        want += bt_type_nleaf(args[i]->type);
    }
    for (uint32_t i = 0; i < ntype_arg; i++)
        terms[i] = type_args[i];
    terms[ntype_arg] = b->size;
    call.ntype_arg = ntype_arg + 1;
    call.type_args = terms;
    BT_TRY(bt_build_global(c->b, f->name, &call.callee));
    return bt_build_call(c->b, &call, out);
}

static bt_status call_global(struct batching *b, const bt_call *old, const bt_value **out)
{
    struct copy *c = b->copy;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, old->narg);
    const uint8_t **masks = BT_NEWS(c->arena, const uint8_t *, old->narg);
    const bt_type *const *type_args;
    const bt_global *global = bt_module_global(b->vmap->module, old->callee);
    struct batching_func *f;
    uint32_t nleaf = 0, at = 0;
    for (uint32_t i = 0; i < old->narg; i++)
        nleaf += bt_type_nleaf(old->args[i]->type);
    uint8_t *joint = BT_NEWS(c->arena, uint8_t, nleaf);
    if (!args || !masks || !joint)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++) {
        const uint32_t n = bt_type_nleaf(old->args[i]->type);
        BT_TRY(copy_operand(c, old->args[i], NULL, &args[i]));
        masks[i] = batching_mask(b, old->args[i]);
        if (masks[i] && n)
            memcpy(joint + at, masks[i], n);
        at += n;
    }
    BT_TRY(batching_want(b->vmap, global, joint, &f));
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &type_args));
    bt_builder_like(c->b, &old->base);
    return batching_call(b, f, old->narg, args, masks, old->ntype_arg, type_args, out);
}

/* ---- branches ---- */

/* full: the result differs by example, whatever it does here. */
static bt_status make_region(struct batching *b, const bt_block *old, int full,
                             const bt_block **out)
{
    struct copy *c = b->copy;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, old->nparam);
    const bt_value *result;
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nparam; i++) {
        const bt_value *param = &old->params[i]->base;
        const uint8_t *mask = batching_mask(b, param);
        const bt_type *type;
        BT_TRY(copy_type(c, param->type, &type));
        if (mask)
            BT_TRY(batching_type(b->vmap, type, b->size, mask, &type));
        bt_builder_like(c->b, param);
        BT_TRY(bt_build_param(c->b, param->name, type, &params[i]));
        BT_TRY(copy_put(c, param, &params[i]->base));
    }
    BT_TRY(bt_block_begin(c->b, old->nparam, params));
    BT_TRY(copy_bindings(c, old, NULL, &result));
    if (full)
        BT_TRY(batching_widen_full(b, old->result, result, &result));
    return bt_block_end(c->b, result, out);
}

static bt_status make_branch(struct batching *b, const bt_value *old,
                             const bt_value **out)
{
    struct copy *c = b->copy;
    const uint32_t n = bt_value_nregion(old);
    const bt_block **blocks = BT_NEWS(c->arena, const bt_block *, n);
    const bt_value *on;
    const int full = batching_mask(b, old) != NULL;
    if (!blocks)
        return bt_no_memory();
    BT_TRY(copy_operand(c, bt_value_operand(old, 0), NULL, &on));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_region(b, bt_value_region(old, i), full, &blocks[i]));
    bt_builder_like(c->b, old);
    return copy_branch(c, old, on, blocks, out);
}

static bt_status make_if(struct batching *b, const bt_if *branch, const bt_value **out)
{
    if (!batching_mask(b, branch->condition))
        return make_branch(b, &branch->base, out);
    return batching_can_select(b, branch) ? batching_select(b, branch, out)
                                          : batching_each(b, &branch->base, out);
}

/* ---- bindings ---- */

static bt_status make_tuple(struct batching *b, const bt_tuple_value *tuple,
                            const bt_value **out)
{
    const bt_value **fields = BT_NEWS(b->copy->arena, const bt_value *, tuple->nfield);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++)
        BT_TRY(copy_operand(b->copy, tuple->fields[i], NULL, &fields[i]));
    bt_builder_like(b->copy->b, &tuple->base);
    return bt_build_tuple(b->copy->b, tuple->nfield, fields, out);
}

static bt_status make_proj(struct batching *b, const bt_proj *proj, const bt_value **out)
{
    const bt_value *tuple;
    BT_TRY(copy_operand(b->copy, proj->tuple, NULL, &tuple));
    bt_builder_like(b->copy->b, &proj->base);
    return bt_build_proj(b->copy->b, tuple, proj->index, out);
}

static bt_status make_call(struct batching *b, const bt_call *call, const bt_value **out)
{
    if (call->callee_kind != BT_CALLEE_OP)
        return call_global(b, call, out);
    *out = NULL;
    BT_TRY(batching_op(b, call, out));
    return *out ? NULL : batching_each(b, &call->base, out);
}

/* What a function gives may be the same for all examples, as data is, whatever it takes. */
static int takes_examples(const struct batching *b, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    int takes = batching_mask(b, old) != NULL;
    for (uint32_t i = 0; bt_call_global(b->vmap->module, call) && i < call->narg; i++)
        takes |= batching_mask(b, call->args[i]) != NULL;
    return takes;
}

bt_status batching_binding(struct copy *c, const bt_value *old, int *done)
{
    struct batching *b = c->state;
    const bt_value *now;
    if (b->alone)
        return NULL;
    if ((*done = bt_map_find(&b->closures, old) != NULL))
        return NULL;
    if (old->kind == BT_VALUE_IF)
        BT_TRY(make_if(b, bt_as_if(old), &now));
    else if (old->kind == BT_VALUE_MATCH)
        BT_TRY(make_branch(b, old, &now));
    else if (!takes_examples(b, old))
        return NULL;
    else if (old->kind == BT_VALUE_TUPLE)
        BT_TRY(make_tuple(b, bt_as_tuple(old), &now));
    else if (old->kind == BT_VALUE_PROJ)
        BT_TRY(make_proj(b, bt_as_proj(old), &now));
    else
        BT_TRY(make_call(b, bt_as_call(old), &now));
    *done = 1;
    return copy_put(c, old, now);
}
