/* Which values differ by example. */
#include "batches/batching.h"

#include <string.h>

void batching_init(struct batching *b, struct vmap *v, struct copy *copy)
{
    *b = (struct batching){ .vmap = v, .copy = copy };
    bt_map_init(&b->masks, v->arena, 0);
    bt_map_init(&b->closures, v->arena, 0);
}

const uint8_t *batching_mask(const struct batching *b, const bt_value *old)
{
    return bt_map_find(&b->masks, old);
}

static bt_status put_mask(struct batching *b, const bt_value *old, const uint8_t *mask)
{
    int any = 0;
    for (uint32_t i = 0; i < bt_type_nleaf(old->type); i++)
        any |= mask[i];
    return !any || bt_map_put(&b->masks, old, (void *)(uintptr_t)mask) ? NULL
                                                                       : bt_no_memory();
}

static void fill(const bt_type *type, uint8_t **mask)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        fill(tuple->at[i], mask);
    if (!tuple)
        *(*mask)++ = bt_as_tensor_type(type) != NULL;
}

bt_status batching_full(struct vmap *v, const bt_type *type, uint8_t **out)
{
    uint8_t *at = *out = BT_NEWS(v->arena, uint8_t, bt_type_nleaf(type));
    if (!at)
        return bt_no_memory();
    fill(type, &at);
    return NULL;
}

int batching_is_tensors(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!batching_is_tensors(tuple->at[i]))
            return 0;
    }
    return tuple || bt_as_tensor_type(type);
}

bt_status batching_mark_params(struct batching *b, const bt_block *block,
                               const uint8_t *mask)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        BT_TRY(put_mask(b, &block->params[i]->base, mask));
        mask += bt_type_nleaf(block->params[i]->base.type);
    }
    return NULL;
}

static bt_status mark_full(struct batching *b, const bt_value *old)
{
    uint8_t *mask;
    BT_TRY(batching_full(b->vmap, old->type, &mask));
    return put_mask(b, old, mask);
}

const char *batching_shown(struct vmap *v, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const char *shown;
    bt_text text;
    bt_text_init(&text, v->arena);
    if (value->name)
        bt_text_addf(&text, "%%%s", value->name);
    else if (call && call->callee_kind == BT_CALLEE_OP)
        bt_text_addf(&text, "the call of %s", call->op->name);
    else if (call && call->callee_kind == BT_CALLEE_CTOR)
        bt_text_addf(&text, "the call of %s", call->ctor->name);
    else if (bt_call_global(v->module, call))
        bt_text_addf(&text, "the call of @%s", call->callee->name);
    else
        bt_text_addf(&text, "the %s", bt_value_kind_name(value->kind));
    shown = bt_text_get(&text);
    return shown ? shown : "a value";
}

static bt_status refuse(const struct batching *b, const bt_value *old, const char *what)
{
    return bt_fail_at(b->vmap->ctx, BT_ERR_UNSUPPORTED, b->vmap->module->store, old->span,
                      "vmap: %s %s", batching_shown(b->vmap, old), what);
}

/* ---- what is put together and taken apart ---- */

/* The masks of some values, one after another; *out NULL: all are the same for all examples. */
static bt_status join(const struct batching *b, uint32_t n, const bt_value *const *values,
                      const uint8_t **out)
{
    uint32_t nleaf = 0;
    int any = 0;
    for (uint32_t i = 0; i < n; i++) {
        nleaf += bt_type_nleaf(values[i]->type);
        any |= batching_mask(b, values[i]) != NULL;
    }
    *out = NULL;
    if (!any)
        return NULL;
    uint8_t *at = BT_NEWS(b->vmap->arena, uint8_t, nleaf);
    if (!at)
        return bt_no_memory();
    *out = at;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *mask = batching_mask(b, values[i]);
        const uint32_t k = bt_type_nleaf(values[i]->type);
        if (mask && k)
            memcpy(at, mask, k);
        at += k;
    }
    return NULL;
}

static bt_status mark_proj(struct batching *b, const bt_proj *proj)
{
    const uint8_t *mask = batching_mask(b, proj->tuple);
    const bt_list_type *tuple = bt_as_tuple_type(proj->tuple->type);
    for (uint32_t i = 0; mask && i < proj->index; i++)
        mask += bt_type_nleaf(tuple->at[i]);
    return mask ? put_mask(b, &proj->base, mask) : NULL;
}

