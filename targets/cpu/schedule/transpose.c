/*
 * Loops that only exchange axes: along the innermost one what is written lies side by side, and along
 * another one what is read. Squares of both are turned in registers, by copies into panels.
 *
 *     for i0 in 28 {                                 parallel i0 in 13 {
 *         for i1 in 28 {                                 pack.1(&y[8192*i0], &x[64*i0],
 *             for i2 in 128 {                ->                 min(64, -64*i0 + 784), 128, 128, 128,
 *                 y[3584*i0 + 128*i1 + i2] =                    1, 784)
 *                     x[28*i0 + i1 + 784*i2]
 *
 * Three planes of bytes are no square, but have a form of their own. Axes that both sides have next to
 * each other are one before. Loops around stay.
 */
#include "transpose.h"

#include "contract.h"
#include "primitives/pack.h"
#include "window_nest.h"

enum { SQUARE_NBYTES = 16, BLOCK = 64, CALLS = 4 };

/* One of the two axes, of one loop or of several. */
struct axis {
    const bt_stmt *loop; /* the innermost of them */
    const bt_node *extent;
    const bt_node *x, *y; /* how much places grow */
};

struct nest {
    bt_loops *loops;
    const struct cpu_config *config;
    uint32_t nloop;
    bt_stmt *all[CPU_NEST_LOOPS];
    const bt_stmt *store;
    struct axis rows, columns; /* of the result */
    uint32_t done;             /* a bit for each loop that is in an axis */
};

static bt_graph *graph_of(const struct nest *n)
{
    return n->loops->graph;
}

/* ---- which loops they are ---- */

static int is_moved(const struct nest *n)
{
    const bt_stmt *store = n->store;
    if (store->kind != BT_STMT_STORE)
        return 0;
    const bt_node *read = store->value;
    return read->kind == BT_NODE_READ && read->which != store->buffer &&
           read->dtype == graph_of(n)->arrays[store->buffer]->dtype &&
           !bt_dtype_is_packed(read->dtype) && bt_dtype_nbytes(read->dtype) <= 8 &&
           n->loops->roles.at[read->which] != BT_BUFFER_LOCAL &&
           n->loops->roles.at[store->buffer] != BT_BUFFER_LOCAL;
}

static int take_axis(struct nest *n, uint32_t k, struct axis *out)
{
    bt_graph *g = graph_of(n);
    *out = (struct axis){ .loop = n->all[k], .extent = n->all[k]->extent };
    out->x = cpu_growth(g, n->store->value->args[0], n->all[k]);
    out->y = cpu_growth(g, n->store->offset, n->all[k]);
    n->done |= 1U << k;
    return out->x && out->y && bt_node_number(out->extent) > 0;
}

/* Loops further out that go on where the axis ends, in both. */
static void widen(struct nest *n, struct axis *axis)
{
    bt_graph *g = graph_of(n);
    for (uint32_t k = n->nloop; k-- > 0;) {
        const int64_t nown = bt_node_number(axis->extent);
        struct axis outer;
        if (n->done >> k & 1)
            continue;
        const uint32_t done = n->done;
        if (take_axis(n, k, &outer) && outer.x == cpu_scaled(g, axis->x, nown) &&
            outer.y == cpu_scaled(g, axis->y, nown))
            axis->extent = cpu_scaled(g, outer.extent, nown);
        else
            n->done = done;
    }
}

static int find(struct nest *n, bt_stmt *stmt)
{
    bt_graph *g = graph_of(n);
    while (stmt->kind == BT_STMT_FOR && stmt->body.len == 1 &&
           n->nloop < CPU_NEST_LOOPS) {
        n->all[n->nloop++] = stmt;
        stmt = stmt->body.at[0];
    }
    n->store = stmt;
    if (n->nloop < 2 || !is_moved(n) || !take_axis(n, n->nloop - 1, &n->columns) ||
        n->columns.y != bt_node_int(g, 1) || n->columns.x == bt_node_int(g, 1) ||
        n->columns.x == bt_node_int(g, 0))
        return 0;
    for (uint32_t k = n->nloop - 1; !n->rows.loop && k-- > 0;) {
        const uint32_t done = n->done;
        if (!take_axis(n, k, &n->rows) || n->rows.x != bt_node_int(g, 1)) {
            n->rows.loop = NULL;
            n->done = done;
        }
    }
    if (!n->rows.loop)
        return 0;
    for (uint32_t k = 0; k < n->nloop; k++) {
        if (!cpu_growth(g, n->store->value->args[0], n->all[k]) ||
            !cpu_growth(g, n->store->offset, n->all[k]))
            return 0;
    }
    widen(n, &n->columns);
    widen(n, &n->rows);
    const int64_t nbyte = (int64_t)bt_dtype_nbytes(n->store->value->dtype);
    const int64_t nrow = bt_node_number(n->rows.extent);
    const int64_t ncolumn = bt_node_number(n->columns.extent);
    const int is_threes = nbyte == 1 && ncolumn == 3 && nrow >= BLOCK &&
                          n->rows.y == bt_node_int(g, 3) &&
                          n->config->isa != CPU_ISA_PORTABLE;
    // of less than a square nothing is turned
    return is_threes ||
           (ncolumn * nbyte >= SQUARE_NBYTES && nrow * nbyte >= SQUARE_NBYTES);
}

