/*
 * plan-memory: put tensors that do not live at once into the same storage.
 * Offsets are multiples of what the storage is aligned to, 64 for the host. A tensor that a
 * kernel may compute in place of one that ends there is laid over it. Then all are placed
 * one by one where nothing lies that lives at that time: the greatest first or the earliest
 * first, or those that are large for long, each at the lowest offset or in the smallest gap
 * that holds it; of these six plans the smallest is taken. Tensors that make up another one,
 * as what a concatenation reads, are laid into it where that takes hardly more memory: then
 * nothing is copied. A target's memory whose blocks have a greatest size gets as many as
 * that takes. Tensors of the result keep storage of their own, as they outlive the call.
 * Sizes may be dims that are known at the call. They are compared by their values for a
 * sample of the dims, but a tensor is placed only where it is proved that all others keep
 * clear of it, whatever the dims are; where there is no such place it keeps its own storage.
 * keeps    every invariant
 * option   most  bytes that tensors of the entry may take, with what it calls, but for arguments,
 *                constants and results; it fails if they are more, or if no number can be given,
 *                as of recursion; 0, the default: any
 * source   Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference",
 *          2020 (greedy by size)
 */
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>
#include <baton/pass.h>

#include "memory/plan_limit.h"

struct options {
    int64_t most;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, most, INT, "0", 0, INT64_MAX,
                  "bytes that tensors may take at once; 0: any number"),
    { 0 },
};

/* How tensors of one memory are placed. */
struct pool {
    int64_t align;           /* of their offsets */
    int64_t largest, stride; /* bytes of a block; block i is at i * stride */
    uint32_t is_limited;     /* 1: a block may be too small for what has no number */
};

/* A number of bytes. */
struct amount {
    int64_t sample;     /* for the sample of the dims */
    const bt_type *dim; /* NULL: the sample is the number, whatever the dims are */
};

/* A storage that tensors of one memory share. */
struct shared {
    struct amount size;
    const bt_func *func;
    const bt_call *like;   /* one that it replaces; NULL: it holds nothing */
    const bt_value *value; /* NULL: not built yet */
};

/* Tensors laid over one another, or into one another: one piece of memory. */
struct piece {
    struct amount nbytes, offset;
    struct amount taken; /* of nbytes, to the next multiple of the alignment */
    uint32_t first,
        last;        /* from the first tensor's first kernel to the last one's last */
    uint32_t number; /* of the first tensor, ... */
    uint32_t newest; /* ... and of the last */
    uint32_t is_own; /* 1: there is no place for it in what is shared */
    uint32_t joins;  /* 1 + the tensor whose parts are being laid into it; ... */
    int64_t shift;   /* ... where the piece then begins in the one of that tensor */
};

/* The pieces of a space. */
struct layout {
    uint32_t npiece;
    struct piece *pieces; /* one that became part of another ends before it begins */
    struct piece **of;    /* by tensor: its piece, or NULL ... */
    int64_t *at;          /* ... and where in it the tensor begins */
    int64_t size;         /* bytes that all need, for the sample */
};

struct place {
    struct amount offset; /* in the storage */
    struct shared *shared;
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    const bt_func *func;       /* that is planned */
    const bt_targets *targets; /* NULL: not known */
    bt_map places;             /* tensor -> struct place * */
    bt_map gone;               /* storage -> struct shared * that replaces it */
    bt_vec(struct shared *) all;
};

/* ---- amounts ---- */

enum { FEW = 16, MANY = 1024 };

/* In the middle of a range, but at most *state where it may be; a few where the range has
 * no end. */
static const bt_type *sample_of(bt_subst *subst, const bt_type *leaf)
{
    const int64_t most = *(const int64_t *)subst->state;
    int64_t low, high;
    bt_dim_bounds(leaf, &low, &high);
    int64_t sample = high != INT64_MAX ? low + (high - low) / 2 : FEW;
    sample = sample > most ? most : sample;
    return bt_dim(leaf->store, sample < low ? low : sample);
}

