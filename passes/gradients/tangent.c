/* Code of forward mode: each binding, and its tangent behind it. */
#include "gradients/tangent.h"
#include "gradients/adjoint_cells.h"
#include "gradients/custom.h"

static bt_status tangent_binding(struct copy *, const bt_value *old, int *done);

bt_status tangent_init(struct tangent *t, struct differentiation *diff,
                       const bt_func *func)
{
    BT_TRY(adjoint_init(&t->adjoint, diff, func));
    bt_map_init(&t->duals, diff->arena, 0);
    t->adjoint.copy.state = t;
    t->adjoint.copy.binding = tangent_binding;
    return NULL;
}

void tangent_deinit(struct tangent *t)
{
    adjoint_deinit(&t->adjoint);
}

/* Adds the tangent of each leaf of a value that is to have one, a zero where there is none. moves:
 * which leaves these are; NULL: none. */
static bt_status add_tangents(struct adjoint *a, const bt_value *old, const bt_value *now,
                              const uint8_t *moves, adjoint_values *out)
{
    adjoint_values leaves = { 0 };
    for (uint32_t i = 0; moves && i < bt_type_nleaf(old->type); i++) {
        const bt_value *tangent = adjoint_of_leaf(a, old, i);
        if (!moves[i])
            continue;
        if (!tangent && !leaves.len)
            BT_TRY(adjoint_split(a, now, &leaves));
        if (!tangent)
            BT_TRY(adjoint_zero(a->diff, &a->copy, leaves.at[i], leaves.at[i]->type,
                                &tangent));
        if (!BT_PUSH(a->copy.arena, out, tangent))
            return bt_no_memory();
    }
    return NULL;
}

bt_status tangent_pair(struct tangent *t, const bt_value *old, const bt_value *now,
                       const uint8_t *moves, const bt_value **out)
{
    struct adjoint *a = &t->adjoint;
    const uint32_t nleaf = bt_type_nleaf(old->type);
    const bt_value *dual = bt_map_find(&t->duals, old);
    adjoint_values fields = { 0 };
    // what a call at the end gives is given as it is: the call stays at the end
    if (dual && adjoint_now(a, old) == now &&
        tangent_count(tangent_moves(a, old), nleaf) == tangent_count(moves, nleaf)) {
        *out = dual;
        return NULL;
    }
    if (!BT_PUSH(a->copy.arena, &fields, now))
        return bt_no_memory();
    BT_TRY(add_tangents(a, old, now, moves, &fields));
    return bt_build_tuple(a->copy.b, fields.len, fields.at, out);
}

/* The value and the tangents that `dual` has. */
static bt_status take_dual(struct tangent *t, const bt_value *old, const bt_value *dual)
{
    struct adjoint *a = &t->adjoint;
    const uint8_t *moves = tangent_moves(a, old);
    const bt_value *field;
    uint32_t next = 0;
    bt_builder_like(a->copy.b, old);
    BT_TRY(bt_build_proj(a->copy.b, dual, next++, &field));
    bt_builder_name(a->copy.b, NULL);
    BT_TRY(copy_put(&a->copy, old, field));
    for (uint32_t i = 0; moves && i < bt_type_nleaf(old->type); i++) {
        if (!moves[i])
            continue;
        BT_TRY(bt_build_proj(a->copy.b, dual, next++, &field));
        BT_TRY(adjoint_add(a, old, i, field));
    }
    return bt_map_put(&t->duals, old, (void *)(uintptr_t)dual) ? NULL : bt_no_memory();
}

/* ---- patterns ---- */

/* Leaves that a part of a constructor's pattern has, and whether their tangents are asked for. */
static bt_status pattern_fields(struct adjoint *a, const bt_pattern *pattern,
                                const bt_type *type, adjoint_fields *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (pattern->kind == BT_PATTERN_VAR)
        return adjoint_fields_of(a, adjoint_now(a, &pattern->var->base), out);
    for (uint32_t i = 0; pattern->kind == BT_PATTERN_TUPLE && i < pattern->n; i++)
        BT_TRY(pattern_fields(a, pattern->at[i], tuple->at[i], out));
    for (uint32_t i = 0; pattern->kind != BT_PATTERN_TUPLE && i < bt_type_nleaf(type);
         i++) {
        struct adjoint_field field = { .is_wanted = pattern->kind == BT_PATTERN_CTOR };
        if (!adjoint_has(a->diff, adjoint_leaf(type, i)))
            continue;
        BT_TRY(copy_type(&a->copy, adjoint_leaf(type, i), &field.primal));
        if (!BT_PUSH(a->copy.arena, out, field))
            return bt_no_memory();
    }
    return NULL;
}

/* The variables of a pattern get their tangents. leaves: those of what it takes apart. */
static bt_status open_pattern(struct adjoint *a, const bt_pattern *pattern,
                              const bt_type *type, const bt_value *const *leaves);

