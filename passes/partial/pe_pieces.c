/* Arguments taken apart: what is known of them, as a key, and the pieces that are passed. */
#include "partial/pe_pieces.h"

enum {
    MAX_PIECES = 64, /* that a version is passed */
    MAX_DEEP = 32,   /* that what is known nests */
    MET_AGAIN =
        1 << 16 /* in a key, in place of a kind: which value before is meant follows */
};

/* ---- what closures hold ---- */

static bt_status hold(struct pe *p, const bt_map *own, bt_map *seen,
                      const bt_value *value, pe_held *out)
{
    if (value->kind == BT_VALUE_CONST || value->kind == BT_VALUE_GLOBAL ||
        bt_map_find(own, value) || bt_map_find(seen, value))
        return NULL;
    return bt_map_put(seen, value, p) && BT_PUSH(p->arena, out, value) ? NULL
                                                                       : bt_no_memory();
}

static bt_status find_own(struct pe *p, const bt_closure_group *group, bt_map *own,
                          bt_blocks *blocks)
{
    for (uint32_t i = 0; i < group->n; i++) {
        BT_TRY(bt_block_nested(p->arena, group->at[i]->func->block, blocks));
        if (!bt_map_put(own, group->at[i], p))
            return bt_no_memory();
    }
    for (uint32_t b = 0; b < blocks->len; b++) {
        const bt_block *block = blocks->at[b];
        for (uint32_t i = 0; i < block->nparam; i++) {
            if (!bt_map_put(own, block->params[i], p))
                return bt_no_memory();
        }
        for (uint32_t i = 0; i < block->nbinding; i++) {
            if (!bt_map_put(own, block->bindings[i], p))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status pe_find_held(struct pe *p, const bt_closure_group *group, pe_held *out)
{
    bt_map own, seen;
    bt_blocks blocks = { 0 };
    bt_map_init(&own, p->arena, 0);
    bt_map_init(&seen, p->arena, 0);
    BT_TRY(find_own(p, group, &own, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *user = blocks.at[b]->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(user); k++)
                BT_TRY(hold(p, &own, &seen, bt_value_operand(user, k), out));
        }
        BT_TRY(hold(p, &own, &seen, blocks.at[b]->result, out));
    }
    return NULL;
}

/* ---- pieces ---- */

static bt_status say(struct pe_pieces *s, uintptr_t word)
{
    return BT_PUSH(s->p->arena, &s->key, word) ? NULL : bt_no_memory();
}

static bt_status say_type(struct pe_pieces *s, const bt_type *type)
{
    BT_TRY(say(s, s->types.len));
    return BT_PUSH(s->p->arena, &s->types, type) ? NULL : bt_no_memory();
}

static bt_status pass(struct pe_pieces *s, struct pe_value *v)
{
    s->is_refused |= s->left.len >= MAX_PIECES;
    BT_TRY(say_type(s, v->type));
    return BT_PUSH(s->p->arena, &s->left, v) ? NULL : bt_no_memory();
}

/* Types that stand in closures, as they are where these are made. */
static bt_status say_types_in(struct pe_pieces *s, const struct pe_value *v)
{
    bt_blocks blocks = { 0 };
    const struct pe_types *types = &v->group->around->types;
    for (uint32_t i = 0; i < v->group->source->n; i++)
        BT_TRY(
            bt_block_nested(s->p->arena, v->group->source->at[i]->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        for (uint32_t i = 0; i < block->nparam + block->nbinding; i++) {
            const bt_value *value = i < block->nparam
                                        ? &block->params[i]->base
                                        : block->bindings[i - block->nparam];
            if (value->type->has & (BT_HAS_VAR | BT_HAS_OPAQUE))
                BT_TRY(pe_type_terms(s->p, types, value->type, &s->types));
            if (bt_as_call(value))
                BT_TRY(pe_call_terms(s->p, types, bt_as_call(value), &s->types));
        }
    }
    return NULL;
}

/* Of closures that hold nothing and are equal, the first: inlining makes copies. */
static bt_status say_closure(struct pe_pieces *s, const bt_closure_value *closure,
                             int holds)
{
    struct pe *p = s->p;
    const void *key = (void *)(uintptr_t)(bt_func_hash(closure->func) | 1);
    const bt_closure_value *first = bt_map_find(&p->equal, key);
    if (holds || closure->group->n != 1)
        return say(s, (uintptr_t)closure);
    if (first && bt_func_equal(bt_ctx_registry(p->ctx), first->func, closure->func))
        return say(s, (uintptr_t)first);
    if (!first && !bt_map_put(&p->equal, key, (void *)(uintptr_t)closure))
        return bt_no_memory();
    return say(s, (uintptr_t)closure);
}

static bt_status take_closure(struct pe_pieces *s, const struct pe_value *v,
                              uint32_t depth)
{
    pe_held values = { 0 };
    struct pe_value *value;
    BT_TRY(pe_find_held(s->p, v->group->source, &values));
    BT_TRY(say_closure(s, v->closure, values.len != 0));
    BT_TRY(say_types_in(s, v));
    for (uint32_t i = 0; i < v->group->source->n; i++) {
        const struct pe_value *other = v->group->values[i];
        s->is_refused |= other->closure->func->nvar != 0;
        if (other != v &&
            !bt_map_put(&s->met, other, (void *)((uintptr_t)s->met.len + 1)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < values.len; i++) {
        BT_TRY(pe_get(s->p, v->group->around, values.at[i], &value));
        BT_TRY(pe_take_apart(s, value, 1, depth + 1));
    }
    return NULL;
}

/* A number that decides nothing is passed, so that those who know another share the version; a
 * tensor is a weight, which is to stay a constant. */
static int is_plain_number(const struct pe_value *v)
{
    int64_t number;
    const bt_tensor *tensor = v->kind == PE_CONST ? bt_object_as_tensor(v->object) : NULL;
    return tensor && tensor->rank == 0 && !pe_integer(v, &number);
}

int pe_is_taken_apart(const struct pe_value *v, uint32_t depth)
{
    return depth <= MAX_DEEP && v->kind != PE_DYNAMIC && v->kind != PE_CELL &&
           !is_plain_number(v);
}

bt_status pe_take_apart(struct pe_pieces *s, struct pe_value *v, int keeps,
                        uint32_t depth)
{
    int64_t number;
    const uintptr_t met = (uintptr_t)bt_map_find(&s->met, v);
    const int is_whole = !keeps || !pe_is_taken_apart(v, depth);
    if (met) {
        BT_TRY(say(s, MET_AGAIN));
        return say(s, met);
    }
    if (v->home && !bt_map_put(&s->met, v, (void *)((uintptr_t)s->met.len + 1)))
        return bt_no_memory();
    BT_TRY(say(s, is_whole ? PE_DYNAMIC : v->kind));
    if (is_whole)
        return pass(s, v);
    if (pe_integer(v, &number)) {
        BT_TRY(say_type(s, v->type));
        return say(s, (uintptr_t)number);
    }
    if (v->kind == PE_CONST)
        return say(s, (uintptr_t)v->object);
    if (v->kind == PE_GLOBAL)
        return say(s, (uintptr_t)v->global);
    if (v->kind == PE_CLOSURE)
        return take_closure(s, v, depth);
    BT_TRY(say_type(s, v->type));
    BT_TRY(say(s, v->kind == PE_DATA ? (uintptr_t)v->ctor : v->n));
    for (uint32_t i = 0; i < v->n; i++)
        BT_TRY(pe_take_apart(s, v->fields[i], keeps, depth + 1));
    return NULL;
}

/* ---- their types ---- */

static const bt_type *find_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct pe_leaves *l = subst->state;
    if (bt_type_is_free(leaf) && !bt_map_find(&l->number, leaf) &&
        !bt_map_put(&l->number, leaf, (void *)((uintptr_t)l->number.len + 1)))
        l->failed = 1;
    return NULL;
}

bt_status pe_find_leaves(struct pe *p, const struct pe_pieces *s, struct pe_leaves *out)
{
    bt_subst subst = { .leaf = find_leaf, .state = out };
    *out = (struct pe_leaves){ .failed = 0 };
    bt_map_init(&out->number, p->arena, 0);
    for (uint32_t i = 0; i < s->types.len; i++) {
        if (!bt_type_subst(p->store, &subst, s->types.at[i]))
            return bt_store_why(p->ctx, p->store);
    }
    return out->failed ? bt_no_memory() : NULL;
}

static const bt_type *replace(bt_subst *subst, const bt_type *leaf)
{
    return bt_map_find(subst->state, leaf);
}

bt_status pe_renamed(struct pe *p, bt_map *terms, const bt_type *type,
                     const bt_type **out)
{
    bt_subst subst = { .leaf = replace, .state = terms };
    *out = bt_type_subst(p->store, &subst, type);
    return *out ? NULL : bt_store_why(p->ctx, p->store);
}

/* The types behind the pieces, up to the names of their leaves. */
bt_status pe_say_types(struct pe *p, struct pe_pieces *s, const struct pe_leaves *l)
{
    bt_map holes;
    bt_map_init(&holes, p->arena, 0);
    for (uint32_t i = 0; i < l->number.len; i++) {
        const bt_type *leaf = l->number.at[i].key;
        const bt_type *hole =
            bt_type_hole_numbered(p->store, bt_type_kind_of(leaf), i + 1);
        if (!hole)
            return bt_store_why(p->ctx, p->store);
        if (!bt_map_put(&holes, leaf, (void *)(uintptr_t)hole))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < s->types.len; i++) {
        const bt_type *type;
        BT_TRY(pe_renamed(p, &holes, s->types.at[i], &type));
        BT_TRY(say(s, (uintptr_t)type));
    }
    return NULL;
}

/* Whether an argument of this type gives the leaf its value. */
static int gives(const bt_type *type, const bt_type *leaf)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = bt_as_shape_type(type);
    const bt_list_type *list = bt_as_list_type(type);
    const bt_func_type *func = bt_as_func_type(type);
    if (type == leaf)
        return 1;
    for (uint32_t i = 0; func && i < func->narg; i++) {
        if (gives(func->args[i], leaf))
            return 1;
    }
    if (func && gives(func->result, leaf))
        return 1;
    if (tensor)
        return gives(tensor->shape, leaf) || gives(tensor->dtype, leaf);
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (shape->dims[i] == leaf)
            return 1;
    }
    for (uint32_t i = 0;
         list && (type->kind == BT_TYPE_TUPLE || type->kind == BT_TYPE_APPLY) &&
         i < list->n;
         i++) {
        if (gives(list->at[i], leaf))
            return 1;
    }
    return shape && shape->rest == leaf;
}

int pe_all_are_given(const struct pe_pieces *s, const struct pe_leaves *l)
{
    for (uint32_t i = 0; i < l->number.len; i++) {
        int is_given = 0;
        for (uint32_t k = 0; !is_given && k < s->left.len; k++)
            is_given = gives(s->left.at[k]->type, l->number.at[i].key);
        if (!is_given)
            return 0;
    }
    return 1;
}