/* The product of many dims may overflow for middling ones, and not for a few. */
static bt_status measure(struct planner *p, const bt_type *dim, struct amount *out)
{
    int64_t most = MANY;
    bt_subst subst = { .leaf = sample_of, .state = &most };
    *out = (struct amount){ 0 };
    if (dim && bt_dim_is_const(dim, &out->sample))
        return NULL;
    const bt_type *sample = dim ? bt_type_subst(p->store, &subst, dim) : NULL;
    most = FEW;
    if (dim && !sample)
        sample = bt_type_subst(p->store, &subst, dim);
    if (!sample)
        return bt_store_why(p->ctx, p->store);
    (void)bt_dim_is_const(sample, &out->sample);
    out->dim = dim;
    return NULL;
}

static const bt_type *dim_of(struct planner *p, struct amount a)
{
    return a.dim ? a.dim : bt_dim(p->store, a.sample);
}

/* 0: the sum is too large to be written. */
static int add(struct planner *p, struct amount a, struct amount b, struct amount *out)
{
    *out = (struct amount){ 0 };
    if (!bt_add_int64(a.sample, b.sample, &out->sample))
        return 0;
    if (a.dim || b.dim)
        out->dim = bt_dim_add(p->store, dim_of(p, a), dim_of(p, b));
    return out->dim || (!a.dim && !b.dim);
}

/* Whether a + b <= c for all values of the dims. */
static int fits(struct planner *p, struct amount a, struct amount b, struct amount c)
{
    struct amount sum;
    int64_t low, high;
    if (!add(p, a, b, &sum) || sum.sample > c.sample)
        return 0;
    if (!sum.dim && !c.dim)
        return 1;
    const bt_type *rest = bt_dim_sub(p->store, dim_of(p, c), dim_of(p, sum));
    if (!rest)
        return 0;
    bt_dim_bounds(rest, &low, &high);
    return low >= 0;
}

/* ---- offsets ---- */

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

static int64_t round_up(int64_t offset, int64_t step)
{
    return (offset + step - 1) / step * step;
}

/* Where a piece begins that is to lie behind `end`, a multiple of the alignment. */
static struct amount behind(const struct pool *pool, struct amount end,
                            const struct piece *piece)
{
    const int64_t into = end.sample % pool->stride;
    if (!end.dim && into && into + piece->nbytes.sample > pool->largest)
        end.sample = round_up(end.sample, pool->stride);
    return end;
}

static int share_time(const struct piece *a, const struct piece *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Whether all that are placed and live at its time keep clear of a piece at `offset`. */
static int is_free(struct planner *p, const struct piece *piece, struct amount offset,
                   uint32_t n, struct piece *const *placed)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (share_time(piece, other) && !fits(p, offset, piece->nbytes, other->offset) &&
            !fits(p, other->offset, other->nbytes, offset))
            return 0;
    }
    return 1;
}

/* Where a piece may lie among those placed, which are in the order of their offsets. 0:
 * nowhere. */
static int find_gap(struct planner *p, const struct pool *pool, const struct piece *piece,
                    uint32_t n, struct piece *const *placed, int fit, struct amount *out)
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
            is_free(p, piece, start, n, placed)) {
            best = gap;
            *out = start;
            if (fit == LOWEST)
                return 1;
        }
        if (!add(p, other->offset, other->taken, &next))
            return 0;
        end = next.sample > end.sample ? next : end;
    }
    if (best < 0)
        *out = behind(pool, end, piece);
    return best >= 0 || is_free(p, piece, *out, n, placed);
}