static bt_status open_ctor(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, const bt_value *d)
{
    adjoint_fields fields = { 0 };
    adjoint_values all = { 0 };
    const bt_value **given;
    const bt_type **types = BT_NEWS(a->copy.arena, const bt_type *, pattern->n);
    uint32_t next = 0, at = 0;
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < pattern->n; i++) {
        BT_TRY(adjoint_field_type(a->diff, pattern->ctor, i,
                                  bt_as_apply_type(type)->at + 1, &types[i]));
        BT_TRY(pattern_fields(a, pattern->at[i], types[i], &fields));
    }
    BT_TRY(adjoint_open(a->diff, &a->copy, d, pattern->ctor, &fields, &given));
    for (uint32_t i = 0; i < pattern->n; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(types[i]); k++) {
            const bt_value *leaf =
                adjoint_has(a->diff, adjoint_leaf(types[i], k)) ? given[next++] : NULL;
            if (!BT_PUSH(a->copy.arena, &all, leaf))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < pattern->n; i++) {
        BT_TRY(open_pattern(a, pattern->at[i], types[i], all.at + at));
        at += bt_type_nleaf(types[i]);
    }
    return NULL;
}

static bt_status open_pattern(struct adjoint *a, const bt_pattern *pattern,
                              const bt_type *type, const bt_value *const *leaves)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    switch (pattern->kind) {
    case BT_PATTERN_VAR:
        for (uint32_t i = 0; i < bt_type_nleaf(type); i++)
            BT_TRY(adjoint_add(a, &pattern->var->base, i, leaves[i]));
        return NULL;
    case BT_PATTERN_TUPLE:
        for (uint32_t i = 0; i < pattern->n; i++) {
            BT_TRY(open_pattern(a, pattern->at[i], tuple->at[i], leaves));
            leaves += bt_type_nleaf(tuple->at[i]);
        }
        return NULL;
    case BT_PATTERN_CTOR: return *leaves ? open_ctor(a, pattern, type, *leaves) : NULL;
    default: return NULL;
    }
}

/* What the primal gives is stated, and tangents of it. moves: of which leaves. */
static bt_status type_dual(struct adjoint *a, const bt_value *old, const uint8_t *moves,
                           const bt_type **out)
{
    struct copy *c = &a->copy;
    adjoint_types types = { 0 };
    const bt_type *type;
    BT_TRY(copy_type(c, old->type, &type));
    if (!BT_PUSH(c->arena, &types, type))
        return bt_no_memory();
    BT_TRY(tangent_types(a->diff, type, moves, &types));
    *out = bt_type_tuple(c->store, types.len, types.at);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

/* ---- branches and matches ---- */

static bt_status make_region(struct tangent *t, const bt_value *old, uint32_t index,
                             const bt_block **out)
{
    struct adjoint *a = &t->adjoint;
    const bt_block *region = bt_value_region(old, index);
    const bt_match *match = bt_as_match(old);
    const bt_value *const *data = match ? adjoint_of(a, match->data) : NULL;
    const bt_param **params;
    const bt_value *result, *pair;
    BT_TRY(copy_params(&a->copy, region->nparam, region->params, &params));
    BT_TRY(bt_block_begin(a->copy.b, region->nparam, params));
    if (data)
        BT_TRY(open_pattern(a, match->clauses[index]->pattern, match->data->type, data));
    BT_TRY(copy_bindings(&a->copy, region, region->result->type, &result));
    BT_TRY(tangent_pair(t, region->result, result, tangent_moves(a, old), &pair));
    return bt_block_end(a->copy.b, pair, out);
}

static bt_status make_branches(struct tangent *t, const bt_value *old)
{
    struct copy *c = &t->adjoint.copy;
    const uint32_t n = bt_value_nregion(old);
    const bt_block **blocks = BT_NEWS(c->arena, const bt_block *, n);
    const bt_value *on, *dual;
    const bt_type *type;
    if (!blocks)
        return bt_no_memory();
    BT_TRY(copy_operand(c, bt_value_operand(old, 0), NULL, &on));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_region(t, old, i, &blocks[i]));
    BT_TRY(type_dual(&t->adjoint, old, tangent_moves(&t->adjoint, old), &type));
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    bt_builder_type(c->b, type);
    BT_TRY(copy_branch(c, old, on, blocks, &dual));
    return take_dual(t, old, dual);
}

/* ---- calls ---- */

static bt_status make_call(struct tangent *t, const bt_call *old)
{
    struct adjoint *a = &t->adjoint;
    struct copy *c = &a->copy;
    const struct tangent_func *func;
    adjoint_values args = { 0 };
    const bt_value **now, *dual;
    const bt_type *type;
    const uint8_t *all;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .ntype_arg = old->ntype_arg };
    int same;
    BT_TRY(tangent_func_of(a, old, &func));
    BT_TRY(copy_args(c, old, &now, &same));
    for (uint32_t i = 0; i < old->narg; i++) {
        if (!BT_PUSH(c->arena, &args, now[i]))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < old->narg; i++)
        BT_TRY(
            add_tangents(a, old->args[i], now[i], tangent_moves(a, old->args[i]), &args));
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, func->name, &call.callee));
    call.narg = args.len;
    call.args = args.at;
    if (!(all = tangent_all(a->diff, old->base.type)))
        return bt_no_memory();
    BT_TRY(type_dual(a, &old->base, all, &type));
    BT_TRY(copy_call_as(c, old, &call, type, &dual));
    return take_dual(t, &old->base, dual);
}

