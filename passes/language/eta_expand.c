/*
 * eta-expand: functions of the module that are used as values become closures.
 * Afterwards functions of the module are only called. Operators and constructors are such
 * closures from the start, wherever text or a model uses one as a value.
 * keeps    every invariant
 * source   Relay's EtaExpand, with expand_global_var
 */
#include <string.h>

#include <baton/pass.h>

#include "common/copy.h"

struct expanding {
    const bt_module *module;
    int changes;
};

static const bt_global *function_of(const struct copy *c, const bt_value *value)
{
    const struct expanding *e = c->state;
    const bt_global *global = bt_module_global(e->module, value);
    return global && global->kind == BT_GLOBAL_FUNC ? global : NULL;
}

static bt_status expand(struct copy *c, const bt_value *old, const bt_type *wanted,
                        const bt_value **out)
{
    struct expanding *e = c->state;
    const bt_global *global = c->is_callee ? NULL : function_of(c, old);
    bt_call call = { .callee = old };
    (void)wanted;
    if (!global)
        return NULL;
    e->changes = 1;
    return copy_eta(c, old, global->func, old->type, &call, out);
}

static bt_status expand_in(bt_ctx *ctx, bt_pass_call *call, const bt_global *global,
                           bt_module_builder *builder, int *changes)
{
    struct expanding e = { .module = call->module };
    bt_global now = *global;
    struct copy c;
    BT_TRY(copy_init(&c, ctx, call->scratch, call->module));
    c.state = &e;
    c.operand = expand;
    bt_status status = copy_func(&c, global->func, &now.func);
    copy_deinit(&c);
    *changes |= e.changes;
    return status || !e.changes ? status : bt_module_builder_set(builder, &now, 0);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const bt_module *module = call->module;
    bt_module_builder *builder;
    bt_status status = NULL;
    int changes = 0;
    BT_TRY(bt_module_builder_create(ctx, module->store, module, &builder));
    for (uint32_t i = 0; i < module->nglobal && !status; i++) {
        const bt_global *global = module->globals[i];
        const void *mark = bt_arena_mark(call->scratch);
        if (global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func))
            status = expand_in(ctx, call, global, builder, &changes);
        bt_arena_release(call->scratch, mark);
    }
    if (!status && changes)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    if (!status)
        *out = bt_module_ref(module);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "eta-expand",
        .doc = "Functions of the module that are used as values become closures.\n"
               "before\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @apply(%f: fn (float32) -> float32, %x: float32) { %f(%x) }\n"
               "    def @main(%x: float32) { @apply(@twice, %x) }\n"
               "after\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @apply(%f: fn (float32) -> float32, %x: float32) { %f(%x) }\n"
               "    def @main(%x: float32) { @apply(fn (%x: float32) { @twice(%x) }, %x) "
               "}",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_eta_expand[] = { BT_PASSES(passes), { 0 } };
