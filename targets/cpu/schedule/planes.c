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

enum { MOST_LOOPS = 8 };

/* An axis along which windows go: 0 <= step * out + tap + before < size. */
struct axis {
    const bt_stmt *out, *tap; /* loops */
    int64_t step;
    const bt_node *before, *size; /* NULL: no condition asks */
};

struct windows {
    bt_loops *loops;
    bt_arena *arena;
    uint32_t nloop; /* around the windows, those of the axes last */
    bt_stmt *all[MOST_LOOPS];
    struct axis axes[2]; /* rows, columns */
    int64_t side;
    const bt_stmt *take, *store;
    const bt_node *divisor; /* NULL: none */
};

/* ---- expressions ---- */

static uint64_t bit_of(const bt_stmt *loop)
{
    return bt_index_bit(loop->index);
}

/* How much the node grows from one iteration to the next: a sum in which the loop's index stands by
 * itself, or times what has none. NULL: it is something else, or there is no memory. */
static const bt_node *growth(bt_graph *g, const bt_node *node, const bt_stmt *loop)
{
    const bt_node *by = bt_node_int(g, 0);
    bt_linear form;
    bt_node_as_linear(node, &form);
    for (uint32_t i = 0; i < form.n && by; i++) {
        const bt_node *atom = form.atoms[i], *factor = bt_node_int(g, 1);
        if (!(atom->free & bit_of(loop)))
            continue;
        if (atom->kind == BT_NODE_SCALAR && atom->which == BT_SCALAR_MUL &&
            !atom->args[1]->free && !atom->args[1]->reads) {
            factor = atom->args[1];
            atom = atom->args[0];
        }
        if (atom->kind != BT_NODE_INDEX)
            return NULL;
        by = cpu_plus(g, by, factor ? cpu_scaled(g, factor, form.coefs[i]) : NULL);
    }
    return by;
}

static int grows_by(bt_graph *g, const bt_node *node, const bt_stmt *loop, int64_t by)
{
    const bt_node *is = growth(g, node, loop);
    return is && is == bt_node_int(g, by);
}

/* In the first iteration of all these loops. */
static const bt_node *at_first(const struct windows *w, const bt_node *node)
{
    for (uint32_t i = 0; node && i < 2; i++) {
        bt_graph *g = w->loops->graph;
        node = bt_node_substitute(g, node, w->axes[i].out->index, bt_node_int(g, 0));
        node = node
                   ? bt_node_substitute(g, node, w->axes[i].tap->index, bt_node_int(g, 0))
                   : NULL;
    }
    return node;
}

/* ---- conditions ---- */

/* 0 <= term, of one axis: its beginning, or its end. 0: it is something else. */
static int read_bound(struct windows *w, const bt_node *conjunct)
{
    bt_graph *g = w->loops->graph;
    int64_t zero;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_LE ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0)
        return 0;
    const bt_node *term = conjunct->args[1], *first = at_first(w, term);
    uint64_t rest = 0;
    for (uint32_t i = 0; i < w->nloop; i++)
        rest |= bit_of(w->all[i]);
    for (uint32_t i = 0; first && i < 2; i++) {
        struct axis *axis = &w->axes[i];
        const uint64_t own = bit_of(axis->out) | bit_of(axis->tap);
        if (!(term->free & bit_of(axis->tap)) || (term->free & rest & ~own) ||
            (term->free & bit_of(w->axes[1 - i].tap)))
            continue;
        if (!axis->before && grows_by(g, term, axis->tap, 1) &&
            grows_by(g, term, axis->out, axis->step))
            return (axis->before = first) != NULL;
        if (!axis->size && grows_by(g, term, axis->tap, -1) &&
            grows_by(g, term, axis->out, -axis->step))
            return (axis->size = first) != NULL;
    }
    return 0;
}

static int read_bounds(struct windows *w, const bt_node *condition)
{
    bt_nodes all = { 0 };
    if (!bt_node_conjuncts(w->arena, condition, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        if (!read_bound(w, all.at[i]))
            return 0;
    }
    return 1;
}

/* What conditions left unsaid: windows that are all inside. The size counts from the beginning. */
static int complete(struct windows *w)
{
    bt_graph *g = w->loops->graph;
    for (uint32_t i = 0; i < 2; i++) {
        struct axis *axis = &w->axes[i];
        const bt_node *last = bt_node_linear(g, w->side - 1 - axis->step, 1,
                                             &axis->out->extent, &axis->step);
        if (!axis->before)
            axis->before = bt_node_int(g, 0);
        if (!last || !axis->before)
            return 0;
        axis->size = cpu_plus(g, axis->before, axis->size ? axis->size : last);
        axis->size = axis->size ? cpu_plus(g, axis->size, bt_node_int(g, 1)) : NULL;
        if (!axis->size)
            return 0;
    }
    return 1;
}

/* ---- which loops are windows ---- */

static int starts(const struct windows *w, const bt_stmt *stmt, uint32_t reducer)
{
    const double none = reducer == BT_REDUCER_SUM ? 0 : -(double)INFINITY;
    return stmt->kind == BT_STMT_STORE && stmt->buffer == w->take->buffer &&
           stmt->value->kind == BT_NODE_CONST && stmt->value->value.f == none;
}

static int is_of_accumulator(const struct windows *w, const bt_node *node)
{
    return node->kind == BT_NODE_READ && node->which == w->take->buffer;
}

/* Whether what it reads is there before the nest is. `seen` by id. */
static int is_made_before(const struct windows *w, const bt_node *node, uint64_t places,
                          uint8_t *seen)
{
    const bt_loops *loops = w->loops;
    if (seen[node->id])
        return 1;
    seen[node->id] = 1;
    if ((node->free & ~places) ||
        (node->kind == BT_NODE_READ && (loops->roles.at[node->which] == BT_BUFFER_LOCAL ||
                                        node->which == w->store->buffer)))
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_made_before(w, node->args[i], places, seen))
            return 0;
    }
    return 1;
}

