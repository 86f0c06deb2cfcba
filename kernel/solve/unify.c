/*
 * Equality and flow of terms.
 *
 * A flow puts a value of one type into a place of another. It differs from equality in
 * function types alone: arguments flow the other way, and a polymorphic function is
 * instantiated where a monomorphic one is wanted.
 *
 * All parts of two terms are related even if some of them wait, so that what is known
 * travels as far as it can; the first difference ends it.
 */
#include "solve/solver.h"

enum { EQUAL, FLOW };

struct pair {
    bt_solver *solver;
    struct bt__node *node;
    bt_map done; /* left term with parts to right term: shared terms are related once */
    uint32_t depth;
};

static bt_status relate(struct pair *p, const bt_type *a, const bt_type *b, int how);

bt_status bt__differ(bt_solver *s, const bt_type *a, const bt_type *b)
{
    s->left = a;
    s->right = b;
    return &bt__mismatch;
}

/* Notes that something waits; returns a status that ends the comparison. */
#define BOTH(waits, expr)               \
    do {                                \
        bt_status both_status = (expr); \
        if (both_status == &bt__wait)   \
            (waits) = both_status;      \
        else if (both_status)           \
            return both_status;         \
    } while (0)

/* ---- skeletons ---- */

struct skeleton {
    bt_subst base;
    bt_solver *solver;
    const bt_value *of;
    bt_map memo;
};

/* Whether the term has parts that a node without ownership must not decide. */
static int has_dims(const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = bt_as_shape_type(tensor ? tensor->shape : type);
    if (shape)
        return shape->n > 0;
    return tensor ? 0 : type->depth > 0;
}

static const bt_type *skeleton_of(struct skeleton *k, const bt_type *type);

static const bt_type *skeleton_shape(struct skeleton *k, const bt_shape_type *shape)
{
    const bt_type *dims[BT_MAX_RANK];
    if (shape->n > BT_MAX_RANK)
        return &shape->base;
    for (uint32_t i = 0; i < shape->n; i++) {
        dims[i] = bt__hole_new(k->solver, BT_KIND_DIM, 0, k->of);
        if (!dims[i])
            return NULL;
    }
    if (!shape->rest)
        return bt_type_shape(k->solver->store, shape->n, dims);
    return bt_type_shape_rest(k->solver->store, shape->n, dims, shape->position,
                              shape->rest);
}

static const bt_type *skeleton_list(struct skeleton *k, const bt_list_type *list)
{
    bt_store *store = k->solver->store;
    uint32_t skip = list->base.kind == BT_TYPE_APPLY; // the handle
    const bt_type **at = BT_NEWS(k->solver->arena, const bt_type *, list->n);
    for (uint32_t i = 0; at && i < list->n; i++) {
        at[i] = i < skip ? list->at[i] : skeleton_of(k, list->at[i]);
        if (!at[i])
            return NULL;
    }
    if (!at)
        return NULL;
    switch (list->base.kind) {
    case BT_TYPE_TUPLE: return bt_type_tuple(store, list->n, at);
    case BT_TYPE_REF: return bt_type_ref(store, at[0]);
    default:
        return bt_type_apply(store, ((const bt_adt_type *)(const void *)at[0])->def,
                             list->n - 1, at + 1);
    }
}

/* A term of the same structure with fresh holes for its dims and for what is not known:
 * what may be assigned to a hole without deciding a dim. NULL: no memory. */
