/*
 * verify-flat: refuse a program that is not flat, as lowering wants it.
 * Nothing is changed. In a flat program the functions that the entry reaches have no type
 * parameters but dims; a closure does nothing but call a function of the module, with what
 * it holds and then its own arguments; and a match is of a data type, its patterns are
 * constructors of variables and wildcards, each constructor once, and a variable or a
 * wildcard at most at the end. Where the entry is not known, functions with other type
 * parameters are passed over. The pipeline `flatten` makes programs flat.
 * needs    call-graph
 * keeps    every invariant
 * gives    flat
 */
#include <baton/pass.h>

#include "common/vars.h"

struct checking {
    bt_ctx *ctx;
    const bt_module *module;
    bt_arena *arena;
};

static bt_status fail(const struct checking *c, bt_span span, const char *name,
                      const char *what)
{
    return bt_fail_at(c->ctx, BT_ERR_UNSUPPORTED, c->module->store, span,
                      "%s %s; pipeline flatten makes programs flat", name, what);
}

static bt_status check_value(const struct checking *c, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    const bt_match *match = bt_as_match(value);
    bt_text name;
    bt_text_init(&name, c->arena);
    bt_print_operand(value, &name);
    if (!bt_text_get(&name))
        return bt_no_memory();
    if (closure && !bt_closure_flat_call(closure))
        return fail(c, value->span, name.at,
                    "does more than to call a function of the module");
    if (closure && vars_are_generic(value->type))
        return fail(c, value->span, name.at, "has type parameters other than dims");
    if (match && !bt_match_is_flat(match))
        return fail(c, value->span, name.at,
                    "looks at more than the constructor of a value");
    return NULL;
}

static bt_status check_func(const struct checking *c, const bt_func *func)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(c->arena, func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *value = blocks.at[b]->bindings[i];
            if (value->kind == BT_VALUE_CLOSURE || value->kind == BT_VALUE_MATCH)
                BT_TRY(check_value(c, value));
        }
    }
    return NULL;
}

static bt_status check_global(const struct checking *c, const bt_global *global,
                              int is_reached)
{
    bt_text name;
    if (global->kind != BT_GLOBAL_FUNC || bt_func_is_primitive(global->func))
        return NULL;
    if (!vars_are_generic(global->type))
        return check_func(c, global->func);
    if (!is_reached)
        return NULL;
    bt_text_init(&name, c->arena);
    bt_text_addf(&name, "@%s", global->name);
    if (!bt_text_get(&name))
        return bt_no_memory();
    return fail(c, global->span, name.at, "has type parameters other than dims");
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct checking c = { .ctx = ctx, .module = call->module, .arena = call->scratch };
    const bt_module *module = call->module;
    const bt_global *entry = call->entry ? bt_module_find(module, call->entry) : NULL;
    const void *graph;
    const uint8_t *reached = NULL;
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    if (entry)
        BT_TRY(bt_callgraph_reach(graph, module, entry, call->scratch, &reached));
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (!reached || reached[i])
            BT_TRY(check_global(&c, module->globals[i], reached != NULL));
    }
    *out = bt_module_ref(module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "verify-flat",
        .doc = "Refuse a program that is not flat, as lowering wants it.\n"
               "before\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @main(%x: float32) {\n"
               "        %f = fn (%y: float32) { @add(%x, %y) };\n"
               "        %f\n"
               "    }\n"
               "after\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @main(%x: float32) {\n"
               "        %f = fn (%y: float32) { @add(%x, %y) };\n"
               "        %f\n"
               "    }",
        .level = 0,
        .needs = "call-graph",
        .keeps = "* call-graph",
        .gives = "flat",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_verify_flat[] = { BT_PASSES(passes), { 0 } };
