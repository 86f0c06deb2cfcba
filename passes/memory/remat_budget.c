/*
 * What is computed again so that all fits: greedily, at the peak of the bytes.
 *
 *        made    read        peak        read
 *     ----|-------|------------|-----------|----       a value that nobody reads at the peak
 *         |--lives|            .   again --|-|         computed again, it is gone between
 *
 * What it is computed of is computed again too, where that is not there any more. Of two ways to
 * choose, the one is taken that fits, for less time: neither finds all that the other does. Where
 * none fits, as cheap values were taken first of which dear ones are made, both go on from a cut
 * into equal segments: what stands at their ends is kept, and all between is computed again (T. Chen et
 * al., "Training Deep Nets with Sublinear Memory Cost", 2016).
 */
#include "memory/remat.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TRIES = 64 };

/* A life over the peak that may be interrupted. */
struct candidate {
    uint32_t life, from,
        to; /* steps of its last read before the peak and the next behind */
    double score;
};

struct budget {
    struct remat_plan *plan;
    bt_vec(struct candidate) candidates;
    uint32_t *reads;   /* by life: the last read up to the peak, ... */
    uint32_t *nexts;   /* ... and the first behind it */
    uint32_t *now;     /* by value: 1 + its last life */
    uint32_t *earlier; /* by life: 1 + the one before of its value; 0: it is the first */
};

static bt_status find_reads(struct budget *b)
{
    const struct remat_plan *plan = b->plan;
    uint32_t nlife = 0;
    b->reads = BT_NEWS(plan->arena, uint32_t, plan->lives.len);
    b->nexts = BT_NEWS(plan->arena, uint32_t, plan->lives.len);
    b->now = BT_NEWS(plan->arena, uint32_t, plan->n);
    b->earlier = BT_NEWS(plan->arena, uint32_t, plan->lives.len);
    if (!b->reads || !b->nexts || !b->now || !b->earlier)
        return bt_no_memory();
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const struct remat_value *v = &plan->values[plan->steps.at[s].value];
        if (v->is_alias)
            continue;
        for (uint32_t i = 0; i < v->in.len; i++) {
            const uint32_t life = b->now[v->in.at[i]] - 1;
            if (s <= plan->at)
                b->reads[life] = s;
            else if (!b->nexts[life])
                b->nexts[life] = s;
        }
        b->reads[nlife] = s;
        b->earlier[nlife] = b->now[plan->steps.at[s].value];
        b->now[plan->steps.at[s].value] = ++nlife;
    }
    return NULL;
}

/* Whether a value that was computed before a step is still there. */
static int is_there(const struct budget *b, uint32_t value, uint32_t step)
{
    uint32_t life = b->now[value];
    while (life && b->plan->lives.at[life - 1].first >= step)
        life = b->earlier[life - 1];
    return life && b->plan->lives.at[life - 1].last >= step;
}

/* Marks what is to be computed again for a value to be there at a step; gives its time. */
static bt_status find_chain(const struct budget *b, uint32_t value, uint32_t step,
                            uint8_t *again, double *ns)
{
    const struct remat_plan *plan = b->plan;
    remat_numbers rest = { 0 };
    *ns = 0;
    if (!BT_PUSH(plan->arena, &rest, value))
        return bt_no_memory();
    again[value] = 1;
    while (rest.len) {
        const struct remat_value *v = &plan->values[rest.at[--rest.len]];
        *ns += v->ns;
        for (uint32_t i = 0; i < v->in.len; i++) {
            const uint32_t number = v->in.at[i];
            const struct remat_value *in = &plan->values[number];
            if (again[number] || !in->nbytes || !in->may_again ||
                is_there(b, number, step))
                continue;
            again[number] = 1;
            if (!BT_PUSH(plan->arena, &rest, number))
                return bt_no_memory();
        }
    }
    return NULL;
}

static int by_score(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->score != y->score ? (x->score > y->score ? -1 : 1)
                                : (x->life < y->life ? -1 : x->life > y->life);
}

static bt_status find_candidates(struct budget *b, uint8_t *again)
{
    const struct remat_plan *plan = b->plan;
    b->candidates.len = 0;
    for (uint32_t i = 0; i < plan->lives.len; i++) {
        const struct remat_life *life = &plan->lives.at[i];
        const struct remat_value *v = &plan->values[life->value];
        struct candidate c = { .life = i, .from = b->reads[i], .to = b->nexts[i] };
        double ns;
        if (life->first >= plan->at || c.from == plan->at || !c.to || !v->nbytes ||
            !v->may_again)
            continue;
        memset(again, 0, plan->n);
        BT_TRY(find_chain(b, life->value, c.to, again, &ns));
        c.score = (double)v->nbytes * (c.to - c.from) / (ns > 1 ? ns : 1);
        if (!BT_PUSH(plan->arena, &b->candidates, c))
            return bt_no_memory();
    }
    if (b->candidates.len)
        qsort(b->candidates.at, b->candidates.len, sizeof(*b->candidates.at), by_score);
    return NULL;
}