/* K.adjoint(..) of the tangents of what a constructor is given. */
static bt_status make_ctor(struct adjoint *a, const bt_call *old)
{
    const bt_call *now = bt_as_call(adjoint_now(a, &old->base));
    const bt_type *type;
    const bt_value *made;
    adjoint_values fields = { 0 };
    int any = 0;
    for (uint32_t i = 0; i < old->narg; i++)
        any |= adjoint_of(a, old->args[i]) != NULL;
    if (!any)
        return NULL;
    for (uint32_t i = 0; i < old->narg; i++) {
        const uint8_t *all = tangent_all(a->diff, now->args[i]->type);
        if (!all)
            return bt_no_memory();
        BT_TRY(add_tangents(a, old->args[i], now->args[i], all, &fields));
    }
    BT_TRY(adjoint_type_of(a->diff, now->base.type, &type));
    BT_TRY(adjoint_build_ctor(&a->copy, adjoint_ctor_of(adjoint_def(type), old->ctor),
                              type, fields.len, fields.at, &made));
    return adjoint_add(a, &old->base, 0, made);
}

static bt_status make_op(struct adjoint *a, const bt_call *old)
{
    const bt_call *now = bt_as_call(adjoint_now(a, &old->base));
    adjoint_values in = { 0 }, out = { 0 }, seeds = { 0 };
    int any = 0;
    for (uint32_t i = 0; i < old->narg; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(old->args[i]->type); k++) {
            const bt_value *seed = adjoint_of_leaf(a, old->args[i], k);
            any |= seed != NULL;
            if (!BT_PUSH(a->copy.arena, &seeds, seed))
                return bt_no_memory();
        }
    }
    if (!any)
        return NULL;
    for (uint32_t i = 0; i < now->narg; i++)
        BT_TRY(adjoint_split(a, now->args[i], &in));
    BT_TRY(adjoint_split(a, &now->base, &out));
    const bt_value **to = BT_NEWS(a->copy.arena, const bt_value *, out.len);
    if (!to)
        return bt_no_memory();
    const bt_adjoint_call call = { .call = now,
                                   .nin = in.len,
                                   .nout = out.len,
                                   .in = in.at,
                                   .out = out.at,
                                   .seeds = seeds.at };
    BT_TRY(bt_call_jvp(a->copy.b, &call, to));
    for (uint32_t k = 0; k < out.len; k++)
        BT_TRY(adjoint_add(a, &old->base, k, to[k]));
    return NULL;
}

/* ---- one binding ---- */

static bt_status make_tuple(struct adjoint *a, const bt_tuple_value *tuple)
{
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const bt_value *field = tuple->fields[i];
        for (uint32_t k = 0; k < bt_type_nleaf(field->type); k++, leaf++)
            BT_TRY(adjoint_add(a, &tuple->base, leaf, adjoint_of_leaf(a, field, k)));
    }
    return NULL;
}

static bt_status make_proj(struct adjoint *a, const bt_proj *proj)
{
    const bt_value *const *tangents = adjoint_of(a, proj->tuple);
    const uint32_t first = bt_type_first_leaf(proj->tuple->type, proj->index);
    for (uint32_t k = 0; tangents && k < bt_type_nleaf(proj->base.type); k++)
        BT_TRY(adjoint_add(a, &proj->base, k, tangents[first + k]));
    return NULL;
}

static bt_status tangent_binding(struct copy *c, const bt_value *old, int *done)
{
    struct tangent *t = c->state;
    struct adjoint *a = &t->adjoint;
    const bt_call *call = bt_as_call(old);
    const int touches =
        adjoint_touches(a->diff, old) && !custom_callee(a->diff, old, "jvp");
    const int moves = adjoint_is_active(a, old);
    const int has_regions = old->kind == BT_VALUE_IF || old->kind == BT_VALUE_MATCH;
    if (!moves && !touches && !has_regions)
        return NULL;
    *done = 1;
    if (touches && !call && !has_regions)
        return tangent_cell(a, old);
    if ((moves || touches) && has_regions)
        return make_branches(t, old);
    if (moves && custom_callee(a->diff, old, "jvp"))
        return custom_jvp_forward(a, call);
    if ((moves || touches) && call && call->callee_kind == BT_CALLEE_VALUE)
        return make_call(t, call);
    c->binding = NULL;
    bt_status status = copy_binding(c, old);
    c->binding = tangent_binding;
    if (status || !moves)
        return status;
    bt_builder_like(c->b, adjoint_now(a, old));
    bt_builder_name(c->b, NULL);
    if (!call)
        return old->kind == BT_VALUE_TUPLE ? make_tuple(a, bt_as_tuple(old))
                                           : make_proj(a, bt_as_proj(old));
    return call->callee_kind == BT_CALLEE_OP ? make_op(a, call) : make_ctor(a, call);
}
