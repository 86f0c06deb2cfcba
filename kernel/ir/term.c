/* Interning of terms: one node per store for equal structure, so that equality is ==. */
#include "ir/attrs.h"
#include "ir/type.h"
#include "ir/type_match.h"

#include <baton/op.h>

#include <string.h>

#define AS(T, term) ((const T *)(const void *)(term))

/* ---- size, hash, equality by kind ---- */

static size_t nbytes_of(uint32_t kind)
{
    switch (kind) {
    case BT_TYPE_TENSOR: return sizeof(bt_tensor_type);
    case BT_TYPE_TUPLE:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY: return sizeof(bt_list_type);
    case BT_TYPE_FUNC: return sizeof(bt_func_type);
    case BT_TYPE_ADT: return sizeof(bt_adt_type);
    case BT_TYPE_SHAPE: return sizeof(bt_shape_type);
    case BT_TYPE_DTYPE: return sizeof(bt_dtype_type);
    case BT_TYPE_VAR: return sizeof(bt_var_type);
    case BT_TYPE_BOUND: return sizeof(bt_bound_type);
    case BT_TYPE_HOLE: return sizeof(bt_hole_type);
    case BT_TYPE_LINEAR: return sizeof(bt__dim_linear);
    case BT_TYPE_OPAQUE: return sizeof(bt_opaque_type);
    case BT_TYPE_PRODUCT:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX: return sizeof(bt__dim_list);
    }
    return 0;
}

static uint32_t hash_types(uint32_t hash, uint32_t n, const bt_type *const *at)
{
    hash = bt__hash_mix(hash, n);
    for (uint32_t i = 0; i < n; i++)
        hash = bt__hash_mix(hash, at[i]->hash);
    return hash;
}

/* Arguments whose order follows ids, which differ between stores: the hash must not. */
static uint32_t hash_unordered(uint32_t hash, uint32_t n, const bt_type *const *at)
{
    uint32_t sum = n;
    for (uint32_t i = 0; i < n; i++)
        sum += bt__hash_mix(1, at[i]->hash);
    return bt__hash_mix(hash, sum);
}

static uint32_t hash_linear(uint32_t hash, const bt_linear_type *t)
{
    uint32_t sum = t->n;
    for (uint32_t i = 0; i < t->n; i++)
        sum += bt__hash_mix(t->terms[i].atom->hash, (uint64_t)t->terms[i].coefficient);
    return bt__hash_mix(bt__hash_mix(hash, (uint64_t)t->constant), sum);
}

static uint32_t hash_param(uint32_t hash, const bt_type_param *param)
{
    hash = bt__hash_mix(bt__hash_mix(hash, param->kind), (uint64_t)param->low);
    return bt__hash_mix(bt__hash_mix(hash, (uint64_t)param->high), (uint64_t)param->step);
}

static uint32_t hash_func(uint32_t hash, const bt_func_type *t)
{
    hash = bt__hash_mix(hash, t->nparam);
    for (uint32_t i = 0; i < t->nparam; i++)
        hash = hash_param(hash, &t->params[i]);
    hash = hash_types(hash, t->narg, t->args);
    hash = bt__hash_mix(hash, t->result->hash);
    for (uint32_t i = 0; i < t->nwhere; i++) {
        const bt_where *where = t->wheres[i];
        hash = bt__hash_mix(hash, bt__hash_text(where->op->name));
        hash = bt__hash_mix(hash, bt_attrs_hash(where->op->attrs, where->attrs));
        hash = hash_types(hash, where->ntype, where->types);
    }
    return hash;
}

