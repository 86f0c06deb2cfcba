/* Patterns: what they say about the types of their variables. */
#include "ir/pattern.h"

#include "ir/type_walk.h"

/* `?` in a field: a dim that each value brings along. */
static const bt_type *new_dim(bt__type_walk *walk, const bt_type *leaf)
{
    return leaf->kind == BT_TYPE_HOLE ? bt_dim_opaque(walk->to, NULL) : leaf;
}

/* The type of a constructor's field, in a value of the data type applied to `args` (as
 * many as it has variables); dims that the definition leaves open become new opaque
 * dims at each call. NULL: no memory, or refused. */
static const bt_type *ctor_field_type(bt_store *store, const bt_ctor *ctor,
                                      uint32_t field, const bt_type *const *args)
{
    bt__type_walk walk = {
        .to = store, .leaf = new_dim, .wanted = BT_HAS_HOLE, .is_each = 1
    };
    const bt_type *type = bt_ctor_field_type(store, ctor, field, args);
    return type && type->has & BT_HAS_HOLE ? bt__type_walk_run(&walk, type) : type;
}

/* The arguments of the data type that a constructor's values have; NULL: the type is
 * another one. */
static const bt_type *const *adt_args(const bt_type *type, const bt_ctor *ctor)
{
    const bt_list_type *apply = type ? bt_as_apply_type(type) : NULL;
    if (!apply || apply->at[0]->kind != BT_TYPE_ADT || apply->n != ctor->adt->nvar + 1)
        return NULL;
    const bt_adt_type *handle = (const bt_adt_type *)(const void *)apply->at[0];
    return handle->def == ctor->adt ? apply->at + 1 : NULL;
}

static int ctor_types(bt_store *store, const bt_pattern *pattern, const bt_type *type,
                      const bt_type **out, uint32_t *next)
{
    const bt_type *const *args = adt_args(type, pattern->ctor);
    int fits = args && pattern->n == pattern->ctor->nfield;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_type *field = NULL;
        if (fits && !(field = ctor_field_type(store, pattern->ctor, i, args)))
            return 0;
        if (!bt__pattern_types(store, pattern->at[i], field, out, next))
            return 0;
    }
    return 1;
}

int bt__pattern_types(bt_store *store, const bt_pattern *pattern, const bt_type *type,
                      const bt_type **out, uint32_t *next)
{
    const bt_list_type *tuple = type ? bt_as_tuple_type(type) : NULL;
    switch (pattern->kind) {
    case BT_PATTERN_WILDCARD: return 1;
    case BT_PATTERN_VAR: out[(*next)++] = type; return 1;
    case BT_PATTERN_CTOR: return ctor_types(store, pattern, type, out, next);
    default: break;
    }
    int fits = tuple && tuple->n == pattern->n;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_type *field = fits ? tuple->at[i] : NULL;
        if (!bt__pattern_types(store, pattern->at[i], field, out, next))
            return 0;
    }
    return 1;
}
