/* A tensor that others make up, as what a concatenation reads: they are laid into it, so that
 * nothing is copied; and one of which another has some elements in one piece. */
#include "memory/pieces.h"

typedef bt_vec(uint32_t) tensor_list;

/* Its bytes; -1: they are no number. */
static int64_t number_of(const bt_live_range *range)
{
    int64_t n;
    return bt_dim_is_const(range->nbytes, &n) ? n : -1;
}

/* Where the pieces of a tensor's parts have to begin, so that the parts lie at their places
 * in it. 0: they cannot. */
static int find_shifts(const struct pool *pool, const struct layout *l,
                       const bt_live_range *ranges, uint32_t whole)
{
    struct piece *to = l->of[whole];
    int64_t at = l->at[whole];
    if (!to || to->nbytes.dim || to->nbytes.sample > pool->largest)
        return 0;
    to->joins = 1 + whole;
    to->shift = 0;
    for (uint32_t i = 0; i < ranges[whole].npart; i++) {
        const uint32_t part = ranges[whole].parts[i];
        struct piece *piece = l->of[part];
        if (!piece || piece->nbytes.dim || piece->nbytes.sample > pool->largest ||
            at % pool->align)
            return 0;
        if (piece->joins == 1 + whole && piece->shift != at - l->at[part])
            return 0;
        piece->joins = 1 + whole;
        piece->shift = at - l->at[part];
        at += number_of(&ranges[part]);
    }
    return 1;
}

static int has_part(const bt_live_range *range, uint32_t part)
{
    for (uint32_t i = 0; i < range->npart; i++) {
        if (range->parts[i] == part)
            return 1;
    }
    return 0;
}

/* Whether tensors that begin so many bytes behind each other have the same elements in the bytes that
 * they share: `b` is taken out of `a`, or both out of one. */
static int has_same(const bt_live_range *ranges, uint32_t a, uint32_t b, int64_t behind)
{
    const bt_live_range *x = &ranges[a], *y = &ranges[b];
    return (y->slice_of == 1 + a && behind == y->slice_at) ||
           (y->slice_of && y->slice_of == x->slice_of &&
            behind == y->slice_at - x->slice_at);
}

/* Whether two tensors of pieces that are to be one can be in it: they live at other times,
 * or in other bytes, or one is made of the other, or taken out of it. */
static int agree(const struct layout *l, const bt_live_range *ranges, uint32_t whole,
                 uint32_t a, uint32_t b)
{
    if (l->of[a] == l->of[b] || ranges[a].first > ranges[b].last ||
        ranges[b].first > ranges[a].last)
        return 1;
    const int64_t begin_a = l->at[a] + l->of[a]->shift,
                  begin_b = l->at[b] + l->of[b]->shift;
    return begin_a + number_of(&ranges[a]) <= begin_b ||
           begin_b + number_of(&ranges[b]) <= begin_a ||
           has_same(ranges, a, b, begin_b - begin_a) ||
           has_same(ranges, b, a, begin_a - begin_b) ||
           (a == whole && has_part(&ranges[whole], b)) ||
           (b == whole && has_part(&ranges[whole], a));
}

/* Makes one piece of those that have shifts, unless it would be too large. */
static void join_pieces(const struct pool *pool, struct layout *l,
                        const bt_live_range *ranges, uint32_t whole, uint32_t n,
                        const uint32_t *tensors)
{
    struct piece *to = l->of[whole];
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = tensors[i];
        const int64_t shift = l->of[k]->shift, begin = l->at[k] + shift,
                      end = l->at[k] + number_of(&ranges[k]) + shift;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    if (high - low > pool->largest)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = tensors[i];
        const struct piece *from = l->of[k];
        l->at[k] += from->shift - low;
        to->first = from->first < to->first ? from->first : to->first;
        to->last = from->last > to->last ? from->last : to->last;
        to->number = from->number < to->number ? from->number : to->number;
        l->of[k] = to;
    }
    for (uint32_t i = 0; i < l->npiece; i++) {
        if (&l->pieces[i] != to && l->pieces[i].joins == 1 + whole)
            l->pieces[i] = (struct piece){ .first = UINT32_MAX };
    }
    to->nbytes.sample = high - low;
    to->taken.sample = pieces_round_up(high - low, pool->align);
}

/* Of the pieces that are to be one. */
static bt_status find_tensors(const struct pool *pool, uint32_t n, const struct layout *l,
                              uint32_t whole, tensor_list *out)
{
    out->len = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (l->of[i] && l->of[i]->joins == 1 + whole && !BT_PUSH(pool->arena, out, i))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status join_all(const struct pool *pool, uint32_t n,
                          const bt_live_range *ranges, uint32_t whole, struct layout *l)
{
    tensor_list tensors = { 0 };
    BT_TRY(find_tensors(pool, n, l, whole, &tensors));
    for (uint32_t i = 0; i < tensors.len; i++) {
        for (uint32_t k = i + 1; k < tensors.len; k++) {
            if (!agree(l, ranges, whole, tensors.at[i], tensors.at[k]))
                return NULL;
        }
    }
    join_pieces(pool, l, ranges, whole, tensors.len, tensors.at);
    return NULL;
}

bt_status pieces_join(const struct pool *pool, uint32_t n, const bt_live_range *ranges,
                      uint32_t whole, struct layout *l)
{
    return find_shifts(pool, l, ranges, whole) ? join_all(pool, n, ranges, whole, l)
                                               : NULL;
}

static int may_join(const struct pool *pool, const struct piece *piece)
{
    return piece && !piece->nbytes.dim && piece->nbytes.sample <= pool->largest;
}

bt_status pieces_join_slice(const struct pool *pool, uint32_t n,
                            const bt_live_range *ranges, uint32_t slice, struct layout *l)
{
    const uint32_t whole = ranges[slice].slice_of - 1;
    const int64_t at = ranges[slice].slice_at;
    struct piece *from = l->of[whole], *to = l->of[slice];
    if (!may_join(pool, from) || !may_join(pool, to) || from == to || at % pool->align)
        return NULL;
    to->joins = from->joins = 1 + slice;
    to->shift = 0;
    from->shift = l->at[slice] - at - l->at[whole];
    return join_all(pool, n, ranges, slice, l);
}
