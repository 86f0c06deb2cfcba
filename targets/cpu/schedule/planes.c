/*
 * Windows over planes: what a square of few places comes to, for each place of a plane, as calls
 * for several planes (primitives/planes.h).
 *
 *     for i1 in 192 {
 *         for i2 in 35 {
 *             for i3 in 35 {
 *                 t[0] = 0.0
 *                 for i4 in 3 {
 *                     if ((0 <= i2 + i4 - 1) && (0 <= -i2 - i4 + 35)) {
 *                         for i5 in 3 {
 *                             if ((0 <= i3 + i5 - 1) && (0 <= -i3 - i5 + 35)) {
 *                                 t[0] sum= x[1225*i1 + 35*i2 + i3 + 35*i4 + i5 - 36]
 *                 y[1225*i1 + 35*i2 + i3] = (t[0] / float32(n[35*i2 + i3]))
 *
 *     for i1 in 24 {
 *         planes_sum.float32(&y[9800*i1], &x[9800*i1], &d[0], 8, 35, 35, ...)
 *
 * The divisor, if it depends on nothing else than the place, is computed once for all planes.
 * Which loops these are is known without their sizes, as sums of others have another order.
 */
#include "planes.h"

#include <math.h>
#include <string.h>

#include "contract.h"
#include "primitives/planes.h"
#include "vectorise.h"
#include "window_nest.h"

struct windows {
    struct cpu_window_nest nest;
    const bt_node *divisor; /* NULL: none */
};

static bt_graph *graph_of(const struct windows *w)
{
    return w->nest.loops->graph;
}

/* ---- which loops are windows ---- */

static int is_of_accumulator(const struct windows *w, const bt_node *node)
{
    return node->kind == BT_NODE_READ && node->which == w->nest.take->buffer;
}

static int look_at_store(struct windows *w)
{
    const bt_node *value = w->nest.store->value;
    const uint64_t places = bt_index_bit(w->nest.axes[0].out->index) |
                            bt_index_bit(w->nest.axes[1].out->index);
    if (w->nest.store->buffer == w->nest.take->value->which || value->dtype != BT_FLOAT32)
        return 0;
    if (is_of_accumulator(w, value))
        return 1;
    if (value->kind != BT_NODE_SCALAR || value->which != BT_SCALAR_DIV ||
        !is_of_accumulator(w, value->args[0]))
        return 0;
    w->divisor = value->args[1];
    uint8_t *seen = BT_NEWS(w->nest.arena, uint8_t, graph_of(w)->nnode + 1);
    return seen && cpu_is_made_before(&w->nest, w->divisor, places, seen);
}

static int look_at_taps(struct windows *w)
{
    const struct cpu_window_nest *n = &w->nest;
    const uint32_t reducer = n->take->reducer;
    const double none = reducer == BT_REDUCER_SUM ? 0 : -(double)INFINITY;
    const int64_t side = n->axes[0].taps, step = n->axes[1].step;
    return (reducer == BT_REDUCER_SUM || reducer == BT_REDUCER_MAX) &&
           n->start->value->value.f == none && (side == 2 || side == 3) &&
           n->axes[1].taps == side && (step == 1 || step == 2) &&
           n->axes[0].step == step &&
           cpu_grows_by(graph_of(w), n->take->value->args[0], n->axes[1].tap, 1);
}

/* Whether `stmt` is a nest of such loops and nothing else. */
static int find(struct windows *w, bt_stmt *stmt)
{
    struct cpu_window_nest *n = &w->nest;
    bt_graph *g = graph_of(w);
    if (!cpu_find_window_nest(n, stmt, 0) || n->take->value->kind != BT_NODE_READ ||
        n->take->value->dtype != BT_FLOAT32 ||
        g->arrays[n->take->buffer]->dtype != BT_FLOAT32 ||
        !cpu_measure_window_nest(n, n->take->value->args[0]) || !look_at_taps(w) ||
        !look_at_store(w))
        return 0;
    for (uint32_t i = 0; i < n->nloop; i++) {
        if (!cpu_growth(g, n->take->value->args[0], n->all[i]) ||
            !cpu_growth(g, n->store->offset, n->all[i]))
            return 0;
    }
    return cpu_grows_by(g, n->store->offset, n->axes[1].out, 1);
}

