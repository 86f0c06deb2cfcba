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
 * A condition about what is read chooses places by their numbers, which grow along both loops:
 *
 *     if ((x[...] == y[28*i2 + i3]) || isnan(x[...])) { t[0] min= 3*i4 + i5     window_first
 *     if (k[...] == 3*i4 + i5) { t[0] sum= x[...]                              window_sum_where
 *
 * What conditions leave out are the first iterations of a loop, or the last ones. Lanes of which
 * none are left out by a condition that is about them go together; the others, at both ends, one
 * by one.
 */
#include "lanes.h"

#include <string.h>

enum { MAX_SIDE = 16 }; // beyond, rows one after the other are nearer to each other

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
    const bt_node *read; /* at places of windows */
    /* Of a choice: what each lane compares them with, or the numbers chosen, which stand at the
     * same places; of a place its number. NULL: all is taken. */
    const bt_node *extreme, *chosen, *number;
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

/* ---- what is chosen ---- */

/* Where an extreme stands first. */
static int find_first(struct window *w, const bt_node *condition, const bt_stmt *take)
{
    for (uint32_t i = 0; cpu_is_scalar(condition, BT_SCALAR_OR) && i < 2; i++) {
        const bt_node *nan = condition->args[i], *same = condition->args[1 - i];
        if (take->reducer != BT_REDUCER_MIN || !cpu_is_scalar(nan, BT_SCALAR_ISNAN) ||
            !cpu_is_scalar(same, BT_SCALAR_EQ))
            continue;
        w->read = nan->args[0];
        w->number = take->value;
        w->extreme = same->args[same->args[0] == w->read];
        return same->args[0] == w->read || same->args[1] == w->read;
    }
    return 0;
}

/* What has a number that stands beside it. */
static int find_chosen(struct window *w, const bt_node *condition, const bt_stmt *take)
{
    const bt_node *read = take->value;
    for (uint32_t i = 0; cpu_is_scalar(condition, BT_SCALAR_EQ) && i < 2; i++) {
        const bt_node *at = condition->args[i];
        if (take->reducer != BT_REDUCER_SUM || read->kind != BT_NODE_READ ||
            at->kind != BT_NODE_READ || at->args[0] != read->args[0])
            continue;
        w->read = read;
        w->chosen = at;
        w->number = condition->args[1 - i];
        return 1;
    }
    return 0;
}

static int is_choice(struct cpu_part *p, struct window *w, const bt_node *condition,
                     const bt_stmt *take)
{
    const struct cpu_lanes *l = p->lanes;
    if (take->kind != BT_STMT_TAKE ||
        (!find_first(w, condition, take) && !find_chosen(w, condition, take)))
        return 0;
    int ok =
        w->read->dtype == BT_FLOAT32 && w->number->kind == BT_NODE_CAST &&
        w->number->dtype == BT_INT32 && w->number->args[0]->dtype == BT_INT64 &&
        cpu_is_integer(w->number->args[0]) && !cpu_is_varying(p->lanes, w->number) &&
        l->v->graph->arrays[take->buffer]->dtype == (w->chosen ? BT_FLOAT32 : BT_INT32);
    if (!ok)
        return 0;
    w->number = w->number->args[0];
    if (w->chosen)
        return w->chosen->dtype == BT_INT32 && !cpu_is_own(l, w->chosen->which);
    ok = w->extreme->dtype == BT_FLOAT32 && cpu_is_varying(p->lanes, w->extreme);
    for (uint32_t i = 0; ok && i < w->nloop; i++)
        ok = !(w->extreme->free & bt_index_bit(w->loops[i]->index));
    return ok;
}

static int is_taken(struct cpu_part *p, struct window *w)
{
    const bt_stmt *take = w->take;
    const struct cpu_lanes *l = p->lanes;
    const bt_node *read = w->number ? w->read : take->value;
    int ok = take->kind == BT_STMT_TAKE && !take->position &&
             (take->reducer == BT_REDUCER_SUM || take->reducer == BT_REDUCER_MAX ||
              take->reducer == BT_REDUCER_MIN) &&
             read->kind == BT_NODE_READ && cpu_is_own(l, take->buffer) &&
             !cpu_is_own(l, read->which) && read->which != take->buffer &&
             (w->number || read->dtype == l->v->graph->arrays[take->buffer]->dtype) &&
             (read->dtype == BT_FLOAT32 || read->dtype == BT_FLOAT64);
    w->read = read;
    for (uint32_t i = 0; ok && i < w->nloop; i++) {
        ok = !(take->offset->free & bt_index_bit(w->loops[i]->index));
        (void)change_by(read->args[0], w->loops[i]->index, &ok);
        if (w->number)
            (void)change_by(w->number, w->loops[i]->index, &ok);
    }
    return ok;
}

static int find(struct cpu_part *p, const bt_stmt *stmt, struct window *w)
{
    while (stmt->kind == BT_STMT_FOR || stmt->kind == BT_STMT_IF) {
        if (stmt->kind == BT_STMT_FOR) {
            if (w->nloop == 2 || extent_of(stmt) < 1 || extent_of(stmt) > MAX_SIDE)
                return 0;
            w->loops[w->nloop++] = stmt;
        }
        if (stmt->body.len != 1 || stmt->otherwise.len)
            return 0;
        if (stmt->kind == BT_STMT_IF &&
            !is_choice(p, w, stmt->condition, stmt->body.at[0]) &&
            !add_ends(p, w, stmt->condition))
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
                const struct cpu_value *beside, const bt_node *from, int64_t stride,
                const bt_node *lane)
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
    const bt_node *number = w->number ? w->number : zero;
    int64_t by_number[2] = { 0, 0 };
    sides[2] = bt_node_int(g, 1);
    sides[3] = zero;
    for (uint32_t i = 0; at && number && i < w->nloop; i++) {
        const int64_t coef = change_by(w->read->args[0], w->loops[i]->index, &(int){ 1 });
        const uint32_t side = 2 * (w->nloop - 1 - i);
        at = bt_node_linear(g, 0, 2, (const bt_node *[]){ at, low[i] },
                            (int64_t[]){ 1, coef });
        sides[side] = bt_node_scalar(g, BT_SCALAR_SUB, high[i], low[i]);
        sides[side] = bt_node_scalar(g, BT_SCALAR_MAX, sides[side], zero);
        sides[side + 1] = bt_node_int(g, coef);
        by_number[side / 2] = change_by(number, w->loops[i]->index, &(int){ 1 });
        number = bt_node_substitute(g, number, w->loops[i]->index, low[i]);
    }
    if (w->number)
        strcpy(name, w->chosen ? "window_sum_where" : "window_first");
    else
        strcat(name, bt_reducer_name(w->take->reducer));
    struct cpu_call call = {
        .name = cpu_strip_name(v, name, w->read->dtype, ""),
        .naddress = w->number ? 3 : 2,
        .ninteger = w->number ? 8 : 5,
        .at = { *to,
                { .buffer = w->read->which, .dtype = w->read->dtype, .offset = at },
                *beside },
        .integers = { bt_node_int(g, stride), sides[0], sides[1], sides[2], sides[3],
                      number, bt_node_int(g, by_number[0]),
                      bt_node_int(g, by_number[1]) },
    };
    if (w->chosen)
        call.at[2].offset = at;
    return at && number && call.name && cpu_emit(p, &call, 1);
}

/* Lanes low ... high - 1, one by one. */
static int emit_each(struct cpu_part *p, const struct window *w,
                     const struct cpu_value *to, const struct cpu_value *beside,
                     const bt_node *from, int64_t stride, const bt_node *low,
                     const bt_node *high)
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
        return one.count && emit(&one, w, to, beside, from, stride, low);
    bt_stmt *loop = bt_stmt_add(v->loops, p->to, BT_STMT_FOR);
    const bt_node *index = bt_node_index(g, w->loops[0]->index, extent);
    if (!loop || !index)
        return 0;
    loop->index = w->loops[0]->index; // that loop is gone
    loop->extent = extent;
    one.to = &loop->body;
    one.at = bt_node_scalar(g, BT_SCALAR_ADD, low, index);
    return one.at && one.count && emit(&one, w, to, beside, from, stride, one.at);
}

/* Iterations of a loop that ends about no lane leave out, as far as they are numbers. */
static void find_others(const struct window *w, uint32_t loop, int64_t *first,
                        int64_t *last)
{
    *first = 0;
    *last = extent_of(w->loops[loop]) - 1;
    for (uint32_t i = 0; i < w->ends.len; i++) {
        const struct end *e = &w->ends.at[i];
        bt_linear in;
        bt_node_as_linear(e->term, &in);
        if (e->loop != loop || e->by_lane || in.n != 1)
            continue;
        // 0 <= coef * iteration + constant
        if (e->coef > 0 && *first < bt_ceildiv_int64(-in.constant, e->coef))
            *first = bt_ceildiv_int64(-in.constant, e->coef);
        if (e->coef < 0 && *last > bt_floordiv_int64(in.constant, -e->coef))
            *last = bt_floordiv_int64(in.constant, -e->coef);
    }
}

/* Lanes of which no end leaves out an iteration that others do not. */
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
        int64_t nearest, furthest;
        find_others(w, e->loop, &nearest, &furthest);
        if (first)
            first = bt_node_linear(g, e->coef * (e->coef < 0 ? furthest : nearest), 1,
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
    struct cpu_value to, beside = { 0 };
    struct cpu_part own, whole;
    bt_map uses;
    int64_t stride, from_stride;
    const bt_node *from, *low, *high, *end;
    *is_done = 0;
    if (p->mask || p->is_guarded || p->lanes->index < 0 || !find(p, stmt, &w))
        return !v->graph->status;
    const bt_node *offset = w.read->args[0];
    for (uint32_t i = 0; i < w.nloop && offset; i++)
        offset = bt_node_substitute(g, offset, w.loops[i]->index, bt_node_int(g, 0));
    if (!offset || !cpu_is_varying(p->lanes, offset) ||
        !cpu_statement_open(p, &own, &uses, w.extreme ? 3 : 2,
                            (const bt_node *[]){ offset, w.take->offset, w.extreme }))
        return !v->graph->status;
    const int has_place = cpu_place_of(&own, offset, &from, &from_stride);
    // what is chosen by vectors only is worth a call
    if (!has_place || (w.number && from_stride != 1 && from_stride != 2)) {
        cpu_part_close(&own);
        return !v->why && !v->graph->status;
    }
    end = bt_node_scalar(g, BT_SCALAR_ADD, p->at, p->count);
    *is_done = 1;
    if (w.chosen)
        beside = (struct cpu_value){ .buffer = w.chosen->which, .dtype = BT_INT32 };
    int ok = end && (!w.extreme || cpu_eval(&own, w.extreme, &beside)) &&
             cpu_target_of(&own, w.take->buffer, w.take->offset, &to, &stride) &&
             find_whole(&own, &w, &low, &high) &&
             emit_each(&own, &w, &to, &beside, from, from_stride, p->at, low) &&
             cpu_part_narrow(&own, low, high, &whole) &&
             (!whole.to || emit(&whole, &w, &to, &beside, from, from_stride, NULL)) &&
             emit_each(&own, &w, &to, &beside, from, from_stride, high, end);
    cpu_part_close(&own);
    return ok;
}
