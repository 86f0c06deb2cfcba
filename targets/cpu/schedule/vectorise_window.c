/*
 * Windows: loops in which each lane takes what lies around a place of its own, as calls.
 *
 *     for i4 in 3 {
 *         if (0 <= 2*i2 + i4 - 1) {
 *             for i5 in 3 {
 *                 if (0 <= 2*i3 + i5 - 1) {
 *                     t[0] max= x[56*i2 + 2*i3 + 28*i4 + i5 - 29]
 *
 *     window_max.float32(&t[1], &x[...], 27, 2, 3, 1, min(3, ...) - max(0, ...), 28)
 *
 * What conditions leave out are the first iterations of a loop, or the last ones. Lanes of which
 * none are left out by a condition that is about them go together; the others, at both ends, one
 * by one.
 */
#include "lanes.h"

#include <string.h>

enum { MOST_SIDE = 16 }; // beyond, rows one after the other are nearer to each other

/* 0 <= term, which is about a loop's index. */
struct end {
    const bt_node *term;
    int64_t coef, by_lane; /* from iteration to iteration, from lane to lane */
    uint32_t loop;
};

struct window {
    uint32_t nloop;
    const bt_stmt *loops[2]; /* outermost first */
    bt_vec(struct end) ends;
    const bt_stmt *take;
};

static int64_t extent_of(const bt_stmt *loop)
{
    return bt_node_number(loop->extent);
}

/* ---- which loops are windows ---- */

/* How much the node changes from one iteration to the next; 0 of *ok: by no number. */
static int64_t change_by(const bt_node *node, int64_t index, int *ok)
{
    bt_linear in;
    bt_node_as_linear(node, &in);
    for (uint32_t i = 0; i < in.n; i++)
        *ok &= in.atoms[i]->kind == BT_NODE_INDEX || index < 0 ||
               !(in.atoms[i]->free & bt_index_bit((uint32_t)index));
    return index < 0 ? 0 : bt_linear_coef(&in, (uint32_t)index);
}

static int add_end(struct cpu_part *p, struct window *w, const bt_node *conjunct)
{
    int64_t zero;
    int ok = 1;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_LE ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0)
        return 0;
    struct end end = { .term = conjunct->args[1] };
    uint32_t nchanged = 0;
    end.by_lane = change_by(end.term, p->lanes->index, &ok);
    for (uint32_t i = 0; i < w->nloop; i++) {
        const int64_t coef = change_by(end.term, w->loops[i]->index, &ok);
        if (!coef)
            continue;
        end.coef = coef;
        end.loop = i;
        nchanged++;
    }
    return ok && nchanged == 1 && end.term->low > INT64_MIN / 4 &&
           end.term->high < INT64_MAX / 4 && cpu_is_integer(end.term) &&
           BT_PUSH(p->lanes->v->scratch, &w->ends, end);
}

