/*
 * Calls of operator `vmap`.
 *
 *     vmap(@f, %x, %w, axes=[1, -1])    @f.batch(transpose(%x, axes=[1, 0]), %w)
 *     vmap(fn (%x) { .. }, %x)          what the closure does, for all examples, in place of the call
 */
#include <string.h>

#include "batches/batching.h"

static bt_ints axes_of(const bt_call *call)
{
    bt_ints axes;
    memcpy(&axes, call->attrs, sizeof(axes)); // its only attribute
    return axes;
}

static int64_t axis_of(const bt_call *call, uint32_t arg)
{
    const bt_ints axes = axes_of(call);
    return axes.n == BT_NONE_LIST ? 0 : axes.at[arg];
}

/* ---- what it needs ---- */

/* The masks of a call's arguments, of all their leaves. */
static bt_status mask_of(struct vmap *v, const bt_call *call, uint8_t **out)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 1; i < call->narg; i++)
        n += bt_type_nleaf(call->args[i]->type);
    *out = BT_NEWS(v->arena, uint8_t, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 1; i < call->narg; i++) {
        const uint32_t nleaf = bt_type_nleaf(call->args[i]->type);
        uint8_t *full;
        BT_TRY(batching_full(v, call->args[i]->type, &full));
        if (axis_of(call, i - 1) >= 0 && nleaf)
            memcpy(*out + at, full, nleaf);
        at += nleaf;
    }
    return NULL;
}

/* Marks the body of a closure, as it is for a batch. */
static bt_status mark_closure(struct batching *b, const bt_call *call,
                              const bt_closure_value *closure)
{
    uint8_t *mask;
    BT_TRY(mask_of(b->vmap, call, &mask));
    BT_TRY(batching_mark_params(b, closure->func->block, mask));
    b->is_site = bt_closure_flat_call(closure) != NULL;
    return batching_mark(b, closure->func->block);
}

bt_status batching_want_call(struct vmap *v, const bt_call *call)
{
    const bt_global *global = bt_module_global(v->module, call->args[0]);
    struct batching_func *f;
    struct batching b;
    uint8_t *mask;
    if (!global) {
        batching_init(&b, v, NULL);
        return mark_closure(&b, call, bt_as_closure(call->args[0]));
    }
    BT_TRY(mask_of(v, call, &mask));
    return batching_want(v, global, mask, &f);
}

/* ---- the call ---- */

/* Puts the axis of examples first. */
static bt_status to_front(struct copy *c, const bt_value *value, int64_t axis,
                          const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    *out = value;
    if (axis <= 0)
        return NULL;
    if (!tuple) {
        bt_text axes;
        bt_text_init(&axes, c->arena);
        bt_text_addf(&axes, "axes=[%u", (unsigned)axis);
        for (uint32_t i = 0; i < bt_tensor_shape(value->type)->n; i++) {
            if (i != axis)
                bt_text_addf(&axes, ", %u", i);
        }
        bt_text_addf(&axes, "]");
        return bt_text_get(&axes)
                   ? bt_build(c->b, "transpose", bt_text_get(&axes), &value, 1, out)
                   : bt_no_memory();
    }
    const bt_value **fields = BT_NEWS(c->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(c->b, value, i, &fields[i]));
        BT_TRY(to_front(c, fields[i], axis, &fields[i]));
    }
    return bt_build_tuple(c->b, tuple->n, fields, out);
}

/* What axis 0 of a tensor in it is; NULL: there is none. */
static const bt_type *first_dim(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *found = shape ? shape->dims[0] : NULL;
    for (uint32_t i = 0; tuple && !found && i < tuple->n; i++)
        found = first_dim(tuple->at[i]);
    return found;
}

/* The number of examples. */
static const bt_type *size_of(const bt_value *const *args, const bt_call *call)
{
    const bt_type *found = NULL;
    for (uint32_t i = 1; !found && i < call->narg; i++) {
        if (axis_of(call, i - 1) >= 0)
            found = first_dim(args[i]->type);
    }
    return found;
}

