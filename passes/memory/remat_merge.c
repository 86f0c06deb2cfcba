/*
 * Values that are computed twice from the start become one:
 *
 *     %a = @f(%x);  ..  %b = @f(%x);  @g(%b)    ->    %a = @f(%x);  ..  @g(%a)
 *
 * Pass keep-or-recompute leaves such copies, of what is cheap. Where a budget is not met with them,
 * they hold what they are made of, and which of both is kept is to be chosen anew.
 */
#include "memory/remat.h"

#include <string.h>

struct merging {
    const struct remat_facts *facts;
    struct remat_plan *plan;
    bt_map numbers; /* binding -> 1 + its number */
    bt_map
        last; /* primitive function -> 1 + the last value so far that is one of its calls */
    uint32_t *before; /* by value: the same of the one before it; 0: there is none */
};

static const bt_value *first_of(const struct merging *m, const bt_value *value)
{
    const uintptr_t number = (uintptr_t)bt_map_find(&m->numbers, value);
    const struct remat_value *v = number ? &m->plan->values[number - 1] : NULL;
    return v && v->same ? m->plan->values[v->same - 1].value : value;
}

/* Of two calls of a function. */
static int is_same(const struct merging *m, const bt_call *a, const bt_call *b)
{
    int same = a->narg == b->narg && a->base.type == b->base.type;
    for (uint32_t i = 0; same && i < a->narg; i++)
        same = first_of(m, a->args[i]) == first_of(m, b->args[i]);
    return same;
}

/* Whether a value is the same as one before it, which then stands for it. */
static bt_status find_same(struct merging *m, uint32_t number)
{
    struct remat_value *all = m->plan->values, *v = &all[number];
    const bt_call *call = v->may_again ? bt_as_call(v->value) : NULL;
    const bt_global *callee = bt_module_primitive(m->facts->module, call);
    if (!callee)
        return NULL;
    const uint32_t last = (uint32_t)(uintptr_t)bt_map_find(&m->last, callee);
    for (uint32_t i = last; i && !v->is_pinned && !v->same; i = m->before[i - 1]) {
        if (is_same(m, call, bt_as_call(all[i - 1].value)))
            v->same = i;
    }
    if (v->same)
        return NULL;
    m->before[number] = last;
    return bt_map_put(&m->last, callee, (void *)(uintptr_t)(number + 1)) ? NULL
                                                                         : bt_no_memory();
}

/* Those that are gone are the first ones, each once. */
static void rename(const struct remat_plan *plan, remat_numbers *numbers)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < numbers->len; i++) {
        const uint32_t same = plan->values[numbers->at[i]].same;
        const uint32_t number = same ? same - 1 : numbers->at[i];
        uint32_t k = 0;
        while (k < n && numbers->at[k] != number)
            k++;
        if (k == n)
            numbers->at[n++] = number;
    }
    numbers->len = n;
}

static bt_status copy_numbers(bt_arena *arena, remat_numbers *numbers)
{
    remat_numbers copy = { 0 };
    for (uint32_t i = 0; i < numbers->len; i++) {
        if (!BT_PUSH(arena, &copy, numbers->at[i]))
            return bt_no_memory();
    }
    *numbers = copy;
    return NULL;
}

bt_status remat_merge(const struct remat_facts *f, struct remat_plan *plan,
                      int *is_changed)
{
    struct merging m = { .facts = f,
                         .plan = plan,
                         .before = BT_NEWS(plan->arena, uint32_t, plan->n) };
    const struct remat_plan from = *plan;
    *plan = remat_plan_empty(&from);
    plan->values = BT_NEWS(plan->arena, struct remat_value, plan->n);
    *is_changed = 0;
    bt_map_init(&m.numbers, plan->arena, 0);
    bt_map_init(&m.last, plan->arena, 0);
    if (!plan->values || !m.before)
        return bt_no_memory();
    memcpy(plan->values, from.values, plan->n * sizeof(*plan->values));
    for (uint32_t i = 0; i < plan->n; i++) {
        struct remat_value *v = &plan->values[i];
        v->same = 0;
        BT_TRY(find_same(&m, i));
        *is_changed |= v->same != 0;
        if (!bt_map_put(&m.numbers, v->value, (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
        BT_TRY(copy_numbers(plan->arena, &v->in));
        BT_TRY(copy_numbers(plan->arena, &v->over));
        rename(plan, &v->in);
        rename(plan, &v->over);
    }
    for (uint32_t s = 0; s < from.steps.len; s++) {
        if (!plan->values[from.steps.at[s].value].same &&
            !BT_PUSH(plan->arena, &plan->steps, from.steps.at[s]))
            return bt_no_memory();
    }
    return remat_find_lives(plan);
}
