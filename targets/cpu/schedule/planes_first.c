/*
 * The adjoint of maxima over windows of planes, as calls for several planes (primitives/planes.h):
 * positions of maxima, and what comes in taken from the windows of which a place is that.
 *
 *     for i1 in 512 {
 *         for i2 in 28 {
 *             for i3 in 28 {
 *                 t[0] = 2147483647
 *                 for i4 in 3 { if (0 <= 2*i2 + i4 - 1) { for i5 in 3 { if (0 <= 2*i3 + i5 - 1) {
 *                     if ((x[...] == y[784*i1 + 28*i2 + i3]) || isnan(x[...])) { t[0] min= 3*i4 + i5
 *                 at[784*i1 + 28*i2 + i3] = t[0]
 *     for i1 in 512 {
 *         for i2 in 56 {
 *             for i3 in 56 {
 *                 u[0] = 0
 *                 for i4 in 2 { if (...) { for i5 in 2 { if (...) {
 *                     if (at[784*i1 + 28*(i4 + floordiv(i2 + 1, 2) - 1) + ...] == 3*i2 - ... + 12) {
 *                         u[0] sum= d[the same]
 *                 g[3136*i1 + 56*i2 + i3] = f(u[0], ...)
 *
 *     for i1 in 64 {
 *         planes_first.float32(&w[0], &x[25088*i1], &y[6272*i1], &d[6272*i1], 8, 28, 28, ...)
 *         for i2 in 8 { ... g[...] = f(w[...], ...)
 *
 * Without f, w is g. Where windows have no place in common, there is a selection in place of the sum. Which
 * windows a place is in, and where in them, conditions say in many ways: these are followed place by
 * place along one axis after the other, and are what they should be or not.
 */
#include "planes_first.h"

#include <string.h>

#include "contract.h"
#include "lanes.h"
#include "planes.h"
#include "touch.h"

static bt_graph *graph_of(const struct cpu_first *f)
{
    return f->nest.loops->graph;
}

/* ---- integers of one iteration ---- */

struct iteration {
    int64_t at[BT_MAX_INDEX]; /* of each index, 0 if of none that counts */
    int is_known;             /* 0: there was something else */
};

/* What is read counts as 0. */
static int64_t value_of(struct iteration *it, const bt_node *node)
{
    int64_t a = 0, b = 0;
    switch (node->kind) {
    case BT_NODE_CONST: return node->value.i;
    case BT_NODE_INDEX: return it->at[node->which];
    case BT_NODE_READ: return 0;
    case BT_NODE_CAST: return value_of(it, node->args[0]);
    case BT_NODE_LINEAR:
        a = node->value.i;
        for (uint32_t i = 0; i < node->narg; i++)
            a += node->coefs[i] * value_of(it, node->args[i]);
        return a;
    case BT_NODE_SCALAR:
        a = value_of(it, node->args[0]);
        b = node->narg > 1 ? value_of(it, node->args[1]) : 0;
        switch (node->which) {
        case BT_SCALAR_FLOORDIV:
            if (b > 0)
                return bt_floordiv_int64(a, b);
            break;
        case BT_SCALAR_MOD:
            if (b > 0)
                return bt_mod_int64(a, b);
            break;
        case BT_SCALAR_LE: return a <= b;
        case BT_SCALAR_EQ: return a == b;
        default: break;
        }
        break;
    default: break;
    }
    it->is_known = 0;
    return 0;
}

/* ---- positions ---- */

static int is_read(const bt_node *node, bt_dtype dtype)
{
    return node->kind == BT_NODE_READ && node->dtype == dtype;
}

/* x == y || isnan(x) */
static int read_choice(struct cpu_first *f, const bt_node *condition)
{
    for (uint32_t i = 0; cpu_is_scalar(condition, BT_SCALAR_OR) && i < 2; i++) {
        const bt_node *nan = condition->args[i], *same = condition->args[1 - i];
        if (!cpu_is_scalar(nan, BT_SCALAR_ISNAN) || !cpu_is_scalar(same, BT_SCALAR_EQ))
            continue;
        f->x = nan->args[0];
        f->y = same->args[same->args[0] == f->x];
        return is_read(f->x, BT_FLOAT32) && is_read(f->y, BT_FLOAT32) &&
               (same->args[0] == f->x || same->args[1] == f->x);
    }
    return 0;
}