static int look_at_store(struct windows *w)
{
    const bt_node *value = w->store->value;
    const uint64_t places = bit_of(w->axes[0].out) | bit_of(w->axes[1].out);
    if (w->store->kind != BT_STMT_STORE || w->store->buffer == w->take->value->which ||
        value->dtype != BT_FLOAT32)
        return 0;
    if (is_of_accumulator(w, value))
        return 1;
    if (value->kind != BT_NODE_SCALAR || value->which != BT_SCALAR_DIV ||
        !is_of_accumulator(w, value->args[0]))
        return 0;
    w->divisor = value->args[1];
    uint8_t *seen = BT_NEWS(w->arena, uint8_t, w->loops->graph->nnode + 1);
    return seen && is_made_before(w, w->divisor, places, seen);
}

/* The loops of taps and their conditions. */
static int look_at_taps(struct windows *w, const bt_stmt *stmt)
{
    const bt_node *conditions[4];
    uint32_t nloop = 0, n = 0;
    for (; stmt->kind == BT_STMT_FOR || stmt->kind == BT_STMT_IF;
         stmt = stmt->body.at[0]) {
        if (stmt->body.len != 1 || (stmt->kind == BT_STMT_FOR && nloop == 2) ||
            (stmt->kind == BT_STMT_IF &&
             (stmt->otherwise.len || n == BT_COUNT(conditions))))
            return 0;
        if (stmt->kind == BT_STMT_FOR)
            w->axes[nloop++].tap = stmt;
        else
            conditions[n++] = stmt->condition;
    }
    w->take = stmt;
    if (nloop != 2 || stmt->kind != BT_STMT_TAKE || stmt->position ||
        (stmt->reducer != BT_REDUCER_SUM && stmt->reducer != BT_REDUCER_MAX) ||
        stmt->value->kind != BT_NODE_READ || stmt->value->dtype != BT_FLOAT32 ||
        w->loops->graph->arrays[stmt->buffer]->dtype != BT_FLOAT32)
        return 0;
    const bt_node *row = growth(w->loops->graph, stmt->value->args[0], w->axes[0].tap);
    w->side = bt_node_number(w->axes[0].tap->extent);
    if (!row || (w->side != 2 && w->side != 3) ||
        bt_node_number(w->axes[1].tap->extent) != w->side ||
        !grows_by(w->loops->graph, stmt->value->args[0], w->axes[1].tap, 1))
        return 0;
    for (int64_t step = 1; step <= 2; step++) {
        if (grows_by(w->loops->graph, stmt->value->args[0], w->axes[1].out, step) &&
            growth(w->loops->graph, stmt->value->args[0], w->axes[0].out) ==
                cpu_scaled(w->loops->graph, row, step))
            w->axes[0].step = w->axes[1].step = step;
    }
    if (!w->axes[0].step)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!read_bounds(w, conditions[i]))
            return 0;
    }
    return 1;
}

/* Whether `stmt` is a nest of such loops and nothing else. */
static int find(struct windows *w, bt_stmt *stmt)
{
    bt_graph *g = w->loops->graph;
    while (stmt->kind == BT_STMT_FOR && w->nloop < MOST_LOOPS) {
        w->all[w->nloop++] = stmt;
        if (stmt->body.len != 1)
            break;
        stmt = stmt->body.at[0];
    }
    if (w->nloop < 2 || stmt != w->all[w->nloop - 1] || stmt->body.len != 3)
        return 0;
    w->axes[0].out = w->all[w->nloop - 2];
    w->axes[1].out = stmt;
    w->store = stmt->body.at[2];
    if (!look_at_taps(w, stmt->body.at[1]) ||
        !starts(w, stmt->body.at[0], w->take->reducer) || !look_at_store(w))
        return 0;
    for (uint32_t i = 0; i < w->nloop; i++) {
        if (!growth(g, w->take->value->args[0], w->all[i]) ||
            !growth(g, w->store->offset, w->all[i]))
            return 0;
    }
    return grows_by(g, w->store->offset, w->axes[1].out, 1) && complete(w);
}

