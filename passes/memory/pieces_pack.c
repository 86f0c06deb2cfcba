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

/* A piece that has its offset, with what is compared most side by side. */
struct placed {
    const struct piece *piece;
    struct amount end; /* to the next multiple of the alignment */
    int64_t offset;    /* for the sample */
    uint32_t first, last;
};

struct packing {
    const struct pool *pool;
    uint32_t n;
    struct placed *placed; /* in the order of their offsets */
    uint32_t is_open; /* 1: sizes are dims; the order is right for the sample alone */
};

static int share_time(const struct piece *a, const struct placed *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Whether all that are placed and live at its time keep clear of a piece at `offset`, which it
 * does for the sample. */
static int is_free(const struct packing *k, const struct piece *piece,
                   struct amount offset)
{
    bt_store *store = k->pool->store;
    for (uint32_t i = 0; k->is_open && i < k->n; i++) {
        const struct piece *other = k->placed[i].piece;
        if (share_time(piece, &k->placed[i]) &&
            !amount_fits(store, offset, piece->nbytes, other->offset) &&
            !amount_fits(store, other->offset, other->nbytes, offset))
            return 0;
    }
    return 1;
}

/* Where a piece may lie among those placed. 0: nowhere. */
static int find_gap(const struct packing *k, const struct piece *piece, int fit,
                    struct amount *out)
{
    struct amount end = { 0 };
    int64_t best = -1;
    if (piece->nbytes.dim && k->pool->is_limited)
        return 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct placed *other = &k->placed[i];
        if (!share_time(piece, other))
            continue;
        const struct amount start = behind(k->pool, end, piece);
        const int64_t gap = other->offset - start.sample;
        if (gap >= piece->nbytes.sample && (best < 0 || gap < best) &&
            is_free(k, piece, start)) {
            best = gap;
            *out = start;
            if (fit == LOWEST)
                return 1;
        }
        end = other->end.sample > end.sample ? other->end : end;
    }
    if (best < 0)
        *out = behind(k->pool, end, piece);
    return best >= 0 || is_free(k, piece, *out);
}

/* Sets its offset. 0: it has to have storage of its own. */
static int put(struct packing *k, struct piece *piece, int fit)
{
    struct amount end;
    if (!find_gap(k, piece, fit, &piece->offset) ||
        !amount_add(k->pool->store, piece->offset, piece->taken, &end))
        return 0;
    uint32_t at = k->n++;
    for (; at > 0 && k->placed[at - 1].offset > piece->offset.sample; at--)
        k->placed[at] = k->placed[at - 1];
    k->placed[at] = (struct placed){ .piece = piece,
                                     .end = end,
                                     .offset = piece->offset.sample,
                                     .first = piece->first,
                                     .last = piece->last };
    return 1;
}

/* Sets the offsets of all pieces, and gives the bytes that they need, for the sample. */
static int64_t pack(struct packing *k, uint32_t n, struct piece **order, int fit)
{
    int64_t size = 0, own = 0, sum;
    k->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *piece = order[i];
        piece->is_own = !put(k, piece, fit);
        if (piece->is_own)
            own = bt_add_int64(own, piece->nbytes.sample, &sum) ? sum : INT64_MAX;
        else if (piece->offset.sample + piece->nbytes.sample > size)
            size = piece->offset.sample + piece->nbytes.sample;
    }
    return bt_add_int64(size, own, &sum) ? sum : INT64_MAX;
}

bt_status pieces_pack(const struct pool *pool, struct layout *l)
{
    const uint32_t n = l->npiece;
    struct piece *pieces = l->pieces;
    struct piece **order = BT_NEWS(pool->arena, struct piece *, n);
    struct piece *best = BT_NEWS(pool->arena, struct piece, n);
    struct packing k = { .pool = pool, .placed = BT_NEWS(pool->arena, struct placed, n) };
    if (!order || !k.placed || !best)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        k.is_open |= pieces[i].nbytes.dim != NULL;
    for (uint32_t s = 0; n && s < BT_COUNT(strategies); s++) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = &pieces[i];
        qsort(order, n, sizeof(struct piece *), strategies[s].order);
        int64_t found = pack(&k, n, order, strategies[s].fit);
        if (s && found >= l->size)
            continue;
        l->size = found;
        memcpy(best, pieces, n * sizeof(*best));
    }
    if (n)
        memcpy(pieces, best, n * sizeof(*best));
    return NULL;
}