/* Sets the offsets of all pieces, and gives the bytes that they need, for the sample. */
static int64_t pack(struct planner *p, const struct pool *pool, uint32_t n,
                    struct piece **order, struct piece **placed, int fit)
{
    uint32_t nplaced = 0;
    int64_t size = 0, own = 0, sum;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *piece = order[i];
        piece->is_own = !find_gap(p, pool, piece, nplaced, placed, fit, &piece->offset);
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

static bt_status pack_best(struct planner *p, const struct pool *pool, struct layout *l)
{
    const uint32_t n = l->npiece;
    struct piece *pieces = l->pieces;
    struct piece **order = BT_NEWS(p->arena, struct piece *, n);
    struct piece **placed = BT_NEWS(p->arena, struct piece *, n);
    struct piece *best = BT_NEWS(p->arena, struct piece, n);
    if (!order || !placed || !best)
        return bt_no_memory();
    for (uint32_t s = 0; n && s < BT_COUNT(strategies); s++) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = &pieces[i];
        qsort(order, n, sizeof(struct piece *), strategies[s].order);
        int64_t found = pack(p, pool, n, order, placed, strategies[s].fit);
        if (s && found >= l->size)
            continue;
        l->size = found;
        memcpy(best, pieces, n * sizeof(*best));
    }
    if (n)
        memcpy(pieces, best, n * sizeof(*best));
    return NULL;
}

/* ---- pieces ---- */

/* The piece that a tensor may go on with: it lies over the last tensor there. */
static struct piece *find_piece(const bt_live_range *range, struct piece *const *of)
{
    for (uint32_t i = 0; i < range->nalias; i++) {
        struct piece *piece = of[range->aliases[i]];
        if (piece && piece->newest == range->aliases[i])
            return piece;
    }
    return NULL;
}

static const char *space_of(const bt_live_range *range)
{
    const bt_call *storage = range->storage;
    return *(const char *const *)bt_attr_find(storage->op, storage->attrs, "space",
                                              BT_ATTR_STRING);
}

static int is_placed(const bt_live_range *range)
{
    return !range->escapes && range->first <= range->last;
}

/* The memory of a target of this name; NULL: it is the host's, or not known. */
static const bt_space *find_space(const struct planner *p, const char *name)
{
    const uint32_t n = p->targets ? p->targets->n : 0,
                   number = n && *name ? bt_targets_find(p->targets, name) : n;
    return number < n ? p->targets->at[number]->space : NULL;
}

static int64_t align_of(const bt_live_range *range)
{
    return *(const int64_t *)bt_attr_find(range->storage->op, range->storage->attrs,
                                          "alignment", BT_ATTR_INT);
}

/* The shared storage of a piece; what has no number is in the first. */
static uint32_t block_of(const struct pool *pool, const struct piece *piece)
{
    return piece->is_own || piece->offset.dim
               ? 0
               : (uint32_t)(piece->offset.sample / pool->stride);
}

static struct amount offset_of(const struct pool *pool, const struct piece *piece)
{
    struct amount offset = piece->offset;
    if (!offset.dim)
        offset.sample %= pool->stride;
    return offset;
}

/* Storage that holds all pieces; pieces that cannot be proved to fit keep their own. */
static bt_status make_blocks(struct planner *p, const struct pool *pool, uint32_t n,
                             struct piece *pieces, struct shared **out)
{
    const struct amount none = { 0 };
    struct amount end;
    uint32_t nblock = 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t block = block_of(pool, &pieces[i]);
        nblock = block + 1 > nblock ? block + 1 : nblock;
    }
    *out = BT_NEWS(p->arena, struct shared, nblock);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        struct amount *size = &(*out)[block_of(pool, &pieces[i])].size;
        if (pieces[i].is_own ||
            !add(p, offset_of(pool, &pieces[i]), pieces[i].nbytes, &end) ||
            fits(p, end, none, *size))
            continue;
        if (!fits(p, *size, none, end))
            BT_TRY(
                measure(p, bt_dim_max(p->store, dim_of(p, *size), dim_of(p, end)), &end));
        *size = end;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct amount offset = offset_of(pool, &pieces[i]);
        pieces[i].is_own |=
            !fits(p, none, none, offset) ||
            !fits(p, offset, pieces[i].nbytes, (*out)[block_of(pool, &pieces[i])].size);
    }
    return NULL;
}