/* ---- calls ---- */

static bt_status mark_call(struct batching *b, const bt_call *call)
{
    const bt_global *global = bt_call_global(b->vmap->module, call);
    const uint8_t *mask;
    struct batching_func *func;
    BT_TRY(join(b, call->narg, call->args, &mask));
    if (!mask)
        return NULL;
    if (call->callee_kind == BT_CALLEE_CTOR)
        return refuse(b, &call->base,
                      "is data whose fields differ by example: put them in a tuple");
    if (call->callee_kind == BT_CALLEE_VALUE && !global)
        return refuse(b, &call->base,
                      "is a call of a function that is not known here, of arguments that "
                      "differ by example: call a global");
    if (global)
        BT_TRY(batching_want(b->vmap, global, mask, &func));
    if (global && batching_is_refused(b->vmap, func))
        return refuse(b, &call->base,
                      "gives data, functions or references, and has no form for a batch: "
                      "give tensors");
    return mark_full(b, &call->base);
}

/* ---- blocks ---- */

static bt_status mark_pattern(struct batching *b, const bt_pattern *pattern,
                              const bt_type *type, const uint8_t *mask)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (pattern->kind == BT_PATTERN_VAR)
        return put_mask(b, &pattern->var->base, mask);
    for (uint32_t i = 0; pattern->kind == BT_PATTERN_TUPLE && tuple && i < pattern->n;
         i++) {
        BT_TRY(mark_pattern(b, pattern->at[i], tuple->at[i], mask));
        mask += bt_type_nleaf(tuple->at[i]);
    }
    return NULL; // data of a constructor is the same for all examples, and so are its fields
}

static int has_effects(const struct batching *b, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (bt_effects_of(b->vmap->effects, block->bindings[i]) &
            ~(uint32_t)BT_EFFECT_ALLOCATES)
            return 1;
    }
    return 0;
}

int batching_can_select(const struct batching *b, const bt_if *branch)
{
    return !has_effects(b, branch->then_block) && !has_effects(b, branch->else_block);
}

static bt_status mark_if(struct batching *b, const bt_if *branch)
{
    const int differs = batching_mask(b, branch->condition) != NULL;
    if (differs && !batching_is_tensors(branch->base.type))
        return refuse(b, &branch->base,
                      "is data, or a function, by a condition that differs by example");
    if (differs && !batching_can_select(b, branch))
        return mark_full(b, &branch->base);
    BT_TRY(batching_mark(b, branch->then_block));
    BT_TRY(batching_mark(b, branch->else_block));
    return differs || batching_mask(b, branch->then_block->result) ||
                   batching_mask(b, branch->else_block->result)
               ? mark_full(b, &branch->base)
               : NULL;
}

static bt_status mark_match(struct batching *b, const bt_match *match)
{
    const uint8_t *mask = batching_mask(b, match->data);
    int differs = 0;
    for (uint32_t i = 0; i < match->nclause; i++) {
        const bt_clause *clause = match->clauses[i];
        if (mask)
            BT_TRY(mark_pattern(b, clause->pattern, match->data->type, mask));
        BT_TRY(batching_mark(b, clause->block));
        differs |= batching_mask(b, clause->block->result) != NULL;
    }
    return differs ? mark_full(b, &match->base) : NULL;
}

static int is_held(const struct batching *b, const bt_value *used)
{
    return batching_mask(b, used) || bt_map_find(&b->closures, used);
}

/* Whether something in a closure differs by example, or holds what does. */
static bt_status find_held(struct batching *b, const bt_closure_value *closure, int *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(b->vmap->arena, closure->func->block, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++) {
        *out |= is_held(b, blocks.at[i]->result);
        for (uint32_t k = 0; k < blocks.at[i]->nbinding; k++) {
            const bt_value *inner = blocks.at[i]->bindings[k];
            for (uint32_t j = 0; j < bt_value_noperand(inner); j++)
                *out |= is_held(b, bt_value_operand(inner, j));
        }
    }
    return NULL;
}

/* Functions that hold what differs by example are left out: only what is done for one example
 * after another uses them, and has them of its own. */
