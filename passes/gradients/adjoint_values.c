/* Adjoints of values, leaf by leaf. */
#include "gradients/adjoint_data.h"

const bt_type *adjoint_leaf(const bt_type *type, uint32_t leaf)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        const uint32_t n = bt_type_nleaf(tuple->at[i]);
        if (leaf < n)
            return adjoint_leaf(tuple->at[i], leaf);
        leaf -= n;
    }
    return type;
}

int adjoint_is_wanted(const struct differentiation *diff, const bt_global *global,
                      const bt_func *primal, uint32_t param)
{
    return bt_gradient_spec_is_wrt(&global->gradient, param) &&
           adjoint_has(diff, primal->block->params[param]->base.type);
}

int adjoint_is_active(const struct adjoint *a, const bt_value *old)
{
    return bt_map_find(&a->active, old) != NULL;
}

const bt_value *adjoint_now(const struct adjoint *a, const bt_value *old)
{
    const bt_value *now = bt_map_find(&a->copy.values, old);
    return now ? now : old;
}

const bt_value *const *adjoint_of(const struct adjoint *a, const bt_value *old)
{
    return bt_map_find(&a->leaves, old);
}

const bt_value *adjoint_of_leaf(const struct adjoint *a, const bt_value *old,
                                uint32_t leaf)
{
    const bt_value *const *leaves = adjoint_of(a, old);
    return leaves ? leaves[leaf] : NULL;
}

bt_status adjoint_set(struct adjoint *a, const bt_value *old, uint32_t leaf,
                      const bt_value *adjoint)
{
    const bt_value **leaves = bt_map_find(&a->leaves, old);
    if (!leaves) {
        leaves = BT_NEWS(a->copy.arena, const bt_value *, bt_type_nleaf(old->type));
        if (!leaves || !bt_map_put(&a->leaves, old, leaves))
            return bt_no_memory();
    }
    leaves[leaf] = adjoint;
    return NULL;
}

bt_status adjoint_add(struct adjoint *a, const bt_value *old, uint32_t leaf,
                      const bt_value *adjoint)
{
    const bt_value *sum = adjoint_of_leaf(a, old, leaf);
    if (!adjoint || !adjoint_is_active(a, old))
        return NULL;
    if (sum)
        BT_TRY(adjoint_plus(a->diff, &a->copy, adjoint_leaf(old->type, leaf),
                            (const bt_value *[]){ sum, adjoint }, &adjoint));
    return adjoint_set(a, old, leaf, adjoint);
}

bt_status adjoint_split(struct adjoint *a, const bt_value *now, adjoint_values *out)
{
    return leaves_split(a->copy.b, a->copy.arena, now, out);
}

/* A leaf's adjoint as a value of the leaf's type. */
static bt_status leaf_of(struct adjoint *a, const bt_value *like, const bt_value *adjoint,
                         const bt_value **out)
{
    *out = like;
    if (!adjoint_has(a->diff, like->type))
        return NULL;
    if (!adjoint)
        BT_TRY(adjoint_zero(a->diff, &a->copy, like, like->type, &adjoint));
    *out = adjoint;
    return bt_as_apply_type(like->type) ? adjoint_fill(a, like, adjoint, out) : NULL;
}

bt_status adjoint_join(struct adjoint *a, const bt_value *like,
                       const bt_value *const *leaves, const bt_value **out)
{
    adjoint_values all = { 0 };
    const bt_value *const *at;
    BT_TRY(adjoint_split(a, like, &all));
    for (uint32_t i = 0; i < all.len; i++)
        BT_TRY(leaf_of(a, all.at[i], leaves ? leaves[i] : NULL, &all.at[i]));
    at = all.at;
    return leaves_join(a->copy.b, a->copy.arena, like->type, &at, out);
}
