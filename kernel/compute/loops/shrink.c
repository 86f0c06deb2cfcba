/*
 * Buffers of the size that one iteration needs.
 *
 *     for i0 in 8 { for i1 in 4 { e[4*i0 + i1] = ... }  for i1 in 4 { ... e[4*i0 + i1] } }
 *  -> for i0 in 8 { for i1 in 4 { e[i1] = ... }         for i1 in 4 { ... e[i1] } }
 *
 * Legal where only the loop uses the buffer, every offset has the index with the same
 * coefficient, and an iteration reads nothing but what it has stored itself.
 */
#include "compute/loops/transform.h"

struct shrink {
    bt_loops *loops;
    const bt_stmt *loop;
    uint32_t buffer;
    int is_first;
    int64_t coef, nelem; /* of the index; elements that remain */
    int fails;
};

/* ---- what is found ---- */

static void meet_offset(struct shrink *s, const bt_node *offset)
{
    bt_linear l;
    const bt_node *index =
        bt_node_index(s->loops->graph, s->loop->index, s->loop->extent);
    bt_node_as_linear(offset, &l);
    int64_t coef = bt_linear_coef(&l, s->loop->index);
    if (s->is_first)
        s->coef = coef;
    s->is_first = 0;
    const bt_node *rest =
        bt_node_linear(s->loops->graph, 0, 2, (const bt_node *[]){ offset, index },
                       (int64_t[]){ 1, coef == INT64_MIN ? 0 : -coef });
    // of an open size: what one iteration has lies between two steps of the index
    const int64_t nelem = bt_loops_nelem(s->loops, s->buffer);
    if (!rest || coef != s->coef || (rest->free & bt_index_bit(s->loop->index)) ||
        rest->low < 0 || rest->high >= (nelem < 0 ? coef : nelem)) {
        s->fails = 1;
        return;
    }
    s->nelem = rest->high + 1 > s->nelem ? rest->high + 1 : s->nelem;
}

static bt_status look(struct shrink *s, const bt_stmt *loop)
{
    bt__accesses all = { .len = 0 };
    if (!bt__accesses_of(s->loops, loop, &all))
        return bt_loops_why(s->loops);
    for (uint32_t i = 0; i < all.len && !s->fails; i++) {
        if (all.at[i].buffer != s->buffer)
            continue;
        if (all.at[i].offset)
            meet_offset(s, all.at[i].offset);
        s->fails |= !all.at[i].offset;
    }
    // used nowhere in the loop, or elsewhere too
    s->fails |= s->is_first || bt__buffer_used_outside(s->loops, s->buffer, loop);
    return s->loops->graph->status;
}

/* ---- what is done ---- */

static const bt_node *moved(const struct shrink *s, const bt_node *offset)
{
    const bt_node *index =
        bt_node_index(s->loops->graph, s->loop->index, s->loop->extent);
    return bt_node_linear(s->loops->graph, 0, 2, (const bt_node *[]){ offset, index },
                          (int64_t[]){ 1, -s->coef });
}

static const bt_node *move_read(void *self, const bt_node *node)
{
    const struct shrink *s = self;
    if (node->kind != BT_NODE_READ || node->which != s->buffer)
        return node;
    const bt_node *offset = moved(s, node->args[0]);
    return offset ? bt_loops_read(s->loops, node->which, offset) : NULL;
}

static const bt_node *move(void *self, const bt_stmt *stmt, const bt_node **slot)
{
    struct shrink *s = self;
    bt_by_node by = { s->loops, move_read, s };
    const bt_node *node = bt_node_change(&by, *slot);
    int is_own = (stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE) &&
                 slot == &stmt->offset && stmt->buffer == s->buffer;
    return node && is_own ? moved(s, node) : node;
}

static int has_two_accumulators(void *self, bt_stmt *stmt, const bt_node **slot)
{
    const struct shrink *s = self;
    (void)slot;
    return stmt->kind != BT_STMT_TAKE || bt__reducer_get(stmt->reducer)->nstate == 1 ||
           (stmt->buffer != s->buffer && stmt->buffer2 != s->buffer);
}

static bt_status apply(struct shrink *s, bt_stmt *loop)
{
    struct bt__edit edit;
    bt_array *array = s->loops->graph->arrays[s->buffer];
    const bt_node *const *size_before = array->extents;
    uint32_t *role = &s->loops->roles.at[s->buffer], role_before = *role;
    const bt_node **size = BT_NEWS(s->loops->arena, const bt_node *, 1);
    if (!size || !(size[0] = bt_node_int(s->loops->graph, s->nelem)))
        return bt_loops_why(s->loops);
    BT_TRY(bt__edit_make(s->loops, loop, move, s, &edit));
    bt__edit_swap(loop, &edit);
    array = s->loops->graph->arrays[s->buffer];
    array->extents = size;
    *role = BT_BUFFER_LOCAL;
    int is_private = bt__local_is_private(s->loops, s->buffer, loop);
    if (is_private == 1)
        return NULL;
    bt__edit_swap(loop, &edit);
    array->extents = size_before;
    *role = role_before;
    return is_private < 0
               ? bt_loops_why(s->loops)
               : bt__loops_refuse(
                     s->loops,
                     "%s keeps its size: an iteration of i%u reads what it is not "
                     "seen to have stored",
                     array->name, loop->index);
}

bt_status bt_loops_shrink(bt_loops *loops, bt_stmt *loop, uint32_t buffer)
{
    struct bt__place place;
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (buffer >= loops->graph->narray || (loops->roles.at[buffer] != BT_BUFFER_TEMP &&
                                           loops->roles.at[buffer] != BT_BUFFER_LOCAL))
        return bt__loops_refuse(loops, "buffer %u is no local of these loops", buffer);
    const char *name = loops->graph->arrays[buffer]->name;
    for (uint32_t i = 0; i < loop->body.len; i++) {
        if (bt__stmt_has_parallel(loop->body.at[i]))
            return bt__loops_refuse(loops,
                                    "%s keeps its size: a loop in i%u is parallel, whose "
                                    "iterations would have one each",
                                    name, loop->index);
    }
    struct shrink s = { .loops = loops, .loop = loop, .buffer = buffer, .is_first = 1 };
    BT_TRY(look(&s, loop));
    if (s.fails || !bt_stmt_walk(loop, has_two_accumulators, &s))
        return bt__loops_refuse(loops,
                                "%s keeps its size: it is used outside of i%u, or not by "
                                "one stride of it",
                                name, loop->index);
    if (bt_loops_nelem(loops, buffer) >= 0 && s.nelem >= bt_loops_nelem(loops, buffer) &&
        loops->roles.at[buffer] == BT_BUFFER_LOCAL)
        return bt__loops_refuse(loops, "%s is as small as it gets", name);
    return apply(&s, loop);
}