static uint32_t hash_of(const bt_type *t)
{
    uint32_t hash = bt__hash_mix(0, t->kind);
    switch (t->kind) {
    case BT_TYPE_TENSOR: {
        const bt_tensor_type *tensor = AS(bt_tensor_type, t);
        hash = bt__hash_mix(hash, tensor->shape->hash);
        hash = bt__hash_mix(hash, tensor->dtype->hash);
        return bt__hash_mix(hash,
                            tensor->layout ? bt__hash_text(tensor->layout->text) : 0);
    }
    case BT_TYPE_TUPLE:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD:
        return hash_types(hash, AS(bt_list_type, t)->n, AS(bt_list_type, t)->at);
    case BT_TYPE_PRODUCT:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX:
        return hash_unordered(hash, AS(bt_list_type, t)->n, AS(bt_list_type, t)->at);
    case BT_TYPE_FUNC: return hash_func(hash, AS(bt_func_type, t));
    case BT_TYPE_ADT:
        return bt__hash_mix(hash, bt__hash_text(AS(bt_adt_type, t)->def->name));
    case BT_TYPE_SHAPE: {
        const bt_shape_type *shape = AS(bt_shape_type, t);
        hash = hash_types(hash, shape->n, shape->dims);
        hash = bt__hash_mix(hash, shape->position);
        return bt__hash_mix(hash, shape->rest ? shape->rest->hash : 0);
    }
    case BT_TYPE_DTYPE: return bt__hash_mix(hash, AS(bt_dtype_type, t)->dtype);
    case BT_TYPE_VAR:
    case BT_TYPE_OPAQUE: return bt__hash_mix(hash, t->id);
    case BT_TYPE_BOUND: {
        const bt_bound_type *bound = AS(bt_bound_type, t);
        hash = bt__hash_mix(bt__hash_mix(hash, bound->depth), bound->index);
        return bt__hash_mix(hash, bound->of_kind);
    }
    case BT_TYPE_HOLE: {
        const bt_hole_type *hole = AS(bt_hole_type, t);
        return bt__hash_mix(bt__hash_mix(hash, hole->of_kind), hole->number);
    }
    case BT_TYPE_LINEAR: return hash_linear(hash, AS(bt_linear_type, t));
    }
    return hash;
}

static int same_types(uint32_t n, const bt_type *const *a, const bt_type *const *b)
{
    return n == 0 || memcmp(a, b, n * sizeof(*a)) == 0;
}

static int same_lists(const bt_list_type *a, const bt_list_type *b)
{
    return a->n == b->n && same_types(a->n, a->at, b->at);
}

static int same_linears(const bt_linear_type *a, const bt_linear_type *b)
{
    if (a->constant != b->constant || a->n != b->n)
        return 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->terms[i].atom != b->terms[i].atom ||
            a->terms[i].coefficient != b->terms[i].coefficient)
            return 0;
    }
    return 1;
}

static int same_params(uint32_t n, const bt_type_param *a, const bt_type_param *b)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!bt_type_param_equal(&a[i], &b[i]))
            return 0;
    }
    return 1;
}

static int same_wheres(uint32_t n, const bt_where *const *a, const bt_where *const *b)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i]->op != b[i]->op || a[i]->ntype != b[i]->ntype ||
            !same_types(a[i]->ntype, a[i]->types, b[i]->types) ||
            !bt_attrs_equal(a[i]->op->attrs, a[i]->attrs, b[i]->attrs))
            return 0;
    }
    return 1;
}

static int same_funcs(const bt_func_type *a, const bt_func_type *b)
{
    return a->nparam == b->nparam && a->narg == b->narg && a->nwhere == b->nwhere &&
           a->result == b->result && same_params(a->nparam, a->params, b->params) &&
           same_types(a->narg, a->args, b->args) &&
           same_wheres(a->nwhere, a->wheres, b->wheres);
}

static int same_tensors(const bt_tensor_type *a, const bt_tensor_type *b)
{
    return a->shape == b->shape && a->dtype == b->dtype && a->layout == b->layout;
}

static int same_shapes(const bt_shape_type *a, const bt_shape_type *b)
{
    return a->n == b->n && a->position == b->position && a->rest == b->rest &&
           same_types(a->n, a->dims, b->dims);
}

