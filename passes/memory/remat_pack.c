/* The bytes that a plan takes once each life has an offset: the largest first, each at the lowest place
 * that is free while it lives. */
#include "memory/remat.h"

#include <stdlib.h>

#include "memory/pieces.h"

struct packed {
    int64_t nbytes, offset;
    uint32_t first, last;
};

static int by_size(const void *a, const void *b)
{
    const struct packed *x = a, *y = b;
    if (x->nbytes != y->nbytes)
        return x->nbytes > y->nbytes ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->last < y->last ? -1 : x->last > y->last);
}

/* What is made in the bytes of others is one piece with them. */
static bt_status add_packed(const struct remat_plan *plan, struct packed *all,
                            uint32_t *n)
{
    uint32_t *pieces = BT_NEWS(plan->arena, uint32_t, plan->lives.len);
    if (!pieces)
        return bt_no_memory();
    for (uint32_t i = 0; i < plan->lives.len; i++) {
        const struct remat_life *life = &plan->lives.at[i];
        const int64_t nbytes =
            pieces_round_up(remat_life_nbytes(plan, life), REMAT_ALIGN);
        pieces[i] = life->over ? pieces[life->over - 1] : *n;
        if (life->over)
            all[pieces[i]].last = life->last;
        else if (nbytes)
            all[(*n)++] = (struct packed){ nbytes, 0, life->first, life->last };
    }
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const int64_t nbytes = plan->values[plan->steps.at[s].value].nscratch;
        if (nbytes)
            all[(*n)++] = (struct packed){ nbytes, 0, s, s };
    }
    return NULL;
}

/* The lowest place at which no other lies that lives at the time. `all` are in the order of
 * their offsets. */
static int64_t place(const struct packed *one, uint32_t n, struct packed *const *placed)
{
    int64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct packed *other = placed[i];
        if (other->first > one->last || one->first > other->last)
            continue;
        if (other->offset - end >= one->nbytes)
            break;
        if (other->offset + other->nbytes > end)
            end = other->offset + other->nbytes;
    }
    return end;
}

bt_status remat_pack(const struct remat_plan *plan, int64_t *out)
{
    const size_t room = (size_t)plan->lives.len + plan->steps.len;
    struct packed *all = BT_NEWS(plan->arena, struct packed, room);
    struct packed **placed = BT_NEWS(plan->arena, struct packed *, room);
    uint32_t n = 0;
    *out = 0;
    if (!all || !placed)
        return bt_no_memory();
    BT_TRY(add_packed(plan, all, &n));
    if (n)
        qsort(all, n, sizeof(*all), by_size);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        all[i].offset = place(&all[i], i, placed);
        for (; at > 0 && placed[at - 1]->offset > all[i].offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = &all[i];
        if (all[i].offset + all[i].nbytes > *out)
            *out = all[i].offset + all[i].nbytes;
    }
    return NULL;
}
