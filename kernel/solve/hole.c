/* Holes: union-find by terms, what is known put into terms, assignment. */
#include "ir/type_walk.h"
#include "solve/solver.h"

const bt_diag bt__wait = { .code = BT_ERR_INTERNAL, .message = "not enough is known" };
const bt_diag bt__mismatch = { .code = BT_ERR_INTERNAL, .message = "terms differ" };

bt_status bt__solver_init(bt_solver *s, bt_ctx *ctx, bt_store *store,
                          const bt_module *module)
{
    *s = (bt_solver){ .ctx = ctx, .store = store, .module = module };
    s->arena = bt_arena_create(bt_ctx_registry(ctx));
    s->unknown = bt_type_hole(store, BT_KIND_TYPE);
    if (!s->arena || !s->unknown)
        return bt_no_memory();
    bt_map_init(&s->slots, s->arena, 0);
    bt_map_init(&s->ctor_types, s->arena, 0);
    bt_map_init(&s->births, s->arena, 0);
    bt_map_init(&s->sizes, s->arena, 0);
    bt_map_init(&s->relations, s->arena, 1);
    bt_map_init(&s->row_major, s->arena, 0);
    bt_map_init(&s->signatures, s->arena, 0);
    return bt__push_level(s);
}

void bt__solver_deinit(bt_solver *s)
{
    bt_arena_destroy(s->arena);
}

/* ---- holes ---- */

static const bt_hole_type *as_numbered(const bt_type *type)
{
    const bt_hole_type *hole = (const bt_hole_type *)(const void *)type;
    return type->kind == BT_TYPE_HOLE && hole->number ? hole : NULL;
}

struct bt__hole *bt__hole_of(const bt_solver *s, const bt_type *type)
{
    const bt_hole_type *hole = as_numbered(type);
    return hole && hole->number <= s->holes.len ? &s->holes.at[hole->number - 1] : NULL;
}

const bt_type *bt__hole_new(bt_solver *s, uint32_t kind, uint32_t owner,
                            const bt_value *of)
{
    struct bt__hole hole = { .owner = owner, .level = s->level, .of = of };
    hole.term = bt_type_hole_numbered(s->store, kind, s->holes.len + 1);
    if (!hole.term || !BT_PUSH(s->arena, &s->holes, hole))
        return NULL;
    return hole.term;
}

const bt_type *bt__poison(bt_solver *s, uint32_t kind)
{
    const bt_type *type = bt__hole_new(s, kind, 0, NULL);
    if (type)
        bt__hole_of(s, type)->is_poison = 1;
    return type;
}

const bt_type *bt__head(const bt_solver *s, const bt_type *type)
{
    for (;;) {
        const struct bt__hole *hole = bt__hole_of(s, type);
        if (!hole || !hole->type)
            return type;
        type = hole->type;
    }
}

/* ---- putting in what is known ---- */

struct resolve {
    bt_subst base;
    bt_solver *solver;
    bt_map memo;
};

static const bt_type *resolve_leaf(bt_subst *base, const bt_type *leaf);

static bt_status resolve_into(bt_solver *s, struct resolve *r, const bt_type *type,
                              const bt_type **out)
{
    type = bt__head(s, type);
    if (!(type->has & BT_HAS_HOLE) || type->kind == BT_TYPE_HOLE) {
        *out = type;
        return NULL;
    }
    // holes may nest terms deeper than any constructor would
    if (s->nest >= BT_TYPE_DEPTH)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "types are nested deeper than %d",
                       BT_TYPE_DEPTH);
    s->nest++;
    *out = bt_type_subst(s->store, &r->base, type);
    s->nest--;
    if (s->failed)
        return s->failed;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

static const bt_type *resolve_leaf(bt_subst *base, const bt_type *leaf)
{
    struct resolve *r = (struct resolve *)(void *)base;
    bt_solver *s = r->solver;
    struct bt__hole *hole = bt__hole_of(s, leaf);
    const bt_type *out;
    if (!hole || !hole->type || s->failed)
        return NULL;
    bt_status status = resolve_into(s, r, hole->type, &out);
    if (status) {
        s->failed = status;
        return NULL;
    }
    bt__hole_of(s, leaf)->type = out;
    return out;
}

