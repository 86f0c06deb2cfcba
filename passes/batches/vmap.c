/*
 * vmap: calls of operator `vmap` become calls of functions for a whole batch.
 *     %y = vmap(@f, %x, %w, axes=[0, -1]);
 * A version of @f is made, @f.batch, in which each call of what differs by example has one more
 * index; functions that it calls get versions too, one for each set of parameters that differ.
 * A closure is put in place. A branch by a condition that differs is computed on both sides
 * where these only compute, else it, and whatever is plain C, runs for one example after
 * another, as does a function that writes references, or whose data or closures, or those that
 * what it calls gives, hold what differs; and an external function. The gradient of each example
 * is the gradient of a version of its function; a version has attributes vjp and jvp, if its
 * function has. Calls inside functions that are applied to a batch come first.
 * source   JAX, vmap; TensorFlow, vectorized_map (Agarwal 2019)
 * keeps    no invariant
 */
#include "batches/batching.h"

#include <string.h>

#include "common/version.h"

struct round {
    struct vmap vmap;
    const bt_callgraph *graph;
    uint8_t *has_vmap; /* of each global: it, or what it calls, has such a call */
    bt_map ready;      /* calls that are dealt with */
    uint32_t ncall;
    const bt_module *declared;
};

static int is_vmap(const bt_value *value)
{
    return bt_as_op_call(value, "vmap") != NULL;
}

/* ---- which calls ---- */

static bt_status find_has(struct round *r)
{
    struct vmap *v = &r->vmap;
    const bt_module *module = v->module;
    uint8_t *own = BT_NEWS(v->arena, uint8_t, module->nglobal);
    r->has_vmap = BT_NEWS(v->arena, uint8_t, module->nglobal);
    if (!own || !r->has_vmap)
        return bt_no_memory();
    for (uint32_t g = 0; g < module->nglobal; g++) {
        bt_blocks blocks = { 0 };
        if (module->globals[g]->kind != BT_GLOBAL_FUNC)
            continue;
        BT_TRY(bt_block_nested(v->arena, module->globals[g]->func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len && !own[g]; b++) {
            for (uint32_t i = 0; i < blocks.at[b]->nbinding && !own[g]; i++)
                own[g] = (uint8_t)is_vmap(blocks.at[b]->bindings[i]);
        }
    }
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const uint8_t *reached;
        BT_TRY(
            bt_callgraph_reach(r->graph, module, module->globals[g], v->arena, &reached));
        for (uint32_t i = 0; i < module->nglobal; i++)
            r->has_vmap[g] |= reached[i] && own[i];
    }
    return NULL;
}

/* Whether a closure, or what it calls, has such a call. */
static bt_status closure_has(struct round *r, const bt_closure_value *closure, int *out)
{
    const bt_module *module = r->vmap.module;
    bt_blocks blocks = { 0 };
    *out = 0;
    BT_TRY(bt_block_nested(r->vmap.arena, closure->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *value = blocks.at[b]->bindings[i];
            *out |= is_vmap(value);
            for (uint32_t k = 0; k < bt_value_noperand(value); k++) {
                const bt_global *global =
                    bt_module_global(module, bt_value_operand(value, k));
                if (global)
                    *out |= r->has_vmap[bt_module_position(module, global)];
            }
        }
    }
    return NULL;
}

/* A batch runs along axes of tensors. */
static bt_status check_args(const struct vmap *v, const bt_call *call)
{
    bt_ints axes;
    memcpy(&axes, call->attrs, sizeof(axes)); // its only attribute
    for (uint32_t i = 1; i < call->narg; i++) {
        if ((axes.n == BT_NONE_LIST || axes.at[i - 1] >= 0) &&
            bt_as_apply_type(call->args[i]->type))
            return bt_fail_at(
                v->ctx, BT_ERR_UNSUPPORTED, v->module->store, call->base.span,
                "vmap: argument %u is data, which has no axis: pass batch-levels, before "
                "vmap, applies functions to lists of data (pipeline gradients)",
                i);
    }
    return NULL;
}

static bt_status want(struct round *r, const bt_call *call)
{
    struct vmap *v = &r->vmap;
    const bt_global *global = bt_module_global(v->module, call->args[0]);
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    int has = 0;
    r->ncall++;
    if (closure)
        BT_TRY(closure_has(r, closure, &has));
    else if (global)
        has = r->has_vmap[bt_module_position(v->module, global)];
    else
        return bt_fail_at(
            v->ctx, BT_ERR_UNSUPPORTED, v->module->store, call->base.span,
            "vmap: which function is applied is known only when the program "
            "runs: give it a global, or a function that is written here");
    if (has)
        return NULL;
    BT_TRY(check_args(v, call));
    if (!bt_map_put(&r->ready, call, (void *)1))
        return bt_no_memory();
    return batching_want_call(v, call);
}