/* Where the tensors of pieces are, and what replaces their storage. */
static bt_status put_places(struct planner *p, const struct pool *pool, uint32_t n,
                            const bt_live_range *ranges, const struct layout *l,
                            struct shared *blocks)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *piece = l->of[i];
        if (!piece || piece->is_own)
            continue;
        struct place *place = BT_NEW(p->arena, struct place);
        struct shared *shared = &blocks[block_of(pool, piece)];
        const struct amount at = { .sample = l->at[i] };
        if (!place)
            return bt_no_memory();
        place->shared = shared;
        if (!add(p, offset_of(pool, piece), at, &place->offset))
            return bt_store_why(p->ctx, p->store);
        if (!shared->like && !BT_PUSH(p->arena, &p->all, shared))
            return bt_no_memory();
        if (!shared->like)
            shared->like = ranges[i].storage;
        shared->func = p->func;
        if (!bt_map_put(&p->places, ranges[i].tensor, place) ||
            !bt_map_put(&p->gone, ranges[i].storage, shared))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status measure_piece(struct planner *p, const struct pool *pool,
                               const bt_type *nbytes, struct piece *piece)
{
    const bt_type *unit = bt_dim(p->store, pool->align),
                  *units = unit ? bt_dim_ceildiv(p->store, nbytes, unit) : NULL;
    BT_TRY(measure(p, nbytes, &piece->nbytes));
    return measure(p, units ? bt_dim_scale(p->store, units, pool->align, 0) : NULL,
                   &piece->taken);
}

/* Pieces of what is computed in place. Lives are in the order of the function, in which
 * what is laid over follows. */
static bt_status make_pieces(struct planner *p, const struct pool *pool, uint32_t n,
                             const bt_live_range *ranges, const char *space,
                             struct layout *l)
{
    *l = (struct layout){ .pieces = BT_NEWS(p->arena, struct piece, n),
                          .of = BT_NEWS(p->arena, struct piece *, n),
                          .at = BT_NEWS(p->arena, int64_t, n) };
    if (!l->pieces || !l->of || !l->at)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *range = &ranges[i];
        if (!is_placed(range) || strcmp(space_of(range), space) != 0)
            continue;
        l->of[i] = find_piece(range, l->of);
        if (!l->of[i]) {
            l->of[i] = &l->pieces[l->npiece++];
            *l->of[i] = (struct piece){ .first = range->first, .number = i };
        }
        l->of[i]->last = range->last;
        l->of[i]->newest = i;
    }
    for (uint32_t i = 0; i < l->npiece; i++) {
        struct piece *piece = &l->pieces[i];
        BT_TRY(measure_piece(p, pool, ranges[piece->number].nbytes, piece));
    }
    return NULL;
}

/* ---- parts ---- */

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

/* Whether two tensors of pieces that are to be one can be in it: they live at other times,
 * or in other bytes, or one is made of the other. */
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
    to->taken.sample = round_up(high - low, pool->align);
}

/* Lays the parts of a tensor into it, all or none. */
static bt_status join_parts(struct planner *p, const struct pool *pool, uint32_t n,
                            const bt_live_range *ranges, uint32_t whole, struct layout *l)
{
    bt_vec(uint32_t) tensors = { 0 };
    if (!find_shifts(pool, l, ranges, whole))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (l->of[i] && l->of[i]->joins == 1 + whole && !BT_PUSH(p->arena, &tensors, i))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < tensors.len; i++) {
        for (uint32_t k = i + 1; k < tensors.len; k++) {
            if (!agree(l, ranges, whole, tensors.at[i], tensors.at[k]))
                return NULL;
        }
    }
    join_pieces(pool, l, ranges, whole, tensors.len, tensors.at);
    return NULL;
}