static int add_ends(struct cpu_part *p, struct window *w, const bt_node *condition)
{
    bt_nodes all = { 0 };
    if (!bt_node_conjuncts(p->lanes->v->scratch, condition, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        if (!add_end(p, w, all.at[i]))
            return 0;
    }
    return 1;
}

static int is_taken(struct cpu_part *p, const struct window *w)
{
    const bt_stmt *take = w->take;
    const struct cpu_lanes *l = p->lanes;
    const bt_node *read = take->value;
    int ok = take->kind == BT_STMT_TAKE && !take->position &&
             (take->reducer == BT_REDUCER_SUM || take->reducer == BT_REDUCER_MAX ||
              take->reducer == BT_REDUCER_MIN) &&
             read->kind == BT_NODE_READ && cpu_is_own(l, take->buffer) &&
             !cpu_is_own(l, read->which) && read->which != take->buffer &&
             read->dtype == l->v->graph->arrays[take->buffer]->dtype &&
             (read->dtype == BT_FLOAT32 || read->dtype == BT_FLOAT64);
    for (uint32_t i = 0; ok && i < w->nloop; i++) {
        ok = !(take->offset->free & bt_index_bit(w->loops[i]->index));
        (void)change_by(read->args[0], w->loops[i]->index, &ok);
    }
    return ok;
}

static int find(struct cpu_part *p, const bt_stmt *stmt, struct window *w)
{
    while (stmt->kind == BT_STMT_FOR || stmt->kind == BT_STMT_IF) {
        if (stmt->kind == BT_STMT_FOR) {
            if (w->nloop == 2 || extent_of(stmt) < 1 || extent_of(stmt) > MOST_SIDE)
                return 0;
            w->loops[w->nloop++] = stmt;
        } else if (stmt->otherwise.len || !add_ends(p, w, stmt->condition)) {
            return 0;
        }
        if (stmt->body.len != 1)
            return 0;
        stmt = stmt->body.at[0];
    }
    w->take = stmt;
    return is_taken(p, w);
}

/* ---- calls ---- */

/* The end's term at iteration 0 of its loop, of the lane, of lane 0 if NULL. */
static const bt_node *end_at(struct cpu_part *p, const struct window *w,
                             const struct end *end, const bt_node *lane)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *first =
        bt_node_substitute(g, end->term, w->loops[end->loop]->index, bt_node_int(g, 0));
    first = first ? cpu_at_first(p->lanes, first) : NULL;
    return first && lane ? bt_node_linear(g, 0, 2, (const bt_node *[]){ first, lane },
                                          (int64_t[]){ 1, end->by_lane })
                         : first;
}

/* The windows of the part's lanes: of several, where no end is about them, or of one. */
static int emit(struct cpu_part *p, const struct window *w, const struct cpu_value *to,
                const bt_node *from, int64_t stride, const bt_node *lane)
{
    struct vectoriser *v = p->lanes->v;
    bt_graph *g = v->graph;
    const bt_node *zero = bt_node_int(g, 0), *low[2] = { zero, zero };
    const bt_node *high[2], *sides[4];
    char name[32] = "window_";
    for (uint32_t i = 0; i < w->nloop; i++)
        high[i] = w->loops[i]->extent;
    for (uint32_t i = 0; i < w->ends.len; i++) {
        const struct end *end = &w->ends.at[i];
        const bt_node *first = end->by_lane && !lane ? NULL : end_at(p, w, end, lane);
        if (end->by_lane && !lane)
            continue;
        if (!first || !cpu_narrow(g, first, end->coef, &low[end->loop], &high[end->loop]))
            return 0;
    }
    const bt_node *at = bt_node_linear(g, 0, 2, (const bt_node *[]){ from, p->at },
                                       (int64_t[]){ 1, stride });
    sides[2] = bt_node_int(g, 1);
    sides[3] = zero;
    for (uint32_t i = 0; at && i < w->nloop; i++) {
        const int64_t coef =
            change_by(w->take->value->args[0], w->loops[i]->index, &(int){ 1 });
        const uint32_t side = 2 * (w->nloop - 1 - i);
        at = bt_node_linear(g, 0, 2, (const bt_node *[]){ at, low[i] },
                            (int64_t[]){ 1, coef });
        sides[side] = bt_node_scalar(g, BT_SCALAR_SUB, high[i], low[i]);
        sides[side] = bt_node_scalar(g, BT_SCALAR_MAX, sides[side], zero);
        sides[side + 1] = bt_node_int(g, coef);
    }
    strcat(name, bt_reducer_name(w->take->reducer));
    struct cpu_call call = {
        .name = cpu_strip_name(v, name, to->dtype, ""),
        .naddress = 2,
        .ninteger = 5,
        .at = { *to,
                { .buffer = w->take->value->which, .dtype = to->dtype, .offset = at } },
        .integers = { bt_node_int(g, stride), sides[0], sides[1], sides[2], sides[3] },
    };
    return at && call.name && cpu_emit(p, &call, 1);
}