/* The position is side * i + j of the taps. */
static int is_row_major(const struct cpu_first *f, const bt_node *number)
{
    bt_graph *g = graph_of(f);
    const struct cpu_window_axis *axes = f->nest.axes;
    int64_t first;
    if (number->kind != BT_NODE_CAST || number->dtype != BT_INT32 ||
        number->args[0]->dtype != BT_INT64)
        return 0;
    number = number->args[0];
    const bt_node *at = cpu_first_in_nest(&f->nest, number);
    return at && bt_node_is_const(at, &first) && first == 0 &&
           (axes[0].taps == 1 || cpu_grows_by(g, number, axes[0].tap, axes[1].taps)) &&
           (axes[1].taps == 1 || cpu_grows_by(g, number, axes[1].tap, 1));
}

static int find_positions(struct cpu_first *f, bt_stmt *stmt)
{
    struct cpu_window_nest *n = &f->nest;
    bt_graph *g = graph_of(f);
    int64_t none;
    if (!cpu_find_window_nest(n, stmt, 0) || n->take->reducer != BT_REDUCER_MIN ||
        n->ncondition == 0 || !read_choice(f, n->conditions[--n->ncondition]) ||
        g->arrays[n->take->buffer]->dtype != BT_INT32 ||
        !bt_node_is_const(n->start->value, &none) || none != INT32_MAX ||
        !is_row_major(f, n->take->value) || !cpu_measure_window_nest(n, f->x->args[0]) ||
        !is_read(n->store->value, BT_INT32) ||
        n->store->value->which != n->take->buffer ||
        n->loops->roles.at[n->store->buffer] != BT_BUFFER_TEMP ||
        f->y->args[0] != n->store->offset ||
        !cpu_grows_by(g, f->x->args[0], n->axes[1].tap, 1) ||
        !cpu_grows_by(g, n->store->offset, n->axes[1].out, 1))
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_first_axis *a = &f->axes[i];
        a->side = n->axes[i].taps;
        a->step = n->axes[i].step;
        a->windows = bt_node_number(n->axes[i].out->extent);
        if (!bt_node_is_const(n->axes[i].before, &a->before) ||
            !bt_node_is_const(n->axes[i].size, &a->size) || a->windows < 1)
            return 0;
    }
    return 1;
}

/* ---- what is given back ---- */

/* A condition of a window: what it says of one axis, or its number. 0: it is something else. */
static int read_conjunct(struct cpu_first *f, const bt_node *conjunct)
{
    bt_linear l;
    const uint32_t positions = f->nest.store->buffer;
    for (uint32_t i = 0; i < 2 && !conjunct->reads; i++) {
        if (!(conjunct->free & ~f->axes[i].own))
            return BT_PUSH(f->nest.arena, &f->axes[i].inside, conjunct);
    }
    if (f->at || !cpu_is_scalar(conjunct, BT_SCALAR_EQ))
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *at = conjunct->args[i], *other = conjunct->args[1 - i];
        if (is_read(at, BT_INT32) && at->which == positions && !other->reads) {
            f->at = at;
            f->number = other;
            f->depends = other->free;
            f->sign = 1;
            return 1;
        }
        bt_node_as_linear(other, &l);
        for (uint32_t k = 0; cpu_is_size(at, 0) && k < l.n; k++) {
            const bt_node *read =
                l.atoms[k]->kind == BT_NODE_CAST ? l.atoms[k]->args[0] : NULL;
            if (!read || !is_read(read, BT_INT32) || read->which != positions ||
                (l.coefs[k] != 1 && l.coefs[k] != -1))
                continue;
            f->at = read;
            f->number = other;
            f->sign = -l.coefs[k];
            for (uint32_t j = 0; j < l.n; j++) {
                if (j != k && l.atoms[j]->reads)
                    return 0;
                f->depends |= j == k ? 0 : l.atoms[j]->free;
            }
            return 1;
        }
    }
    return 0;
}

