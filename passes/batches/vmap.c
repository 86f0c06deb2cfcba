/*
 * vmap: calls of operator `vmap` become calls of functions for a whole batch.
 *     %y = vmap(@f, %x, %w, axes=[0, -1]);
 * A version of @f is made, @f.batch, in which each call of what differs by example has one more
 * index; functions that it calls get versions too, one for each set of parameters that differ.
 * A closure is put in place. A branch by a condition that differs is computed on both sides
 * where these only compute, else it, and whatever is plain C, runs for one example after
 * another, as does a function that writes references, or whose data or closures, or those that
 * what it calls gives, hold what differs. The gradient of each example is the gradient of a
 * version of its function; a version has attributes vjp and jvp, if its function has. Calls inside
 * functions that are applied to a batch come first.
 * source   JAX, vmap; TensorFlow, vectorized_map (Agarwal 2019)
 * keeps    no invariant
 */
#include "batches/batch.h"

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

static bt_ints axes_of(const bt_call *call)
{
    bt_ints axes;
    memcpy(&axes, call->attrs, sizeof(axes)); // its only attribute
    return axes;
}

static int64_t axis_of(const bt_call *call, uint32_t arg)
{
    const bt_ints axes = axes_of(call);
    return axes.n == BT_NONE_LIST ? 0 : axes.at[arg];
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

/* The masks of a call's arguments, of all their leaves. */
static bt_status mask_of(struct vmap *v, const bt_call *call, uint8_t **out)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 1; i < call->narg; i++)
        n += bt_type_nleaf(call->args[i]->type);
    *out = BT_NEWS(v->arena, uint8_t, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 1; i < call->narg; i++) {
        const uint32_t nleaf = bt_type_nleaf(call->args[i]->type);
        uint8_t *full;
        BT_TRY(batch_full(v, call->args[i]->type, &full));
        if (axis_of(call, i - 1) >= 0 && nleaf)
            memcpy(*out + at, full, nleaf);
        at += nleaf;
    }
    return NULL;
}

/* Marks the body of a closure, as it is for a batch. */
static bt_status mark_closure(struct batch *b, const bt_call *call,
                              const bt_closure_value *closure)
{
    uint8_t *mask;
    BT_TRY(mask_of(b->vmap, call, &mask));
    BT_TRY(batch_mark_params(b, closure->func->block, mask));
    b->is_site = bt_closure_flat_call(closure) != NULL;
    return batch_mark(b, closure->func->block);
}

static bt_status want(struct round *r, const bt_call *call)
{
    struct vmap *v = &r->vmap;
    const bt_global *global = bt_module_global(v->module, call->args[0]);
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    struct batch_func *f;
    struct batch b;
    uint8_t *mask;
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
    if (!bt_map_put(&r->ready, call, (void *)1))
        return bt_no_memory();
    if (global) {
        BT_TRY(mask_of(v, call, &mask));
        return batch_want(v, global, mask, &f);
    }
    batch_init(&b, v, NULL);
    return mark_closure(&b, call, closure);
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
    return batch_close(&r->vmap);
}

/* ---- one call ---- */

/* Puts the axis of examples first. */
static bt_status to_front(struct copy *c, const bt_value *value, int64_t axis,
                          const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    *out = value;
    if (axis <= 0)
        return NULL;
    if (!tuple) {
        bt_text axes;
        bt_text_init(&axes, c->arena);
        bt_text_addf(&axes, "axes=[%u", (unsigned)axis);
        for (uint32_t i = 0; i < bt_tensor_shape(value->type)->n; i++) {
            if (i != axis)
                bt_text_addf(&axes, ", %u", i);
        }
        bt_text_addf(&axes, "]");
        return bt_text_get(&axes)
                   ? bt_build(c->b, "transpose", bt_text_get(&axes), &value, 1, out)
                   : bt_no_memory();
    }
    const bt_value **fields = BT_NEWS(c->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(c->b, value, i, &fields[i]));
        BT_TRY(to_front(c, fields[i], axis, &fields[i]));
    }
    return bt_build_tuple(c->b, tuple->n, fields, out);
}

/* The number of examples. */
static const bt_type *size_of(const bt_value *const *args, const bt_call *call)
{
    for (uint32_t i = 1; i < call->narg; i++) {
        const bt_type *type = args[i]->type;
        const bt_list_type *tuple;
        while ((tuple = bt_as_tuple_type(type)) && tuple->n)
            type = tuple->at[0];
        if (axis_of(call, i - 1) >= 0 && bt_tensor_shape(type))
            return bt_tensor_shape(type)->dims[0];
    }
    return NULL;
}