bt_status bt__resolve(bt_solver *s, const bt_type *type, const bt_type **out)
{
    type = bt__head(s, type);
    if (!(type->has & BT_HAS_HOLE) || type->kind == BT_TYPE_HOLE) {
        *out = type;
        return NULL;
    }
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct resolve r = { .base = { .leaf = resolve_leaf }, .solver = s };
    bt_map_init(&r.memo, scratch, 0);
    r.base.memo = &r.memo;
    bt_status status = resolve_into(s, &r, type, out);
    s->failed = NULL;
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- what is not known in a term ---- */

struct walk {
    bt_solver *solver;
    bt__visit_hole *visit;
    void *self;
    bt_map seen; /* terms with parts */
    uint32_t depth;
    bt_status status;
};

static bt_status walk(struct walk *w, const bt_type *type);

static int walk_part(void *self, const bt_type *part)
{
    struct walk *w = self;
    w->status = walk(w, part);
    return !w->status;
}

static bt_status walk(struct walk *w, const bt_type *type)
{
    type = bt__head(w->solver, type);
    if (!(type->has & BT_HAS_HOLE))
        return NULL;
    if (type->kind == BT_TYPE_HOLE) {
        struct bt__hole *hole = bt__hole_of(w->solver, type);
        return hole ? w->visit(w->solver, w->self, hole) : NULL;
    }
    if (bt_map_find(&w->seen, type))
        return NULL;
    if (!bt_map_put(&w->seen, type, w))
        return bt_no_memory();
    if (w->depth >= BT_TYPE_DEPTH)
        return bt_fail(w->solver->ctx, BT_ERR_LIMIT, "types are nested deeper than %d",
                       BT_TYPE_DEPTH);
    w->depth++;
    bt__type_parts(type, walk_part, w);
    w->depth--;
    return w->status;
}

bt_status bt__holes_in(bt_solver *s, const bt_type *type, bt__visit_hole *visit,
                       void *self)
{
    type = bt__head(s, type);
    if (!(type->has & BT_HAS_HOLE))
        return NULL;
    struct bt__hole *hole = bt__hole_of(s, type);
    if (hole)
        return visit(s, self, hole);
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct walk w = { .solver = s, .visit = visit, .self = self };
    bt_map_init(&w.seen, scratch, 0);
    bt_status status = walk(&w, type);
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- assignment ---- */

int bt__may_assign(bt_solver *s, const struct bt__node *node, const struct bt__hole *hole)
{
    if (hole->owner == node->id)
        return 1;
    if (s->force && hole->level >= s->force_level)
        return 1;
    s->is_held_back = 1;
    return 0;
}

struct escape {
    bt_solver *solver;
    uint32_t level;
};

struct lower {
    uint32_t level, found;
    const bt_type *term; /* of the hole that is being assigned */
};

static bt_status lower(bt_solver *s, void *self, struct bt__hole *hole)
{
    (void)s;
    struct lower *l = self;
    l->found |= hole->term == l->term;
    if (hole->level > l->level)
        hole->level = l->level;
    return NULL;
}

bt_status bt__check_finite(bt_solver *s, const bt_type *hole, const bt_type *type)
{
    struct lower l = { .level = UINT32_MAX, .term = hole };
    BT_TRY(bt__holes_in(s, type, lower, &l));
    if (!l.found)
        return NULL;
    s->left = hole;
    s->right = type;
    s->is_infinite = 1;
    return &bt__mismatch;
}

/* A dim known only at run time is another one each time its function runs: a hole of a
 * function further out must not stand for it. */
static const bt_type *escape_leaf(bt__type_walk *walk, const bt_type *leaf)
{
    const struct escape *e = walk->state;
    const struct bt__function *birth =
        leaf->kind == BT_TYPE_OPAQUE ? bt_map_find(&e->solver->births, leaf) : NULL;
    if (birth && birth->level > e->level)
        e->solver->is_escaping = 1;
    return leaf;
}

static bt_status check_escape(bt_solver *s, const struct bt__hole *hole,
                              const bt_type *type)
{
    struct escape e = { s, hole->level };
    bt__type_walk walk = {
        .to = s->store, .leaf = escape_leaf, .state = &e, .wanted = BT_HAS_OPAQUE
    };
    if (!(type->has & BT_HAS_OPAQUE))
        return NULL;
    if (!bt__type_walk_run(&walk, type))
        return bt_store_why(s->ctx, s->store);
    return s->is_escaping ? &bt__mismatch : NULL;
}

bt_status bt__assign(bt_solver *s, struct bt__node *node, const bt_type *term,
                     const bt_type *type)
{
    term = bt__head(s, term);
    struct bt__hole *hole = bt__hole_of(s, term);
    struct lower l = { .level = hole->level, .term = term };
    int64_t low, high;
    BT_TRY(bt__resolve(s, type, &type));
    if (type == term)
        return NULL;
    BT_TRY(bt__holes_in(s, type, lower, &l));
    s->left = term;
    s->right = type;
    if (l.found) {
        s->is_infinite = 1;
        return &bt__mismatch;
    }
    if (bt_type_kind_of(type) != bt_type_kind_of(term))
        return &bt__mismatch;
    if (bt_type_kind_of(type) == BT_KIND_DIM) {
        bt_dim_bounds(type, &low, &high);
        if (high < 0)
            return &bt__mismatch;
    }
    hole = bt__hole_of(s, term);
    BT_TRY(check_escape(s, hole, type));
    hole->type = type;
    hole->by = node->slot;
    s->nassigned++;
    for (struct bt__edge *edge = hole->edges; edge; edge = edge->next)
        bt__wake(s, edge->node);
    hole->edges = NULL;
    return NULL;
}