/* ---- the nest ---- */

/* The divisor of each place, for all planes. 0: failure. */
static int emit_divisor(const struct windows *w, bt_stmts *to, uint32_t *out)
{
    const struct cpu_window_axis *y = &w->nest.axes[0], *x = &w->nest.axes[1];
    bt_graph *g = graph_of(w);
    bt_stmt *rows = bt_stmt_add(w->nest.loops, to, BT_STMT_FOR);
    bt_stmt *columns = rows ? bt_stmt_add(w->nest.loops, &rows->body, BT_STMT_FOR) : NULL;
    bt_stmt *store =
        columns ? bt_stmt_add(w->nest.loops, &columns->body, BT_STMT_STORE) : NULL;
    if (!store || !cpu_emit_buffer(w->nest.loops, BT_BUFFER_TEMP, BT_FLOAT32,
                                   cpu_times(g, y->out->extent, x->out->extent), out))
        return 0;
    rows->index = y->out->index;
    rows->extent = y->out->extent;
    columns->index = x->out->index;
    columns->extent = x->out->extent;
    store->buffer = *out;
    store->value = w->divisor;
    store->offset =
        cpu_along(g, bt_node_index(g, columns->index, columns->extent),
                  bt_node_index(g, rows->index, rows->extent), x->out->extent);
    return store->offset != NULL;
}

/* So many iterations of the loop make a block, that threads are equally busy. */
static int64_t block_of(const bt_node *extent, uint32_t nthread, int64_t most)
{
    enum { CALLS = 8 };
    const int64_t size = cpu_iterations(extent) / (CALLS * (int64_t)nthread);
    return size < 1 ? 1 : size > most ? most : size;
}

/* The call for `planes` of plane `k` on, and rows of the result from `r` on. */
static int emit_call(const struct windows *w, bt_stmts *to, uint32_t divisor,
                     const bt_stmt *plane, const bt_node *k, const bt_node *planes,
                     const bt_node *r, const bt_node *nrow)
{
    bt_graph *g = graph_of(w);
    const struct cpu_window_axis *y = &w->nest.axes[0], *x = &w->nest.axes[1];
    const bt_node *zero = bt_node_int(g, 0), *x_at = w->nest.take->value->args[0],
                  *y_at = w->nest.store->offset;
    const bt_node *x_row = cpu_growth(g, x_at, y->tap),
                  *y_row = cpu_growth(g, y_at, y->out);
    const bt_node *x_plane = plane ? cpu_growth(g, x_at, plane) : zero,
                  *y_plane = plane ? cpu_growth(g, y_at, plane) : zero;
    struct cpu_emitter e = { w->nest.loops, to, 0 };
    x_at = cpu_image_of_nest(&w->nest, x_at);
    y_at = cpu_first_in_nest(&w->nest, y_at);
    if (plane && x_at && y_at) {
        x_at = bt_node_substitute(g, x_at, plane->index, k);
        y_at = bt_node_substitute(g, y_at, plane->index, k);
    }
    y_at = cpu_along(g, y_at, r, y_row);
    const struct cpu_address addresses[CPU_PLANES_NPOINTER] = {
        { w->nest.store->buffer, y_at },
        { w->nest.take->value->which, x_at },
        w->divisor ? (struct cpu_address){ divisor, cpu_times(g, r, x->out->extent) }
                   : (struct cpu_address){ w->nest.take->value->which, x_at },
    };
    const bt_node *integers[CPU_PLANES_NINT] = {
        [CPU_PLANES_PLANES] = planes,
        [CPU_PLANES_ROWS] = nrow,
        [CPU_PLANES_COLUMNS] = x->out->extent,
        [CPU_PLANES_SIDE] = bt_node_int(g, w->nest.axes[0].taps),
        [CPU_PLANES_STEP] = bt_node_int(g, x->step),
        [CPU_PLANES_Y_PLANE] = y_plane,
        [CPU_PLANES_Y_ROW] = y_row,
        [CPU_PLANES_X_PLANE] = x_plane,
        [CPU_PLANES_X_ROW] = x_row,
        [CPU_PLANES_D_ROW] = w->divisor ? x->out->extent : zero,
        [CPU_PLANES_HEIGHT] = y->size,
        [CPU_PLANES_WIDTH] = x->size,
        [CPU_PLANES_TOP] = cpu_along_int(g, y->before, r, y->step),
        [CPU_PLANES_LEFT] = x->before,
    };
    return cpu_emit_call(&e,
                         w->nest.take->reducer == BT_REDUCER_SUM ? "planes_sum.float32"
                                                                 : "planes_max.float32",
                         CPU_PLANES_NPOINTER, addresses, CPU_PLANES_NINT, integers);
}