static bt_status put_closure(struct batch *b, const bt_call *call,
                             const bt_closure_value *closure, const bt_value *const *args,
                             const bt_value **out)
{
    const bt_block *block = closure->func->block;
    uint8_t *full;
    BT_TRY(mark_closure(b, call, closure));
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(copy_put(b->copy, &block->params[i]->base, args[i + 1]));
    b->copy->state = b;
    BT_TRY(copy_bindings(b->copy, block, NULL, out));
    BT_TRY(batch_full(b->vmap, block->result->type, &full));
    return batch_widen(b, *out, batch_mask(b, block->result), full, out);
}

/* What dims of the arguments say of the function's parameters. mask: of the arguments' tensors,
 * which have the examples as axis 0. */
static void find_terms(const bt_type *param, const bt_type *given, const uint8_t **mask,
                       const bt_type **terms)
{
    const bt_list_type *fields = bt_as_list_type(param), *others = bt_as_list_type(given);
    const bt_shape_type *shape = bt_tensor_shape(param), *dims = bt_tensor_shape(given);
    const int is_tuple = bt_as_tuple_type(param) != NULL;
    static const uint8_t same[1];
    for (uint32_t i = 0; fields && others && i < fields->n && i < others->n; i++) {
        const uint8_t *none = same;
        find_terms(fields->at[i], others->at[i], is_tuple ? mask : &none, terms);
    }
    const uint32_t more = is_tuple ? 0 : *(*mask)++;
    for (uint32_t i = 0; shape && dims && dims->n == shape->n + more && i < shape->n;
         i++) {
        const uint8_t *none = same;
        find_terms(shape->dims[i], dims->dims[i + more], &none, terms);
    }
    if (param->kind == BT_TYPE_BOUND) {
        const bt_bound_type *bound = (const bt_bound_type *)(const void *)param;
        if (!bound->depth && !terms[bound->index])
            terms[bound->index] = given;
    }
}

static bt_status put_global(struct batch *b, const bt_call *call, const bt_global *global,
                            const bt_value *const *args, const bt_value **out)
{
    const uint32_t n = call->narg - 1;
    const bt_func_type *type = bt_as_func_type(global->type);
    const uint8_t **masks = BT_NEWS(b->copy->arena, const uint8_t *, n);
    const bt_type **terms = BT_NEWS(b->copy->arena, const bt_type *, type->nparam + 1);
    struct batch_func *f;
    uint8_t *mask;
    if (!masks || !terms)
        return bt_no_memory();
    BT_TRY(mask_of(b->vmap, call, &mask));
    BT_TRY(batch_want(b->vmap, global, mask, &f));
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *at = masks[i] = mask;
        mask += bt_type_nleaf(call->args[i + 1]->type);
        find_terms(type->args[i], args[i + 1]->type, &at, terms);
    }
    return batch_call(b, f, n, args + 1, masks, type->nparam, terms, out);
}

static bt_status put_call(struct round *r, struct copy *c, const bt_call *call)
{
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, call->narg), *now;
    struct batch b;
    void *state = c->state;
    if (!args)
        return bt_no_memory();
    batch_init(&b, &r->vmap, c);
    bt_builder_like(c->b, &call->base);
    for (uint32_t i = 1; i < call->narg; i++) {
        BT_TRY(copy_operand(c, call->args[i], NULL, &args[i]));
        BT_TRY(to_front(c, args[i], axis_of(call, i - 1), &args[i]));
    }
    b.size = size_of(args, call);
    c->binding = batch_binding;
    bt_status status =
        closure ? put_closure(&b, call, closure, args, &now)
                : put_global(&b, call, bt_module_global(r->vmap.module, call->args[0]),
                             args, &now);
    c->state = state;
    BT_TRY(status);
    return copy_put(c, &call->base, now);
}

/* The state of a copy is a round, or a batch while a closure is put in place. */
static bt_status replace(struct copy *c, const bt_value *old, int *done)
{
    struct round *r = c->state;
    if (!is_vmap(old) || !bt_map_find(&r->ready, old))
        return NULL;
    *done = 1;
    bt_status status = put_call(r, c, bt_as_call(old));
    c->binding = replace;
    return status;
}

/* ---- rounds ---- */

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    return batch_declare(&r->vmap, builder);
}

static bt_status redefine(struct round *r, const bt_global *global,
                          bt_module_builder *builder)
{
    struct copy copy;
    bt_global now = *global;
    BT_TRY(copy_init(&copy, r->vmap.ctx, r->vmap.arena, r->declared));
    copy.state = r;
    copy.binding = replace;
    bt_status status = copy_func(&copy, global->func, &now.func);
    copy_deinit(&copy);
    BT_TRY(status);
    return bt_module_builder_set(builder, &now, 0);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    const bt_module *module = r->vmap.module;
    r->vmap.declared = r->declared;
    BT_TRY(batch_define(&r->vmap, builder));
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