static bt_status put_closure(struct batching *b, const bt_call *call,
                             const bt_closure_value *closure, const bt_value *const *args,
                             const bt_value **out)
{
    const bt_block *block = closure->func->block;
    uint8_t *full;
    BT_TRY(mark_closure(b, call, closure));
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(copy_put(b->copy, &block->params[i]->base, args[i + 1]));
    BT_TRY(copy_renew_dims(b->copy, block));
    b->copy->state = b;
    BT_TRY(copy_bindings(b->copy, block, NULL, out));
    BT_TRY(batching_full(b->vmap, block->result->type, &full));
    return batching_widen(b, *out, batching_mask(b, block->result), full, out);
}

/* What a term that is given says of the function's parameters. */
static void find_in(const bt_type *param, const bt_type *given, const bt_type **terms)
{
    const bt_list_type *fields = bt_as_list_type(param), *others = bt_as_list_type(given);
    const bt_shape_type *shape = bt_tensor_shape(param), *dims = bt_tensor_shape(given);
    for (uint32_t i = 0; fields && others && i < fields->n && i < others->n; i++)
        find_in(fields->at[i], others->at[i], terms);
    for (uint32_t i = 0; shape && dims && dims->n == shape->n && i < shape->n; i++)
        find_in(shape->dims[i], dims->dims[i], terms);
    if (param->kind == BT_TYPE_BOUND) {
        const bt_bound_type *bound = (const bt_bound_type *)(const void *)param;
        if (!bound->depth && !terms[bound->index])
            terms[bound->index] = given;
    }
}

/* What an argument says of them. mask: of its leaves, which have the examples as axis 0. */
static void find_terms(const bt_type *param, const bt_type *given, const uint8_t **mask,
                       const bt_type **terms)
{
    const bt_list_type *tuple = bt_as_tuple_type(param),
                       *others = bt_as_tuple_type(given);
    const bt_shape_type *shape = bt_tensor_shape(param), *dims = bt_tensor_shape(given);
    if (tuple) {
        for (uint32_t i = 0; i < tuple->n; i++)
            find_terms(tuple->at[i], others->at[i], mask, terms);
        return;
    }
    const uint32_t more = *(*mask)++;
    if (!more)
        find_in(param, given, terms);
    for (uint32_t i = 0; more && shape && dims && dims->n == shape->n + 1 && i < shape->n;
         i++)
        find_in(shape->dims[i], dims->dims[i + 1], terms);
}

static bt_status put_global(struct batching *b, const bt_call *call,
                            const bt_global *global, const bt_value *const *args,
                            const bt_value **out)
{
    const uint32_t n = call->narg - 1;
    const bt_func_type *type = bt_as_func_type(global->type);
    const uint8_t **masks = BT_NEWS(b->copy->arena, const uint8_t *, n);
    const bt_type **terms = BT_NEWS(b->copy->arena, const bt_type *, type->nparam + 1);
    struct batching_func *f;
    uint8_t *mask;
    if (!masks || !terms)
        return bt_no_memory();
    BT_TRY(mask_of(b->vmap, call, &mask));
    BT_TRY(batching_want(b->vmap, global, mask, &f));
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *at = masks[i] = mask;
        mask += bt_type_nleaf(call->args[i + 1]->type);
        find_terms(type->args[i], args[i + 1]->type, &at, terms);
    }
    return batching_call(b, f, n, args + 1, masks, type->nparam, terms, out);
}

bt_status batching_put_call(struct vmap *v, struct copy *c, const bt_call *call)
{
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, call->narg), *now;
    struct batching b;
    void *state = c->state;
    if (!args)
        return bt_no_memory();
    batching_init(&b, v, c);
    bt_builder_like(c->b, &call->base);
    for (uint32_t i = 1; i < call->narg; i++) {
        BT_TRY(copy_operand(c, call->args[i], NULL, &args[i]));
        BT_TRY(to_front(c, args[i], axis_of(call, i - 1), &args[i]));
    }
    b.size = size_of(args, call);
    c->binding = batching_binding;
    bt_status status =
        closure ? put_closure(&b, call, closure, args, &now)
                : put_global(&b, call, bt_module_global(v->module, call->args[0]), args,
                             &now);
    c->state = state;
    BT_TRY(status);
    return copy_put_result(c, &call->base, now);
}