static const bt_type *skeleton_of(struct skeleton *k, const bt_type *type)
{
    bt_solver *s = k->solver;
    bt_func_type func;
    type = bt__head(s, type);
    const bt_type *known = bt_map_find(&k->memo, type), *out = type;
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (known)
        return known;
    if (type->kind == BT_TYPE_HOLE)
        out = bt__hole_new(s, bt_type_kind_of(type), 0, k->of);
    else if (bt_type_kind_of(type) == BT_KIND_DIM)
        return bt__hole_new(s, BT_KIND_DIM, 0, k->of);
    else if (tensor) {
        const bt_type *shape = skeleton_of(k, tensor->shape);
        const bt_type *dtype = skeleton_of(k, tensor->dtype);
        out = shape && dtype
                  ? bt_type_tensor_layout(s->store, shape, dtype, tensor->layout)
                  : NULL;
    } else if (type->kind == BT_TYPE_SHAPE)
        out = skeleton_shape(k, bt_as_shape_type(type));
    else if (type->kind == BT_TYPE_TUPLE || type->kind == BT_TYPE_REF ||
             type->kind == BT_TYPE_APPLY)
        out = skeleton_list(k, bt_as_list_type(type));
    else if (type->kind == BT_TYPE_FUNC && bt_as_func_type(type)->nparam == 0) {
        func = *bt_as_func_type(type);
        const bt_type **args = BT_NEWS(s->arena, const bt_type *, func.narg);
        for (uint32_t i = 0; args && i < func.narg; i++) {
            args[i] = skeleton_of(k, func.args[i]);
            if (!args[i])
                return NULL;
        }
        func.args = args;
        func.result = skeleton_of(k, func.result);
        out = args && func.result ? bt_type_func(s->store, &func) : NULL;
    }
    return out && bt_map_put(&k->memo, type, (void *)(uintptr_t)out) ? out : NULL;
}

/* ---- a hole on one side at least ---- */

/* Of two holes, the one to assign when neither is the node's own. Without force both must
 * be free: which of them stays is then no decision. NULL: none may be. */
static struct bt__hole *weaker(bt_solver *s, struct bt__hole *x, struct bt__hole *y)
{
    struct bt__hole *younger = x > y ? x : y, *older = x > y ? y : x;
    if (!x->owner && !y->owner)
        return younger;
    s->is_held_back |= !s->force;
    if (!s->force)
        return NULL;
    struct bt__hole *first = younger->owner ? older : younger;
    struct bt__hole *second = first == younger ? older : younger;
    return first->level >= s->force_level    ? first
           : second->level >= s->force_level ? second
                                             : NULL;
}

bt_status bt__alias(bt_solver *s, struct bt__node *node, const bt_type *a,
                    const bt_type *b)
{
    struct bt__hole *x = bt__hole_of(s, a), *y = bt__hole_of(s, b);
    if (x->is_poison || y->is_poison)
        return NULL;
    if (x->owner == node->id)
        return bt__assign(s, node, a, b);
    if (y->owner == node->id)
        return bt__assign(s, node, b, a);
    struct bt__hole *hole = weaker(s, x, y);
    if (!hole) {
        s->is_held_back = 1;
        return &bt__wait;
    }
    return hole == x ? bt__assign(s, node, a, b) : bt__assign(s, node, b, a);
}

/* `is_from`: the hole stands for the value, not the place. */
static bt_status bind(struct pair *p, const bt_type *hole_term, const bt_type *type,
                      int is_from, int how)
{
    bt_solver *s = p->solver;
    struct bt__hole *hole = bt__hole_of(s, hole_term);
    if (!hole)
        return bt__differ(s, hole_term, type);
    if (hole->is_poison)
        return NULL;
    if (type->kind == BT_TYPE_HOLE)
        return bt__hole_of(s, type) ? bt__alias(s, p->node, hole_term, type)
                                    : bt__differ(s, hole_term, type);
    if (hole->owner == p->node->id ||
        (!hole->owner && !has_dims(type) && !(type->has & BT_HAS_HOLE)))
        return bt__assign(s, p->node, hole_term, type);
    if (!bt__may_assign(s, p->node, hole)) {
        if (hole->owner)
            return &bt__wait;
        BT_TRY(bt__check_finite(s, hole_term, type));
        struct skeleton k = { .solver = s, .of = hole->of };
        bt_map_init(&k.memo, s->arena, 0);
        const bt_type *structure = skeleton_of(&k, type);
        if (!structure)
            return bt_store_why(s->ctx, s->store);
        BT_TRY(bt__assign(s, p->node, hole_term, structure));
        return is_from ? relate(p, structure, type, how)
                       : relate(p, type, structure, how);
    }
    return bt__assign(s, p->node, hole_term, type);
}

