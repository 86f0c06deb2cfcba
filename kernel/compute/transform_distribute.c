/*
 * One loop as two.
 *
 *     for i0 in n { A B }   ->   for i0 in n { A }  for i0 in n { B }
 *
 * All turns of A then come before those of B: legal where turn i of B and a later one of
 * A touch nothing together that one of them writes. A local that brings something from A
 * to B becomes an array with an element for each turn.
 */
#include "compute/transform.h"

struct distribute {
    struct bt__loops *loops;
    bt__stmt *loop;
    uint8_t *is_private, *grows; /* by buffer */
};

/* What comes before and after `at`, as loops. */
static bt_status part(const struct distribute *d, uint32_t from, uint32_t to,
                      bt__stmt *out)
{
    *out = *d->loop;
    out->body = (bt__stmts){ .len = 0 };
    for (uint32_t i = from; i < to; i++) {
        if (!BT_PUSH(d->loops->arena, &out->body, d->loop->body.at[i]))
            return bt__loops_why(d->loops);
    }
    return NULL;
}

static int has_two_accumulators(void *self, bt__stmt *stmt, const bt__node **slot)
{
    const struct distribute *d = self;
    (void)slot;
    return stmt->kind != BT__STMT_TAKE || bt__reducer_get(stmt->reducer)->nstate == 1 ||
           (!d->grows[stmt->buffer] && !d->grows[stmt->buffer2]);
}

static uint32_t count(const bt__accesses *all, uint32_t buffer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->len; i++)
        n += all->at[i].buffer == buffer;
    return n;
}

/* Whether different turns of the parts meet in the buffer. */
static int carries(const struct distribute *d, const bt__accesses *a,
                   const bt__accesses *b, uint64_t open, uint32_t buffer)
{
    for (uint32_t i = 0; i < a->len; i++) {
        bt__accesses one = { .at = &a->at[i], .len = 1 };
        struct bt__conflict_question q = {
            .a = &one, .b = b, .outer = open, .number = d->loop->index
        };
        if (a->at[i].buffer == buffer && bt__conflict_find(&q))
            return 1;
    }
    return 0;
}

/* Locals in which turns of both parts would meet grow. */
static bt_status find_growing(struct distribute *d, const bt__accesses *a,
                              const bt__accesses *b, uint64_t open)
{
    int64_t nelem;
    for (uint32_t i = 0; i < d->loops->graph->narray; i++) {
        const struct bt__array *array = &d->loops->graph->arrays[i];
        if (d->loops->roles.at[i] != BT__BUFFER_LOCAL || !count(a, i) || !count(b, i))
            continue;
        if (!carries(d, a, b, open, i))
            continue;
        d->grows[i] = 1;
        if (!d->is_private[i] || bt__buffer_used_outside(d->loops, i, d->loop))
            return bt__loops_refuse(d->loops,
                                    "i%u is not cut: %s holds something from one turn to "
                                    "the next, or beyond the loop",
                                    d->loop->index, array->name);
        if (!bt_mul_int64(bt__loops_nelem(d->loops, i), d->loop->extent, &nelem) ||
            (uint64_t)nelem >
                bt_ctx_limits(d->loops->ctx)->bytes / bt_dtype_nbytes(array->dtype))
            return bt__loops_refuse(d->loops, "i%u is not cut: %s would be too large",
                                    d->loop->index, array->name);
    }
    return bt__stmt_walk(d->loop, has_two_accumulators, d)
               ? NULL
               : bt__loops_refuse(d->loops,
                                  "i%u is not cut between a reduction and its use that "
                                  "has two accumulators",
                                  d->loop->index);
}

/* offset + index * nelem */
static const bt__node *element(const struct distribute *d, uint32_t buffer,
                               const bt__node *offset)
{
    bt__graph *g = d->loops->graph;
    const bt__node *parts[] = { offset,
                                bt__node_index(g, d->loop->index, d->loop->extent) };
    return bt__node_linear(g, 0, 2, parts,
                           (int64_t[]){ 1, bt__loops_nelem(d->loops, buffer) });
}