/* ---- the nest ---- */

/* The divisor of each place, for all planes. 0: failure. */
static int emit_divisor(const struct windows *w, bt_stmts *to, uint32_t *out)
{
    const struct axis *y = &w->axes[0], *x = &w->axes[1];
    bt_graph *g = w->loops->graph;
    bt_stmt *rows = bt_stmt_add(w->loops, to, BT_STMT_FOR);
    bt_stmt *columns = rows ? bt_stmt_add(w->loops, &rows->body, BT_STMT_FOR) : NULL;
    bt_stmt *store =
        columns ? bt_stmt_add(w->loops, &columns->body, BT_STMT_STORE) : NULL;
    if (!store || !cpu_emit_buffer(w->loops, BT_BUFFER_TEMP, BT_FLOAT32,
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
    bt_graph *g = w->loops->graph;
    const struct axis *y = &w->axes[0], *x = &w->axes[1];
    const bt_node *zero = bt_node_int(g, 0), *x_at = w->take->value->args[0],
                  *y_at = w->store->offset;
    const bt_node *x_row = growth(g, x_at, y->tap), *y_row = growth(g, y_at, y->out);
    const bt_node *x_plane = plane ? growth(g, x_at, plane) : zero,
                  *y_plane = plane ? growth(g, y_at, plane) : zero;
    struct cpu_emitter e = { w->loops, to, 0 };
    x_at = at_first(w, x_at);
    y_at = at_first(w, y_at);
    if (plane && x_at && y_at) {
        x_at = bt_node_substitute(g, x_at, plane->index, k);
        y_at = bt_node_substitute(g, y_at, plane->index, k);
    }
    // the call finds what is outside from where the plane begins
    x_at = cpu_minus(g, cpu_minus(g, x_at, cpu_times(g, x_row, y->before)), x->before);
    y_at = cpu_along(g, y_at, r, y_row);
    const struct cpu_address addresses[CPU_PLANES_NPOINTER] = {
        { w->store->buffer, y_at },
        { w->take->value->which, x_at },
        w->divisor ? (struct cpu_address){ divisor, cpu_times(g, r, x->out->extent) }
                   : (struct cpu_address){ w->take->value->which, x_at },
    };
    const bt_node *integers[CPU_PLANES_NINT] = {
        [CPU_PLANES_PLANES] = planes,
        [CPU_PLANES_ROWS] = nrow,
        [CPU_PLANES_COLUMNS] = x->out->extent,
        [CPU_PLANES_SIDE] = bt_node_int(g, w->side),
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
                         w->take->reducer == BT_REDUCER_SUM ? "planes_sum.float32"
                                                            : "planes_max.float32",
                         CPU_PLANES_NPOINTER, addresses, CPU_PLANES_NINT, integers);
}

/* A loop over blocks of planes, or where there are none, of rows, in the place of loop number
 * `at`, and in it the call. 0: failure. */
static int emit_blocks(const struct windows *w, uint32_t nthread, uint32_t divisor,
                       bt_stmts *to)
{
    enum { MOST_PLANES = 16 };
    bt_graph *g = w->loops->graph;
    const bt_stmt *plane = w->nloop > 2 ? w->all[w->nloop - 3] : NULL;
    const bt_stmt *rows = w->axes[0].out, *around = plane ? plane : rows;
    const int64_t size =
        block_of(around->extent, nthread, plane ? MOST_PLANES : INT64_MAX);
    const bt_node *zero = bt_node_int(g, 0), *count = around->extent, *at = zero;
    bt_stmt *loop = bt_stmt_add(w->loops, to, BT_STMT_FOR);
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
    if (w->nloop <= 3)
        return emit_blocks(w, config->nthread, divisor, &made) &&
               bt_stmts_replace(w->loops, &w->loops->body, which, &made);
    bt_stmt *last = w->all[w->nloop - 4];
    last->body = (bt_stmts){ 0 };
    w->all[0]->is_parallel = 1;
    return emit_blocks(w, config->nthread, divisor, &last->body) &&
           BT_PUSH(w->loops->arena, &made, w->all[0]) &&
           bt_stmts_replace(w->loops, &w->loops->body, which, &made);
}

/* Loops around the rows are one, where they can be. */
static bt_status collapse_around(const struct windows *w)
{
    for (uint32_t i = w->nloop - 3; i-- > 0;) {
        const bt_status status = bt_loops_collapse(w->loops, w->all[i]);
        if (status)
            return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    }
    return NULL;
}

static bt_status call_planes(bt_loops *loops, bt_arena *scratch,
                             const struct cpu_config *config)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        const struct windows none = { .loops = loops, .arena = scratch };
        struct windows w = none;
        int is_found = find(&w, loops->body.at[i]);
        if (is_found && w.nloop > 3) {
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