/* ---- calls ---- */

/* Without what the two axes add to it. */
static const bt_node *place_of(const struct nest *n, const bt_node *place)
{
    for (uint32_t k = 0; place && k < n->nloop; k++) {
        if (n->done >> k & 1)
            place = bt_node_substitute(graph_of(n), place, n->all[k]->index,
                                       bt_node_int(graph_of(n), 0));
    }
    return place;
}

/* Squares that one call turns: so many that threads are equally busy. */
static int64_t block_of(const struct nest *n, int64_t extent)
{
    const int64_t most = extent / (CALLS * (int64_t)n->config->nthread) / BLOCK * BLOCK;
    return most < BLOCK ? BLOCK : most;
}

static int emit_call(const struct nest *n, bt_stmts *to)
{
    static const char *const packs[] = {
        [1] = "pack.1", [2] = "pack.2", [4] = "pack.4", [8] = "pack.8"
    };
    bt_graph *g = graph_of(n);
    const int64_t nrow = bt_node_number(n->rows.extent);
    const int64_t ncolumn = bt_node_number(n->columns.extent);
    const int by_rows = nrow >= ncolumn; // the longer one is cut
    const int64_t extent = by_rows ? nrow : ncolumn, size = block_of(n, extent);
    bt_stmt *loop = bt_stmt_add(n->loops, to, BT_STMT_FOR);
    if (!loop)
        return 0;
    loop->index = (by_rows ? n->rows.loop : n->columns.loop)->index;
    loop->extent = bt_node_int(g, (extent + size - 1) / size);
    loop->is_parallel = n->done + 1 == 1U << n->nloop;
    const bt_node *at = cpu_scaled(g, bt_node_index(g, loop->index, loop->extent), size);
    const bt_node *left = at ? cpu_minus(g, bt_node_int(g, extent), at) : NULL;
    const bt_node *count = left ? cpu_least(g, bt_node_int(g, size), left) : NULL;
    if (!count)
        return 0;
    const struct axis *cut = by_rows ? &n->rows : &n->columns;
    const struct cpu_address addresses[CPU_PACK_NPOINTER] = {
        { n->store->buffer, cpu_along(g, place_of(n, n->store->offset), at, cut->y) },
        { n->store->value->which,
          cpu_along(g, place_of(n, n->store->value->args[0]), at, cut->x) },
    };
    const bt_node *columns = by_rows ? n->columns.extent : count;
    const bt_node *integers[CPU_PACK_NINT] = {
        [CPU_PACK_K] = by_rows ? count : n->rows.extent,
        [CPU_PACK_N] = columns,
        [CPU_PACK_WIDTH] = columns,
        [CPU_PACK_ROW] = n->rows.y,
        [CPU_PACK_K_STRIDE] = n->rows.x,
        [CPU_PACK_N_STRIDE] = n->columns.x,
    };
    struct cpu_emitter e = { n->loops, &loop->body, 0 };
    return cpu_emit_call(&e, packs[bt_dtype_nbytes(n->store->value->dtype)],
                         CPU_PACK_NPOINTER, addresses, CPU_PACK_NINT, integers);
}

/* Loops around the two axes, then calls. */
static int replace(const struct nest *n, uint32_t which)
{
    bt_stmts made = { 0 }, *to = &made;
    for (uint32_t k = 0; k < n->nloop; k++) {
        if (n->done >> k & 1)
            continue;
        bt_stmt *loop = bt_stmt_add(n->loops, to, BT_STMT_FOR);
        if (!loop)
            return 0;
        loop->index = n->all[k]->index;
        loop->extent = n->all[k]->extent;
        loop->is_parallel = to == &made;
        to = &loop->body;
    }
    return emit_call(n, to) && bt_stmts_replace(n->loops, &n->loops->body, which, &made);
}

bt_status cpu_call_transposes(bt_loops *loops, const struct cpu_config *config)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        struct nest n = { .loops = loops, .config = config };
        if ((find(&n, loops->body.at[i]) && !replace(&n, i)) || loops->graph->status)
            return bt_loops_why(loops);
    }
    return NULL;
}