/* Conditions that must hold together: also select(a, b, false). */
static int read_condition(struct cpu_first *f, const bt_node *condition)
{
    bt_nodes all = { 0 };
    if (!bt_node_conjuncts(f->nest.arena, condition, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        const bt_node *one = all.at[i];
        const int is_pair = one->kind == BT_NODE_SELECT && bt_node_is_false(one->args[2]);
        if (is_pair ? !read_condition(f, one->args[0]) || !read_condition(f, one->args[1])
                    : !read_conjunct(f, one))
            return 0;
    }
    return 1;
}

static int is_zero(const bt_node *node)
{
    return node->kind == BT_NODE_CONST && node->dtype == BT_FLOAT32 && node->value.f == 0;
}

/* The one node of a value that satisfies; NULL: there is none. */
static const bt_node *find_node(const bt_node *node,
                                int (*is)(const struct cpu_first *, const bt_node *),
                                const struct cpu_first *f, uint8_t *seen)
{
    const bt_node *found = NULL;
    if (!node->reads || seen[node->id])
        return NULL;
    seen[node->id] = 1;
    if (is(f, node))
        return node;
    for (uint32_t i = 0; i < node->narg && !found; i++)
        found = find_node(node->args[i], is, f, seen);
    return found;
}

static int reads_positions(const struct cpu_first *f, const bt_node *node)
{
    return is_read(node, BT_INT32) && node->which == f->nest.store->buffer;
}

static uint8_t *new_seen(const struct cpu_first *f)
{
    return BT_NEWS(f->nest.arena, uint8_t, graph_of(f)->nnode + 1);
}

/* select(c, d[..], 0) where c is about positions, or more of them inside. */
static int is_selection(const struct cpu_first *f, const bt_node *node)
{
    uint8_t *seen = new_seen(f);
    if (!seen || node->kind != BT_NODE_SELECT || !is_zero(node->args[2]))
        return 0;
    while (node->kind == BT_NODE_SELECT && is_zero(node->args[2])) {
        if (find_node(node->args[0], reads_positions, f, seen))
            return 1;
        node = node->args[1];
    }
    return 0;
}

static int read_selection(struct cpu_first *f)
{
    const bt_node *node = f->sum = f->store->value;
    uint8_t *seen = new_seen(f);
    node = f->sum = seen ? find_node(node, is_selection, f, seen) : NULL;
    if (!node)
        return 0;
    for (; node->kind == BT_NODE_SELECT && is_zero(node->args[2]); node = node->args[1]) {
        if (!read_condition(f, node->args[0]))
            return 0;
    }
    f->d = node;
    return f->at != NULL;
}

static int is_sum(const struct cpu_first *f, const bt_node *node)
{
    return node->kind == BT_NODE_READ && node->which == f->sum->which;
}

/* u = 0; the loops of taps; g = f(u) */
static int read_sum(struct cpu_first *f, const bt_stmts *body, const bt_stmt **take)
{
    const bt_stmt *stmt = body->at[1], *start = body->at[0];
    uint32_t ntap = 0;
    const bt_stmt *taps[2];
    bt_nodes conditions = { 0 };
    for (; stmt->kind == BT_STMT_FOR || stmt->kind == BT_STMT_IF;
         stmt = stmt->body.at[0]) {
        if (stmt->body.len != 1 || stmt->otherwise.len ||
            (stmt->kind == BT_STMT_FOR && ntap == 2))
            return 0;
        if (stmt->kind == BT_STMT_FOR)
            taps[ntap++] = stmt;
        else if (!BT_PUSH(f->nest.arena, &conditions, stmt->condition))
            return 0;
    }
    if (stmt->kind != BT_STMT_TAKE || stmt->position || ntap == 0 ||
        stmt->reducer != BT_REDUCER_SUM || start->kind != BT_STMT_STORE ||
        start->buffer != stmt->buffer || !is_zero(start->value) ||
        graph_of(f)->arrays[stmt->buffer]->dtype != BT_FLOAT32)
        return 0;
    *take = stmt;
    f->d = stmt->value;
    const int is_column = ntap == 1 && f->d->kind == BT_NODE_READ &&
                          cpu_grows_by(graph_of(f), f->d->args[0], taps[0], 1);
    for (uint32_t i = 0; i < ntap; i++) {
        struct cpu_first_axis *a = &f->axes[ntap == 2 ? i : (uint32_t)is_column];
        a->tap = taps[i];
        a->own |= bt_index_bit(taps[i]->index);
        if (bt_node_number(taps[i]->extent) < 1)
            return 0;
    }
    for (uint32_t i = 0; i < conditions.len; i++) {
        if (!read_condition(f, conditions.at[i]))
            return 0;
    }
    return f->at != NULL;
}

static int find_places(struct cpu_first *f, bt_stmt *stmt)
{
    const bt_stmt *take = NULL;
    while (stmt->kind == BT_STMT_FOR && f->nloop < CPU_NEST_LOOPS) {
        f->all[f->nloop++] = stmt;
        if (stmt->body.len != 1 || stmt->body.at[0]->kind != BT_STMT_FOR)
            break;
        stmt = stmt->body.at[0];
    }
    if (f->nloop < 2 || f->nloop != f->nest.nloop || stmt != f->all[f->nloop - 1] ||
        (stmt->body.len != 1 && stmt->body.len != 3))
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_first_axis *a = &f->axes[i];
        a->place = f->all[f->nloop - 2 + i];
        a->own = bt_index_bit(a->place->index);
        // what no window reaches may be behind all that windows reach
        const int64_t reached = a->before + (a->windows - 1) * a->step + a->side;
        const int64_t size = bt_node_number(a->place->extent);
        if (size < a->size || (size > a->size && a->size != reached))
            return 0;
        a->size = size;
    }
    for (uint32_t i = 0; i + 2 < f->nloop; i++) {
        if (f->all[i]->extent != f->nest.all[i]->extent)
            return 0;
    }
    f->store = stmt->body.at[stmt->body.len - 1];
    if (f->store->kind != BT_STMT_STORE || f->store->value->dtype != BT_FLOAT32)
        return 0;
    if (stmt->body.len == 1)
        return read_selection(f);
    if (!read_sum(f, &stmt->body, &take))
        return 0;
    uint8_t *seen = new_seen(f);
    const struct cpu_first probe = { .sum = &(const bt_node){ .which = take->buffer } };
    f->sum = seen ? find_node(f->store->value, is_sum, &probe, seen) : NULL;
    return f->sum != NULL;
}