static const bt__node *grow_read(void *self, const bt__node *node)
{
    const struct distribute *d = self;
    if (node->kind != BT__NODE_READ || !d->grows[node->which])
        return node;
    const bt__node *offset = element(d, node->which, node->args[0]);
    return offset ? bt__loops_read(d->loops, node->which, offset) : NULL;
}

static const bt__node *grow(void *self, const bt__stmt *stmt, const bt__node **slot)
{
    struct distribute *d = self;
    struct bt__by_node by = { d->loops, grow_read, d };
    const bt__node *node = bt__node_change(&by, *slot);
    int is_own = (stmt->kind == BT__STMT_STORE || stmt->kind == BT__STMT_TAKE) &&
                 slot == &stmt->offset && d->grows[stmt->buffer];
    return node && is_own ? element(d, stmt->buffer, node) : node;
}

static bt_status apply(struct distribute *d, const struct bt__place *place,
                       const bt__stmt *first, bt__stmt *second)
{
    struct bt__edit edit;
    bt__stmts both = { .len = 0 };
    bt__graph *g = d->loops->graph;
    const bt__node ***sizes = BT_NEWS(d->loops->arena, const bt__node **, g->narray);
    if (!sizes || !BT_PUSH(d->loops->arena, &both, d->loop) ||
        !BT_PUSH(d->loops->arena, &both, second))
        return bt__loops_why(d->loops);
    for (uint32_t i = 0; i < g->narray; i++) {
        if (!d->grows[i])
            continue;
        sizes[i] = BT_NEWS(d->loops->arena, const bt__node *, 1);
        if (!sizes[i] || !(sizes[i][0] = bt__node_int(g, bt__loops_nelem(d->loops, i) *
                                                             d->loop->extent)))
            return bt__loops_why(d->loops);
    }
    BT_TRY(bt__edit_make(d->loops, d->loop, grow, d, &edit));
    if (!bt__stmts_replace(d->loops, place->block, place->at, &both))
        return bt__loops_why(d->loops);
    bt__edit_swap(d->loop, &edit);
    for (uint32_t i = 0; i < g->narray; i++) {
        if (d->grows[i])
            g->arrays[i].extents = sizes[i];
    }
    d->loop->body = first->body;
    return NULL;
}

bt_status bt__loops_distribute(struct bt__loops *loops, bt__stmt *loop, uint32_t at,
                               bt__stmt **second)
{
    struct bt__place place;
    bt__accesses a = { .len = 0 }, b = { .len = 0 };
    bt__stmt first, *rest = BT_NEW(loops->arena, bt__stmt);
    struct distribute d = { .loops = loops, .loop = loop };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (at == 0 || at >= loop->body.len || loop->is_parallel || loop->extent < 1)
        return bt__loops_refuse(loops, "i%u is parallel, empty, or has no statement %u",
                                loop->index, at);
    d.is_private = bt__locals_private(loops, loop);
    d.grows = BT_NEWS(loops->arena, uint8_t, loops->graph->narray);
    if (!rest || !d.is_private || !d.grows)
        return bt__loops_why(loops);
    BT_TRY(part(&d, 0, at, &first));
    BT_TRY(part(&d, at, loop->body.len, rest));
    if (!bt__accesses_of(loops, &first, &a) || !bt__accesses_of(loops, rest, &b))
        return bt__loops_why(loops);
    BT_TRY(find_growing(&d, &a, &b, place.open));
    struct bt__conflict_question q = { .a = &a,
                                       .b = &b,
                                       .outer = place.open,
                                       .number = loop->index,
                                       .is_private = d.grows };
    const struct bt__access *found = loop->extent > 1 ? bt__conflict_find(&q) : NULL;
    if (found)
        return bt__loops_refuse(loops,
                                "i%u is not cut: turns of the parts may need each "
                                "other's %s",
                                loop->index, loops->graph->arrays[found->buffer].name);
    BT_TRY(apply(&d, &place, &first, rest));
    *second = rest;
    return NULL;
}