static bt_status mark_closures(struct batching *b, const bt_closure_value *closure)
{
    const bt_closure_group *group = closure->group;
    int held = 0;
    if (group->at[0] != closure)
        return NULL;
    for (uint32_t i = 0; i < group->n; i++)
        BT_TRY(find_held(b, group->at[i], &held));
    for (uint32_t i = 0; held && i < group->n; i++) {
        if (!bt_map_put(&b->closures, group->at[i], (void *)1))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status check_held(const struct batching *b, const bt_value *used)
{
    return bt_map_find(&b->closures, used)
               ? refuse(b, used,
                        "is a function that holds a value which differs by example: pass "
                        "it that value as an argument, or make it a global")
               : NULL;
}

static bt_status check_operands(const struct batching *b, const bt_value *old)
{
    for (uint32_t i = 0; i < bt_value_noperand(old); i++)
        BT_TRY(check_held(b, bt_value_operand(old, i)));
    return NULL;
}

/* Whether a call can write only references that it makes: it is given none. */
static int writes_its_own(const bt_call *call)
{
    int own = call != NULL;
    for (uint32_t i = 0; own && i < call->narg; i++)
        own = batching_is_tensors(call->args[i]->type);
    return own;
}

/* What is written by one example is not for the others to read. */
static bt_status check_writes(const struct batching *b, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    if (!(bt_effects_of(b->vmap->effects, old) & BT_EFFECT_WRITES) ||
        (bt_call_global(b->vmap->module, call) && writes_its_own(call)))
        return NULL;
    return refuse(
        b, old,
        "writes a reference, which each example would have of its own: pass the "
        "value on from one step to the next");
}

static bt_status mark_binding(struct batching *b, const bt_value *old)
{
    const uint8_t *mask;
    BT_TRY(check_operands(b, old));
    if (!b->is_site)
        BT_TRY(check_writes(b, old));
    switch (old->kind) {
    case BT_VALUE_TUPLE:
        BT_TRY(join(b, bt_as_tuple(old)->nfield, bt_as_tuple(old)->fields, &mask));
        return mask ? put_mask(b, old, mask) : NULL;
    case BT_VALUE_PROJ: return mark_proj(b, bt_as_proj(old));
    case BT_VALUE_CALL: return mark_call(b, bt_as_call(old));
    case BT_VALUE_IF: return mark_if(b, bt_as_if(old));
    case BT_VALUE_MATCH: return mark_match(b, bt_as_match(old));
    case BT_VALUE_CLOSURE: return mark_closures(b, bt_as_closure(old));
    default:
        for (uint32_t i = 0; i < bt_value_noperand(old); i++) {
            if (batching_mask(b, bt_value_operand(old, i)))
                return refuse(b, old,
                              "is a reference to what differs by example: pass the value "
                              "on from one step to the next");
        }
        return NULL;
    }
}

bt_status batching_mark(struct batching *b, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(mark_binding(b, block->bindings[i]));
    return check_held(b, block->result);
}

/* ---- types ---- */

static bt_status batched_tensor(struct vmap *v, const bt_type *type, const bt_type *size,
                                const bt_type **out)
{
    bt_store *store = v->module->store;
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *dims[BT_MAX_RANK];
    if (!shape || shape->n == BT_MAX_RANK || bt_type_layout(type))
        return bt_fail(
            v->ctx, BT_ERR_UNSUPPORTED,
            "vmap: a tensor of a batch has a known rank below %d and no layout",
            BT_MAX_RANK);
    dims[0] = size;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    *out = bt_type_tensor(store, bt_type_shape(store, shape->n + 1, dims),
                          bt_as_tensor_type(type)->dtype);
    return *out ? NULL : bt_store_why(v->ctx, store);
}

static bt_status type_with(struct vmap *v, const bt_type *type, const bt_type *size,
                           const uint8_t **mask, const bt_type **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    *out = type;
    if (!tuple)
        return *(*mask)++ ? batched_tensor(v, type, size, out) : NULL;
    const bt_type **fields = BT_NEWS(v->arena, const bt_type *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(type_with(v, tuple->at[i], size, mask, &fields[i]));
    *out = bt_type_tuple(v->module->store, tuple->n, fields);
    return *out ? NULL : bt_store_why(v->ctx, v->module->store);
}

bt_status batching_type(struct vmap *v, const bt_type *type, const bt_type *size,
                        const uint8_t *mask, const bt_type **out)
{
    return type_with(v, type, size, &mask, out);
}
