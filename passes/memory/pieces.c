#include "memory/pieces.h"

#include <string.h>

#include <baton/op.h>

/* The piece that a tensor may go on with: it lies over the last tensor there. */
static struct piece *find_piece(const bt_live_range *ranges, const bt_live_range *range,
                                int has_slices, struct piece *const *of)
{
    for (uint32_t i = 0; i < range->nalias; i++) {
        struct piece *piece = of[range->aliases[i]];
        if (has_slices && ranges[range->aliases[i]].slice_of)
            continue;
        if (piece && piece->newest == range->aliases[i])
            return piece;
    }
    return NULL;
}

const char *pieces_space(const bt_live_range *range)
{
    const bt_call *storage = range->storage;
    return *(const char *const *)bt_attr_find(storage->op, storage->attrs, "space",
                                              BT_ATTR_STRING);
}

int pieces_is_placed(const bt_live_range *range)
{
    return !range->escapes && range->first <= range->last;
}

static bt_status measure_piece(const struct pool *pool, const bt_type *nbytes,
                               struct piece *piece)
{
    const bt_type *unit = bt_dim(pool->store, pool->align),
                  *units = unit ? bt_dim_ceildiv(pool->store, nbytes, unit) : NULL;
    BT_TRY(amount_of(pool->ctx, pool->store, nbytes, &piece->nbytes));
    return amount_of(pool->ctx, pool->store,
                     units ? bt_dim_scale(pool->store, units, pool->align, 0) : NULL,
                     &piece->taken);
}

bt_status pieces_make(const struct pool *pool, uint32_t n, const bt_live_range *ranges,
                      const char *space, int has_slices, struct layout *l)
{
    *l = (struct layout){ .pieces = BT_NEWS(pool->arena, struct piece, n),
                          .of = BT_NEWS(pool->arena, struct piece *, n),
                          .at = BT_NEWS(pool->arena, int64_t, n) };
    if (!l->pieces || !l->of || !l->at)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *range = &ranges[i];
        if (!pieces_is_placed(range) || strcmp(pieces_space(range), space) != 0)
            continue;
        l->of[i] = find_piece(ranges, range, has_slices, l->of);
        if (!l->of[i]) {
            l->of[i] = &l->pieces[l->npiece++];
            *l->of[i] = (struct piece){ .first = range->first, .number = i };
        }
        l->of[i]->last = range->last;
        l->of[i]->newest = i;
    }
    for (uint32_t i = 0; i < l->npiece; i++) {
        struct piece *piece = &l->pieces[i];
        BT_TRY(measure_piece(pool, ranges[piece->number].nbytes, piece));
    }
    return NULL;
}
