#include "memory/remat.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_DIM = 256 };

/* ---- one value ---- */

static const bt_type *bound_of(bt_subst *subst, const bt_type *leaf)
{
    int64_t low, high;
    (void)subst;
    bt_dim_bounds(leaf, &low, &high);
    return bt_dim(leaf->store, high != INT64_MAX ? high
                               : low > OPEN_DIM  ? low
                                                 : OPEN_DIM);
}

/* Whether it is a tensor, or a tuple of nothing else. */
static int is_plain(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!is_plain(tuple->at[i]))
            return 0;
    }
    return tuple || bt_tensor_dtype(type);
}

/* 0 where no number can be given. */
static int64_t nbytes_of(const struct remat_facts *f, const bt_type *type)
{
    bt_subst subst = { .leaf = bound_of };
    if (is_plain(type) && (type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        type = bt_type_subst(f->module->store, &subst, type);
    const int64_t n = type && is_plain(type) ? bt_type_nbytes(type) : 0;
    return n < 0 ? 0 : n;
}

static bt_status look_at_call(const struct remat_facts *f, const bt_call *call,
                              struct remat_value *v)
{
    enum {
        STAYS =
            BT_EFFECT_KEEPS | BT_EFFECT_READS | BT_EFFECT_ALLOCATES | BT_EFFECT_DIVERGES
    };
    const bt_global *primitive = bt_module_primitive(f->module, call);
    bt_formula_call formula;
    bt_fuse_info info;
    v->may_again = (call->callee_kind == BT_CALLEE_OP || primitive) && !call->ncheck &&
                   is_plain(call->base.type) &&
                   !(bt_effects_of(f->effects, &call->base) & STAYS);
    if (!v->may_again || primitive)
        return NULL;
    BT_TRY(bt_call_formula(f->arena, call, &formula));
    BT_TRY(bt_fuse_look(f->ctx, &formula, &info));
    v->is_map = info.kind <= BT_FUSE_INJECTIVE;
    return NULL;
}

static bt_status look_at(const struct remat_facts *f, const bt_value *value,
                         struct remat_value *v)
{
    const bt_call *call = bt_as_call(value);
    *v = (struct remat_value){ .value = value };
    v->is_alias = value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ;
    v->may_again = v->is_map = v->is_alias;
    if (v->is_alias)
        return NULL;
    v->nbytes = nbytes_of(f, value->type);
    return call ? look_at_call(f, call, v) : NULL;
}

/* ---- what it reads ---- */

struct reader {
    const struct remat_facts *facts;
    struct remat_plan *plan;
    bt_map numbers; /* binding -> 1 + its number */
};

static bt_status add_number(bt_arena *arena, remat_numbers *to, uint32_t number)
{
    for (uint32_t i = 0; i < to->len; i++) {
        if (to->at[i] == number)
            return NULL;
    }
    return BT_PUSH(arena, to, number) ? NULL : bt_no_memory();
}

static bt_status add_numbers(bt_arena *arena, remat_numbers *to,
                             const remat_numbers *from)
{
    for (uint32_t i = 0; i < from->len; i++)
        BT_TRY(add_number(arena, to, from->at[i]));
    return NULL;
}

static bt_status read_operand(const struct reader *r, const bt_value *operand,
                              remat_numbers *in, remat_numbers *aliases)
{
    const uintptr_t number = (uintptr_t)bt_map_find(&r->numbers, operand);
    bt_arena *arena = r->plan->arena;
    if (!number) // of a block around, or a constant
        return NULL;
    const struct remat_value *v = &r->plan->values[number - 1];
    if (!v->is_alias)
        return add_number(arena, in, (uint32_t)number - 1);
    BT_TRY(add_numbers(arena, in, &v->in));
    BT_TRY(add_numbers(arena, aliases, &v->aliases));
    return add_number(arena, aliases, (uint32_t)number - 1);
}

static bt_status read_operands(const struct reader *r, const bt_value *value,
                               struct remat_value *v)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(read_operand(r, bt_value_operand(value, i), &v->in, &v->aliases));
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bt_status read_all(const struct reader *r, struct remat_value *v)
{
    bt_blocks blocks = { 0 };
    BT_TRY(read_operands(r, v->value, v));
    for (uint32_t i = 0; i < bt_value_nregion(v->value); i++)
        BT_TRY(bt_block_nested(r->plan->arena, bt_value_region(v->value, i), &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        BT_TRY(read_operand(r, blocks.at[b]->result, &v->in, &v->aliases));
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(read_operands(r, blocks.at[b]->bindings[i], v));
    }
    if (v->aliases.len)
        qsort(v->aliases.at, v->aliases.len, sizeof(*v->aliases.at), by_number);
    return NULL;
}

static void pin(struct remat_plan *plan, const remat_numbers *numbers)
{
    for (uint32_t i = 0; i < numbers->len; i++) {
        plan->values[numbers->at[i]].is_pinned = 1;
        plan->values[numbers->at[i]].nbytes = 0;
    }
}

/* Whether it may hold what it reads for longer than it runs. */
static int holds(const struct remat_facts *f, const struct remat_value *v)
{
    return !v->is_alias && !v->may_again &&
           (!is_plain(v->value->type) ||
            (bt_effects_of(f->effects, v->value) & BT_EFFECT_WRITES));
}

bt_status remat_plan_create(const struct remat_facts *f, const bt_block *block,
                            struct remat_plan *out)
{
    struct reader r = { .facts = f, .plan = out };
    struct remat_value result = { 0 };
    *out = (struct remat_plan){ .ctx = f->ctx, .arena = f->arena, .n = block->nbinding };
    bt_map_init(&r.numbers, f->arena, 0);
    out->values = BT_NEWS(f->arena, struct remat_value, out->n);
    if (!out->values)
        return bt_no_memory();
    for (uint32_t i = 0; i < out->n; i++) {
        const bt_value *value = block->bindings[i];
        const struct remat_step step = { i, REMAT_FIRST };
        BT_TRY(look_at(f, value, &out->values[i]));
        BT_TRY(read_all(&r, &out->values[i]));
        if (holds(f, &out->values[i]))
            pin(out, &out->values[i].in);
        if (!bt_map_put(&r.numbers, value, (void *)(uintptr_t)(i + 1)) ||
            !BT_PUSH(f->arena, &out->steps, step))
            return bt_no_memory();
    }
    BT_TRY(read_operand(&r, block->result, &result.in, &result.aliases));
    pin(out, &result.in);
    return remat_find_lives(out);
}

/* ---- lives ---- */

static void read_life(struct remat_life *life, uint32_t step)
{
    life->last = step;
    life->nread++;
}

int64_t remat_life_nbytes(const struct remat_plan *plan, const struct remat_life *life)
{
    const uint32_t reader = plan->steps.at[life->last].value;
    return life->nread == 1 && plan->values[reader].is_map
               ? 0
               : plan->values[life->value].nbytes;
}

/* Finds the lives that are made in the bytes of one that ends there. */
static void lay_over(struct remat_plan *plan, uint32_t *now)
{
    memset(now, 0, plan->n * sizeof(*now));
    for (uint32_t i = 0; i < plan->lives.len; i++) {
        struct remat_life *life = &plan->lives.at[i];
        const struct remat_value *v = &plan->values[life->value];
        for (uint32_t k = 0; k < v->over.len && !life->over && life->nread; k++) {
            const uint32_t number = now[v->over.at[k]];
            struct remat_life *under = &plan->lives.at[number - 1];
            if (under->is_under || under->last != life->first ||
                remat_life_nbytes(plan, under) != remat_life_nbytes(plan, life))
                continue;
            life->over = number;
            under->is_under = 1;
        }
        now[life->value] = i + 1;
    }
}

bt_status remat_find_lives(struct remat_plan *plan)
{
    uint32_t *now = BT_NEWS(plan->arena, uint32_t, plan->n); // 1 + the life of each
    int64_t *change = BT_NEWS(plan->arena, int64_t, plan->steps.len + 1), sum = 0;
    if (!now || !change)
        return bt_no_memory();
    plan->lives.len = 0;
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const uint32_t number = plan->steps.at[s].value;
        const struct remat_value *v = &plan->values[number];
        const struct remat_life life = { .value = number, .first = s, .last = s };
        if (v->is_alias) // who reads it reads on
            continue;
        for (uint32_t i = 0; i < v->in.len; i++)
            read_life(&plan->lives.at[now[v->in.at[i]] - 1], s);
        if (!BT_PUSH(plan->arena, &plan->lives, life))
            return bt_no_memory();
        now[number] = plan->lives.len;
    }
    lay_over(plan, now);
    for (uint32_t i = 0; i < plan->lives.len; i++) {
        const struct remat_life *life = &plan->lives.at[i];
        change[life->first + (life->over != 0)] += remat_life_nbytes(plan, life);
        change[life->last + 1] -= remat_life_nbytes(plan, life);
    }
    plan->peak = plan->at = 0;
    plan->nbytes = change;
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        sum += change[s];
        change[s] = sum + plan->values[plan->steps.at[s].value].nscratch;
        if (change[s] > plan->peak) {
            plan->peak = change[s];
            plan->at = s;
        }
    }
    return NULL;
}

/* ---- computing again ---- */

struct remat_plan remat_plan_empty(const struct remat_plan *plan)
{
    struct remat_plan empty = *plan;
    empty.steps.at = NULL;
    empty.steps.len = empty.steps.cap = 0;
    empty.lives.at = NULL;
    empty.lives.len = empty.lives.cap = 0;
    return empty;
}

/* Of a step's values and what these are computed of, those that are still to be computed again,
 * in order. */
static bt_status find_due(struct remat_plan *plan, uint32_t value, uint8_t *due,
                          remat_numbers *out)
{
    remat_numbers rest = { 0 };
    out->len = 0;
    BT_TRY(add_numbers(plan->arena, &rest, &plan->values[value].in));
    while (rest.len) {
        const uint32_t number = rest.at[--rest.len];
        if (!due[number])
            continue;
        due[number] = 0;
        if (!BT_PUSH(plan->arena, out, number))
            return bt_no_memory();
        BT_TRY(add_numbers(plan->arena, &rest, &plan->values[number].in));
    }
    if (out->len)
        qsort(out->at, out->len, sizeof(*out->at), by_number);
    return NULL;
}

bt_status remat_again(struct remat_plan *plan, uint32_t at, const uint8_t *again)
{
    uint8_t *due = BT_NEWS(plan->arena, uint8_t, plan->n);
    remat_numbers now = { 0 };
    struct remat_plan next = remat_plan_empty(plan);
    if (!due)
        return bt_no_memory();
    for (uint32_t i = 0; i < plan->n; i++)
        due[i] = again[i];
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const struct remat_step step = plan->steps.at[s];
        const struct remat_value *v = &plan->values[step.value];
        if (s > at && step.kind == REMAT_AGAIN && again[step.value] && !due[step.value])
            continue; // it has been computed again for those before
        if (s > at && !v->is_alias) {
            BT_TRY(find_due(plan, step.value, due, &now));
            for (uint32_t i = 0; i < now.len; i++) {
                const struct remat_step more = { now.at[i], REMAT_AGAIN };
                if (!BT_PUSH(plan->arena, &next.steps, more))
                    return bt_no_memory();
            }
        }
        if (s > at)
            due[step.value] = 0;
        if (!BT_PUSH(plan->arena, &next.steps, step))
            return bt_no_memory();
    }
    BT_TRY(remat_find_lives(&next));
    *plan = next;
    return NULL;
}

/* How often what an alias is made of has been computed: a sum that only grows. */
static uint32_t age_of(const struct remat_value *alias, const uint32_t *times)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < alias->in.len; i++)
        sum += times[alias->in.at[i]];
    return sum;
}

bt_status remat_aliases(struct remat_plan *plan)
{
    uint32_t *times = BT_NEWS(plan->arena, uint32_t, plan->n); // or age, of an alias
    struct remat_plan next = remat_plan_empty(plan);
    if (!times)
        return bt_no_memory();
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const struct remat_step step = plan->steps.at[s];
        const struct remat_value *v = &plan->values[step.value];
        for (uint32_t i = 0; i < v->aliases.len; i++) {
            const struct remat_step more = { v->aliases.at[i], REMAT_AGAIN };
            const uint32_t age = age_of(&plan->values[more.value], times);
            if (times[more.value] == age)
                continue;
            times[more.value] = age;
            if (!BT_PUSH(plan->arena, &next.steps, more))
                return bt_no_memory();
        }
        times[step.value] = v->is_alias ? age_of(v, times) : times[step.value] + 1;
        if (!BT_PUSH(plan->arena, &next.steps, step))
            return bt_no_memory();
    }
    plan->steps = next.steps;
    return NULL;
}
