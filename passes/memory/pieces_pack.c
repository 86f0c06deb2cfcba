/* Where pieces lie: several greedy ways, of which the best is taken. */
#include <stdlib.h>
#include <string.h>

#include "memory/pieces.h"

static int by_size(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    if (x->nbytes.sample != y->nbytes.sample)
        return x->nbytes.sample > y->nbytes.sample ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->number < y->number ? -1 : 1);
}

static int by_time(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : by_size(a, b);
}

/* Those that are large for long first: what comes later has to find room beside them. */
static int by_area(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    const double of_x = (double)x->nbytes.sample * ((double)x->last - x->first + 1),
                 of_y = (double)y->nbytes.sample * ((double)y->last - y->first + 1);
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : by_size(a, b);
}

enum { LOWEST, SMALLEST };
struct strategy {
    int (*order)(const void *, const void *);
    int fit;
};
static const struct strategy strategies[] = {
    { by_size, LOWEST },   { by_size, SMALLEST }, { by_time, LOWEST },
    { by_time, SMALLEST }, { by_area, LOWEST },   { by_area, SMALLEST },
};

/* Where a piece begins that is to lie behind `end`, a multiple of the alignment. */
static struct amount behind(const struct pool *pool, struct amount end,
                            const struct piece *piece)
{
    const int64_t into = end.sample % pool->stride;
    if (!end.dim && into && into + piece->nbytes.sample > pool->largest)
        end.sample = pieces_round_up(end.sample, pool->stride);
    return end;
}

static int share_time(const struct piece *a, const struct piece *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Whether all that are placed and live at its time keep clear of a piece at `offset`. */
static int is_free(const struct pool *pool, const struct piece *piece,
                   struct amount offset, uint32_t n, struct piece *const *placed)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (share_time(piece, other) &&
            !amount_fits(pool->store, offset, piece->nbytes, other->offset) &&
            !amount_fits(pool->store, other->offset, other->nbytes, offset))
            return 0;
    }
    return 1;
}

/* Where a piece may lie among those placed, which are in the order of their offsets. 0:
 * nowhere. */
static int find_gap(const struct pool *pool, const struct piece *piece, uint32_t n,
                    struct piece *const *placed, int fit, struct amount *out)
{
    struct amount end = { 0 }, next;
    int64_t best = -1;
    if (piece->nbytes.dim && pool->is_limited)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (!share_time(piece, other))
            continue;
        const struct amount start = behind(pool, end, piece);
        int64_t gap = other->offset.sample - start.sample;
        if (gap >= piece->nbytes.sample && (best < 0 || gap < best) &&
            is_free(pool, piece, start, n, placed)) {
            best = gap;
            *out = start;
            if (fit == LOWEST)
                return 1;
        }
        if (!amount_add(pool->store, other->offset, other->taken, &next))
            return 0;
        end = next.sample > end.sample ? next : end;
    }
    if (best < 0)
        *out = behind(pool, end, piece);
    return best >= 0 || is_free(pool, piece, *out, n, placed);
}

/* Sets the offsets of all pieces, and gives the bytes that they need, for the sample. */
static int64_t pack(const struct pool *pool, uint32_t n, struct piece **order,
                    struct piece **placed, int fit)
{
    uint32_t nplaced = 0;
    int64_t size = 0, own = 0, sum;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *piece = order[i];
        piece->is_own = !find_gap(pool, piece, nplaced, placed, fit, &piece->offset);
        if (piece->is_own) {
            own = bt_add_int64(own, piece->nbytes.sample, &sum) ? sum : INT64_MAX;
            continue;
        }
        uint32_t at = nplaced++;
        for (; at > 0 && placed[at - 1]->offset.sample > piece->offset.sample; at--)
            placed[at] = placed[at - 1];
        placed[at] = piece;
        if (piece->offset.sample + piece->nbytes.sample > size)
            size = piece->offset.sample + piece->nbytes.sample;
    }
    return bt_add_int64(size, own, &sum) ? sum : INT64_MAX;
}

bt_status pieces_pack(const struct pool *pool, struct layout *l)
{
    const uint32_t n = l->npiece;
    struct piece *pieces = l->pieces;
    struct piece **order = BT_NEWS(pool->arena, struct piece *, n);
    struct piece **placed = BT_NEWS(pool->arena, struct piece *, n);
    struct piece *best = BT_NEWS(pool->arena, struct piece, n);
    if (!order || !placed || !best)
        return bt_no_memory();
    for (uint32_t s = 0; n && s < BT_COUNT(strategies); s++) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = &pieces[i];
        qsort(order, n, sizeof(struct piece *), strategies[s].order);
        int64_t found = pack(pool, n, order, placed, strategies[s].fit);
        if (s && found >= l->size)
            continue;
        l->size = found;
        memcpy(best, pieces, n * sizeof(*best));
    }
    if (n)
        memcpy(pieces, best, n * sizeof(*best));
    return NULL;
}