/* ---- whether both belong to each other ---- */

static int64_t tap_count(const struct cpu_first_axis *a)
{
    return a->tap ? bt_node_number(a->tap->extent) : 1;
}

static int is_inside(const struct cpu_first_axis *a, struct iteration *it)
{
    int is = 1;
    for (uint32_t i = 0; i < a->inside.len && is; i++)
        is = value_of(it, a->inside.at[i]) != 0;
    return is;
}

static void put(struct iteration *it, const struct cpu_first_axis *a, int64_t place,
                int64_t tap)
{
    it->at[a->place->index] = place;
    if (a->tap)
        it->at[a->tap->index] = tap;
}

/* Each place is in the windows that it should be in, in their order: `found`, if not NULL, is told of
 * them. */
static int follow(struct cpu_first *f, uint32_t which,
                  int (*found)(struct cpu_first *, struct iteration *))
{
    struct cpu_first_axis *a = &f->axes[which];
    struct iteration it = { .is_known = 1 };
    put(&it, &f->axes[1 - which], f->axes[1 - which].at[0], f->axes[1 - which].at[1]);
    for (int64_t place = 0; place < a->size; place++) {
        // before + step * window + r == place, 0 <= r < side
        const int64_t at = place - a->before;
        const int64_t low = bt_ceildiv_int64(at - a->side + 1, a->step);
        int64_t window = low < 0 ? 0 : low, end = bt_floordiv_int64(at, a->step) + 1;
        end = end < a->windows ? end : a->windows;
        for (int64_t tap = 0; tap < tap_count(a); tap++) {
            put(&it, a, place, tap);
            if (!is_inside(a, &it))
                continue;
            a->window = window;
            a->r = at - a->step * window;
            // a selection's number may be that of no place where there is no window
            if (window >= end || !it.is_known || (found && !found(f, &it)))
                return 0;
            a->at[0] = place;
            a->at[1] = tap;
            window++;
        }
        if (window < end || !it.is_known)
            return 0;
    }
    return a->window >= 0;
}

/* The reads of a window, and the number of the place in it. */
static int is_right(struct cpu_first *f, struct iteration *it)
{
    const struct cpu_first_axis *y = &f->axes[0], *x = &f->axes[1];
    struct iteration first = { .is_known = 1 };
    const int64_t base = value_of(&first, f->nest.store->offset);
    int64_t y_row;
    const bt_node *row =
        cpu_growth(graph_of(f), f->nest.store->offset, f->nest.axes[0].out);
    if (!row || !bt_node_is_const(row, &y_row))
        return 0;
    return value_of(it, f->at->args[0]) == base + y->window * y_row + x->window &&
           f->sign * value_of(it, f->number) == y->r * x->side + x->r && it->is_known &&
           first.is_known;
}

