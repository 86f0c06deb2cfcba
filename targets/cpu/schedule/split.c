/*
 * Loops cut where their index is divided:
 *
 *     for i0 in 512 {                             for i0 in 8 {
 *         y[i0] = x[mod(i0, 64)]         ->           for i1 in 64 {
 *     }                                                   y[64*i0 + i1] = x[i1]
 *                                                     }
 *                                                 }
 *
 * The order of iterations stays. Elements that were at computed places are then neighbours. Where
 * the index is shifted before, as in the adjoint of windows with a border, or is no multiple, the
 * first and the last block are not whole:
 *
 *     for i0 in 7 {                               for i0 in 4 {
 *         y[i0] = x[floordiv(i0 + 1, 2)]  ->          for i1 in 2 {
 *     }                                                   if (0 <= 2*i0 + i1 - 1 && ..) {
 *                                                             y[2*i0 + i1 - 1] = x[i0]
 *                                                         }
 *                                                     }
 *                                                 }
 */
#include "split.h"

struct splitter {
    bt_loops *loops;
    uint32_t index; /* of the loop looked at, ... */
    int64_t extent; /* ... its iterations, ... */
    int64_t by; /* ... and the greatest number that it is divided by, below these, ... */
    int64_t shift; /* ... when so much was added, modulo `by` */
    const bt_node *value;
    uint8_t *seen; /* by id */
};

/* ---- what divides an index ---- */

/* The index, or the index and a number. */
static int is_shifted(const struct splitter *s, const bt_node *node, int64_t *shift)
{
    bt_linear l;
    bt_node_as_linear(node, &l);
    *shift = l.constant;
    return l.n == 1 && l.coefs[0] == 1 && l.atoms[0]->kind == BT_NODE_INDEX &&
           l.atoms[0]->which == s->index;
}

static void find_divisors(struct splitter *s, const bt_node *node)
{
    int64_t by, shift;
    if (!(node->free & bt_index_bit(s->index)) || s->seen[node->id])
        return;
    s->seen[node->id] = 1;
    if (node->kind == BT_NODE_SCALAR &&
        (node->which == BT_SCALAR_MOD || node->which == BT_SCALAR_FLOORDIV) &&
        bt_node_is_const(node->args[1], &by) && by > s->by && by < s->extent &&
        is_shifted(s, node->args[0], &shift)) {
        s->by = by;
        s->shift = bt_mod_int64(shift, by);
    }
    for (uint32_t i = 0; i < node->narg; i++)
        find_divisors(s, node->args[i]);
}

static int look(void *self, bt_stmt *stmt, const bt_node **slot)
{
    (void)stmt;
    find_divisors(self, *slot);
    return 1;
}

/* ---- one loop ---- */

enum { FEW_ITERATIONS = 4 };

static void find_indices(const bt_stmts *block, uint64_t *used)
{
    for (uint32_t i = 0; i < block->len; i++) {
        if (block->at[i]->kind == BT_STMT_FOR)
            *used |= bt_index_bit(block->at[i]->index);
        find_indices(&block->at[i]->body, used);
        find_indices(&block->at[i]->otherwise, used);
    }
}

static int put_value(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct splitter *s = self;
    (void)stmt;
    *slot = bt_node_substitute(s->loops->graph, *slot, s->index, s->value);
    return *slot != NULL;
}

/* What there are iterations for, where blocks are not whole. */
static int guard(struct splitter *s, bt_stmt *inner)
{
    bt_graph *g = s->loops->graph;
    bt_stmts body = { .len = 0 };
    bt_stmt *stmt = bt_stmt_add(s->loops, &body, BT_STMT_IF);
    if (!stmt)
        return 0;
    stmt->condition =
        bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), s->value),
                    bt_node_scalar(g, BT_SCALAR_LT, s->value, bt_node_int(g, s->extent)));
    stmt->body = inner->body;
    inner->body = body;
    return stmt->condition != NULL;
}

static int copy_block(struct splitter *s, const bt_stmts *block, bt_stmts *out)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *from = block->at[i];
        bt_stmt *stmt = bt_stmt_add(s->loops, out, from->kind);
        if (!stmt)
            return 0;
        *stmt = *from;
        stmt->body = stmt->otherwise = (bt_stmts){ 0 };
        if (!copy_block(s, &from->body, &stmt->body) ||
            !copy_block(s, &from->otherwise, &stmt->otherwise))
            return 0;
    }
    return 1;
}