static bt_status find_calls(struct round *r)
{
    const bt_module *module = r->vmap.module;
    for (uint32_t g = 0; g < module->nglobal; g++) {
        bt_blocks blocks = { 0 };
        if (module->globals[g]->kind != BT_GLOBAL_FUNC)
            continue;
        BT_TRY(bt_block_nested(r->vmap.arena, module->globals[g]->func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++) {
            for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
                if (is_vmap(blocks.at[b]->bindings[i]))
                    BT_TRY(want(r, bt_as_call(blocks.at[b]->bindings[i])));
            }
        }
    }
    return batching_close(&r->vmap);
}

/* The state of a copy is a round, or a batch while a closure is put in place. */
static bt_status replace(struct copy *c, const bt_value *old, int *done)
{
    struct round *r = c->state;
    if (!is_vmap(old) || !bt_map_find(&r->ready, old))
        return NULL;
    *done = 1;
    bt_status status = batching_put_call(&r->vmap, c, bt_as_call(old));
    c->binding = replace;
    return status;
}

/* ---- rounds ---- */

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    return batching_declare(&r->vmap, builder);
}

static bt_status redefine(struct round *r, const bt_global *global,
                          bt_module_builder *builder)
{
    struct copy copy;
    const bt_func *now;
    BT_TRY(copy_init(&copy, r->vmap.ctx, r->vmap.arena, r->declared));
    copy.state = r;
    copy.binding = replace;
    bt_status status = copy_func(&copy, global->func, &now);
    copy_deinit(&copy);
    return status ? status : version_set_func(builder, global, now);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    const bt_module *module = r->vmap.module;
    r->vmap.declared = r->declared;
    BT_TRY(batching_define(&r->vmap, builder));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        if (global->kind == BT_GLOBAL_FUNC && r->has_vmap[g])
            BT_TRY(redefine(r, global, builder));
    }
    return NULL;
}

static bt_status run_round(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                           bt_module **out)
{
    struct round r = { .vmap = { .ctx = ctx, .arena = arena, .module = module } };
    bt_effects *effects;
    bt_map_init(&r.vmap.taken, arena, 1);
    bt_map_init(&r.vmap.external, arena, 0);
    bt_map_init(&r.ready, arena, 0);
    BT_TRY(bt_callgraph_create(ctx, module, arena, &r.graph));
    BT_TRY(find_has(&r));
    int any = 0;
    for (uint32_t g = 0; g < module->nglobal; g++)
        any |= r.has_vmap[g];
    if (!any)
        return NULL;
    BT_TRY(bt_effects_create(ctx, module, arena, &effects));
    r.vmap.effects = effects;
    BT_TRY(find_calls(&r));
    if (!r.ncall)
        return NULL;
    if (!r.ready.len)
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "vmap: a function that is applied to a batch calls itself by way of "
            "another vmap");
    return version_create(ctx, module, declare_all, define_all, &r, &r.declared, out);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    bt_module *module = bt_module_ref(call->module);
    for (;;) {
        bt_module *next = NULL;
        bt_status status = run_round(ctx, call->scratch, module, &next);
        if (!status && !next)
            break;
        bt_module_unref(module);
        if (status)
            return status;
        module = next;
    }
    *out = module;
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "vmap",
        .doc = "Calls of `vmap` become calls of functions for a whole batch.\n"
               "before\n"
               "    def @f(%x: Tensor[(3), float32], %w: Tensor[(3), float32]) { "
               "tanh(multiply(%x, %w)) }\n"
               "    def @main(%x: Tensor[(8, 3), float32], %w: Tensor[(3), float32]) { "
               "vmap(@f, %x, %w, axes=[0, -1]) }\n"
               "after\n"
               "    def @f(%x: Tensor[(3), float32], %w: Tensor[(3), float32]) { "
               "tanh(multiply(%x, %w)) }\n"
               "    def @main(%x: Tensor[(8, 3), float32], %w: Tensor[(3), float32]) { "
               "@f.batch[Dim 8](%x, %w) }\n"
               "    def @f.batch<batch: Dim>(%x: Tensor[(batch, 3), float32], %w: "
               "Tensor[(3), float32]) { tanh(multiply(%x, %w)) }",
        .level = 0,
        .keeps = "",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_batches_vmap[] = { BT_PASSES(passes), { 0 } };