/* Of planes, both go on alike. */
static int is_of_same_planes(const struct cpu_first *f)
{
    bt_graph *g = graph_of(f);
    for (uint32_t i = 0; i + 2 < f->nloop; i++) {
        const bt_node *from = cpu_growth(g, f->nest.store->offset, f->nest.all[i]);
        if (!from || from != cpu_growth(g, f->at->args[0], f->all[i]) ||
            !cpu_growth(g, f->x->args[0], f->nest.all[i]) ||
            !cpu_growth(g, f->store->offset, f->all[i]) ||
            (f->depends & bt_index_bit(f->all[i]->index)))
            return 0;
    }
    return 1;
}

/* Nothing else has to do with the positions or is written meanwhile. */
static int is_alone(const struct cpu_first *f, uint32_t at, uint8_t *const *touched)
{
    const bt_loops *loops = f->nest.loops;
    const uint32_t positions = f->nest.store->buffer;
    for (uint32_t i = 0; i < loops->body.len; i++) {
        if (i != at && i != at + 1 && touched[i][positions])
            return 0;
    }
    return f->store->buffer != f->x->which && f->store->buffer != f->y->which &&
           f->store->buffer != f->d->which;
}

static int belong_together(struct cpu_first *f)
{
    bt_graph *g = graph_of(f);
    struct cpu_first_axis *y = &f->axes[0], *x = &f->axes[1];
    const int is_apart = y->step >= y->side && x->step >= x->side;
    if (!is_read(f->d, BT_FLOAT32) || f->d->args[0] != f->at->args[0] ||
        is_apart != !(y->tap || x->tap) || f->store->value->reduces ||
        !cpu_grows_by(g, f->store->offset, x->place, 1) || !is_of_same_planes(f))
        return 0;
    y->window = x->window = -1;
    return follow(f, 0, NULL) && follow(f, 1, NULL) && follow(f, 0, is_right) &&
           follow(f, 1, is_right);
}

/* Whether the sum is all that the value takes of it. */
static int is_whole_left(const struct cpu_first *f)
{
    enum { MAX_NEAR = 1 << 18 };
    bt_graph *g = graph_of(f);
    const bt_node *rest;
    uint8_t *seen;
    if (f->sum == f->store->value)
        return 1;
    rest = cpu_first_with(f, bt_node_float(g, BT_FLOAT32, 0));
    seen = rest ? new_seen(f) : NULL;
    if (!seen || find_node(rest, reads_positions, f, seen) ||
        f->axes[0].size * f->axes[1].size > MAX_NEAR / (int64_t)sizeof(float))
        return 0;
    memset(seen, 0, g->nnode + 1);
    return f->sum->kind != BT_NODE_READ || !find_node(rest, is_sum, f, seen);
}

static int find(struct cpu_first *f, bt_loops *loops, uint32_t at,
                uint8_t *const *touched)
{
    return find_positions(f, loops->body.at[at]) &&
           find_places(f, loops->body.at[at + 1]) && is_alone(f, at, touched) &&
           belong_together(f) && is_whole_left(f);
}

static bt_status call_first(bt_loops *loops, bt_arena *scratch,
                            const struct cpu_config *config)
{
    for (uint32_t i = 0; i + 1 < loops->body.len; i++) {
        struct cpu_first f = { .nest = { .loops = loops, .arena = scratch } };
        uint8_t **touched;
        if (loops->body.at[i]->kind != BT_STMT_FOR ||
            loops->body.at[i + 1]->kind != BT_STMT_FOR)
            continue;
        if (!cpu_touch_all(scratch, config, loops, &touched))
            return bt_no_memory();
        if ((find(&f, loops, i, touched) && !cpu_first_replace(&f, i, config)) ||
            loops->graph->status)
            return bt_loops_why(loops);
    }
    return bt_arena_has_failed(scratch) ? bt_no_memory() : NULL;
}

bt_status cpu_call_planes_first(bt_loops *loops, const struct cpu_config *config)
{
    bt_arena *scratch = bt_arena_create(bt_ctx_registry(loops->ctx));
    const bt_status status =
        scratch ? call_first(loops, scratch, config) : bt_no_memory();
    bt_arena_destroy(scratch);
    return status;
}
