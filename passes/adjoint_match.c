/* Constructors and patterns, backward. */
#include "adjoint_data.h"

static uint32_t tag_of(const bt_ctor *ctor)
{
    return ctor->tag + 1; // behind Zero
}

/* %d: Tree.adjoint -> match (%d) { Node.adjoint(%a, %b) => (%a, %b), _ => zeros } */
bt_status adjoint_reverse_ctor(struct adjoint *a, const bt_call *old)
{
    struct copy *c = &a->copy;
    struct adjoint_pairs *p = a->pairs;
    const bt_call *now = bt_as_call(bt_map_find(&c->values, &old->base));
    const bt_value *d = adjoint_of(a, &old->base)[0], *given, *field;
    const bt_ctor *ctor = adjoint_def(d->type)->ctors[tag_of(old->ctor)];
    adjoint_values values = { 0 };
    adjoint_types types = { 0 };
    const bt_param **params;
    const bt_value **zero;
    bt_clause clauses[2];
    if (!ctor->nfield)
        return NULL;
    for (uint32_t i = 0; i < now->narg; i++) {
        adjoint_values all = { 0 };
        BT_TRY(adjoint_split(a, now->args[i], &all));
        for (uint32_t k = 0; k < all.len; k++) {
            if (adjoint_has(all.at[k]->type) && !BT_PUSH(c->arena, &values, all.at[k]))
                return bt_no_memory();
        }
        BT_TRY(adjoint_leaf_types(p, now->args[i]->type, &types));
    }
    BT_TRY(adjoint_ctor_pattern(c, ctor, types.at, &params, &clauses[0].pattern));
    BT_TRY(bt_block_begin(c->b, ctor->nfield, params));
    field = &params[0]->base;
    if (ctor->nfield > 1)
        BT_TRY(
            bt_build_tuple(c->b, ctor->nfield, (const bt_value *const *)params, &field));
    BT_TRY(bt_block_end(c->b, field, &clauses[0].block));
    clauses[1].pattern =
        bt_pattern_create(c->store, &(bt_pattern){ .kind = BT_PATTERN_WILDCARD });
    zero = BT_NEWS(c->arena, const bt_value *, values.len);
    if (!clauses[1].pattern || !zero)
        return bt_no_memory();
    BT_TRY(bt_block_begin(c->b, 0, NULL));
    for (uint32_t i = 0; i < values.len; i++)
        BT_TRY(adjoint_zero(p, c, values.at[i], values.at[i]->type, &zero[i]));
    field = zero[0];
    if (values.len > 1)
        BT_TRY(bt_build_tuple(c->b, values.len, zero, &field));
    BT_TRY(bt_block_end(c->b, field, &clauses[1].block));
    BT_TRY(bt_build_match(c->b, d, 2, clauses, NULL, &given));
    uint32_t next = 0;
    for (uint32_t i = 0; i < old->narg; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(old->args[i]->type); k++) {
            if (!adjoint_has(adjoint_leaf(old->args[i]->type, k)))
                continue;
            const uint32_t at = next++;
            field = given;
            if (values.len > 1 && adjoint_is_active(a, old->args[i]))
                BT_TRY(bt_build_proj(c->b, given, at, &field));
            BT_TRY(adjoint_add(a, old->args[i], k, field));
        }
    }
    return NULL;
}

/* Adjoints of the leaves of what a pattern takes apart, by those of its variables. */
static bt_status leaves_of(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out);

static bt_status ctor_leaf(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out)
{
    struct copy *c = &a->copy;
    adjoint_values all = { 0 }, fields = { 0 };
    const bt_value *value = NULL;
    adjoint_types types = { 0 };
    int any = 0;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_type *field;
        BT_TRY(adjoint_field_type(a->pairs, pattern->ctor, i,
                                  bt_as_apply_type(type)->at + 1, &field));
        BT_TRY(leaves_of(a, pattern->at[i], field, &all));
        for (uint32_t k = 0; k < bt_type_nleaf(field); k++) {
            if (!BT_PUSH(c->arena, &types, adjoint_leaf(field, k)))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < all.len; i++)
        any |= all.at[i] != NULL;
    for (uint32_t i = 0; any && i < all.len; i++) {
        const bt_type *now;
        if (!adjoint_has(types.at[i]))
            continue;
        BT_TRY(copy_type(c, types.at[i], &now));
        if (!all.at[i])
            BT_TRY(adjoint_zero(a->pairs, c, NULL, now, &all.at[i]));
        if (!BT_PUSH(c->arena, &fields, all.at[i]))
            return bt_no_memory();
    }
    if (any) {
        const bt_type *now;
        BT_TRY(copy_type(c, type, &now));
        BT_TRY(adjoint_type_of(a->pairs, now, &now));
        BT_TRY(adjoint_build_ctor(c, adjoint_def(now)->ctors[tag_of(pattern->ctor)], now,
                                  fields.len, fields.at, &value));
    }
    return BT_PUSH(c->arena, out, value) ? NULL : bt_no_memory();
}

static bt_status leaves_of(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_value *const *leaves =
        pattern->kind == BT_PATTERN_VAR ? adjoint_of(a, &pattern->var->base) : NULL;
    if (pattern->kind == BT_PATTERN_CTOR)
        return ctor_leaf(a, pattern, type, out);
    for (uint32_t i = 0; pattern->kind == BT_PATTERN_TUPLE && i < pattern->n; i++)
        BT_TRY(leaves_of(a, pattern->at[i], tuple->at[i], out));
    if (pattern->kind == BT_PATTERN_TUPLE)
        return NULL;
    for (uint32_t i = 0; i < bt_type_nleaf(type); i++) {
        const bt_value *leaf = leaves ? leaves[i] : NULL;
        if (!BT_PUSH(a->copy.arena, out, leaf))
            return bt_no_memory();
    }
    return NULL;
}

bt_status adjoint_reverse_pattern(struct adjoint *a, const bt_pattern *pattern,
                                  const bt_value *data)
{
    adjoint_values leaves = { 0 };
    if (!adjoint_is_active(a, data))
        return NULL;
    BT_TRY(leaves_of(a, pattern, data->type, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++)
        BT_TRY(adjoint_add(a, data, i, leaves.at[i]));
    return NULL;
}
