/*
 * licm: loop-invariant code motion, out of functions that call themselves in tail
 * position.
 * What every iteration computes anew from parameters that it passes on as they are, from
 * constants and, in a closure, from what is around it, is computed before the first one: for
 * a global it becomes a parameter of a function of its own, and the global calls that;
 * for a closure it stands before the closure. What may fail or not end stays, as a loop
 * may run no time at all; so does what only some iterations compute.
 * needs    effects, loops
 * keeps    every invariant
 * source   Aho, Lam, Sethi, Ullman 2006, section 9.1.7
 */
#include "analysis/loops.h"

/* A loop, and what of it is invariant. */
struct motion {
    const struct loop *loop;
    bt_vec(const bt_value *) moved; /* in order */
    bt_vec(const bt_value *) extra; /* those of them that are used by what stays */
    const char *body;               /* of a global: the name of what iterates */
    const bt_func *stub;            /* that, before it has its block */
};

struct mover {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_effects *effects;
    bt_vec(struct motion *) motions;
    bt_map inside; /* of the loop at hand: what there is not before it */
    bt_map
        of_value; /* a closure, the call in a stub, a call of itself -> struct motion */
    bt_map now;   /* binding that moves -> what stands for it */
};

/* ---- what is invariant ---- */

static bt_status note(bt_map *map, const bt_value *value, const void *what)
{
    return bt_map_put(map, value, (void *)(uintptr_t)what) ? NULL : bt_no_memory();
}

/* Everything in a loop's function; but parameters of a global that stay as they are. */
static bt_status note_inside(struct mover *m, const struct loop *loop)
{
    bt_blocks blocks = { 0 };
    bt_map_init(&m->inside, m->arena, 0);
    BT_TRY(bt_block_nested(m->arena, loop->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        int is_own = !loop->closure && block == loop->func->block;
        for (uint32_t i = 0; i < block->nparam; i++) {
            if (!is_own || !loop->params[i].is_invariant)
                BT_TRY(note(&m->inside, &block->params[i]->base, m));
        }
        for (uint32_t i = 0; i < block->nbinding; i++)
            BT_TRY(note(&m->inside, block->bindings[i], m));
    }
    return loop->closure ? note(&m->inside, &loop->closure->base, m) : NULL;
}

static int can_move(const struct mover *m, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (value->kind != BT_VALUE_TUPLE && value->kind != BT_VALUE_PROJ &&
        (!call || call->callee_kind != BT_CALLEE_OP || call->ncheck || call->contents))
        return 0;
    if (bt_effects_of(m->effects, value) || value->type->has & BT_HAS_OPAQUE)
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        if (bt_map_find(&m->inside, bt_value_operand(value, i)))
            return 0;
    }
    return 1;
}

static int goes_back(const struct loop *loop, const struct cfg_block *block)
{
    return block->end == CFG_BRANCH && block->edges[0].to == loop->first;
}

/* Of each block of the function, through how many of the ways back it is gone. *nback: how
 * many there are. */
static uint32_t *count_ways(struct mover *m, const struct loop *loop, uint32_t *nback)
{
    uint32_t *ways = BT_NEWS(m->arena, uint32_t, loop->in->blocks.len);
    for (uint32_t i = 0; ways && i < loop->in->blocks.len; i++) {
        const struct cfg_block *block = loop->in->blocks.at[i];
        if (!goes_back(loop, block))
            continue;
        ++*nback;
        for (ways[block->index]++; block != loop->first; ways[block->index]++)
            block = block->dominator;
    }
    return ways;
}

/* What stays: it uses some of what moves. */
static bt_status note_use(struct mover *m, struct motion *motion, bt_map *moved,
                          const bt_value *used)
{
    return bt_map_find(moved, used) == m ? note(moved, used, motion) : NULL;
}

