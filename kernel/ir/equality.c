/* Two terms are equal when their copies in a third store are one. */
#include "ir/equality.h"

#include "ir/type_walk.h"

#define AS(T, term) ((const T *)(const void *)(term))

struct bt__equality {
    bt_registry *registry;
    bt_store *store;    /* the third one */
    bt_map copies[2];   /* of terms of the left, of the right */
    bt_map partners[2]; /* paired leaf -> its common copy */
    bt_map alone;       /* leaf without a partner -> its copy */
    bt_map defs;        /* name -> the data type of that name */
};
struct side {
    bt__equality *equality;
    int which;
};

bt__equality *bt__equality_create(bt_registry *registry)
{
    bt__equality *e = bt_alloc(registry, sizeof(*e));
    if (!e)
        return NULL;
    e->registry = registry;
    e->store = bt_store_create(registry);
    if (!e->store) {
        bt_free(registry, e, sizeof(*e));
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        bt_map_init(&e->copies[i], e->store->arena, 0);
        bt_map_init(&e->partners[i], e->store->arena, 0);
    }
    bt_map_init(&e->alone, e->store->arena, 0);
    bt_map_init(&e->defs, e->store->arena, 1);
    return e;
}

void bt__equality_destroy(bt__equality *e)
{
    if (!e)
        return;
    bt_registry *registry = e->registry;
    bt_store_unref(e->store);
    bt_free(registry, e, sizeof(*e));
}

static const bt_type *put(bt_map *map, const void *key, const bt_type *term)
{
    return term && bt_map_put(map, key, (void *)(uintptr_t)term) ? term : NULL;
}

static const bt_type *copy_of_leaf(bt_store *store, const bt_type *leaf)
{
    return leaf->kind == BT_TYPE_VAR
               ? bt_type_var(store, &AS(bt_var_type, leaf)->param, NULL)
               : bt_dim_opaque(store, NULL);
}

static int same_range(const bt_type *left, const bt_type *right)
{
    if (left->kind != right->kind)
        return 0;
    if (left->kind != BT_TYPE_VAR)
        return left->kind == BT_TYPE_OPAQUE;
    const bt_type_param *a = &AS(bt_var_type, left)->param;
    const bt_type_param *b = &AS(bt_var_type, right)->param;
    return a->kind == b->kind && a->low == b->low && a->high == b->high &&
           a->step == b->step;
}

int bt__equality_pair(bt__equality *e, const bt_type *left, const bt_type *right)
{
    const bt_type *known = bt_map_find(&e->partners[0], left);
    if (known || bt_map_find(&e->partners[1], right))
        return known == bt_map_find(&e->partners[1], right);
    if (!same_range(left, right))
        return 0;
    const bt_type *copy = copy_of_leaf(e->store, left);
    return put(&e->partners[0], left, copy) && put(&e->partners[1], right, copy);
}

/* The data type that stands for all of this name. */
static const bt_type *copy_of_adt(bt__equality *e, const bt_adt_def *def)
{
    bt_adt_def *known = bt_map_find(&e->defs, def->name);
    if (known)
        return bt_type_adt(e->store, known);
    bt_adt_def *copy = BT_NEW(e->store->arena, bt_adt_def);
    const bt_type **vars = BT_NEWS(e->store->arena, const bt_type *, def->nvar);
    if (!copy || !vars || !(copy->name = bt_name_of(e->store, def->name)))
        return NULL;
    for (uint32_t i = 0; i < def->nvar; i++) {
        vars[i] = copy_of_leaf(e->store, def->vars[i]);
        if (!vars[i])
            return NULL;
    }
    copy->nvar = def->nvar;
    copy->vars = vars;
    return bt_map_put(&e->defs, copy->name, copy) ? bt_type_adt(e->store, copy) : NULL;
}

static const bt_type *copy_leaf(bt__type_walk *walk, const bt_type *t)
{
    const struct side *side = walk->state;
    bt__equality *e = side->equality;
    if (t->kind == BT_TYPE_BOUND) {
        const bt_bound_type *bound = AS(bt_bound_type, t);
        return bt_type_bound(e->store, bound->of_kind, bound->depth, bound->index);
    }
    if (t->kind == BT_TYPE_HOLE) {
        const bt_hole_type *hole = AS(bt_hole_type, t);
        return bt_type_hole_numbered(e->store, hole->of_kind, hole->number);
    }
    if (t->kind == BT_TYPE_ADT)
        return copy_of_adt(e, AS(bt_adt_type, t)->def);
    const bt_type *known = bt_map_find(&e->partners[side->which], t);
    if (!known)
        known = bt_map_find(&e->alone, t);
    return known ? known : put(&e->alone, t, copy_of_leaf(e->store, t));
}

static const bt_type *copy(bt__equality *e, int which, const bt_type *t)
{
    struct side side = { e, which };
    bt__type_walk walk = { .to = e->store,
                           .leaf = copy_leaf,
                           .state = &side,
                           .is_copy = 1,
                           .memo = &e->copies[which] };
    return bt__type_walk_run(&walk, t);
}

int bt__equality_check(bt__equality *e, const bt_type *left, const bt_type *right)
{
    if (left->kind != right->kind)
        return 0;
    const bt_type *a = copy(e, 0, left);
    const bt_type *b = a ? copy(e, 1, right) : NULL;
    return b && a == b;
}

int bt_type_equal(const bt_type *a, const bt_type *b)
{
    const uint32_t free_leaves = BT_HAS_VAR | BT_HAS_OPAQUE;
    if (a == b)
        return 1;
    if (a->store == b->store || a->kind != b->kind)
        return 0;
    if (a->hash != b->hash && !((a->has | b->has) & free_leaves))
        return 0;
    bt__equality *e = bt__equality_create(a->store->registry);
    int is_equal = e && bt__equality_check(e, a, b);
    bt__equality_destroy(e);
    return is_equal;
}
