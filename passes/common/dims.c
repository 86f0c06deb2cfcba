#include "common/dims.h"

#include "common/retype.h"

/* ---- by place ---- */

static bt_status replace(void *state, const bt_type *, const bt_type **out);

static struct retype parts_of(const struct dims_map *m)
{
    return (struct retype){ m->ctx, m->arena, m->store, replace, (void *)(uintptr_t)m };
}

static bt_status replace_tensor(const struct dims_map *m, const bt_type *type,
                                const bt_type **out)
{
    const struct retype r = parts_of(m);
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type **dims, *now;
    int same = 1;
    *out = type;
    if (!shape)
        return NULL;
    BT_TRY(retype_list(&r, shape->n, shape->dims, &dims, &same));
    if (same)
        return NULL;
    now = bt_type_shape(m->store, shape->n, dims);
    *out = bt_type_tensor_layout(m->store, now, bt_as_tensor_type(type)->dtype,
                                 bt_type_layout(type));
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

static bt_status replace_func(const struct dims_map *m, const bt_func_type *type,
                              const bt_type **out)
{
    const struct retype r = parts_of(m);
    bt_func_type now = *type;
    const bt_type **args;
    int same = 1;
    BT_TRY(retype_list(&r, type->narg, type->args, &args, &same));
    BT_TRY(replace(r.state, type->result, &now.result));
    *out = &type->base;
    if (same && now.result == type->result)
        return NULL;
    now.args = args;
    *out = bt_type_func(m->store, &now);
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

static bt_status replace(void *state, const bt_type *type, const bt_type **out)
{
    const struct dims_map *m = state;
    const struct retype r = parts_of(m);
    if (bt_type_kind_of(type) == BT_KIND_DIM)
        return m->dim(m->state, type, out);
    if (bt_as_tensor_type(type))
        return replace_tensor(m, type, out);
    if (bt_as_func_type(type))
        return replace_func(m, bt_as_func_type(type), out);
    return retype_parts(&r, type, out);
}

bt_status dims_replace(const struct dims_map *m, const bt_type *type, const bt_type **out)
{
    return replace((void *)(uintptr_t)m, type, out);
}

static bt_status with(const struct dims_map *m,
                      bt_status (*dim)(void *, const bt_type *, const bt_type **),
                      void *state, const bt_type *type, const bt_type **out)
{
    const struct dims_map now = { m->ctx, m->arena, m->store, dim, state };
    return dims_replace(&now, type, out);
}

struct listing {
    bt_arena *arena;
    dims_of_type *out;
};

static bt_status list_dim(void *state, const bt_type *dim, const bt_type **out)
{
    const struct listing *l = state;
    *out = dim;
    return BT_PUSH(l->arena, l->out, dim) ? NULL : bt_no_memory();
}

bt_status dims_list(const struct dims_map *m, const bt_type *type, dims_of_type *out)
{
    struct listing l = { m->arena, out };
    const bt_type *same;
    return with(m, list_dim, &l, type, &same);
}

static bt_status erase_dim(void *state, const bt_type *dim, const bt_type **out)
{
    const struct dims_map *m = state;
    (void)dim;
    *out = bt_type_hole(m->store, BT_KIND_DIM);
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

bt_status dims_erase(const struct dims_map *m, const bt_type *type, const bt_type **out)
{
    return with(m, erase_dim, (void *)(uintptr_t)m, type, out);
}

/* A parameter that is any dim. */
static bt_status new_var(const struct dims_map *m, const bt_type **out)
{
    const bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    *out = bt_type_var(m->store, &param, "n");
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

struct naming {
    const struct dims_map *map;
    uint32_t has;
    dims_of_type *vars;
};

static bt_status name_dim(void *state, const bt_type *dim, const bt_type **out)
{
    const struct naming *n = state;
    *out = dim;
    if (n->has && !(dim->has & n->has))
        return NULL;
    BT_TRY(new_var(n->map, out));
    return BT_PUSH(n->map->arena, n->vars, *out) ? NULL : bt_no_memory();
}

bt_status dims_name(const struct dims_map *m, const bt_type *type, uint32_t has,
                    dims_of_type *vars, const bt_type **out)
{
    struct naming n = { m, has, vars };
    return with(m, name_dim, &n, type, out);
}

bt_status dims_group_add(const struct dims_map *m, bt_map *groups, const bt_type *type,
                         struct dims_group **out)
{
    const bt_type *key;
    BT_TRY(dims_erase(m, type, &key));
    *out = bt_map_find(groups, key);
    if (!*out &&
        (!(*out = BT_NEW(m->arena, struct dims_group)) || !bt_map_put(groups, key, *out)))
        return bt_no_memory();
    (*out)->key = key;
    (*out)->is_open |= (type->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_HOLE)) != 0;
    return BT_PUSH(m->arena, &(*out)->types, type) ? NULL : bt_no_memory();
}

/* ---- what types have in common ---- */

/* Whether all types have at one place what each has at the other; each `?` is its own. */
static int are_alike(uint32_t n, const dims_of_type *types, uint32_t one, uint32_t other)
{
    for (uint32_t i = 0; i < n; i++) {
        if (types[i].at[one] != types[i].at[other] || types[i].at[one]->has & BT_HAS_HOLE)
            return 0;
    }
    return 1;
}

/* Whether all types have the same number at a place. */
static int is_number(uint32_t n, const dims_of_type *types, uint32_t place)
{
    int64_t ignored;
    for (uint32_t i = 1; i < n; i++) {
        if (types[i].at[place] != types[0].at[place])
            return 0;
    }
    return bt_dim_is_const(types[0].at[place], &ignored);
}

struct placing {
    const bt_type **dims; /* by place */
    uint32_t next;
};

static bt_status place(void *state, const bt_type *dim, const bt_type **out)
{
    struct placing *p = state;
    (void)dim;
    *out = p->dims[p->next++];
    return NULL;
}

bt_status dims_unify(const struct dims_map *m, uint32_t n, const bt_type *const *types,
                     struct dims_pattern *out)
{
    dims_of_type *of = BT_NEWS(m->arena, dims_of_type, n);
    if (!of)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(dims_list(m, types[i], &of[i]));
    const uint32_t ndim = of[0].len;
    struct placing p = { .dims = BT_NEWS(m->arena, const bt_type *, ndim) };
    *out = (struct dims_pattern){ .vars = BT_NEWS(m->arena, const bt_type *, ndim),
                                  .places = BT_NEWS(m->arena, uint32_t, ndim) };
    if (!p.dims || !out->vars || !out->places)
        return bt_no_memory();
    for (uint32_t i = 0; i < ndim; i++) {
        p.dims[i] = is_number(n, of, i) ? of[0].at[i] : NULL;
        for (uint32_t k = 0; k < i && !p.dims[i]; k++)
            p.dims[i] = are_alike(n, of, i, k) ? p.dims[k] : NULL;
        if (p.dims[i])
            continue;
        BT_TRY(new_var(m, &p.dims[i]));
        out->places[out->nvar] = i;
        out->vars[out->nvar++] = p.dims[i];
    }
    return with(m, place, &p, types[0], &out->type);
}

bt_status dims_arguments(const struct dims_map *m, const struct dims_pattern *pattern,
                         const bt_type *type, const bt_type *const **out)
{
    const bt_type **at = BT_NEWS(m->arena, const bt_type *, pattern->nvar);
    dims_of_type dims = { 0 };
    if (!at)
        return bt_no_memory();
    if (pattern->nvar)
        BT_TRY(dims_list(m, type, &dims));
    for (uint32_t i = 0; i < pattern->nvar; i++)
        at[i] = dims.at[pattern->places[i]];
    *out = at;
    return NULL;
}
