/* Substitution, and opening and closing of function types. */
#include "ir/type_walk.h"

#define AS(T, term) ((const T *)(const void *)(term))

/* ---- positions of parameters ---- */

/* Parameters of function types outside of the term stand `by` levels further out, or, by
 * -1, further in. Other BOUND terms belong to function types inside the term, and stay. */
static const bt_type *move_bound(bt__type_walk *walk, const bt_type *t, int64_t by)
{
    const bt_bound_type *bound = AS(bt_bound_type, t);
    if (t->kind != BT_TYPE_BOUND)
        return t;
    return bt_type_bound(walk->to, bound->of_kind, (uint32_t)(bound->depth + by),
                         bound->index);
}

static const bt_type *shift_leaf(bt__type_walk *walk, const bt_type *t)
{
    const uint32_t *by = walk->state;
    return move_bound(walk, t, *by);
}

const bt_type *bt__type_shift(bt_store *store, const bt_type *t, uint32_t by)
{
    if (!by || !t->nloose)
        return t;
    bt__type_walk walk = { .to = store, .leaf = shift_leaf, .state = &by };
    return bt__type_walk_run(&walk, t);
}

/* ---- substitution ---- */

static const bt_type *subst_leaf(bt__type_walk *walk, const bt_type *t)
{
    bt_subst *subst = walk->state;
    const bt_type *asked = t;
    if (t->kind == BT_TYPE_ADT)
        return t;
    if (t->kind == BT_TYPE_BOUND) {
        const bt_bound_type *bound = AS(bt_bound_type, t);
        if (bound->depth != walk->depth)
            return t;
        asked = bt_type_bound(walk->to, bound->of_kind, 0, bound->index);
        if (!asked)
            return NULL;
    }
    const bt_type *found = subst->leaf(subst, asked);
    return found ? bt__type_shift(walk->to, found, walk->depth) : t;
}

const bt_type *bt_type_subst(bt_store *store, bt_subst *subst, const bt_type *t)
{
    bt__type_walk walk = { .to = store,
                           .leaf = subst_leaf,
                           .state = subst,
                           .wanted = BT_HAS_HOLE | BT_HAS_VAR | BT_HAS_OPAQUE,
                           .memo = subst->memo };
    return bt__type_walk_run(&walk, t);
}

/* ---- opening ---- */

struct opening {
    uint32_t n;
    const bt_type *const *args;
};

static const bt_type *open_leaf(bt__type_walk *walk, const bt_type *t)
{
    const struct opening *opening = walk->state;
    const bt_bound_type *bound = AS(bt_bound_type, t);
    if (t->kind != BT_TYPE_BOUND || bound->depth != walk->depth)
        return move_bound(walk, t, -1);
    if (bound->index >= opening->n)
        return bt__refuse(walk->to, "a function type has no such type parameter");
    return bt__type_shift(walk->to, opening->args[bound->index], walk->depth);
}

const bt_func_type *bt_func_type_open(bt_store *store, const bt_func_type *func,
                                      const bt_type *const *args)
{
    struct opening opening = { func->nparam, args };
    bt__type_walk walk = { .to = store, .leaf = open_leaf, .state = &opening };
    if (!func->nparam)
        return func;
    for (uint32_t i = 0; i < func->nparam; i++) {
        if (!bt__type_expect(store, args[i], func->params[i].kind))
            return NULL;
    }
    const void *mark = bt_arena_mark(store->scratch);
    const bt_type *opened = bt__type_walk_func(&walk, func, 0, NULL);
    bt_arena_release(store->scratch, mark);
    return bt_as_func_type(opened);
}

/* ---- data types ---- */

struct ctor_args {
    const bt_adt_def *def;
    const bt_type *const *at;
};

static const bt_type *replace_var(bt_subst *subst, const bt_type *leaf)
{
    const struct ctor_args *args = subst->state;
    for (uint32_t i = 0; i < args->def->nvar; i++) {
        if (args->def->vars[i] == leaf)
            return args->at[i];
    }
    return NULL;
}

const bt_type *bt_ctor_field_type(bt_store *store, const bt_ctor *ctor, uint32_t field,
                                  const bt_type *const *args)
{
    struct ctor_args state = { ctor->adt, args };
    bt_subst subst = { .leaf = replace_var, .state = &state };
    return bt_type_subst(store, &subst, ctor->fields[field]);
}

/* ---- closing ---- */

static const bt_type *close_leaf(bt__type_walk *walk, const bt_type *t)
{
    const bt_map *indices = walk->state;
    const bt_map_entry *entry = bt_map_entry_find(indices, t);
    if (!entry)
        return move_bound(walk, t, 1);
    return bt_type_bound(walk->to, bt_type_kind_of(t), walk->depth,
                         (uint32_t)(entry - indices->at));
}

/* Maps each variable to its position, which is that of its entry, and collects what is
 * known of them. */
static int index_vars(bt_store *store, uint32_t n, const bt_type *const *vars,
                      bt_map *indices, bt_type_param *params)
{
    for (uint32_t i = 0; i < n; i++) {
        if (vars[i]->kind != BT_TYPE_VAR || bt_map_entry_find(indices, vars[i])) {
            bt__refuse(store, "type parameters of a function must be distinct variables");
            return 0;
        }
        params[i] = AS(bt_var_type, vars[i])->param;
        if (!bt_map_put(indices, vars[i], NULL)) {
            bt__refuse(store, NULL);
            return 0;
        }
    }
    return 1;
}

const bt_type *bt_func_type_close(bt_store *store, uint32_t n, const bt_type *const *vars,
                                  uint32_t narg, const bt_type *const *args,
                                  const bt_type *result, uint32_t nwhere,
                                  const bt_where *const *wheres)
{
    bt_func_type fields = {
        .narg = narg, .args = args, .result = result, .nwhere = nwhere, .wheres = wheres
    };
    if (!n)
        return bt_type_func(store, &fields);
    const void *mark = bt_arena_mark(store->scratch);
    bt_map indices;
    bt_map_init(&indices, store->scratch, 0);
    bt_type_param *params = BT_NEWS(store->scratch, bt_type_param, n);
    bt__type_walk walk = {
        .to = store, .leaf = close_leaf, .state = &indices, .wanted = BT_HAS_VAR
    };
    const bt_type *func = params ? NULL : bt__refuse(store, NULL);
    if (params && index_vars(store, n, vars, &indices, params))
        func = bt__type_walk_func(&walk, &fields, n, params);
    bt_arena_release(store->scratch, mark);
    return func;
}
