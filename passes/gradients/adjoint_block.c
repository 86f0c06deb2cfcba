/* The reverse sweep over a block. */
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_paths.h"
#include "gradients/custom.h"

bt_status adjoint_init(struct adjoint *a, struct differentiation *diff,
                       const bt_func *func)
{
    *a = (struct adjoint){ .func = func, .diff = diff };
    bt_map_init(&a->active, diff->arena, 0);
    bt_map_init(&a->leaves, diff->arena, 0);
    bt_map_init(&a->tapes, diff->arena, 0);
    bt_map_init(&a->births, diff->arena, 0);
    if (func)
        BT_TRY(bt_block_births(diff->ctx, diff->module->store, diff->arena, func->block,
                               &a->births));
    BT_TRY(copy_init(&a->copy, diff->ctx, diff->arena, diff->module));
    a->copy.state = a;
    a->copy.binding = adjoint_forward;
    return NULL;
}

void adjoint_deinit(struct adjoint *a)
{
    copy_deinit(&a->copy);
}

/* ---- what depends on what ---- */

static bt_status mark(struct adjoint *a, const bt_value *old)
{
    return bt_map_put(&a->active, old, (void *)1) ? NULL : bt_no_memory();
}

/* Whether there is a function in it, or, where these are asked for, a reference. */
static int holds_more(const bt_type *type, int references)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (holds_more(tuple->at[i], references))
            return 1;
    }
    return bt_as_func_type(type) || (references && bt_as_ref_type(type));
}

/* Whether it is no call, or of what is known: an operator, a constructor, a function of the module
 * that does not bring its derivative. */
static int is_known(const struct adjoint *a, const bt_call *call)
{
    const bt_global *global = bt_call_global(a->diff->module, call);
    return !call || call->callee_kind != BT_CALLEE_VALUE ||
           (global && global->kind == BT_GLOBAL_FUNC && !custom_attr(global, "vjp"));
}

static bt_status mark_binding(struct adjoint *a, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    int active = 0;
    BT_TRY(adjoint_cell_note(a, old, &active));
    active |= call && is_known(a, call) && adjoint_touches(a->diff, old);
    for (uint32_t i = 0; i < bt_value_noperand(old) && !active; i++)
        active = adjoint_is_active(a, bt_value_operand(old, i));
    for (uint32_t i = 0; i < bt_value_nregion(old); i++) {
        const bt_block *region = bt_value_region(old, i);
        for (uint32_t k = 0; active && k < region->nparam; k++) {
            if (!adjoint_has(a->diff, region->params[k]->base.type))
                continue;
            BT_TRY(adjoint_data_want(a->diff, region->params[k]->base.type));
            BT_TRY(mark(a, &region->params[k]->base));
        }
        BT_TRY(adjoint_mark(a, region));
        active |= adjoint_is_active(a, region->result);
    }
    if (active && holds_more(old->type, 0))
        return bt_fail_at(
            a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, old->span,
            "%%%s depends on what is differentiated, but is a function: passes "
            "lambda-lift, monomorphize and defunctionalize, in this order before "
            "differentiate, make data of functions (pipeline gradients)",
            old->name ? old->name : "_");
    if (active && holds_more(old->type, !is_known(a, call)))
        return bt_fail_at(
            a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, old->span,
            "%%%s depends on what is differentiated, but is a reference that a function "
            "gives which is not differentiated: pass what it holds instead",
            old->name ? old->name : "_");
    // what holds no float, a comparison or a position, has no derivative to pass on
    if (!adjoint_has(a->diff, old->type) || (!active && !adjoint_touches(a->diff, old)))
        return NULL;
    BT_TRY(adjoint_data_want(a->diff, old->type));
    return active ? mark(a, old) : NULL;
}

bt_status adjoint_mark(struct adjoint *a, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(mark_binding(a, block->bindings[i]));
    return NULL;
}

/* ---- one binding ---- */

static bt_status reverse_tuple(struct adjoint *a, const bt_tuple_value *tuple)
{
    const bt_value *const *leaves = adjoint_of(a, &tuple->base);
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const uint32_t n = bt_type_nleaf(tuple->fields[i]->type);
        for (uint32_t k = 0; k < n; k++)
            BT_TRY(adjoint_add(a, tuple->fields[i], k, leaves[leaf++]));
    }
    return NULL;
}

static bt_status reverse_proj(struct adjoint *a, const bt_proj *proj)
{
    const bt_value *const *leaves = adjoint_of(a, &proj->base);
    const uint32_t first = bt_type_first_leaf(proj->tuple->type, proj->index);
    for (uint32_t k = 0; k < bt_type_nleaf(proj->base.type); k++)
        BT_TRY(adjoint_add(a, proj->tuple, first + k, leaves[k]));
    return NULL;
}

static bt_status reverse_op(struct adjoint *a, const bt_call *old)
{
    bt_arena *arena = a->copy.arena;
    const bt_call *now = bt_as_call(adjoint_now(a, &old->base));
    adjoint_values in = { 0 }, out = { 0 };
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < now->narg; i++)
        BT_TRY(adjoint_split(a, now->args[i], &in));
    BT_TRY(adjoint_split(a, &now->base, &out));
    const bt_value **to = BT_NEWS(arena, const bt_value *, in.len);
    uint8_t *wants = BT_NEWS(arena, uint8_t, in.len);
    if (!to || !wants)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++) {
        const uint32_t n = bt_type_nleaf(old->args[i]->type);
        for (uint32_t k = 0; k < n; k++, leaf++)
            wants[leaf] = adjoint_is_active(a, old->args[i]) &&
                          bt_dtype_is_float(bt_tensor_dtype(in.at[leaf]->type));
    }
    const bt_adjoint_call call = { .call = now,
                                   .nin = in.len,
                                   .nout = out.len,
                                   .in = in.at,
                                   .out = out.at,
                                   .wants = wants,
                                   .seeds = adjoint_of(a, &old->base) };
    BT_TRY(bt_call_vjp(a->copy.b, &call, to));
    leaf = 0;
    for (uint32_t i = 0; i < old->narg; i++) {
        const uint32_t n = bt_type_nleaf(old->args[i]->type);
        for (uint32_t k = 0; k < n; k++)
            BT_TRY(adjoint_add(a, old->args[i], k, to[leaf++]));
    }
    return NULL;
}

static bt_status reverse_binding(struct adjoint *a, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    const bt_value *content;
    if (!adjoint_of(a, old) &&
        (!adjoint_touches(a->diff, old) || custom_callee(a->diff, old, "vjp")))
        return NULL;
    bt_builder_like(a->copy.b, adjoint_now(a, old));
    bt_builder_name(a->copy.b, NULL);
    if (adjoint_cell_of(old, &content))
        return adjoint_reverse_cell(a, old);
    if (old->kind == BT_VALUE_TUPLE)
        return reverse_tuple(a, bt_as_tuple(old));
    if (old->kind == BT_VALUE_PROJ)
        return reverse_proj(a, bt_as_proj(old));
    if (call && call->callee_kind == BT_CALLEE_OP)
        return reverse_op(a, call);
    if (call && call->callee_kind == BT_CALLEE_CTOR)
        return adjoint_reverse_ctor(a, call);
    if (custom_callee(a->diff, old, "vjp"))
        return custom_vjp_reverse(a, old);
    return adjoint_backward(a, old);
}

bt_status adjoint_reverse(struct adjoint *a, const bt_block *block)
{
    for (uint32_t i = block->nbinding; i-- > 0;)
        BT_TRY(reverse_binding(a, block->bindings[i]));
    return NULL;
}
