/* Constructors and patterns, backward. */
#include "gradients/adjoint_data.h"
#include "gradients/adjoint_path.h"

const bt_ctor *adjoint_ctor_of(const bt_adt_def *adjoints, const bt_ctor *primal)
{
    return adjoints->ctors[primal->tag + 1]; // behind Zero
}

bt_status adjoint_fields_of(struct adjoint *a, const bt_value *now, adjoint_fields *out)
{
    adjoint_values all = { 0 };
    BT_TRY(adjoint_split(a, now, &all));
    for (uint32_t i = 0; i < all.len; i++) {
        const struct adjoint_field field = { all.at[i]->type, all.at[i], 1 };
        if (adjoint_has(a->diff, field.primal) && !BT_PUSH(a->copy.arena, out, field))
            return bt_no_memory();
    }
    return NULL;
}

/* A tuple of values, one alone as it is. */
static bt_status tuple_of(struct copy *c, const adjoint_values *values,
                          const bt_value **out)
{
    *out = values->at[0];
    return values->len == 1 ? NULL : bt_build_tuple(c->b, values->len, values->at, out);
}

/* The types of the fields of the adjoint `d`, where one whose dims say `?` has those of what it is
 * of, and the others those that the constructor was stated to have. */
static bt_status open_types(struct differentiation *diff, const bt_value *d,
                            const bt_ctor *ctor, uint32_t n, const bt_type *const *wanted,
                            const bt_type **out)
{
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(adjoint_field_type(diff, ctor, i, bt_as_apply_type(d->type)->at + 1,
                                  &out[i]));
        if (out[i]->has & BT_HAS_HOLE)
            out[i] = wanted[i];
    }
    return NULL;
}

static bt_status open_clause(struct differentiation *diff, struct copy *c,
                             const bt_value *d, const bt_ctor *ctor,
                             const adjoint_fields *fields, bt_clause *out)
{
    const bt_type **wanted = BT_NEWS(c->arena, const bt_type *, ctor->nfield);
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, ctor->nfield);
    adjoint_values values = { 0 };
    const bt_param **params;
    const bt_value *given;
    if (!types || !wanted)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++)
        BT_TRY(adjoint_type_of(diff, fields->at[i].primal, &wanted[i]));
    BT_TRY(open_types(diff, d, ctor, ctor->nfield, wanted, types));
    BT_TRY(adjoint_ctor_pattern(c, ctor, types, &params, &out->pattern));
    BT_TRY(bt_block_begin(c->b, ctor->nfield, params));
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        if (!fields->at[i].is_wanted)
            continue;
        BT_TRY(adjoint_fit(c, &params[i]->base, wanted[i], &given));
        if (!BT_PUSH(c->arena, &values, given))
            return bt_no_memory();
    }
    BT_TRY(tuple_of(c, &values, &given));
    return bt_block_end(c->b, given, &out->block);
}

static bt_status zero_clause(struct differentiation *diff, struct copy *c,
                             const adjoint_fields *fields, bt_clause *out)
{
    adjoint_values zeros = { 0 };
    const bt_value *given;
    out->pattern =
        bt_pattern_create(c->store, &(bt_pattern){ .kind = BT_PATTERN_WILDCARD });
    if (!out->pattern)
        return bt_no_memory();
    BT_TRY(bt_block_begin(c->b, 0, NULL));
    for (uint32_t i = 0; i < fields->len; i++) {
        const struct adjoint_field *field = &fields->at[i];
        if (!field->is_wanted)
            continue;
        BT_TRY(adjoint_zero(diff, c, field->like, field->primal, &given));
        if (!BT_PUSH(c->arena, &zeros, given))
            return bt_no_memory();
    }
    BT_TRY(tuple_of(c, &zeros, &given));
    return bt_block_end(c->b, given, &out->block);
}

bt_status adjoint_open(struct differentiation *diff, struct copy *c, const bt_value *d,
                       const bt_ctor *old, const adjoint_fields *fields,
                       const bt_value ***out)
{
    const bt_ctor *ctor = adjoint_ctor_of(adjoint_def(d->type), old);
    const bt_value *given;
    uint32_t nwanted = 0, next = 0;
    bt_clause clauses[2];
    *out = BT_NEWS(c->arena, const bt_value *, fields->len);
    for (uint32_t i = 0; i < fields->len; i++)
        nwanted += fields->at[i].is_wanted != 0;
    if (!*out || !nwanted)
        return *out ? NULL : bt_no_memory();
    BT_TRY(open_clause(diff, c, d, ctor, fields, &clauses[0]));
    BT_TRY(zero_clause(diff, c, fields, &clauses[1]));
    BT_TRY(bt_build_match(c->b, d, 2, clauses, NULL, &given));
    for (uint32_t i = 0; i < fields->len; i++) {
        if (!fields->at[i].is_wanted)
            continue;
        (*out)[i] = given;
        if (nwanted > 1)
            BT_TRY(bt_build_proj(c->b, given, next++, &(*out)[i]));
    }
    return NULL;
}