static bt_status note_uses(struct mover *m, struct motion *motion, bt_map *moved)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(m->arena, motion->loop->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        BT_TRY(note_use(m, motion, moved, block->result));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0;
                 k < bt_value_noperand(value) && !bt_map_find(moved, value); k++)
                BT_TRY(note_use(m, motion, moved, bt_value_operand(value, k)));
        }
    }
    for (uint32_t i = 0; i < motion->moved.len; i++) {
        const bt_value *value = motion->moved.at[i];
        if (bt_map_find(moved, value) == motion &&
            !BT_PUSH(m->arena, &motion->extra, value))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- choosing ---- */

/* A tuple or a field alone is not worth it. */
static int has_call(const struct motion *motion)
{
    for (uint32_t i = 0; i < motion->moved.len; i++) {
        if (bt_as_call(motion->moved.at[i]))
            return 1;
    }
    return 0;
}

static bt_status add_motion(struct mover *m, struct motion *motion)
{
    const struct loop *loop = motion->loop;
    bt_map moved;
    bt_map_init(&moved, m->arena, 0);
    for (uint32_t i = 0; i < motion->moved.len; i++)
        BT_TRY(note(&moved, motion->moved.at[i], m));
    BT_TRY(note_uses(m, motion, &moved));
    if (loop->closure)
        BT_TRY(note(&m->of_value, &loop->closure->base, motion));
    for (uint32_t i = 0; !loop->closure && i < loop->in->blocks.len; i++) {
        const struct cfg_block *block = loop->in->blocks.at[i];
        if (goes_back(loop, block))
            BT_TRY(note(&m->of_value, block->bindings[block->nbinding], motion));
    }
    return BT_PUSH(m->arena, &m->motions, motion) ? NULL : bt_no_memory();
}

/* From the blocks that every way back goes through. */
static bt_status choose(struct mover *m, const struct loop *loop)
{
    struct motion *motion = BT_NEW(m->arena, struct motion);
    uint32_t nback = 0, *ways = count_ways(m, loop, &nback);
    if (!motion || !ways)
        return bt_no_memory();
    motion->loop = loop;
    if (bt_func_is_primitive(loop->func) ||
        loop->func->result != loop->func->block->result->type) // checked at the end
        return NULL;
    BT_TRY(note_inside(m, loop));
    for (uint32_t i = 0; i < loop->in->blocks.len; i++) {
        const struct cfg_block *block = loop->in->blocks.at[i];
        for (uint32_t k = 0; ways[i] == nback && k < block->nbinding; k++) {
            const bt_value *value = block->bindings[k];
            if (!can_move(m, value))
                continue;
            BT_TRY(note(&m->inside, value, NULL));
            if (!BT_PUSH(m->arena, &motion->moved, value))
                return bt_no_memory();
        }
    }
    return has_call(motion) ? add_motion(m, motion) : NULL;
}

/* ---- a global: a function that iterates, without a block yet ---- */

/* @loop iterates in @loop_body. */
static bt_status name_body(struct mover *m, struct motion *motion)
{
    const char *name = motion->loop->global->name;
    for (uint32_t i = 0;; i++) {
        bt_text text;
        bt_text_init(&text, m->arena);
        bt_text_addf(&text, i ? "%s_body_%u" : "%s_body", name, i);
        motion->body = bt_text_get(&text) ? bt_name_of(m->module->store, text.at) : NULL;
        if (!motion->body)
            return bt_no_memory();
        if (!bt_module_find(m->module, motion->body))
            return NULL;
    }
}

static bt_status copy_params(bt_builder *b, const bt_block *block, uint32_t nextra,
                             const bt_value *const *extra, const bt_param **out)
{
    for (uint32_t i = 0; i < block->nparam + nextra; i++) {
        const bt_value *like =
            i < block->nparam ? &block->params[i]->base : extra[i - block->nparam];
        bt_builder_like(b, like);
        BT_TRY(bt_build_param(b, like->name, like->type, &out[i]));
    }
    bt_builder_name(b, NULL);
    return NULL;
}

static bt_status call_global(struct mover *m, bt_builder *b, const bt_func *like,
                             const char *name, uint32_t narg,
                             const bt_param *const *params, const bt_value *const *more,
                             uint32_t nmore, const bt_value **out)
{
    const bt_value **args = BT_NEWS(m->arena, const bt_value *, narg + nmore), *callee;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg + nmore; i++)
        args[i] = i < narg ? &params[i]->base : more[i - narg];
    BT_TRY(bt_build_global(b, name, &callee));
    const bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                           .callee = callee,
                           .narg = narg + nmore,
                           .args = args,
                           .ntype_arg = like->nvar,
                           .type_args = like->vars };
    return bt_build_call(b, &call, out);
}

