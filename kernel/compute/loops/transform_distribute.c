/*
 * One loop as two.
 *
 *     for i0 in n { A B }   ->   for i0 in n { A }  for i0 in n { B }
 *
 * All turns of A then come before those of B: legal where turn i of B and a later one of
 * A touch nothing together that one of them writes. A local that brings something from A
 * to B becomes an array with an element for each turn.
 */
#include "compute/loops/transform.h"

struct distribute {
    bt_loops *loops;
    bt_stmt *loop;
    uint8_t *is_private, *grows; /* by buffer */
};

/* What comes before and after `at`, as loops. */
static bt_status part(const struct distribute *d, uint32_t from, uint32_t to,
                      bt_stmt *out)
{
    *out = *d->loop;
    out->body = (bt_stmts){ .len = 0 };
    for (uint32_t i = from; i < to; i++) {
        if (!BT_PUSH(d->loops->arena, &out->body, d->loop->body.at[i]))
            return bt_loops_why(d->loops);
    }
    return NULL;
}

static int has_two_accumulators(void *self, bt_stmt *stmt, const bt_node **slot)
{
    const struct distribute *d = self;
    (void)slot;
    return stmt->kind != BT_STMT_TAKE || bt__reducer_get(stmt->reducer)->nstate == 1 ||
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
        const bt_array *array = &d->loops->graph->arrays[i];
        if (d->loops->roles.at[i] != BT_BUFFER_LOCAL || !count(a, i) || !count(b, i))
            continue;
        if (!carries(d, a, b, open, i))
            continue;
        d->grows[i] = 1;
        if (!d->is_private[i] || bt__buffer_used_outside(d->loops, i, d->loop))
            return bt__loops_refuse(d->loops,
                                    "i%u is not cut: %s holds something from one turn to "
                                    "the next, or beyond the loop",
                                    d->loop->index, array->name);
        if (!bt_mul_int64(bt_loops_nelem(d->loops, i), d->loop->extent, &nelem) ||
            (uint64_t)nelem >
                bt_ctx_limits(d->loops->ctx)->bytes / bt_dtype_nbytes(array->dtype))
            return bt__loops_refuse(d->loops, "i%u is not cut: %s would be too large",
                                    d->loop->index, array->name);
    }
    return bt_stmt_walk(d->loop, has_two_accumulators, d)
               ? NULL
               : bt__loops_refuse(d->loops,
                                  "i%u is not cut between a reduction and its use that "
                                  "has two accumulators",
                                  d->loop->index);
}

/* offset + index * nelem */
static const bt_node *element(const struct distribute *d, uint32_t buffer,
                              const bt_node *offset)
{
    bt_graph *g = d->loops->graph;
    const bt_node *parts[] = { offset,
                               bt_node_index(g, d->loop->index, d->loop->extent) };
    return bt_node_linear(g, 0, 2, parts,
                          (int64_t[]){ 1, bt_loops_nelem(d->loops, buffer) });
}

static const bt_node *grow_read(void *self, const bt_node *node)
{
    const struct distribute *d = self;
    if (node->kind != BT_NODE_READ || !d->grows[node->which])
        return node;
    const bt_node *offset = element(d, node->which, node->args[0]);
    return offset ? bt_loops_read(d->loops, node->which, offset) : NULL;
}

static const bt_node *grow(void *self, const bt_stmt *stmt, const bt_node **slot)
{
    struct distribute *d = self;
    bt_by_node by = { d->loops, grow_read, d };
    const bt_node *node = bt_node_change(&by, *slot);
    int is_own = (stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE) &&
                 slot == &stmt->offset && d->grows[stmt->buffer];
    return node && is_own ? element(d, stmt->buffer, node) : node;
}

static bt_status apply(struct distribute *d, const bt_stmt_place *place,
                       const bt_stmt *first, bt_stmt *second)
{
    struct bt__edit edit;
    bt_stmts both = { .len = 0 };
    bt_graph *g = d->loops->graph;
    const bt_node ***sizes = BT_NEWS(d->loops->arena, const bt_node **, g->narray);
    if (!sizes || !BT_PUSH(d->loops->arena, &both, d->loop) ||
        !BT_PUSH(d->loops->arena, &both, second))
        return bt_loops_why(d->loops);
    for (uint32_t i = 0; i < g->narray; i++) {
        if (!d->grows[i])
            continue;
        sizes[i] = BT_NEWS(d->loops->arena, const bt_node *, 1);
        if (!sizes[i] || !(sizes[i][0] = bt_node_int(g, bt_loops_nelem(d->loops, i) *
                                                            d->loop->extent)))
            return bt_loops_why(d->loops);
    }
    BT_TRY(bt__edit_make(d->loops, d->loop, grow, d, &edit));
    if (!bt_stmts_replace(d->loops, place->block, place->at, &both))
        return bt_loops_why(d->loops);
    bt__edit_swap(d->loop, &edit);
    for (uint32_t i = 0; i < g->narray; i++) {
        if (d->grows[i])
            g->arrays[i].extents = sizes[i];
    }
    d->loop->body = first->body;
    return NULL;
}

bt_status bt_loops_distribute(bt_loops *loops, bt_stmt *loop, uint32_t at,
                              bt_stmt **second)
{
    bt_stmt_place place;
    bt__accesses a = { .len = 0 }, b = { .len = 0 };
    bt_stmt first, *rest = BT_NEW(loops->arena, bt_stmt);
    struct distribute d = { .loops = loops, .loop = loop };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (at == 0 || at >= loop->body.len || loop->is_parallel || loop->extent < 1)
        return bt__loops_refuse(loops, "i%u is parallel, empty, or has no statement %u",
                                loop->index, at);
    d.is_private = bt__locals_private(loops, loop);
    d.grows = BT_NEWS(loops->arena, uint8_t, loops->graph->narray);
    if (!rest || !d.is_private || !d.grows)
        return bt_loops_why(loops);
    BT_TRY(part(&d, 0, at, &first));
    BT_TRY(part(&d, at, loop->body.len, rest));
    if (!bt__accesses_of(loops, &first, &a) || !bt__accesses_of(loops, rest, &b))
        return bt_loops_why(loops);
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