/* ---- shapes ---- */

static bt_status relate_shapes(struct pair *p, const bt_type *a, const bt_type *b)
{
    bt_solver *s = p->solver;
    bt_status waits = NULL;
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    if (a == b)
        return NULL;
    if (a->kind == BT_TYPE_HOLE)
        return bind(p, a, b, 1, EQUAL);
    if (b->kind == BT_TYPE_HOLE)
        return bind(p, b, a, 0, EQUAL);
    const bt_shape_type *x = bt_as_shape_type(a), *y = bt_as_shape_type(b);
    if (!x || !y)
        return bt__differ(s, a, b);
    // What stands on both sides before the variables, and after them, is equal in pairs.
    uint32_t xpre = x->rest ? x->position : x->n, ypre = y->rest ? y->position : y->n;
    uint32_t pre = xpre < ypre ? xpre : ypre;
    uint32_t xpost = x->rest ? x->n - x->position : x->n - pre;
    uint32_t ypost = y->rest ? y->n - y->position : y->n - pre;
    uint32_t post = xpost < ypost ? xpost : ypost;
    for (uint32_t i = 0; i < pre; i++)
        BOTH(waits, bt__unify_dims(s, p->node, x->dims[i], y->dims[i]));
    for (uint32_t i = 0; i < post; i++)
        BOTH(waits,
             bt__unify_dims(s, p->node, x->dims[x->n - 1 - i], y->dims[y->n - 1 - i]));
    uint32_t xleft = x->n - pre - post, yleft = y->n - pre - post;
    if (!x->rest && !y->rest)
        return xleft || yleft ? bt__differ(s, a, b) : waits;
    // A variable without dims left beside it stands for what is left of the other shape.
    int is_x = x->rest && !xleft && bt__hole_of(s, x->rest);
    int is_y = y->rest && !yleft && bt__hole_of(s, y->rest);
    if (!is_x && !is_y) {
        // (a, ..s) against (..t, b): where they overlap is not known
        int is_open = x->rest && y->rest && xleft && yleft &&
                      (bt__hole_of(s, x->rest) || bt__hole_of(s, y->rest));
        if (!xleft && !yleft && x->rest == y->rest)
            return waits;
        return is_open ? &bt__wait : bt__differ(s, a, b);
    }
    const bt_shape_type *other = is_x ? y : x;
    const bt_type *variable = is_x ? x->rest : y->rest;
    uint32_t left = is_x ? yleft : xleft;
    const bt_type *middle = other->rest
                                ? bt_type_shape_rest(s->store, left, other->dims + pre,
                                                     other->position - pre, other->rest)
                                : bt_type_shape(s->store, left, other->dims + pre);
    if (!middle)
        return bt_store_why(s->ctx, s->store);
    BOTH(waits, relate_shapes(p, variable, middle));
    return waits;
}

/* ---- types with parts ---- */

static bt_status relate_tensors(struct pair *p, const bt_tensor_type *a,
                                const bt_tensor_type *b)
{
    bt_status waits = NULL;
    if (a->layout != b->layout)
        return bt__differ(p->solver, &a->base, &b->base);
    BOTH(waits, relate(p, a->dtype, b->dtype, EQUAL));
    BOTH(waits, relate_shapes(p, a->shape, b->shape));
    return waits;
}

static bt_status relate_lists(struct pair *p, const bt_list_type *a,
                              const bt_list_type *b, int how)
{
    bt_status waits = NULL;
    if (a->n != b->n)
        return bt__differ(p->solver, &a->base, &b->base);
    for (uint32_t i = 0; i < a->n; i++)
        BOTH(waits, relate(p, a->at[i], b->at[i], how));
    return waits;
}