static int has_call(const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        if (block->at[i]->kind == BT_STMT_CALL || has_call(&block->at[i]->body) ||
            has_call(&block->at[i]->otherwise))
            return 1;
    }
    return 0;
}

/* The iterations of the only loop in `block`, one after the other. */
static int unroll(struct splitter *s, bt_stmts *block)
{
    const bt_stmt *loop = block->at[0];
    const int64_t n = bt_node_number(loop->extent);
    bt_stmts all = { .len = 0 };
    s->index = loop->index;
    for (int64_t k = 0; k < n; k++) {
        const uint32_t first = all.len;
        s->value = bt_node_int(s->loops->graph, k);
        if (!s->value || !copy_block(s, &loop->body, &all))
            return 0;
        for (uint32_t i = first; i < all.len; i++) {
            if (!bt_stmt_walk(all.at[i], put_value, s))
                return 0;
        }
    }
    *block = all;
    return 1;
}

static int split(struct splitter *s, bt_stmt *loop, uint32_t fresh)
{
    bt_graph *g = s->loops->graph;
    bt_stmts body = { .len = 0 };
    bt_stmt *inner = bt_stmt_add(s->loops, &body, BT_STMT_FOR);
    if (!inner)
        return 0;
    inner->index = fresh;
    inner->extent = bt_node_int(g, s->by);
    inner->body = loop->body;
    loop->extent = bt_node_int(g, bt_ceildiv_int64(s->extent + s->shift, s->by));
    loop->body = body;
    if (!inner->extent || !loop->extent)
        return 0;
    const bt_node *both[] = { bt_node_index(g, s->index, loop->extent),
                              bt_node_index(g, fresh, inner->extent) };
    s->value = both[0] && both[1]
                   ? bt_node_linear(g, -s->shift, 2, both, (int64_t[]){ s->by, 1 })
                   : NULL;
    if (!s->value)
        return 0;
    for (uint32_t i = 0; i < inner->body.len; i++) {
        if (!bt_stmt_walk(inner->body.at[i], put_value, s))
            return 0;
    }
    if (!s->shift && s->extent % s->by == 0)
        return 1;
    return guard(s, inner) &&
           (s->by > FEW_ITERATIONS || has_call(&inner->body) || unroll(s, &loop->body));
}

/* ---- all of them ---- */

/* 0: no memory. */
static int find_divisor(struct splitter *s, const bt_stmt *loop)
{
    s->index = loop->index;
    s->by = 1;
    s->shift = 0;
    if (!bt_node_is_const(loop->extent, &s->extent))
        return 1;
    s->seen = BT_NEWS(s->loops->arena, uint8_t, s->loops->graph->nnode + 1);
    for (uint32_t i = 0; s->seen && i < loop->body.len; i++)
        (void)bt_stmt_walk(loop->body.at[i], look, s);
    return s->seen != NULL;
}

static int split_loop(struct splitter *s, bt_stmt *loop, uint32_t *n)
{
    for (;;) {
        uint64_t used = 0;
        uint32_t fresh = 0;
        if (!find_divisor(s, loop))
            return 0;
        find_indices(&s->loops->body, &used);
        while (fresh < BT_MAX_INDEX && (used & bt_index_bit(fresh)))
            fresh++;
        if (s->by == 1 || fresh == BT_MAX_INDEX)
            return 1;
        if (!split(s, loop, fresh))
            return 0;
        ++*n;
    }
}

static int split_block(struct splitter *s, bt_stmts *block, uint32_t *n)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        if ((stmt->kind == BT_STMT_FOR && !split_loop(s, stmt, n)) ||
            !split_block(s, &stmt->body, n) || !split_block(s, &stmt->otherwise, n))
            return 0;
    }
    return 1;
}

int cpu_split_loops(bt_loops *loops, uint32_t *nsplit)
{
    struct splitter s = { .loops = loops };
    return split_block(&s, &loops->body, nsplit);
}

static int has_split(struct splitter *s, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        if ((stmt->kind == BT_STMT_FOR && (!find_divisor(s, stmt) || s->by > 1)) ||
            has_split(s, &stmt->body) || has_split(s, &stmt->otherwise))
            return 1;
    }
    return 0;
}

int cpu_has_split(bt_loops *loops)
{
    struct splitter s = { .loops = loops };
    return has_split(&s, &loops->body);
}