/* A loop over blocks of planes, or where there are none, of rows, in the place of loop number
 * `at`, and in it the call. 0: failure. */
static int emit_blocks(const struct windows *w, uint32_t nthread, uint32_t divisor,
                       bt_stmts *to)
{
    enum { MAX_PLANES = 16 };
    bt_graph *g = graph_of(w);
    const bt_stmt *plane = w->nest.nloop > 2 ? w->nest.all[w->nest.nloop - 3] : NULL;
    const bt_stmt *rows = w->nest.axes[0].out, *around = plane ? plane : rows;
    const int64_t size =
        block_of(around->extent, nthread, plane ? MAX_PLANES : INT64_MAX);
    const bt_node *zero = bt_node_int(g, 0), *count = around->extent, *at = zero;
    bt_stmt *loop = bt_stmt_add(w->nest.loops, to, BT_STMT_FOR);
    if (!loop)
        return 0;
    loop->index = around->index;
    loop->extent = cpu_ceildiv(g, around->extent, size);
    loop->is_parallel = 1;
    const bt_node *number =
        loop->extent ? bt_node_index(g, loop->index, loop->extent) : NULL;
    if (!number)
        return 0;
    at = cpu_scaled(g, number, size);
    count = cpu_least(g, bt_node_int(g, size), cpu_minus(g, around->extent, at));
    return at && count &&
           (plane
                ? emit_call(w, &loop->body, divisor, plane, at, count, zero, rows->extent)
                : emit_call(w, &loop->body, divisor, NULL, NULL, bt_node_int(g, 1), at,
                            count));
}

static int replace(struct windows *w, uint32_t which, const struct cpu_config *config)
{
    bt_stmts made = { 0 };
    uint32_t divisor = 0;
    if (w->divisor && !emit_divisor(w, &made, &divisor))
        return 0;
    if (w->nest.nloop <= 3)
        return emit_blocks(w, config->nthread, divisor, &made) &&
               bt_stmts_replace(w->nest.loops, &w->nest.loops->body, which, &made);
    bt_stmt *last = w->nest.all[w->nest.nloop - 4];
    last->body = (bt_stmts){ 0 };
    w->nest.all[0]->is_parallel = 1;
    return emit_blocks(w, config->nthread, divisor, &last->body) &&
           BT_PUSH(w->nest.loops->arena, &made, w->nest.all[0]) &&
           bt_stmts_replace(w->nest.loops, &w->nest.loops->body, which, &made);
}

/* Loops around the rows are one, where they can be. */
static bt_status collapse_around(const struct windows *w)
{
    for (uint32_t i = w->nest.nloop - 3; i-- > 0;) {
        const bt_status status = bt_loops_collapse(w->nest.loops, w->nest.all[i]);
        if (status)
            return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    }
    return NULL;
}

static bt_status call_planes(bt_loops *loops, bt_arena *scratch,
                             const struct cpu_config *config)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        const struct windows none = { .nest = { .loops = loops, .arena = scratch } };
        struct windows w = none;
        int is_found = find(&w, loops->body.at[i]);
        if (is_found && w.nest.nloop > 3) {
            BT_TRY(collapse_around(&w));
            w = none;
            is_found = find(&w, loops->body.at[i]);
        }
        if ((is_found && !replace(&w, i, config)) || loops->graph->status)
            return bt_loops_why(loops);
    }
    return bt_arena_has_failed(scratch) ? bt_no_memory() : NULL;
}

bt_status cpu_call_planes(bt_loops *loops, const struct cpu_config *config)
{
    bt_arena *scratch = bt_arena_create(bt_ctx_registry(loops->ctx));
    const bt_status status =
        scratch ? call_planes(loops, scratch, config) : bt_no_memory();
    bt_arena_destroy(scratch);
    return status;
}