static int same(const void *item, const void *key)
{
    const bt_type *a = item, *b = key;
    if (a->kind != b->kind)
        return 0;
    if (bt_as_list_type(a))
        return same_lists(item, key);
    switch (a->kind) {
    case BT_TYPE_TENSOR: return same_tensors(item, key);
    case BT_TYPE_FUNC: return same_funcs(item, key);
    case BT_TYPE_ADT: return AS(bt_adt_type, a)->def == AS(bt_adt_type, b)->def;
    case BT_TYPE_SHAPE: return same_shapes(item, key);
    case BT_TYPE_DTYPE: return AS(bt_dtype_type, a)->dtype == AS(bt_dtype_type, b)->dtype;
    case BT_TYPE_VAR:
    case BT_TYPE_OPAQUE: return 0;
    case BT_TYPE_BOUND:
        return AS(bt_bound_type, a)->depth == AS(bt_bound_type, b)->depth &&
               AS(bt_bound_type, a)->index == AS(bt_bound_type, b)->index &&
               AS(bt_bound_type, a)->of_kind == AS(bt_bound_type, b)->of_kind;
    case BT_TYPE_HOLE:
        return AS(bt_hole_type, a)->of_kind == AS(bt_hole_type, b)->of_kind &&
               AS(bt_hole_type, a)->number == AS(bt_hole_type, b)->number;
    case BT_TYPE_LINEAR: return same_linears(item, key);
    }
    return 0;
}

/* ---- parts, and what is inside ---- */

static int visit_all(uint32_t n, const bt_type *const *at, bt__visit_part *visit,
                     void *state)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!visit(state, at[i]))
            return 0;
    }
    return 1;
}

static int visit_func(const bt_func_type *t, bt__visit_part *visit, void *state)
{
    if (!visit_all(t->narg, t->args, visit, state) || !visit(state, t->result))
        return 0;
    for (uint32_t i = 0; i < t->nwhere; i++) {
        if (!visit_all(t->wheres[i]->ntype, t->wheres[i]->types, visit, state))
            return 0;
    }
    return 1;
}

int bt__type_parts(const bt_type *t, bt__visit_part *visit, void *state)
{
    const bt_list_type *list = bt_as_list_type(t);
    const bt_shape_type *shape = bt_as_shape_type(t);
    const bt_tensor_type *tensor = bt_as_tensor_type(t);
    if (list)
        return visit_all(list->n, list->at, visit, state);
    if (shape)
        return visit_all(shape->n, shape->dims, visit, state) &&
               (!shape->rest || visit(state, shape->rest));
    if (tensor)
        return visit(state, tensor->shape) && visit(state, tensor->dtype);
    if (t->kind == BT_TYPE_FUNC)
        return visit_func(AS(bt_func_type, t), visit, state);
    const bt_linear_type *linear =
        t->kind == BT_TYPE_LINEAR ? AS(bt_linear_type, t) : NULL;
    for (uint32_t i = 0; linear && i < linear->n; i++) {
        if (!visit(state, linear->terms[i].atom))
            return 0;
    }
    return 1;
}

struct inside {
    uint32_t has;
    uint32_t depth, nloose;
};

static void look(void *state, const bt_type *t)
{
    struct inside *inside = state;
    inside->has |= t->has & ~(uint32_t)BT_HAS_BOUND;
    if (inside->depth <= t->depth)
        inside->depth = t->depth + 1u;
    if (inside->nloose < t->nloose)
        inside->nloose = t->nloose;
}

static int look_at_part(void *state, const bt_type *t)
{
    look(state, t);
    return 1;
}

static void look_inside(struct inside *inside, const bt_type *t)
{
    const bt_func_type *func = bt_as_func_type(t);
    bt__type_parts(t, look_at_part, inside);
    for (uint32_t i = 0; func && i < func->nwhere; i++)
        bt__attrs_visit(func->wheres[i]->op->attrs, func->wheres[i]->attrs, look, inside);
    if (func)
        inside->nloose -= func->nparam && inside->nloose;
    switch (t->kind) {
    case BT_TYPE_BOUND: inside->nloose = AS(bt_bound_type, t)->depth + 1; return;
    case BT_TYPE_VAR:
        inside->has = BT_HAS_VAR;
        if (AS(bt_var_type, t)->is_anonymous)
            inside->has |= BT_HAS_ANONYMOUS;
        return;
    case BT_TYPE_HOLE: inside->has = BT_HAS_HOLE; return;
    case BT_TYPE_OPAQUE: inside->has = BT_HAS_OPAQUE; return;
    default: return; // what its parts have
    }
}

