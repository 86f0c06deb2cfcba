/*
 * dead-code: drop bindings that are not needed, and functions that the entry does not
 * reach.
 * What writes, draws random numbers or does I/O stays, and so does a statement (`holds`)
 * that does not follow from its operands, and the value whose dims an attribute names; what
 * else may only fail, diverge or allocate goes. Where it is not known which function the
 * program is run from, as with baton opt without --entry, all functions stay. With
 * bindings=False only functions go, as by Relay's RemoveUnusedFunctions.
 * needs    effects, call-graph
 * keeps    every invariant
 * option   bindings   drop bindings too, default True
 * source   Cytron et al. 1991, section 7.1 (marking from what has effects)
 */
#include <string.h>

#include "common/statements.h"

struct options {
    int64_t bindings;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, bindings, BOOL, "True",
            "drop bindings too, not only functions"),
    { 0 },
};

struct marking {
    bt_ctx *ctx;
    const bt_module *module;
    const bt_effects *effects;
    bt_arena *arena;
    bt_map live;   /* bindings */
    bt_map births; /* dims that only the run knows -> the value that has them first */
    bt_vec(const bt_value *) queue;
};

static bt_status mark(struct marking *m, const bt_value *value)
{
    if (!bt_value_is_binding(value) || bt_map_find(&m->live, value))
        return NULL;
    if (!bt_map_put(&m->live, value, m) || !BT_PUSH(m->arena, &m->queue, value))
        return bt_no_memory();
    return NULL;
}

/* ---- dims that only the run knows ---- */

struct dims {
    struct marking *marking;
    const bt_value *value;
    bt_status failed;
};

static const bt_type *mark_birth(bt_subst *subst, const bt_type *leaf)
{
    struct dims *d = subst->state;
    const bt_value *birth = bt_map_find(&d->marking->births, leaf);
    if (birth && birth != d->value && !d->failed)
        d->failed = mark(d->marking, birth);
    return NULL;
}

/* A call may name dims of values that are none of its operands. */
static bt_status mark_dims(struct marking *m, const bt_call *call)
{
    struct dims d = { .marking = m, .value = &call->base };
    bt_subst subst = { .leaf = mark_birth, .state = &d };
    bt_store *store = m->module->store;
    int whole = !m->births.len || call->callee_kind != BT_CALLEE_OP || !call->attrs ||
                bt_attrs_subst(store, &subst, call->op->attrs, call->op->attrs_nbytes,
                               call->attrs);
    for (uint32_t i = 0; m->births.len && i < call->ntype_arg; i++)
        whole &= bt_type_subst(store, &subst, call->type_args[i]) != NULL;
    for (uint32_t i = 0; m->births.len && i < call->ncheck; i++) {
        whole &= bt_type_subst(store, &subst, call->checks[i].left) != NULL;
        whole &= bt_type_subst(store, &subst, call->checks[i].right) != NULL;
    }
    return d.failed ? d.failed : whole ? NULL : bt_store_why(m->ctx, store);
}

/* ---- marking ---- */

/* Types of other bindings may rest on a statement that only the program can compare. */
static int is_compared(const struct marking *m, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && !statement_follows(m->ctx, m->arena, m->module, call);
}

/* The result, and what has effects or compares. */
static bt_status mark_block(struct marking *m, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (bt_effects_of(m->effects, value) & BT_EFFECT_KEEPS || is_compared(m, value))
            BT_TRY(mark(m, value));
    }
    return mark(m, block->result);
}

/* A closure is live with its whole group, whose members stay together: each marks the first,
 * which marks all. */
static bt_status mark_group(struct marking *m, const bt_closure_value *closure)
{
    const bt_closure_value *first = closure->group->at[0];
    if (closure != first)
        return mark(m, &first->base);
    for (uint32_t i = 1; i < closure->group->n; i++)
        BT_TRY(mark(m, &closure->group->at[i]->base));
    return NULL;
}

static bt_status mark_func(struct marking *m, const bt_func *func)
{
    // a copy of a function may have dims of the first
    bt_map_init(&m->births, m->arena, 0);
    BT_TRY(bt_block_births(m->ctx, m->module->store, m->arena, func->block, &m->births));
    BT_TRY(mark_block(m, func->block));
    while (m->queue.len) {
        const bt_value *value = m->queue.at[--m->queue.len];
        for (uint32_t i = 0; i < bt_value_noperand(value); i++)
            BT_TRY(mark(m, bt_value_operand(value, i)));
        for (uint32_t i = 0; i < bt_value_nregion(value); i++)
            BT_TRY(mark_block(m, bt_value_region(value, i)));
        if (bt_as_call(value))
            BT_TRY(mark_dims(m, bt_as_call(value)));
        if (value->kind == BT_VALUE_CLOSURE)
            BT_TRY(mark_group(m, bt_as_closure(value)));
    }
    return NULL;
}

static bt_status drop_dead(bt_rewrite *rewrite, const bt_value *old, const bt_value **out)
{
    const struct marking *marking = bt_rewrite_state(rewrite);
    (void)out;
    if (!bt_map_find(&marking->live, old))
        bt_rewrite_drop(rewrite);
    return NULL;
}

static const bt_rewriter rewriter = { .any = drop_dead };

/* ---- functions ---- */

/* What the entry does not reach; nothing where there is no entry. *out: a new reference. */
static bt_status drop_unreached(bt_ctx *ctx, const bt_pass_call *call,
                                const bt_module *module, const bt_callgraph *graph,
                                bt_module **out)
{
    const bt_global *entry = call->entry ? bt_module_find(module, call->entry) : NULL;
    bt_module_builder *builder;
    const uint8_t *reached = NULL;
    if (call->entry)
        BT_TRY(bt_callgraph_reach(graph, module, entry, call->scratch, &reached));
    if (!reached || !memchr(reached, 0, module->nglobal)) {
        *out = bt_module_ref(module);
        return NULL;
    }
    BT_TRY(bt_module_builder_create(ctx, module->store, module, &builder));
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (!reached[i])
            bt_module_builder_remove(builder, module->globals[i]->name);
    }
    return bt_module_builder_finish(builder, 1, out);
}

/* And the functions that only these named. */
static bt_status drop_bindings(bt_ctx *ctx, bt_pass_call *call, const bt_module *module,
                               bt_module **out)
{
    struct marking marking = { .ctx = ctx, .module = module, .arena = call->scratch };
    const bt_callgraph *graph;
    const void *effects;
    bt_module *now;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    marking.effects = effects;
    bt_map_init(&marking.live, call->scratch, 0);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(mark_func(&marking, module->globals[i]->func));
    }
    bt_pass_call inner = *call;
    inner.module = module;
    BT_TRY(bt_rewrite_module(ctx, &inner, &rewriter, &marking, &now));
    bt_status status = bt_callgraph_create(ctx, now, call->scratch, &graph);
    if (!status)
        status = drop_unreached(ctx, call, now, graph, out);
    bt_module_unref(now);
    return status;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    const void *graph;
    bt_module *rest;
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    BT_TRY(drop_unreached(ctx, call, call->module, graph, &rest));
    if (!o->bindings) {
        *out = rest;
        return NULL;
    }
    bt_status status = drop_bindings(ctx, call, rest, out);
    bt_module_unref(rest);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "dead-code",
        .doc = "Drop bindings that are not needed, and functions that the entry does not "
               "reach.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %0 = exp(%x);\n"
               "        negative(%x)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) {\n"
               "        negative(%x)\n"
               "    }",
        .level = 1,
        .needs = "effects call-graph",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_dead_code[] = { BT_PASSES(passes), { 0 } };
