/*
 * Variable by variable: from each use back to where the value is bound. Source: Boissinot
 * et al. 2008, Appel 2002.
 */
#include "analysis/liveness.h"

#include "analysis/view.h"

struct solver {
    bt_arena *arena;
    const struct cfg_func *func;
    live_values *in;
    bt_map homes;                              /* value -> block that binds it */
    bt_vec(const struct cfg_block *) * before; /* by block: those that branch to it */
    bt_vec(const struct cfg_block *) queue;
};

static bt_status add_before(struct solver *s, const struct cfg_block *to,
                            const struct cfg_block *from)
{
    return BT_PUSH(s->arena, &s->before[to->index], from) ? NULL : bt_no_memory();
}

/* What a closure's blocks need is needed where the closure is made. */
static bt_status learn_block(struct solver *s, struct cfg_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!bt_map_put(&s->homes, block->params[i], block))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (!bt_map_put(&s->homes, block->bindings[i], block))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < block->nedge; i++)
        BT_TRY(add_before(s, block->edges[i].to, block));
    return block->closure ? add_before(s, block, block->dominator) : NULL;
}

/* The value is needed in the block, and in all between it and the one that binds it. Each
 * value is traced on its own, so that it stands last where it was added. */
static bt_status need(struct solver *s, const struct cfg_block *block,
                      const bt_value *value)
{
    const struct cfg_block *home = bt_map_find(&s->homes, value);
    if (home && !BT_PUSH(s->arena, &s->queue, block))
        return bt_no_memory();
    while (s->queue.len) {
        block = s->queue.at[--s->queue.len];
        live_values *in = &s->in[block->index];
        if (block == home || (in->len && in->at[in->len - 1] == value))
            continue;
        if (!BT_PUSH(s->arena, in, value))
            return bt_no_memory();
        for (uint32_t i = 0; i < s->before[block->index].len; i++) {
            if (!BT_PUSH(s->arena, &s->queue, s->before[block->index].at[i]))
                return bt_no_memory();
        }
    }
    return NULL;
}

struct use {
    const bt_value *value;
    const struct cfg_block *block;
};

typedef bt_vec(struct use) use_list;

static bt_status add_use(struct solver *s, use_list *uses, const bt_value *value,
                         const struct cfg_block *block)
{
    const struct use use = { value, block };
    return BT_PUSH(s->arena, uses, use) ? NULL : bt_no_memory();
}

static bt_status add_uses(struct solver *s, use_list *uses, const struct cfg_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        for (uint32_t k = 0; k < bt_value_noperand(block->bindings[i]); k++)
            BT_TRY(add_use(s, uses, bt_value_operand(block->bindings[i], k), block));
    }
    for (uint32_t i = 0; i < block->nedge; i++) {
        for (uint32_t k = 0; k < block->edges[i].narg; k++)
            BT_TRY(add_use(s, uses, block->edges[i].args[k], block));
    }
    if (block->end == CFG_RETURN)
        return add_use(s, uses, block->on, block);
    return block->end == CFG_BRANCH
               ? NULL
               : add_use(s, uses, bt_value_operand(block->on, 0), block);
}

/* Groups uses by value, in order of binding. */
static bt_status solve(struct solver *s, const use_list *uses)
{
    bt_map first; /* value -> its last use so far, + 1 */
    uint32_t *next = BT_NEWS(s->arena, uint32_t, uses->len);
    if (!next)
        return bt_no_memory();
    bt_map_init(&first, s->arena, 0);
    for (uint32_t i = 0; i < uses->len; i++) {
        const bt_value *value = uses->at[i].value;
        next[i] = (uint32_t)(uintptr_t)bt_map_find(&first, value);
        if (!bt_map_put(&first, value, (void *)((uintptr_t)i + 1)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < s->homes.len; i++) {
        const bt_value *value = s->homes.at[i].key;
        uint32_t use = (uint32_t)(uintptr_t)bt_map_find(&first, value);
        for (; use; use = next[use - 1])
            BT_TRY(need(s, uses->at[use - 1].block, value));
    }
    return NULL;
}

static bt_status solve_func(bt_arena *arena, const struct cfg_func *func,
                            live_values **out)
{
    struct solver s = { .arena = arena, .func = func };
    use_list uses = { 0 };
    s.in = BT_NEWS(arena, live_values, func->blocks.len);
    s.before = bt_arena_alloc(arena, func->blocks.len, sizeof(*s.before));
    if (!s.in || !s.before)
        return bt_no_memory();
    bt_map_init(&s.homes, arena, 0);
    for (uint32_t i = 0; i < func->blocks.len; i++)
        BT_TRY(learn_block(&s, func->blocks.at[i]));
    for (uint32_t i = 0; i < func->blocks.len; i++)
        BT_TRY(add_uses(&s, &uses, func->blocks.at[i]));
    BT_TRY(solve(&s, &uses));
    *out = s.in;
    return NULL;
}

bt_status liveness_compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                           const void **out)
{
    struct liveness *l = BT_NEW(arena, struct liveness);
    const void *cfg;
    if (!l)
        return bt_no_memory();
    BT_TRY(cfg_compute(ctx, module, arena, &cfg));
    l->cfg = cfg;
    l->in = BT_NEWS(arena, live_values *, l->cfg->nfunc);
    if (!l->in)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->cfg->nfunc; i++)
        BT_TRY(solve_func(arena, &l->cfg->funcs[i], &l->in[i]));
    *out = l;
    return NULL;
}

static bt_status print_func(const struct view *v, bt_arena *arena)
{
    const struct liveness *l = v->result;
    uint32_t f = 0;
    (void)arena;
    while (l->cfg->funcs[f].global != v->global)
        f++;
    bt_text_addf(v->text, "\n");
    for (uint32_t i = 0; i < l->cfg->funcs[f].blocks.len; i++) {
        const live_values *in = &l->in[f][i];
        bt_text_addf(v->text, "    bb%u:", i);
        for (uint32_t k = 0; k < in->len; k++) {
            bt_text_addf(v->text, k ? ", " : " ");
            bt_printer_name(v->printer, in->at[k]);
        }
        bt_text_addf(v->text, "\n");
    }
    return NULL;
}

bt_status liveness_print(bt_ctx *ctx, const bt_module *module, const void *result,
                         bt_text *text)
{
    return view_functions(ctx, module, result, text, print_func);
}
