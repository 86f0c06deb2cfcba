/* Which leaves of a function's values move when some of its parameters do. */
#include "gradients/adjoint_cells.h"
#include "gradients/custom.h"
#include "gradients/tangent.h"

const uint8_t *tangent_moves(const struct adjoint *a, const bt_value *old)
{
    return bt_map_find(&a->active, old);
}

const uint8_t *tangent_all(const struct differentiation *diff, const bt_type *type)
{
    const uint32_t n = bt_type_nleaf(type);
    uint8_t *all = BT_NEWS(diff->arena, uint8_t, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = (uint8_t)adjoint_has(diff, adjoint_leaf(type, i));
    return all;
}

uint32_t tangent_count(const uint8_t *moves, uint32_t nleaf)
{
    uint32_t n = 0;
    for (uint32_t i = 0; moves && i < nleaf; i++)
        n += moves[i] != 0;
    return n;
}

bt_status tangent_move(struct adjoint *a, const bt_value *old, const uint8_t *moves)
{
    if (!tangent_count(moves, bt_type_nleaf(old->type)))
        return NULL;
    BT_TRY(adjoint_data_want(a->diff, old->type));
    return bt_map_put(&a->active, old, (void *)(uintptr_t)moves) ? NULL : bt_no_memory();
}

/* All of it that can. */
static bt_status move_all(struct adjoint *a, const bt_value *old)
{
    const uint8_t *all = tangent_all(a->diff, old->type);
    return all ? tangent_move(a, old, all) : bt_no_memory();
}

static bt_status no_tangent(struct adjoint *a, const bt_value *old, const char *why)
{
    return bt_fail_at(a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, old->span,
                      "%%%s depends on what is differentiated, and is %s: it has no "
                      "tangent",
                      old->name ? old->name : "_", why);
}

/* ---- patterns ---- */

/* moves: of the leaves of what the pattern takes apart. */
static bt_status flow_pattern(struct adjoint *a, const bt_pattern *pattern,
                              const bt_type *type, const uint8_t *moves)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    switch (pattern->kind) {
    case BT_PATTERN_VAR: return tangent_move(a, &pattern->var->base, moves);
    case BT_PATTERN_TUPLE:
        for (uint32_t i = 0; i < pattern->n; i++) {
            BT_TRY(flow_pattern(a, pattern->at[i], tuple->at[i], moves));
            moves += bt_type_nleaf(tuple->at[i]);
        }
        return NULL;
    case BT_PATTERN_CTOR:
        for (uint32_t i = 0; *moves && i < pattern->n; i++) {
            const bt_type *field;
            const uint8_t *all;
            BT_TRY(adjoint_field_type(a->diff, pattern->ctor, i,
                                      bt_as_apply_type(type)->at + 1, &field));
            if (!(all = tangent_all(a->diff, field)))
                return bt_no_memory();
            BT_TRY(flow_pattern(a, pattern->at[i], field, all));
        }
        return NULL;
    default: return NULL;
    }
}

/* ---- bindings ---- */

static bt_status flow_call(struct adjoint *a, const bt_call *call)
{
    const bt_global *global;
    int any =
        adjoint_touches(a->diff, call) && !custom_callee(a->diff, &call->base, "jvp");
    for (uint32_t i = 0; i < call->narg; i++)
        any |= adjoint_is_active(a, call->args[i]);
    if (!any || !adjoint_has(a->diff, call->base.type))
        return NULL;
    if (custom_callee(a->diff, &call->base, "jvp")) {
        BT_TRY(custom_jvp_want(a, call));
    } else if (call->callee_kind == BT_CALLEE_VALUE) {
        global = bt_module_global(a->diff->module, call->callee);
        if (global && global->kind == BT_GLOBAL_EXTERN)
            return custom_fail(a->diff, call->base.span, global, 1);
        if (!global || global->kind != BT_GLOBAL_FUNC)
            return bt_fail_at(a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store,
                              call->base.span,
                              "a call of a function that is no global of the module has "
                              "no derivative");
    }
    return move_all(a, &call->base);
}

