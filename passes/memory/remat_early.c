/*
 * Small values are computed as soon as what they are made of is there:
 *
 *     %a = ..;  %b = ..;  %s = @sum(%a);  %t = @sum(%b)
 *  -> %a = ..;  %s = @sum(%a);  %b = ..;  %t = @sum(%b)
 *
 * A large value whose sum is taken much later would be computed again for it, and a second time
 * for what reads the large value itself: the gradients of a step of training, which only count once
 * all of them are known to be finite.
 */
#include "memory/remat.h"

enum { SMALL = 64 }; /* one part of so many of what it reads */

/* The last of what a value reads, by its number. */
static uint32_t last_of(const struct remat_value *v)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < v->in.len; i++)
        last = v->in.at[i] > last ? v->in.at[i] : last;
    for (uint32_t i = 0; i < v->aliases.len; i++)
        last = v->aliases.at[i] > last ? v->aliases.at[i] : last;
    return last;
}

static int is_small(const struct remat_plan *plan, const struct remat_value *v)
{
    int64_t nbytes = 0;
    for (uint32_t i = 0; i < v->in.len; i++)
        nbytes += plan->values[v->in.at[i]].nbytes;
    return v->in.len && !v->is_alias && v->may_again && !v->is_pinned && v->nbytes &&
           v->nbytes <= nbytes / SMALL;
}

/* What moves stands behind one that stays, and something that stays comes between. */
static int moves(const struct remat_plan *plan, const uint8_t *moved, uint32_t number)
{
    const uint32_t last = last_of(&plan->values[number]);
    int any = 0;
    if (!is_small(plan, &plan->values[number]) || moved[last])
        return 0;
    for (uint32_t i = last + 1; i < number && !any; i++)
        any = !moved[i];
    return any;
}

bt_status remat_early(struct remat_plan *plan, int *is_changed)
{
    uint8_t *moved = BT_NEWS(plan->arena, uint8_t, plan->n);
    remat_numbers *behind = BT_NEWS(plan->arena, remat_numbers, plan->n);
    struct remat_plan next = remat_plan_empty(plan);
    *is_changed = 0;
    if (!moved || !behind)
        return bt_no_memory();
    for (uint32_t i = 0; i < plan->n; i++) {
        moved[i] = (uint8_t)moves(plan, moved, i);
        *is_changed |= moved[i];
        if (moved[i] && !BT_PUSH(plan->arena, &behind[last_of(&plan->values[i])], i))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct remat_step stays = { i, REMAT_FIRST };
        if (!moved[i] && !BT_PUSH(plan->arena, &next.steps, stays))
            return bt_no_memory();
        for (uint32_t k = 0; k < behind[i].len; k++) {
            const struct remat_step early = { behind[i].at[k], REMAT_EARLY };
            if (!BT_PUSH(plan->arena, &next.steps, early))
                return bt_no_memory();
        }
    }
    *plan = next;
    return remat_find_lives(plan);
}