bt_status adjoint_reverse_ctor(struct adjoint *a, const bt_call *old)
{
    struct copy *c = &a->copy;
    const bt_call *now = bt_as_call(bt_map_find(&c->values, &old->base));
    const bt_value *d = adjoint_of(a, &old->base)[0], **given;
    adjoint_fields fields = { 0 };
    uint32_t next = 0;
    for (uint32_t i = 0; i < now->narg; i++) {
        uint32_t at = fields.len;
        BT_TRY(adjoint_fields_of(a, now->args[i], &fields));
        for (; at < fields.len; at++)
            fields.at[at].is_wanted = adjoint_is_active(a, old->args[i]);
    }
    BT_TRY(adjoint_open(a->diff, c, d, old->ctor, &fields, &given));
    for (uint32_t i = 0; i < old->narg; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(old->args[i]->type); k++) {
            if (adjoint_has(a->diff, adjoint_leaf(old->args[i]->type, k)))
                BT_TRY(adjoint_add(a, old->args[i], k, given[next++]));
        }
    }
    return NULL;
}

/* Adjoints of the leaves of what a pattern takes apart, by those of its variables. likes: the
 * leaves themselves, where it names them. */
static bt_status leaves_of(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out,
                           adjoint_values *likes);

/* Of a field of which the way back got none. */
static bt_status zero_field(struct adjoint *a, const bt_pattern *pattern,
                            const bt_type *type, const bt_value *like,
                            const bt_value **out)
{
    if (type->has & BT_HAS_HOLE && !like)
        return bt_fail_at(
            a->copy.ctx, BT_ERR_UNSUPPORTED, a->copy.store, pattern->span,
            "%s is differentiated, and a field of it whose dims say `?` has no "
            "name here: write a variable for it in place of `_`",
            pattern->ctor->name);
    BT_TRY(copy_type(&a->copy, type, &type));
    return adjoint_zero(a->diff, &a->copy, like, type, out);
}

static bt_status ctor_leaf(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out)
{
    struct copy *c = &a->copy;
    adjoint_values all = { 0 }, fields = { 0 }, likes = { 0 };
    const bt_value *value = NULL;
    adjoint_types types = { 0 };
    int any = 0;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_type *field;
        BT_TRY(adjoint_field_type(a->diff, pattern->ctor, i,
                                  bt_as_apply_type(type)->at + 1, &field));
        BT_TRY(leaves_of(a, pattern->at[i], field, &all, &likes));
        for (uint32_t k = 0; k < bt_type_nleaf(field); k++) {
            if (!BT_PUSH(c->arena, &types, adjoint_leaf(field, k)))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < all.len; i++)
        any |= all.at[i] != NULL;
    for (uint32_t i = 0; any && i < all.len; i++) {
        if (!adjoint_has(a->diff, types.at[i]))
            continue;
        if (!all.at[i])
            BT_TRY(zero_field(a, pattern, types.at[i], likes.at[i], &all.at[i]));
        if (!BT_PUSH(c->arena, &fields, all.at[i]))
            return bt_no_memory();
    }
    if (any) {
        const bt_type *now;
        BT_TRY(copy_type(c, type, &now));
        BT_TRY(adjoint_type_of(a->diff, now, &now));
        BT_TRY(adjoint_build_ctor(c, adjoint_ctor_of(adjoint_def(now), pattern->ctor),
                                  now, fields.len, fields.at, &value));
    }
    return BT_PUSH(c->arena, out, value) ? NULL : bt_no_memory();
}

static bt_status leaves_of(struct adjoint *a, const bt_pattern *pattern,
                           const bt_type *type, adjoint_values *out,
                           adjoint_values *likes)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    adjoint_values own = { 0 };
    const bt_value *const *leaves =
        pattern->kind == BT_PATTERN_VAR ? adjoint_of(a, &pattern->var->base) : NULL;
    if (pattern->kind == BT_PATTERN_CTOR) {
        BT_TRY(ctor_leaf(a, pattern, type, out));
        const bt_value *none = NULL;
        return BT_PUSH(a->copy.arena, likes, none) ? NULL : bt_no_memory();
    }
    for (uint32_t i = 0; pattern->kind == BT_PATTERN_TUPLE && i < pattern->n; i++)
        BT_TRY(leaves_of(a, pattern->at[i], tuple->at[i], out, likes));
    if (pattern->kind == BT_PATTERN_TUPLE)
        return NULL;
    if (pattern->kind == BT_PATTERN_VAR && type->has & BT_HAS_HOLE)
        BT_TRY(adjoint_split(a, bt_map_find(&a->copy.values, pattern->var), &own));
    for (uint32_t i = 0; i < bt_type_nleaf(type); i++) {
        const bt_value *leaf = leaves ? leaves[i] : NULL,
                       *like = own.len ? own.at[i] : NULL;
        if (!BT_PUSH(a->copy.arena, out, leaf) || !BT_PUSH(a->copy.arena, likes, like))
            return bt_no_memory();
    }
    return NULL;
}

bt_status adjoint_reverse_pattern(struct adjoint *a, const bt_pattern *pattern,
                                  const bt_value *data)
{
    adjoint_values leaves = { 0 }, likes = { 0 };
    if (!adjoint_is_active(a, data))
        return NULL;
    BT_TRY(leaves_of(a, pattern, data->type, &leaves, &likes));
    for (uint32_t i = 0; i < leaves.len; i++)
        BT_TRY(adjoint_add(a, data, i, leaves.at[i]));
    return NULL;
}
