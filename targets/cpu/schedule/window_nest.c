/* Which nests are windows around places of an image. */
#include "window_nest.h"

#include "contract.h"

/* ---- expressions ---- */

static uint64_t bit_of(const bt_stmt *loop)
{
    return bt_index_bit(loop->index);
}

const bt_node *cpu_growth(bt_graph *g, const bt_node *node, const bt_stmt *loop)
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

int cpu_grows_by(bt_graph *g, const bt_node *node, const bt_stmt *loop, int64_t by)
{
    const bt_node *is = cpu_growth(g, node, loop);
    return is && is == bt_node_int(g, by);
}

static const bt_node *at_zero(bt_graph *g, const bt_node *node, const bt_stmt *loop)
{
    return node && loop ? bt_node_substitute(g, node, loop->index, bt_node_int(g, 0))
                        : node;
}

const bt_node *cpu_first_in_nest(const struct cpu_window_nest *w, const bt_node *node)
{
    for (uint32_t i = 0; i < 2; i++) {
        node = at_zero(w->loops->graph, node, w->axes[i].out);
        node = at_zero(w->loops->graph, node, w->axes[i].tap);
    }
    return at_zero(w->loops->graph, node, w->channel);
}

const bt_node *cpu_image_of_nest(const struct cpu_window_nest *w, const bt_node *place)
{
    bt_graph *g = w->loops->graph;
    const bt_node *at = cpu_first_in_nest(w, place);
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *by = cpu_growth(g, place, w->axes[i].tap);
        at = cpu_minus(g, at, cpu_times(g, by, w->axes[i].before));
    }
    return at;
}

int cpu_is_made_before(const struct cpu_window_nest *w, const bt_node *node,
                       uint64_t indices, uint8_t *seen)
{
    const bt_loops *loops = w->loops;
    if (seen[node->id])
        return 1;
    seen[node->id] = 1;
    if ((node->free & ~indices) ||
        (node->kind == BT_NODE_READ && (loops->roles.at[node->which] == BT_BUFFER_LOCAL ||
                                        node->which == w->store->buffer)))
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!cpu_is_made_before(w, node->args[i], indices, seen))
            return 0;
    }
    return 1;
}

/* ---- conditions ---- */

/* 0 <= term, of one axis: its beginning, or its end. 0: it is something else. */
static int read_bound(struct cpu_window_nest *w, const bt_node *conjunct)
{
    bt_graph *g = w->loops->graph;
    int64_t zero;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_LE ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0)
        return 0;
    const bt_node *term = conjunct->args[1], *first = cpu_first_in_nest(w, term);
    uint64_t rest = 0;
    for (uint32_t i = 0; i < w->nloop; i++)
        rest |= bit_of(w->all[i]);
    for (uint32_t i = 0; first && i < 2; i++) {
        struct cpu_window_axis *axis = &w->axes[i];
        const uint64_t own = bit_of(axis->out) | bit_of(axis->tap);
        if (!(term->free & bit_of(axis->tap)) || (term->free & rest & ~own) ||
            (term->free & bit_of(w->axes[1 - i].tap)))
            continue;
        if (!axis->before && cpu_grows_by(g, term, axis->tap, 1) &&
            cpu_grows_by(g, term, axis->out, axis->step))
            return (axis->before = first) != NULL;
        if (!axis->size && cpu_grows_by(g, term, axis->tap, -1) &&
            cpu_grows_by(g, term, axis->out, -axis->step))
            return (axis->size = first) != NULL;
    }
    return 0;
}

static int read_bounds(struct cpu_window_nest *w, const bt_node *condition)
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
static int complete(struct cpu_window_nest *w)
{
    bt_graph *g = w->loops->graph;
    for (uint32_t i = 0; i < 2; i++) {
        struct cpu_window_axis *axis = &w->axes[i];
        const bt_node *last = bt_node_linear(g, axis->taps - 1 - axis->step, 1,
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

/* As many places from one window to the next as that makes taps; 0: none. */
static int64_t step_of(bt_graph *g, const struct cpu_window_axis *axis,
                       const bt_node *place)
{
    enum { MAX_STEP = 8 };
    const bt_node *tap = cpu_growth(g, place, axis->tap);
    const bt_node *out = tap ? cpu_growth(g, place, axis->out) : NULL;
    for (int64_t step = 1; out && step <= MAX_STEP; step++) {
        if (out == cpu_scaled(g, tap, step) && !cpu_is_size(tap, 0))
            return step;
    }
    return 0;
}

int cpu_measure_window_nest(struct cpu_window_nest *w, const bt_node *place)
{
    for (uint32_t i = 0; i < 2; i++) {
        w->axes[i].step = step_of(w->loops->graph, &w->axes[i], place);
        if (!w->axes[i].step)
            return 0;
    }
    for (uint32_t i = 0; i < w->ncondition; i++) {
        if (!read_bounds(w, w->conditions[i]))
            return 0;
    }
    return complete(w);
}

/* ---- loops ---- */

/* The loops of taps and their conditions. */
static int look_at_taps(struct cpu_window_nest *w, const bt_stmt *stmt)
{
    uint32_t nloop = 0;
    for (; stmt->kind == BT_STMT_FOR || stmt->kind == BT_STMT_IF;
         stmt = stmt->body.at[0]) {
        if (stmt->body.len != 1 || (stmt->kind == BT_STMT_FOR && nloop == 2) ||
            (stmt->kind == BT_STMT_IF &&
             (stmt->otherwise.len || w->ncondition == CPU_NEST_CONDITIONS)))
            return 0;
        if (stmt->kind == BT_STMT_IF) {
            w->conditions[w->ncondition++] = stmt->condition;
            continue;
        }
        w->axes[nloop].taps = bt_node_number(stmt->extent);
        w->axes[nloop++].tap = stmt;
    }
    w->take = stmt;
    return nloop == 2 && w->axes[0].taps > 0 && w->axes[1].taps > 0 &&
           stmt->kind == BT_STMT_TAKE && !stmt->position;
}

int cpu_find_window_nest(struct cpu_window_nest *w, bt_stmt *stmt, int has_channel)
{
    const uint32_t nown = has_channel ? 3 : 2;
    while (stmt->kind == BT_STMT_FOR && w->nloop < CPU_NEST_LOOPS) {
        w->all[w->nloop++] = stmt;
        if (stmt->body.len != 1)
            break;
        stmt = stmt->body.at[0];
    }
    if (w->nloop < nown || stmt != w->all[w->nloop - 1] || stmt->body.len != 3)
        return 0;
    w->axes[0].out = w->all[w->nloop - nown];
    w->axes[1].out = w->all[w->nloop - nown + 1];
    w->channel = has_channel ? stmt : NULL;
    w->start = stmt->body.at[0];
    w->store = stmt->body.at[2];
    return look_at_taps(w, stmt->body.at[1]) && w->start->kind == BT_STMT_STORE &&
           w->start->buffer == w->take->buffer &&
           w->start->value->kind == BT_NODE_CONST && w->store->kind == BT_STMT_STORE &&
           w->store->buffer != w->take->buffer;
}