/* What lives beyond the budget, summed over the steps. */
static double excess_of(const struct remat_plan *plan, int64_t most)
{
    double sum = 0;
    for (uint32_t s = 0; s < plan->steps.len; s++)
        sum += plan->nbytes[s] > most ? (double)(plan->nbytes[s] - most) : 0;
    return sum;
}

/* When one more chain is good: less lives at the peak, and nowhere more than that was; or less
 * beyond the budget over all, though for a moment there is a higher peak, which is lowered in its
 * turn. */
enum rule { BY_PEAK, BY_EXCESS };

static bt_status lower(struct remat_plan *plan, int64_t most, enum rule rule,
                       int *is_lower)
{
    const double excess = excess_of(plan, most);
    struct budget b = { .plan = plan };
    uint8_t *again = BT_NEWS(plan->arena, uint8_t, plan->n);
    double ns;
    *is_lower = 0;
    if (!again)
        return bt_no_memory();
    BT_TRY(find_reads(&b));
    BT_TRY(find_candidates(&b, again));
    for (uint32_t i = 0; i < b.candidates.len && i < MAX_TRIES; i++) {
        const struct candidate *c = &b.candidates.at[i];
        const void *mark = bt_arena_mark(plan->arena);
        struct remat_plan next = *plan;
        memset(again, 0, plan->n);
        BT_TRY(find_chain(&b, plan->lives.at[c->life].value, c->to, again, &ns));
        BT_TRY(remat_again(&next, plan->at, again));
        if (next.nbytes[plan->at] < plan->nbytes[plan->at] &&
            (rule == BY_PEAK ? next.peak <= plan->peak
                             : excess_of(&next, most) < excess)) {
            *plan = next;
            *is_lower = 1;
            return NULL;
        }
        bt_arena_release(plan->arena, mark);
    }
    return NULL;
}

/* The best plan on the way. tries_peak: chains are chosen by the peak as long as there are some. */
static bt_status fit(const struct remat_plan *from, int64_t most, int tries_peak,
                     struct remat_plan *out)
{
    struct remat_plan now = *from;
    int is_lower = 1;
    *out = now;
    // each round takes a step's bytes down; a value is computed again a few times at most
    for (uint64_t round = 0; now.peak > most && is_lower && round < 8 * (uint64_t)now.n;
         round++) {
        is_lower = 0;
        if (tries_peak)
            BT_TRY(lower(&now, most, BY_PEAK, &is_lower));
        if (!is_lower)
            BT_TRY(lower(&now, most, BY_EXCESS, &is_lower));
        if (now.peak < out->peak)
            *out = now;
    }
    return NULL;
}

/* ---- segments ---- */

/* Of what is made before the peak and lives beyond it every `each`-th stays, from one on; all else is
 * computed again from there. */
static bt_status cut_segments(const struct remat_plan *from, uint32_t each,
                              uint32_t first, struct remat_plan *out)
{
    uint8_t *again = BT_NEWS(from->arena, uint8_t, from->n);
    uint32_t n = 0;
    if (!again)
        return bt_no_memory();
    for (uint32_t i = 0; i < from->lives.len; i++) {
        const struct remat_life *life = &from->lives.at[i];
        const struct remat_value *v = &from->values[life->value];
        if (life->first >= from->at || !v->nbytes || !v->may_again)
            continue;
        again[life->value] = life->last <= from->at || n++ % each != first;
    }
    *out = *from;
    return remat_again(out, from->at, again);
}

/* The cut into equal segments that has the least peak. */
static bt_status best_segments(const struct remat_plan *from, struct remat_plan *out)
{
    static const uint32_t lengths[] = { 2, 3, 4, 6, 8, 12, 16 };
    *out = *from;
    for (uint32_t i = 0; i < BT_COUNT(lengths); i++) {
        for (uint32_t first = 0; first < lengths[i]; first++) {
            const void *mark = bt_arena_mark(from->arena);
            struct remat_plan next;
            BT_TRY(cut_segments(from, lengths[i], first, &next));
            if (next.peak < out->peak)
                *out = next;
            else
                bt_arena_release(from->arena, mark);
        }
    }
    return NULL;
}

/* ---- all ways ---- */

static int is_better(const struct remat_plan *plan, const struct remat_plan *best,
                     int64_t most)
{
    return plan->peak <= most && best->peak <= most ? remat_ns(plan) < remat_ns(best)
                                                    : plan->peak < best->peak;
}

static bt_status fit_from(const struct remat_plan *from, int64_t most,
                          struct remat_plan *best)
{
    for (int tries_peak = 0; tries_peak < 2; tries_peak++) {
        struct remat_plan plan;
        BT_TRY(fit(from, most, tries_peak, &plan));
        if (is_better(&plan, best, most))
            *best = plan;
    }
    return NULL;
}

bt_status remat_fit(struct remat_plan *plan, int64_t most, int *fits)
{
    const struct remat_plan from = *plan;
    struct remat_plan segments;
    BT_TRY(fit_from(&from, most, plan));
    if (plan->peak > most) {
        BT_TRY(best_segments(&from, &segments));
        BT_TRY(fit_from(&segments, most, plan));
    }
    *fits = plan->peak <= most;
    return NULL;
}
