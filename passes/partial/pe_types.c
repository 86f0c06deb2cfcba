/* Types in copies of functions: variables are what a call gives them, opaque dims are new. */
#include "partial/pe.h"

#include "common/dims.h"

struct seek {
    struct pe *p;
    struct pe_types *types;
    uint32_t failed;
};

static const bt_type *find_in(const struct pe_types *types, const bt_type *leaf)
{
    for (; types; types = types->outer) {
        const bt_type *now = bt_map_find(&types->map, leaf);
        if (now)
            return now;
    }
    return NULL;
}

static bt_status put(struct pe_types *types, const bt_type *leaf, const bt_type *now)
{
    return bt_map_put(&types->map, leaf, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

static const bt_type *find_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct seek *s = subst->state;
    if (!bt_type_is_free(leaf))
        return NULL;
    const bt_type *now = find_in(s->types, leaf);
    if (now || leaf->kind != BT_TYPE_OPAQUE || !s->types->is_copy)
        return now;
    now = bt_dim_opaque(s->p->store, ((const bt_opaque_type *)(const void *)leaf)->name);
    if (!now || put(s->types, leaf, now))
        s->failed = 1;
    return now;
}

bt_status pe_type(struct pe *p, struct pe_types *types, const bt_type *type,
                  const bt_type **out)
{
    struct seek seek = { p, types, 0 };
    bt_subst subst = { .leaf = find_leaf, .state = &seek };
    *out = type;
    if (!type || !(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    *out = bt_type_subst(p->store, &subst, type);
    if (seek.failed)
        return bt_no_memory();
    return *out ? NULL : bt_store_why(p->ctx, p->store);
}

/* ---- what is stated ---- */

struct unknown {
    const struct pe_types *types;
    int any;
};

static const bt_type *find_unknown(bt_subst *subst, const bt_type *leaf)
{
    struct unknown *u = subst->state;
    u->any |= leaf->kind == BT_TYPE_OPAQUE && !find_in(u->types, leaf);
    return NULL;
}

static bt_status known_dim(void *state, const bt_type *dim, const bt_type **out)
{
    struct seek *s = state;
    struct unknown u = { s->types, 0 };
    bt_subst subst = { .leaf = find_unknown, .state = &u };
    if (!bt_type_subst(s->p->store, &subst, dim))
        return bt_store_why(s->p->ctx, s->p->store);
    if (!u.any)
        return pe_type(s->p, s->types, dim, out);
    *out = bt_type_hole(s->p->store, BT_KIND_DIM);
    return *out ? NULL : bt_store_why(s->p->ctx, s->p->store);
}

bt_status pe_type_stated(struct pe *p, struct pe_types *types, const bt_type *type,
                         const bt_type **out)
{
    struct seek seek = { p, types, 0 };
    const struct dims_map m = { p->ctx, p->arena, p->store, known_dim, &seek };
    return dims_replace(&m, type, out);
}

bt_status pe_type_list(struct pe *p, struct pe_types *types, uint32_t n,
                       const bt_type *const *list, const bt_type *const **out)
{
    const bt_type **now = BT_NEWS(p->arena, const bt_type *, n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(pe_type(p, types, list[i], &now[i]));
    *out = now;
    return NULL;
}

bt_status pe_type_attrs(struct pe *p, struct pe_types *types, const bt_op *op,
                        const void *attrs, const void **out)
{
    struct seek seek = { p, types, 0 };
    bt_subst subst = { .leaf = find_leaf, .state = &seek };
    *out = attrs;
    if (!op || !op->attrs || !attrs)
        return NULL;
    *out = bt_attrs_subst(p->store, &subst, op->attrs, op->attrs_nbytes, attrs);
    if (seek.failed)
        return bt_no_memory();
    return *out ? NULL : bt_store_why(p->ctx, p->store);
}

/* ---- what stands for what ---- */

/* Whose leaves are taken: variables of a function, or opaque dims. */
struct take {
    struct pe *p;
    struct pe_types *types;
    const bt_func *func; /* NULL: opaque dims */
};

static int takes(const struct take *t, const bt_type *leaf)
{
    if (!t->func)
        return leaf->kind == BT_TYPE_OPAQUE && !find_in(t->types, leaf);
    for (uint32_t i = 0; i < t->func->nvar; i++) {
        if (t->func->vars[i] == leaf)
            return !bt_map_find(&t->types->map, leaf);
    }
    return 0;
}

static bt_status take(const struct take *t, const bt_type *old, const bt_type *now);

static bt_status take_all(const struct take *t, uint32_t n, const bt_type *const *old,
                          const bt_type *const *now)
{
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(take(t, old[i], now[i]));
    return NULL;
}

static bt_status take_shape(const struct take *t, const bt_shape_type *old,
                            const bt_shape_type *now)
{
    if (!old->rest)
        return old->n == now->n && !now->rest ? take_all(t, old->n, old->dims, now->dims)
                                              : NULL;
    if (now->n < old->n || (now->rest && now->position < old->position))
        return NULL;
    const uint32_t more = now->n - old->n, at = old->position;
    BT_TRY(take_all(t, at, old->dims, now->dims));
    BT_TRY(take_all(t, old->n - at, old->dims + at, now->dims + at + more));
    const bt_type *rest = now->rest
                              ? bt_type_shape_rest(t->p->store, more, now->dims + at,
                                                   now->position - at, now->rest)
                              : bt_type_shape(t->p->store, more, now->dims + at);
    return rest ? take(t, old->rest, rest) : bt_store_why(t->p->ctx, t->p->store);
}

/* Types nest no deeper than BT_TYPE_DEPTH. */
static bt_status take(const struct take *t, const bt_type *old, const bt_type *now)
{
    if (!(old->has & (t->func ? BT_HAS_VAR : BT_HAS_OPAQUE)))
        return NULL;
    if (bt_type_is_free(old))
        return takes(t, old) ? put(t->types, old, now) : NULL;
    if (old->kind != now->kind)
        return NULL;
    const bt_tensor_type *tensor = bt_as_tensor_type(old);
    const bt_func_type *f = bt_as_func_type(old), *g = bt_as_func_type(now);
    const bt_list_type *list = bt_as_list_type(old), *other = bt_as_list_type(now);
    if (tensor) {
        BT_TRY(take(t, tensor->shape, bt_as_tensor_type(now)->shape));
        return take(t, tensor->dtype, bt_as_tensor_type(now)->dtype);
    }
    if (bt_as_shape_type(old))
        return take_shape(t, bt_as_shape_type(old), bt_as_shape_type(now));
    if (f && !f->nparam && !g->nparam && f->narg == g->narg) {
        BT_TRY(take_all(t, f->narg, f->args, g->args));
        return take(t, f->result, g->result);
    }
    const int is_list = old->kind == BT_TYPE_TUPLE || old->kind == BT_TYPE_REF ||
                        old->kind == BT_TYPE_APPLY;
    return is_list && list->n == other->n ? take_all(t, list->n, list->at, other->at)
                                          : NULL;
}

bt_status pe_type_bind(struct pe *p, struct pe_types *types, const bt_type *old,
                       const bt_type *now)
{
    const struct take t = { p, types, NULL };
    return take(&t, old, now);
}

bt_status pe_type_take(struct pe *p, struct pe_types *types, const bt_func *func,
                       const bt_type *old, const bt_type *now)
{
    const struct take t = { p, types, func };
    return func->nvar ? take(&t, old, now) : NULL;
}

struct terms {
    struct pe *p;
    const struct pe_types *types;
    pe_type_vec *out;
    uint32_t failed;
};

static const bt_type *add_term(bt_subst *subst, const bt_type *leaf)
{
    struct terms *t = subst->state;
    const bt_type *now = bt_type_is_free(leaf) ? find_in(t->types, leaf) : NULL;
    if (!now && leaf->kind == BT_TYPE_VAR)
        now = leaf;
    if (now && !BT_PUSH(t->p->arena, t->out, now))
        t->failed = 1;
    return NULL;
}

bt_status pe_type_terms(struct pe *p, const struct pe_types *types, const bt_type *type,
                        pe_type_vec *out)
{
    struct terms terms = { p, types, out, 0 };
    bt_subst subst = { .leaf = add_term, .state = &terms };
    if (!bt_type_subst(p->store, &subst, type))
        return bt_store_why(p->ctx, p->store);
    return terms.failed ? bt_no_memory() : NULL;
}

bt_status pe_call_terms(struct pe *p, const struct pe_types *types, const bt_call *call,
                        pe_type_vec *out)
{
    struct terms terms = { p, types, out, 0 };
    bt_subst subst = { .leaf = add_term, .state = &terms };
    const bt_op *op = call->callee_kind == BT_CALLEE_OP ? call->op : NULL;
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        BT_TRY(pe_type_terms(p, types, call->type_args[i], out));
    if (op && op->attrs && call->attrs &&
        !bt_attrs_subst(p->store, &subst, op->attrs, op->attrs_nbytes, call->attrs))
        return bt_store_why(p->ctx, p->store);
    return terms.failed ? bt_no_memory() : NULL;
}

/* ---- data ---- */

bt_status pe_field_type(struct pe *p, const bt_type *data, const bt_ctor *ctor,
                        uint32_t field, const bt_type **out)
{
    const bt_list_type *apply = bt_as_apply_type(data);
    *out = ctor->fields[field];
    if (!apply || apply->n != ctor->adt->nvar + 1)
        return NULL;
    *out = bt_ctor_field_type(p->store, ctor, field, apply->at + 1);
    return *out ? NULL : bt_store_why(p->ctx, p->store);
}