/* It calls the loop; the loop's block is put in place of that. */
static bt_status make_stub(struct mover *m, bt_builder *b, struct motion *motion)
{
    const bt_func *func = motion->loop->func;
    uint32_t n = func->block->nparam;
    const bt_param **params = BT_NEWS(m->arena, const bt_param *, n + motion->extra.len);
    const bt_value *call;
    bt_func fields = *func;
    if (!params)
        return bt_no_memory();
    fields.name = motion->body;
    BT_TRY(copy_params(b, func->block, motion->extra.len, motion->extra.at, params));
    BT_TRY(bt_block_begin(b, n + motion->extra.len, params));
    BT_TRY(
        call_global(m, b, func, motion->loop->global->name, n, params, NULL, 0, &call));
    BT_TRY(bt_block_end(b, call, &fields.block));
    BT_TRY(bt_func_create(m->ctx, m->module->store, &fields, &motion->stub));
    return note(&m->of_value, call, motion);
}

/* What the loop becomes: it computes what is invariant and begins. */
static bt_status make_entry(struct mover *m, bt_builder *b, struct motion *motion,
                            const bt_func **out)
{
    const bt_func *func = motion->loop->func;
    uint32_t n = func->block->nparam;
    const bt_param **params = BT_NEWS(m->arena, const bt_param *, n);
    const bt_value **extra = BT_NEWS(m->arena, const bt_value *, motion->extra.len),
                   *call;
    bt_func fields = *func;
    if (!params || !extra)
        return bt_no_memory();
    BT_TRY(copy_params(b, func->block, 0, NULL, params));
    BT_TRY(bt_block_begin(b, n, params));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(note(&m->now, &func->block->params[i]->base, params[i]));
    for (uint32_t i = 0; i < motion->moved.len; i++) {
        const bt_value *old = motion->moved.at[i], *now;
        uint32_t noperand = bt_value_noperand(old);
        const bt_value **operands = BT_NEWS(m->arena, const bt_value *, noperand);
        if (!operands)
            return bt_no_memory();
        for (uint32_t k = 0; k < noperand; k++) {
            operands[k] = bt_map_find(&m->now, bt_value_operand(old, k));
            if (!operands[k])
                operands[k] = bt_value_operand(old, k);
        }
        bt_builder_like(b, old);
        BT_TRY(bt_build_again(b, old, operands, NULL, old->type, &now));
        BT_TRY(note(&m->now, old, now));
    }
    for (uint32_t i = 0; i < motion->extra.len; i++)
        extra[i] = bt_map_find(&m->now, motion->extra.at[i]);
    bt_builder_like(b, func->block->result);
    BT_TRY(call_global(m, b, func, motion->body, n, params, extra, motion->extra.len,
                       &call));
    BT_TRY(bt_block_end(b, call, &fields.block));
    return bt_func_create(m->ctx, m->module->store, &fields, out);
}

/* ---- rewriting ---- */

