/*
 * outline-checkpoints: what annotation.checkpoint marks becomes a function of its own.
 *     %0 = @f(%x);  annotation.checkpoint(%0)
 *  -> %0 = fn (checkpoint=True) { @f(%x) };  %0()
 * The call, or the branch, that gives the value, or the tuple that the value is a field of, stands
 * in a closure then; of a tuple that is written out each field has its own. Pass lambda-lift makes
 * a function of the module of it, inline leaves it where it is, and differentiate, which reads the
 * attribute, keeps its arguments in place of a tape.
 * Without gradients in the program, and on values that nothing computes, the marks go.
 * keeps    every invariant
 * source   Relay, annotation.checkpoint
 */
#include "common/derivative_attrs.h"
#include "common/version.h"
#include "gradients/custom.h"

struct outlining {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_vec(const bt_global *) funcs; /* with marks */
    bt_map marked;                   /* what is computed again */
    const bt_value *inside; /* of these the one that is being put into its closure */
    int has_gradients;
};

/* ---- what is marked ---- */

static const bt_call *mark_of(const bt_value *value)
{
    return bt_as_op_call(value, "annotation.checkpoint");
}

/* What gives a value that is marked, or each field of it. */
static bt_status mark_from(struct outlining *o, const bt_value *from)
{
    while (bt_as_proj(from))
        from = bt_as_proj(from)->tuple;
    const bt_call *call = bt_as_call(from);
    const bt_tuple_value *tuple = bt_as_tuple(from);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(mark_from(o, tuple->fields[i]));
    if (!(call && call->callee_kind != BT_CALLEE_CTOR && !mark_of(from)) &&
        from->kind != BT_VALUE_IF && from->kind != BT_VALUE_MATCH)
        return NULL;
    return bt_map_put(&o->marked, from, (void *)1) ? NULL : bt_no_memory();
}

static bt_status find_marks(struct outlining *o, const bt_global *global)
{
    bt_blocks blocks = { 0 };
    int any = 0;
    BT_TRY(bt_block_nested(o->arena, global->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *value = blocks.at[b]->bindings[i];
            const bt_call *mark = mark_of(value);
            o->has_gradients |=
                bt_as_op_call(value, "gradient") || bt_as_op_call(value, "jvp");
            if (mark)
                BT_TRY(mark_from(o, mark->args[0]));
            any |= mark != NULL;
        }
    }
    return !any || BT_PUSH(o->arena, &o->funcs, global) ? NULL : bt_no_memory();
}

/* ---- what becomes of it ---- */

/* fn (checkpoint=True) { the binding }, and its call */
static bt_status outline(struct copy *c, const bt_value *old, const bt_value **out)
{
    struct outlining *o = c->state;
    const bt_value *around = o->inside, *closure, *result;
    const bt_type *type, *of;
    const bt_dict_entry attr = { .name = DERIVATIVE_CHECKPOINT,
                                 .kind = BT_DICT_BOOL,
                                 .i = 1 };
    bt_func now = { .name = old->name, .span = old->span, .attrs = { 1, &attr } };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE };
    const bt_func *func;
    BT_TRY(copy_type(c, old->type, &type));
    of = bt_type_func(c->store, &(bt_func_type){ .result = type });
    if (!of)
        return bt_store_why(c->ctx, c->store);
    bt_builder_like(c->b, old);
    BT_TRY(bt_build_closures(c->b, 1, &old->name, &of, &closure));
    BT_TRY(bt_block_begin(c->b, 0, NULL));
    o->inside = old;
    bt_status status = copy_binding(c, old);
    o->inside = around;
    BT_TRY(status);
    result = bt_map_find(&c->values, old);
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.result = result->type;
    BT_TRY(bt_func_create(c->ctx, c->store, &now, &func));
    BT_TRY(bt_build_closure_body(c->b, closure, func));
    call.callee = closure;
    bt_builder_like(c->b, old);
    return bt_build_call(c->b, &call, out);
}

static bt_status binding(struct copy *c, const bt_value *old, int *done)
{
    const struct outlining *o = c->state;
    const bt_call *mark = mark_of(old);
    const bt_value *now;
    *done =
        mark || (o->has_gradients && old != o->inside && bt_map_find(&o->marked, old));
    if (!*done)
        return NULL;
    BT_TRY(mark ? copy_operand(c, mark->args[0], NULL, &now) : outline(c, old, &now));
    return copy_put(c, old, now);
}

/* ---- the next version ---- */

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct outlining *o = state;
    for (uint32_t i = 0; i < o->funcs.len; i++) {
        const bt_func *func;
        struct copy c;
        BT_TRY(copy_init(&c, o->ctx, o->arena, o->module));
        c.state = o;
        c.binding = binding;
        bt_status status = copy_func(&c, o->funcs.at[i]->func, &func);
        copy_deinit(&c);
        BT_TRY(status);
        BT_TRY(version_set_func(builder, o->funcs.at[i], func));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct outlining o = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&o.marked, o.arena, 0);
    for (uint32_t g = 0; g < o.module->nglobal; g++) {
        const bt_global *global = o.module->globals[g];
        o.has_gradients |= global->kind == BT_GLOBAL_GRADIENT;
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(find_marks(&o, global));
    }
    if (o.funcs.len)
        return version_next(ctx, o.module, define_all, &o, out);
    *out = bt_module_ref(o.module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "outline-checkpoints",
        .doc = "What annotation.checkpoint marks becomes a function of its own.\n"
               "before\n"
               "    def @f(%x: float32) -> float32 { annotation.checkpoint(tanh(%x)) }\n"
               "    gradient @df = @f();\n"
               "after\n"
               "    def @f(%x: float32) -> float32 {\n"
               "        %0 = fn (checkpoint=True) -> float32 { tanh(%x) };\n"
               "        %0()\n"
               "    }\n"
               "    gradient @df = @f();",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_gradients_outline_checkpoints[] = { BT_PASSES(passes), { 0 } };