/* ---- spaces ---- */

static struct pool pool_of(const struct planner *p, uint32_t n,
                           const bt_live_range *ranges, const char *space)
{
    const bt_space *own = find_space(p, space);
    struct pool pool = { .align = 64, .largest = INT64_MAX / 2 };
    for (uint32_t i = 0; i < n; i++) {
        if (is_placed(&ranges[i]) && strcmp(space_of(&ranges[i]), space) == 0 &&
            align_of(&ranges[i]) > pool.align)
            pool.align = align_of(&ranges[i]);
    }
    pool.is_limited = own && own->largest && own->largest < (uint64_t)pool.largest;
    if (pool.is_limited)
        pool.largest = (int64_t)own->largest;
    pool.stride = round_up(pool.largest, pool.align);
    return pool;
}

/* One part of so many of the memory: copies that are spared are worth it. */
enum { LITTLE = 128 };

static bt_status plan_space(struct planner *p, uint32_t n, const bt_live_range *ranges,
                            const char *space)
{
    const struct pool pool = pool_of(p, n, ranges, space);
    struct layout apart, joined, *best = &apart;
    struct shared *blocks;
    uint32_t npart = 0;
    BT_TRY(make_pieces(p, &pool, n, ranges, space, &apart));
    BT_TRY(pack_best(p, &pool, &apart));
    for (uint32_t i = 0; i < n; i++)
        npart += ranges[i].npart;
    if (npart) {
        BT_TRY(make_pieces(p, &pool, n, ranges, space, &joined));
        for (uint32_t i = 0; i < n; i++) {
            if (ranges[i].npart)
                BT_TRY(join_parts(p, &pool, n, ranges, i, &joined));
        }
        BT_TRY(pack_best(p, &pool, &joined));
        if (joined.size - apart.size <= apart.size / LITTLE)
            best = &joined;
    }
    BT_TRY(make_blocks(p, &pool, best->npiece, best->pieces, &blocks));
    return put_places(p, &pool, n, ranges, best, blocks);
}

static bt_status plan_func(struct planner *p, const bt_func *func)
{
    uint32_t n;
    bt_live_range *ranges;
    p->func = func;
    BT_TRY(bt_live_ranges(p->ctx, p->arena, func, &n, &ranges));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = 0; // of its space
        while (!is_placed(&ranges[first]) ||
               strcmp(space_of(&ranges[first]), space_of(&ranges[i])) != 0) {
            if (first == i)
                break;
            first++;
        }
        if (first == i && is_placed(&ranges[i]))
            BT_TRY(plan_space(p, n, ranges, space_of(&ranges[i])));
    }
    return NULL;
}

/* ---- rewriting ---- */

/* The same call with one attribute changed, on another storage. */
static bt_status build_with(bt_rewrite *rw, const bt_call *call, const char *attr,
                            struct amount value, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    const bt_type *dim = dim_of(p, value);
    const void *attrs =
        dim ? bt_attrs_with(p->arena, call, attr, &dim, sizeof(dim)) : NULL;
    return attrs ? bt_build_op(bt_rewrite_builder(rw), call->op, attrs, narg, args, out)
                 : bt_no_memory();
}

static bt_status rewrite_call(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    const struct place *place = bt_map_find(&p->places, call);
    struct shared *shared = bt_map_find(&p->gone, call);
    if (place)
        return build_with(rw, call, "offset", place->offset, 1, &place->shared->value,
                          out);
    if (!shared)
        return NULL;
    if (!shared->value)
        BT_TRY(build_with(rw, call, "size", shared->size, 0, NULL, &shared->value));
    bt_rewrite_drop(rw);
    return NULL;
}

/* Blocks inside a function see what stands before them: storage that they share is the
 * function's own. */