/* Before a closure stands what moves out of it. */
static bt_status move_out(bt_rewrite *rewrite, const bt_value *closure)
{
    struct mover *m = bt_rewrite_state(rewrite);
    const struct motion *motion = bt_map_find(&m->of_value, closure);
    for (uint32_t i = 0; motion && i < motion->moved.len; i++) {
        const bt_value *old = motion->moved.at[i], *now;
        uint32_t n = bt_value_noperand(old);
        const bt_value **operands = BT_NEWS(m->arena, const bt_value *, n);
        if (!operands)
            return bt_no_memory();
        for (uint32_t k = 0; k < n; k++) {
            operands[k] = bt_map_find(&m->now, bt_value_operand(old, k));
            if (!operands[k])
                BT_TRY(
                    bt_rewrite_operand(rewrite, bt_value_operand(old, k), &operands[k]));
        }
        bt_builder_like(bt_rewrite_builder(rewrite), old);
        BT_TRY(
            bt_build_again(bt_rewrite_builder(rewrite), old, operands, NULL, NULL, &now));
        BT_TRY(note(&m->now, old, now));
    }
    bt_builder_like(bt_rewrite_builder(rewrite), closure);
    return NULL;
}

/* The loop's block in place of the call of the loop. */
static bt_status fill_stub(bt_rewrite *rewrite, const struct motion *motion,
                           const bt_call *call, const bt_value **out)
{
    struct mover *m = bt_rewrite_state(rewrite);
    const bt_block *block = motion->stub->block;
    for (uint32_t i = 0; i < motion->extra.len; i++)
        BT_TRY(note(&m->now, motion->extra.at[i], block->params[call->narg + i]));
    for (uint32_t i = 0; i < motion->moved.len; i++) {
        if (!bt_map_find(&m->now, motion->moved.at[i])) // used by what moves only
            BT_TRY(note(&m->now, motion->moved.at[i], &m->now));
    }
    BT_TRY(bt_rewrite_inline_func(rewrite, motion->loop->func, call->ntype_arg,
                                  call->type_args, call->narg, call->args, out));
    return *out ? NULL
                : bt_fail(m->ctx, BT_ERR_INTERNAL, "licm: @%s cannot be copied",
                          motion->loop->global->name);
}

/* A call of the loop by itself passes on what moved. */
static bt_status pass_on(bt_rewrite *rewrite, const struct motion *motion,
                         const bt_call *call, const bt_value **out)
{
    struct mover *m = bt_rewrite_state(rewrite);
    const bt_block *block = motion->stub->block;
    bt_call now = *call;
    const bt_value **args = BT_NEWS(m->arena, const bt_value *, block->nparam);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        args[i] = &block->params[i]->base;
        if (i < call->narg)
            BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    }
    now.narg = block->nparam;
    now.args = args;
    BT_TRY(bt_build_global(bt_rewrite_builder(rewrite), motion->body, &now.callee));
    return bt_build_call(bt_rewrite_builder(rewrite), &now, out);
}

static bt_status move(bt_rewrite *rewrite, const bt_value *old, const bt_value **out)
{
    struct mover *m = bt_rewrite_state(rewrite);
    const bt_value *now = bt_map_find(&m->now, old);
    const struct motion *motion = bt_map_find(&m->of_value, old);
    const bt_call *call = bt_as_call(old);
    if ((const void *)now == &m->now)
        bt_rewrite_drop(rewrite);
    else if (now)
        *out = now;
    else if (old->kind == BT_VALUE_CLOSURE)
        return move_out(rewrite, old);
    else if (motion && call && old == motion->stub->block->result)
        return fill_stub(rewrite, motion, call, out);
    else if (motion && call)
        return pass_on(rewrite, motion, call, out);
    return NULL;
}

/* A loop's own function stays until its block was put into what iterates. */
static int is_wanted(bt_rewrite *rewrite, const bt_global *global)
{
    const struct mover *m = bt_rewrite_state(rewrite);
    for (uint32_t i = 0; i < m->motions.len; i++) {
        const struct loop *loop = m->motions.at[i]->loop;
        if (!loop->closure && loop->func == global->func)
            return 0;
    }
    return 1;
}