/* Polymorphic types are equal only as a whole. */
static bt_status relate_polymorphic(bt_solver *s, const bt_type *a, const bt_type *b)
{
    BT_TRY(bt__resolve(s, a, &a));
    BT_TRY(bt__resolve(s, b, &b));
    if (a == b)
        return NULL;
    return (a->has | b->has) & BT_HAS_HOLE ? &bt__wait : bt__differ(s, a, b);
}

static bt_status relate_functions(struct pair *p, const bt_func_type *a,
                                  const bt_func_type *b, int how)
{
    bt_solver *s = p->solver;
    bt_status waits = NULL;
    if (how == FLOW && a->nparam && !b->nparam) {
        const bt_type *instance;
        BT_TRY(bt__instance(s, p->node, &a->base, &instance));
        return relate(p, instance, &b->base, how);
    }
    if (a->nparam || b->nparam)
        return relate_polymorphic(s, &a->base, &b->base);
    if (a->narg != b->narg)
        return bt__differ(s, &a->base, &b->base);
    for (uint32_t i = 0; i < a->narg; i++)
        BOTH(waits, relate(p, b->args[i], a->args[i], how));
    BOTH(waits, relate(p, a->result, b->result, how));
    return waits;
}

static bt_status relate_parts(struct pair *p, const bt_type *a, const bt_type *b, int how)
{
    if (a->kind != b->kind)
        return bt__differ(p->solver, a, b);
    switch (a->kind) {
    case BT_TYPE_TENSOR:
        return relate_tensors(p, bt_as_tensor_type(a), bt_as_tensor_type(b));
    case BT_TYPE_TUPLE:
        return relate_lists(p, bt_as_list_type(a), bt_as_list_type(b), how);
    case BT_TYPE_REF:
    case BT_TYPE_APPLY:
        return relate_lists(p, bt_as_list_type(a), bt_as_list_type(b), EQUAL);
    case BT_TYPE_FUNC:
        return relate_functions(p, bt_as_func_type(a), bt_as_func_type(b), how);
    default: return bt__differ(p->solver, a, b);
    }
}

static bt_status relate(struct pair *p, const bt_type *a, const bt_type *b, int how)
{
    bt_solver *s = p->solver;
    a = bt__head(s, a);
    b = bt__head(s, b);
    if (a == b)
        return NULL;
    if (bt_type_kind_of(a) != bt_type_kind_of(b))
        return bt__differ(s, a, b);
    if (bt_type_kind_of(a) == BT_KIND_DIM)
        return bt__unify_dims(s, p->node, a, b);
    if (bt_type_kind_of(a) == BT_KIND_SHAPE)
        return relate_shapes(p, a, b);
    if (a->kind == BT_TYPE_HOLE)
        return bind(p, a, b, 1, how);
    if (b->kind == BT_TYPE_HOLE)
        return bind(p, b, a, 0, how);
    if (bt_map_find(&p->done, a) == b)
        return NULL;
    if (!bt_map_put(&p->done, a, (void *)(uintptr_t)b))
        return bt_no_memory();
    if (p->depth >= BT_TYPE_DEPTH)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "types are nested deeper than %d",
                       BT_TYPE_DEPTH);
    p->depth++;
    bt_status status = relate_parts(p, a, b, how);
    p->depth--;
    return status;
}

static bt_status start(bt_solver *s, struct bt__node *node, const bt_type *a,
                       const bt_type *b, int how)
{
    a = bt__head(s, a);
    b = bt__head(s, b);
    if (a == b)
        return NULL;
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct pair p = { .solver = s, .node = node };
    bt_map_init(&p.done, scratch, 0);
    bt_status status = relate(&p, a, b, how);
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt__flow(bt_solver *s, struct bt__node *node, const bt_type *from,
                   const bt_type *to)
{
    return start(s, node, from, to, FLOW);
}

bt_status bt__unify(bt_solver *s, struct bt__node *node, const bt_type *a,
                    const bt_type *b)
{
    return start(s, node, a, b, EQUAL);
}
