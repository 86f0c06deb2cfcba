/* Types that are equal but for dims: their dims by place, and what they have in common. */
#ifndef PASSES_COMMON_DIMS_H
#define PASSES_COMMON_DIMS_H

#include <baton/pass.h>

typedef bt_vec(const bt_type *) dims_of_type;

/* What stands in place of each dim of a type; types equal but for dims have as many, and in
 * the same order. */
struct dims_map {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    bt_status (*dim)(void *state, const bt_type *, const bt_type **out);
    void *state;
};
bt_status dims_replace(const struct dims_map *, const bt_type *,
                       const bt_type **out) BT_MUST_USE;

/* Of these, `dim` and `state` are not looked at. */
bt_status dims_list(const struct dims_map *, const bt_type *,
                    dims_of_type *out) BT_MUST_USE;
/* The type with `?` in place of each dim. */
bt_status dims_erase(const struct dims_map *, const bt_type *,
                     const bt_type **out) BT_MUST_USE;
/* The type with a variable in place of each dim that has one of these (BT_HAS_..; 0: of each), which
 * is added to the others. */
bt_status dims_name(const struct dims_map *, const bt_type *, uint32_t has,
                    dims_of_type *vars, const bt_type **out) BT_MUST_USE;

/* Types that are equal but for dims. */
struct dims_group {
    const bt_type *key; /* with `?` in place of each dim */
    dims_of_type types;
    int is_open; /* one of them has open dims */
    void *made;  /* its user's */
};
/* Adds a type to its group; groups: by their keys. */
bt_status dims_group_add(const struct dims_map *, bt_map *groups, const bt_type *,
                         struct dims_group **out) BT_MUST_USE;

/* A type in terms of variables of its own, one for each dim in which some types differ, or
 * that is open; each of the types is an instance. */
struct dims_pattern {
    const bt_type *type;
    uint32_t nvar;
    const bt_type **vars;
    uint32_t *places; /* of each variable among the dims */
};
bt_status dims_unify(const struct dims_map *, uint32_t n, const bt_type *const *types,
                     struct dims_pattern *out) BT_MUST_USE;
/* What the variables are for an instance. */
bt_status dims_arguments(const struct dims_map *, const struct dims_pattern *,
                         const bt_type *, const bt_type *const **out) BT_MUST_USE;

#endif