static const bt_rewriter rewriter = { .any = move, .wants = is_wanted };

/* ---- the next version ---- */

/* Calls `make` for each loop that is a global. *out: a new reference. */
static bt_status with_globals(struct mover *m, const bt_module *module,
                              bt_status (*make)(struct mover *, bt_builder *,
                                                struct motion *, bt_module_builder *),
                              bt_module **out)
{
    bt_module_builder *builder;
    bt_builder *b;
    BT_TRY(bt_builder_create(m->ctx, module->store, module, &b));
    bt_status status = bt_module_builder_create(m->ctx, module->store, module, &builder);
    for (uint32_t i = 0; i < m->motions.len && !status; i++) {
        if (!m->motions.at[i]->loop->closure)
            status = make(m, b, m->motions.at[i], builder);
        if (status)
            bt_module_builder_destroy(builder);
    }
    bt_builder_destroy(b);
    return status ? status : bt_module_builder_finish(builder, 1, out);
}

static bt_status add_stub(struct mover *m, bt_builder *b, struct motion *motion,
                          bt_module_builder *builder)
{
    bt_global global = *motion->loop->global;
    BT_TRY(name_body(m, motion));
    BT_TRY(make_stub(m, b, motion));
    global.name = motion->body;
    global.func = motion->stub;
    global.type = NULL; // that of the function
    return bt_module_builder_set(builder, &global, 1);
}

static bt_status set_entry(struct mover *m, bt_builder *b, struct motion *motion,
                           bt_module_builder *builder)
{
    bt_global global = *motion->loop->global;
    BT_TRY(make_entry(m, b, motion, &global.func));
    return bt_module_builder_set(builder, &global, 0);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct mover m = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    const void *effects, *found;
    bt_module *stubs, *filled;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    BT_TRY(bt_pass_analysis(ctx, call, "loops", &found));
    const struct loops *loops = found;
    m.effects = effects;
    bt_map_init(&m.of_value, call->scratch, 0);
    bt_map_init(&m.now, call->scratch, 0);
    for (uint32_t i = 0; i < loops->at.len; i++)
        BT_TRY(choose(&m, &loops->at.at[i]));
    if (!m.motions.len) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    BT_TRY(with_globals(&m, call->module, add_stub, &stubs));
    bt_pass_call inner = *call;
    inner.module = stubs;
    bt_status status = bt_rewrite_module(ctx, &inner, &rewriter, &m, &filled);
    bt_module_unref(stubs);
    if (status)
        return status;
    status = with_globals(&m, filled, set_entry, out);
    bt_module_unref(filled);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "licm",
        .doc =
            "Loop-invariant code motion, out of functions that call themselves in tail "
            "position.\n"
            "before\n"
            "    def @loop(%i: int32, %w: float32, %x: float32) -> float32 {\n"
            "        if (less(%i, 9)) {\n"
            "            @loop(add(%i, 1), %w, multiply(%x, exp(%w)))\n"
            "        } else {\n"
            "            %x\n"
            "        }\n"
            "    }\n"
            "after\n"
            "    def @loop(%i: int32, %w: float32, %x: float32) -> float32 {\n"
            "        @loop_body(%i, %w, %x, exp(%w))\n"
            "    }\n"
            "    def @loop_body(%i: int32, %w: float32, %x: float32, %0: float32) -> "
            "float32 {\n"
            "        if (less(%i, 9)) {\n"
            "            %1 = add(%i, 1);\n"
            "            %2 = multiply(%x, %0);\n"
            "            @loop_body(%1, %w, %2, %0)\n"
            "        } else {\n"
            "            %x\n"
            "        }\n"
            "    }",
        .level = 3,
        .needs = "effects loops",
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_loops_licm[] = { BT_PASSES(passes), { 0 } };