static bt_status flow_tuple(struct adjoint *a, const bt_tuple_value *tuple)
{
    uint8_t *all = BT_NEWS(a->copy.arena, uint8_t, bt_type_nleaf(tuple->base.type));
    uint32_t leaf = 0;
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const uint8_t *moves = tangent_moves(a, tuple->fields[i]);
        for (uint32_t k = 0; k < bt_type_nleaf(tuple->fields[i]->type); k++)
            all[leaf++] = moves ? moves[k] : 0;
    }
    return tangent_move(a, &tuple->base, all);
}

static bt_status flow_proj(struct adjoint *a, const bt_proj *proj)
{
    const uint8_t *moves = tangent_moves(a, proj->tuple);
    if (moves)
        moves += bt_type_first_leaf(proj->tuple->type, proj->index);
    return tangent_move(a, &proj->base, moves);
}

static bt_status flow_regions(struct adjoint *a, const bt_value *old)
{
    const bt_match *match = bt_as_match(old);
    const uint8_t *data = match ? tangent_moves(a, match->data) : NULL;
    const uint32_t n = bt_type_nleaf(old->type);
    uint8_t *all = BT_NEWS(a->copy.arena, uint8_t, n);
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < bt_value_nregion(old); i++) {
        const bt_block *region = bt_value_region(old, i);
        if (data)
            BT_TRY(flow_pattern(a, match->clauses[i]->pattern, match->data->type, data));
        BT_TRY(tangent_flow(a, region));
        const uint8_t *moves = tangent_moves(a, region->result);
        for (uint32_t k = 0; moves && k < n; k++)
            all[k] |= moves[k];
    }
    return tangent_move(a, old, all);
}

/* A function may not hold what moves. */
static bt_status flow_closure(struct adjoint *a, const bt_closure_value *closure)
{
    bt_blocks blocks = { 0 };
    int any = 0;
    BT_TRY(bt_block_nested(a->copy.arena, closure->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        any |= adjoint_is_active(a, blocks.at[b]->result);
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *inner = blocks.at[b]->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(inner); k++)
                any |= adjoint_is_active(a, bt_value_operand(inner, k));
        }
    }
    return any ? no_tangent(a, &closure->base, "a function") : NULL;
}

/* What is read moves where something that does is written to such a cell, by whomever. Of what a
 * cell with a shadow holds, the content does. */
static bt_status flow_cell(struct adjoint *a, const bt_value *old)
{
    const bt_type *type = old->type;
    int reads;
    BT_TRY(adjoint_cell_note(a, old, &reads));
    if (!reads)
        return NULL;
    uint8_t *all = BT_NEWS(a->copy.arena, uint8_t, bt_type_nleaf(type));
    if (!all)
        return bt_no_memory();
    if (a->diff->has_shadows)
        type = bt_as_tuple_type(type)->at[0];
    for (uint32_t i = 0; i < bt_type_nleaf(type); i++)
        all[i] = (uint8_t)adjoint_has(a->diff, adjoint_leaf(type, i));
    return tangent_move(a, old, all);
}

static bt_status flow_binding(struct adjoint *a, const bt_value *old)
{
    switch (old->kind) {
    case BT_VALUE_CALL: return flow_call(a, bt_as_call(old));
    case BT_VALUE_TUPLE: return flow_tuple(a, bt_as_tuple(old));
    case BT_VALUE_PROJ: return flow_proj(a, bt_as_proj(old));
    case BT_VALUE_IF:
    case BT_VALUE_MATCH: return flow_regions(a, old);
    case BT_VALUE_CLOSURE: return flow_closure(a, bt_as_closure(old));
    default: return flow_cell(a, old);
    }
}

bt_status tangent_flow(struct adjoint *a, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(flow_binding(a, block->bindings[i]));
    return NULL;
}