/* ---- copies of arrays ---- */

const bt_where *const *bt__wheres_copy(bt_store *store, uint32_t n,
                                       const bt_where *const *wheres)
{
    bt_where *copy = BT_NEWS(store->arena, bt_where, n);
    for (uint32_t i = 0; copy && i < n; i++) {
        const bt_where *from = wheres[i];
        copy[i] = *from;
        copy[i].types =
            bt__arena_copy(store->arena, from->types, from->ntype, sizeof(*from->types));
        if (from->attrs)
            copy[i].attrs = bt_attrs_copy(store, from->op->attrs, from->op->attrs_nbytes,
                                          from->attrs);
        if (!copy[i].types || (from->attrs && !copy[i].attrs))
            return NULL;
    }
    return copy ? BT__LIST(store->arena, copy, n) : NULL;
}

static int copy_func(bt_store *store, bt_func_type *t)
{
    t->params = bt__arena_copy(store->arena, t->params, t->nparam, sizeof(*t->params));
    t->args = bt__arena_copy(store->arena, t->args, t->narg, sizeof(*t->args));
    t->wheres = bt__wheres_copy(store, t->nwhere, t->wheres);
    return t->params && t->args && t->wheres;
}

/* Replaces the arrays of the caller by copies in the store. 0: no memory. */
static int copy_arrays(bt_store *store, bt_type *t)
{
    bt_list_type *list = (bt_list_type *)(void *)t;
    bt_shape_type *shape = (bt_shape_type *)(void *)t;
    bt_linear_type *sum = (bt_linear_type *)(void *)t;
    bt_arena *to = store->arena;
    if (bt_as_list_type(t))
        return (list->at = bt__arena_copy(to, list->at, list->n, sizeof(t))) != NULL;
    if (t->kind == BT_TYPE_SHAPE)
        return (shape->dims = bt__arena_copy(to, shape->dims, shape->n, sizeof(t))) !=
               NULL;
    if (t->kind == BT_TYPE_LINEAR)
        return (sum->terms =
                    bt__arena_copy(to, sum->terms, sum->n, sizeof(*sum->terms))) != NULL;
    return t->kind != BT_TYPE_FUNC || copy_func(store, (bt_func_type *)(void *)t);
}

/* ---- nodes ---- */

static size_t public_nbytes(uint32_t kind)
{
    size_t nbytes = nbytes_of(kind);
    if (nbytes == sizeof(bt__dim_list))
        return sizeof(bt_list_type);
    return kind == BT_TYPE_LINEAR ? sizeof(bt_linear_type) : nbytes;
}

const bt_type *bt__type_fresh(bt_store *store, const bt_type *key)
{
    struct inside inside = { 0 };
    look_inside(&inside, key);
    if (inside.depth > BT_TYPE_DEPTH)
        return bt__refuse(store, "a type nests too deeply");
    if (store->nterm == UINT32_MAX)
        return bt__refuse(store, "too many types in one store");
    bt_type *term = bt_arena_alloc(store->arena, 1, nbytes_of(key->kind));
    if (!term)
        return bt__refuse(store, NULL);
    memcpy(term, key, public_nbytes(key->kind));
    if (!copy_arrays(store, term))
        return bt__refuse(store, NULL);
    term->store = store;
    term->id = store->nterm++;
    term->has = inside.has | (inside.nloose ? BT_HAS_BOUND : 0u);
    term->depth = (uint16_t)inside.depth;
    term->nloose = (uint16_t)inside.nloose;
    term->hash = hash_of(term);
    bt__dim_note_bounds(term);
    return term;
}

const bt_type *bt__type_intern(bt_store *store, const bt_type *key)
{
    uint32_t hash = hash_of(key);
    const bt_type *known = bt__interner_find(&store->terms, hash, same, key);
    if (known)
        return known;
    if (!bt__interner_reserve(store->registry, &store->terms))
        return bt__refuse(store, NULL);
    const bt_type *term = bt__type_fresh(store, key);
    if (term)
        bt__interner_add(&store->terms, hash, term);
    return term;
}
