/*
 * Two loops that follow each other as one.
 *
 *     for i0 in n { A }  for i0 in n { B }   ->   for i0 in n { A B }
 *
 * Iteration i of B then comes before the later iterations of A: legal where these two
 * touch nothing together that one of them writes.
 */
#include "compute/loops/transform.h"

struct merge {
    bt_loops *loops;
    bt_stmt *first, *second;
    uint32_t number; /* the index of both */
    uint8_t *is_private;
};

/* Locals that both have for themselves. */
static bt_status find_private(struct merge *m)
{
    uint8_t *first = bt__locals_private(m->loops, m->first);
    uint8_t *second = bt__locals_private(m->loops, m->second);
    if (!first || !second)
        return bt_loops_why(m->loops);
    for (uint32_t i = 0; i < m->loops->graph->narray; i++)
        first[i] &= second[i];
    m->is_private = first;
    return NULL;
}

/* Accesses with the loop's index as the common one. */
static bt_status accesses_of(const struct merge *m, const bt_stmt *loop,
                             bt__accesses *out)
{
    bt_graph *g = m->loops->graph;
    const bt_node *by = bt_node_index(g, m->number, loop->extent);
    if (!by || !bt__accesses_of(m->loops, loop, out))
        return bt_loops_why(m->loops);
    for (uint32_t i = 0; i < out->len && loop->index != m->number; i++) {
        if (!out->at[i].offset)
            continue;
        out->at[i].offset = bt_node_substitute(g, out->at[i].offset, loop->index, by);
        if (!out->at[i].offset)
            return bt_loops_why(m->loops);
    }
    return NULL;
}

static bt_status check(struct merge *m, uint64_t open)
{
    bt__accesses a = { .len = 0 }, b = { .len = 0 };
    BT_TRY(find_private(m));
    BT_TRY(accesses_of(m, m->first, &a));
    BT_TRY(accesses_of(m, m->second, &b));
    struct bt__conflict_question q = {
        .a = &a, .b = &b, .outer = open, .number = m->number, .is_private = m->is_private
    };
    const struct bt__access *found =
        bt__loops_repeats(m->first) ? bt__conflict_find(&q) : NULL;
    return found ? bt__loops_refuse(
                       m->loops,
                       "i%u and the loop after it stay apart: iterations of the "
                       "two may need each other's %s",
                       m->first->index, m->loops->graph->arrays[found->buffer]->name)
                 : NULL;
}

/* The loop's index as the common one. */
static bt_status rename_index(const struct merge *m, bt_stmt *loop, struct bt__edit *out)
{
    bt_graph *g = m->loops->graph;
    struct bt__by_index by = { g, loop->index,
                               bt_node_index(g, m->number, loop->extent) };
    return bt__edit_make(m->loops, loop, bt__change_index, &by, out);
}

static bt_status apply(const struct merge *m, const struct bt__place *place)
{
    struct bt__edit first, second;
    bt_stmts body = { .len = 0 };
    for (uint32_t i = 0; i < m->first->body.len + m->second->body.len; i++) {
        bt_stmt *stmt = i < m->first->body.len
                            ? m->first->body.at[i]
                            : m->second->body.at[i - m->first->body.len];
        if (!BT_PUSH(m->loops->arena, &body, stmt))
            return bt_loops_why(m->loops);
    }
    BT_TRY(rename_index(m, m->first, &first));
    BT_TRY(rename_index(m, m->second, &second));
    if (!bt_stmts_replace(m->loops, place->block, place->at + 1, &(bt_stmts){ .len = 0 }))
        return bt_loops_why(m->loops);
    bt__edit_swap(m->first, &first);
    bt__edit_swap(m->second, &second);
    m->first->index = m->number;
    m->first->body = body;
    return NULL;
}

/* Indices of the loops in a statement. */
static uint64_t indices_of(const bt_stmt *stmt)
{
    uint64_t set = stmt->kind == BT_STMT_FOR ? bt_index_bit(stmt->index) : 0;
    for (uint32_t i = 0; i < stmt->body.len; i++)
        set |= indices_of(stmt->body.at[i]);
    for (uint32_t i = 0; i < stmt->otherwise.len; i++)
        set |= indices_of(stmt->otherwise.at[i]);
    return set;
}

/* An index that is not among the used; -1: there is none. */
static int find_unused(uint64_t used)
{
    for (int i = 0; i < BT_MAX_INDEX; i++) {
        if (!(used & bt_index_bit((uint32_t)i)))
            return i;
    }
    return -1;
}

bt_status bt_loops_merge(bt_loops *loops, bt_stmt *first)
{
    struct bt__place place;
    BT_TRY(bt__loops_find_loop(loops, first, &place));
    bt_stmt *second =
        place.at + 1 < place.block->len ? place.block->at[place.at + 1] : NULL;
    if (!second || second->kind != BT_STMT_FOR || second->extent != first->extent)
        return bt__loops_refuse(loops, "no loop of as many iterations follows i%u",
                                first->index);
    if (first->is_parallel || second->is_parallel)
        return bt__loops_refuse(loops, "a parallel loop stays as it is");
    // the first's index, where nothing inside the second has it
    uint64_t inside = indices_of(second) & ~bt_index_bit(second->index);
    int number = inside & bt_index_bit(first->index)
                     ? find_unused(place.open | indices_of(first) | indices_of(second))
                     : (int)first->index;
    if (number < 0)
        return bt__loops_refuse(loops, "all %d indices are in use", BT_MAX_INDEX);
    struct merge m = { .loops = loops, .first = first, .second = second };
    m.number = (uint32_t)number;
    BT_TRY(check(&m, place.open));
    return apply(&m, &place);
}