/* Lanes low ... high - 1, one by one. */
static int emit_each(struct cpu_part *p, const struct window *w,
                     const struct cpu_value *to, const bt_node *from, int64_t stride,
                     const bt_node *low, const bt_node *high)
{
    struct vectoriser *v = p->lanes->v;
    bt_graph *g = v->graph;
    struct cpu_part one = *p;
    const bt_node *extent = bt_node_scalar(g, BT_SCALAR_SUB, high, low);
    if (!extent || bt_node_number(extent) == 0)
        return extent != NULL;
    one.at = low;
    one.count = bt_node_int(g, 1);
    if (bt_node_number(extent) == 1)
        return one.count && emit(&one, w, to, from, stride, low);
    bt_stmt *loop = bt_stmt_add(v->loops, p->to, BT_STMT_FOR);
    const bt_node *index = bt_node_index(g, w->loops[0]->index, extent);
    if (!loop || !index)
        return 0;
    loop->index = w->loops[0]->index; // that loop is gone
    loop->extent = extent;
    one.to = &loop->body;
    one.at = bt_node_scalar(g, BT_SCALAR_ADD, low, index);
    return one.at && one.count && emit(&one, w, to, from, stride, one.at);
}

/* Lanes of which no end leaves out an iteration. */
static int find_whole(struct cpu_part *p, const struct window *w, const bt_node **low,
                      const bt_node **high)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *end = bt_node_scalar(g, BT_SCALAR_ADD, p->at, p->count);
    *low = p->at;
    *high = end;
    for (uint32_t i = 0; i < w->ends.len; i++) {
        const struct end *e = &w->ends.at[i];
        const bt_node *first = e->by_lane ? end_at(p, w, e, NULL) : NULL;
        if (!e->by_lane)
            continue;
        if (first && e->coef < 0)
            first = bt_node_linear(g, e->coef * (extent_of(w->loops[e->loop]) - 1), 1,
                                   &first, (int64_t[]){ 1 });
        if (!first || !cpu_narrow(g, first, e->by_lane, low, high))
            return 0;
    }
    *low = bt_node_scalar(g, BT_SCALAR_MIN, *low, end);
    *high = bt_node_scalar(g, BT_SCALAR_MAX, *high, *low);
    return *low && *high;
}

int cpu_do_window(struct cpu_part *p, const bt_stmt *stmt, int *is_done)
{
    struct vectoriser *v = p->lanes->v;
    bt_graph *g = v->graph;
    struct window w = { 0 };
    struct cpu_value to;
    struct cpu_part own, whole;
    bt_map uses;
    int64_t stride, from_stride;
    const bt_node *from, *low, *high, *end;
    *is_done = 0;
    if (p->mask || p->is_guarded || p->lanes->index < 0 || !find(p, stmt, &w))
        return !v->graph->status;
    const bt_node *offset = w.take->value->args[0];
    for (uint32_t i = 0; i < w.nloop && offset; i++)
        offset = bt_node_substitute(g, offset, w.loops[i]->index, bt_node_int(g, 0));
    if (!offset || !cpu_is_varying(p->lanes, offset) ||
        !cpu_statement_open(p, &own, &uses, 2,
                            (const bt_node *[]){ offset, w.take->offset }))
        return !v->graph->status;
    if (!cpu_place_of(&own, offset, &from, &from_stride)) {
        cpu_part_close(&own);
        return !v->why && !v->graph->status;
    }
    end = bt_node_scalar(g, BT_SCALAR_ADD, p->at, p->count);
    *is_done = 1;
    int ok = end && cpu_target_of(&own, w.take->buffer, w.take->offset, &to, &stride) &&
             find_whole(&own, &w, &low, &high) &&
             emit_each(&own, &w, &to, from, from_stride, p->at, low) &&
             cpu_part_narrow(&own, low, high, &whole) &&
             (!whole.to || emit(&whole, &w, &to, from, from_stride, NULL)) &&
             emit_each(&own, &w, &to, from, from_stride, high, end);
    cpu_part_close(&own);
    return ok;
}
