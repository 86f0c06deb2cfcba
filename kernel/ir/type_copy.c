/* Copies of terms in another store. */
#include "ir/type_walk.h"

#define AS(T, term) ((const T *)(const void *)(term))

static const bt_type *copy_leaf(bt__type_walk *walk, const bt_type *t)
{
    bt_subst *subst = walk->state;
    if (t->kind == BT_TYPE_BOUND) {
        const bt_bound_type *bound = AS(bt_bound_type, t);
        return bt_type_bound(walk->to, bound->of_kind, bound->depth, bound->index);
    }
    const uint32_t nlack = walk->to->nlack;
    const bt_type *found = subst ? subst->leaf(subst, t) : NULL;
    if (found)
        return bt__type_shift(walk->to, found, walk->depth);
    if (walk->to->nlack != nlack) // there is a term, and no memory for it
        return NULL;
    if (t->kind == BT_TYPE_HOLE) {
        const bt_hole_type *hole = AS(bt_hole_type, t);
        return bt_type_hole_numbered(walk->to, hole->of_kind, hole->number);
    }
    if (t->store == walk->to)
        return t;
    return bt__refuse(walk->to,
                      t->kind == BT_TYPE_ADT
                          ? "a data type has no counterpart in the other store"
                          : "a free variable has no counterpart in the other store");
}

const bt_type *bt_type_copy(bt_store *to, bt_subst *subst, const bt_type *t)
{
    bt__type_walk walk = { .to = to,
                           .leaf = copy_leaf,
                           .state = subst,
                           .is_copy = 1,
                           .memo = subst ? subst->memo : NULL };
    return bt__type_walk_run(&walk, t);
}