static bt_status begin(bt_rewrite *rw, const bt_func *func)
{
    struct planner *p = bt_rewrite_state(rw);
    int has_blocks = 0;
    for (uint32_t i = 0; i < func->block->nbinding; i++)
        has_blocks |= bt_value_nregion(func->block->bindings[i]) != 0;
    for (uint32_t i = 0; has_blocks && i < p->all.len; i++) {
        struct shared *shared = p->all.at[i];
        if (shared->func != func)
            continue;
        bt_builder_like(bt_rewrite_builder(rw), &shared->like->base);
        BT_TRY(
            build_with(rw, shared->like, "size", shared->size, 0, NULL, &shared->value));
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call, .begin = begin };

/* There are calls outside primitive functions, but none of memory: the program is not
 * lowered yet. */
static int is_not_lowered(const bt_module *module)
{
    int has_call = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func;
        if (!func || bt_func_is_primitive(func))
            continue;
        for (uint32_t k = 0; k < func->block->nbinding; k++) {
            const bt_call *call = bt_as_call(func->block->bindings[k]);
            if (call && call->callee_kind == BT_CALLEE_OP &&
                strncmp(call->op->name, "memory.", strlen("memory.")) == 0)
                return 0;
            has_call |= call != NULL;
        }
    }
    return has_call;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct planner p = { .ctx = ctx,
                         .arena = call->scratch,
                         .store = call->module->store,
                         .targets = call->targets };
    if (!call->targets && is_not_lowered(call->module))
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "plan-memory finds nothing to plan: it is of lowered programs, "
                          "which --plan names the passes of"));
    bt_map_init(&p.places, p.arena, 0);
    bt_map_init(&p.gone, p.arena, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        const bt_global *global = call->module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(plan_func(&p, global->func));
    }
    const struct options *o = call->options;
    bt_module *planned;
    BT_TRY(bt_rewrite_module(ctx, call, &rewriter, &p, &planned));
    bt_status status = o->most ? plan_limit_check(ctx, p.arena, planned, o->most) : NULL;
    if (status)
        bt_module_unref(planned);
    else
        *out = planned;
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "plan-memory",
        .doc = "Put tensors that do not live at once into the same storage.\n"
               "before\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %s = memory.alloc_storage(size=32);\n"
               "        %a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %0 = memory.invoke((%x,), (%a,), kernel=\"first\");\n"
               "        %t = memory.alloc_storage(size=32);\n"
               "        %b = memory.alloc_tensor(%t, shape=[8], dtype=\"float32\");\n"
               "        %1 = memory.invoke((%a,), (%b,), kernel=\"second\");\n"
               "        %u = memory.alloc_storage(size=32);\n"
               "        %c = memory.alloc_tensor(%u, shape=[8], dtype=\"float32\");\n"
               "        %2 = memory.invoke((%b,), (%c,), kernel=\"third\");\n"
               "        %v = memory.alloc_storage(size=32);\n"
               "        %y = memory.alloc_tensor(%v, shape=[8], dtype=\"float32\");\n"
               "        %3 = memory.invoke((%c,), (%y,), kernel=\"fourth\");\n"
               "        %y\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %s = memory.alloc_storage(size=96);\n"
               "        %a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %0 = memory.invoke((%x,), (%a,), kernel=\"first\");\n"
               "        %b = memory.alloc_tensor(%s, offset=64, shape=[8], "
               "dtype=\"float32\");\n"
               "        %1 = memory.invoke((%a,), (%b,), kernel=\"second\");\n"
               "        %c = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %2 = memory.invoke((%b,), (%c,), kernel=\"third\");\n"
               "        %v = memory.alloc_storage(size=32);\n"
               "        %y = memory.alloc_tensor(%v, shape=[8], dtype=\"float32\");\n"
               "        %3 = memory.invoke((%c,), (%y,), kernel=\"fourth\");\n"
               "        %y\n"
               "    }",
        .level = 0,
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_memory_plan_memory[] = { BT_PASSES(passes), { 0 } };
