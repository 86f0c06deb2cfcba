/*
 * A sum over a window of two axes, as sums along one of them and then along the other: of a
 * window of 9 x 9 places 18 terms are left of 81. It is found by what is computed, whichever
 * operator says so:
 *
 *     before   y[n, c, i, j] = f(sum(r in 9, s in 9: x[n, c, i + r, j + s]))
 *     after    t[n, c, i, j] = sum(s in 9: x[n, c, i, j + s])
 *              y[n, c, i, j] = f(sum(r in 9: t[n, c, i + r, j]))
 *
 * Terms are added in another order, so that it is not for sums that are to be exact.
 */
#include <baton/cpu.h>

enum { RANK = 4, ROW = 2, COLUMN = 3 }; /* of what is read, and of the result */

/* Whether an index of the read is index `own` of the stage and index `tap` of the sum, alone. */
static int is_window(const bt_node *index, uint32_t own, uint32_t tap)
{
    bt_linear l;
    bt_node_as_linear(index, &l);
    return l.n == 2 && l.constant == 0 && bt_linear_coef(&l, own) == 1 &&
           bt_linear_coef(&l, tap) == 1;
}

/* ... or index `own` alone, or 0, as in a broadcast axis. */
static int is_index(const bt_node *index, uint32_t own)
{
    bt_linear l;
    bt_node_as_linear(index, &l);
    return bt_node_number(index) == 0 ||
           (l.n == 1 && l.constant == 0 && bt_linear_coef(&l, own) == 1);
}

/* The read of an input in such a sum; NULL: it is another one. */
static const bt_node *read_of(const bt_graph *g, const bt_node *sum)
{
    const bt_node *read = sum->args[1];
    if (read->kind == BT_NODE_CAST)
        read = read->args[0];
    return sum->which == BT_REDUCER_SUM && sum->nindex == 2 &&
                   (sum->dtype == BT_FLOAT32 || sum->dtype == BT_FLOAT64) &&
                   bt_node_is_true(sum->args[0]) && read->kind == BT_NODE_READ &&
                   read->which < g->ninput && read->narg == RANK &&
                   read->dtype == BT_FLOAT32 && is_index(read->args[0], 0) &&
                   is_index(read->args[1], 1) &&
                   is_window(read->args[ROW], ROW, sum->first) &&
                   is_window(read->args[COLUMN], COLUMN, sum->first + 1)
               ? read
               : NULL;
}

/* The only sum in an expression; it has no other reduction. */
static const bt_node *find_sum(const bt_node *node)
{
    const bt_node *found = NULL;
    if (node->kind == BT_NODE_REDUCE)
        return node;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!node->args[i]->reduces)
            continue;
        const bt_node *one = find_sum(node->args[i]);
        if (!one || (found && found != one))
            return NULL;
        found = one;
    }
    return found;
}

static const bt_node *replace(bt_graph *g, const bt_node *node, const bt_node *from,
                              const bt_node *to)
{
    if (node == from)
        return to;
    if (!node->reduces)
        return node;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++)
        args[i] = replace(g, node->args[i], from, to);
    return args ? bt_node_again(g, node, node->first, args) : NULL;
}

/* An array of sums along the columns; what is read has its other extents, of which the result
 * may have more, or fewer. */
static int add_lines(bt_graph *g, const bt_array *stage, const bt_node *sum,
                     const bt_node *read, uint32_t *out)
{
    bt_array lines = { .name = "lines", .dtype = BT_FLOAT32, .rank = RANK };
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, RANK), *at[RANK];
    if (!extents)
        return 0;
    for (uint32_t i = 0; i < RANK; i++) {
        extents[i] = (i == COLUMN ? stage : g->arrays[read->which])->extents[i];
        at[i] = i == COLUMN ? read->args[i] : bt_node_index(g, i, extents[i]);
    }
    lines.extents = extents;
    lines.body =
        bt_node_reduce(g, BT_REDUCER_SUM, sum->first + 1, 1, &sum->args[3], sum->args[0],
                       bt_node_cast(g, sum->args[1]->dtype,
                                    bt_node_read(g, read->which, BT_FLOAT32, RANK, at)));
    lines.body = bt_node_cast(g, BT_FLOAT32, lines.body);
    return lines.body && bt_graph_add_array(g, &lines, out);
}

static bt_status split(bt_graph *g, bt_array *stage, const bt_node *sum,
                       const bt_node *read)
{
    const bt_node *at[RANK];
    uint32_t lines;
    if (!add_lines(g, stage, sum, read, &lines))
        return g->status ? g->status : bt_no_memory();
    for (uint32_t i = 0; i < RANK; i++)
        at[i] = i == COLUMN ? bt_node_index(g, i, stage->extents[i]) : read->args[i];
    const bt_node *columns =
        bt_node_reduce(g, BT_REDUCER_SUM, sum->first, 1, &sum->args[2], sum->args[0],
                       bt_node_cast(g, sum->args[1]->dtype,
                                    bt_node_read(g, lines, BT_FLOAT32, RANK, at)));
    const bt_node *body = columns ? replace(g, stage->body, sum, columns) : NULL;
    if (!body)
        return g->status ? g->status : bt_no_memory();
    stage->body = body;
    return NULL;
}

static bt_status make(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    bt_graph *g = call->graph;
    const uint32_t n = g->narray;
    (void)ctx;
    (void)arena;
    for (uint32_t i = g->ninput; i < n && !call->is_exact; i++) {
        bt_array *stage = g->arrays[i];
        const bt_node *sum =
            stage->rank == RANK && stage->body->reduces ? find_sum(stage->body) : NULL;
        const bt_node *read = sum ? read_of(g, sum) : NULL;
        if (!read)
            continue;
        BT_TRY(split(g, stage, sum, read));
        call->is_made = 1;
    }
    return NULL;
}

static const bt_cpu_way ways[] = {
    { .name = "example.separable",
      .doc = "Sums over windows along one axis, then along the other.",
      .make = make },
    { 0 },
};
const bt_table bt_ways_separable[] = { BT_CPU_WAYS(ways), { 0 } };
