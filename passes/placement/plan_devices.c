/*
 * plan-devices: say of every call which device computes it.
 * `on N` names the N-th target of the module's attribute `devices`. What is computed from
 * a value, and what it is computed from, is put beside it where nothing else is said; the
 * same holds for parameters and the arguments that they get, for results of functions and of
 * branches, over the whole module. Values between two devices are copied when the
 * program is lowered. Without an `on N` nothing changes.
 * keeps    every invariant
 * source   Relay's PlanDevices
 */
#include <baton/op.h>
#include <baton/pass.h>

#include "common/devices.h"

/* Values that are on one device: union-find. */
struct class
{
    uint32_t parent;
    uint32_t device; /* of a root; 0: free */
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_map numbers; /* value -> its class, from 1 */
    bt_vec(struct class) classes;
    uint32_t is_stated; /* some binding is on a device */
};

/* ---- classes ---- */

static uint32_t find(const struct planner *p, uint32_t number)
{
    while (p->classes.at[number].parent != number)
        number = p->classes.at[number].parent;
    return number;
}

/* Constants are on every device, globals on none. */
static int has_class(const bt_value *value)
{
    return value->kind != BT_VALUE_CONST && value->kind != BT_VALUE_GLOBAL;
}

static bt_status class_of(struct planner *p, const bt_value *value, uint32_t *out)
{
    uintptr_t number = (uintptr_t)bt_map_find(&p->numbers, value);
    if (!number) {
        const struct class made = { p->classes.len, value->device };
        if (!BT_PUSH(p->arena, &p->classes, made))
            return bt_no_memory();
        number = p->classes.len;
        if (!bt_map_put(&p->numbers, value, (void *)number))
            return bt_no_memory();
    }
    *out = find(p, (uint32_t)number - 1);
    return NULL;
}

/* Puts two values beside each other, unless they are said to be apart. */
static bt_status join(struct planner *p, const bt_value *a, const bt_value *b)
{
    uint32_t x, y;
    if (!has_class(a) || !has_class(b))
        return NULL;
    BT_TRY(class_of(p, a, &x));
    BT_TRY(class_of(p, b, &y));
    const uint32_t one = p->classes.at[x].device, other = p->classes.at[y].device;
    if (x == y || (one && other && one != other))
        return NULL;
    p->classes.at[x].device = one ? one : other;
    p->classes.at[y].parent = x;
    return NULL;
}

/* ---- bindings ---- */

static bt_status check_stated(struct planner *p, const bt_value *value)
{
    p->is_stated |= value->device != 0;
    return !value->device || device_target(p->module, value->device)
               ? NULL
               : bt_fail_at(p->ctx, BT_ERR_NAME, p->module->store, value->span,
                            "`on %u`: the module's attribute devices does not list so "
                            "many targets: #[attrs(devices=[\"cpu\", ...])]",
                            value->device);
}

static bt_status join_call(struct planner *p, const bt_call *call)
{
    const bt_global *global = bt_module_global(p->module, call->callee);
    const bt_block *block = global && global->func ? global->func->block : NULL;
    if (block)
        BT_TRY(join(p, &call->base, block->result));
    for (uint32_t i = 0; i < call->narg; i++) {
        if (block && i < block->nparam)
            BT_TRY(join(p, call->args[i], &block->params[i]->base));
        else if (call->callee_kind == BT_CALLEE_OP)
            BT_TRY(join(p, call->args[i], &call->base));
    }
    return NULL;
}

static bt_status join_binding(struct planner *p, const bt_value *value)
{
    if (value->kind == BT_VALUE_CALL)
        return join_call(p, bt_as_call(value));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(join(p, value, bt_value_region(value, i)->result));
    if (value->kind != BT_VALUE_TUPLE && value->kind != BT_VALUE_PROJ)
        return NULL;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(join(p, value, bt_value_operand(value, i)));
    return NULL;
}

/* Of all functions and the blocks in them, in order. */
static bt_status each_binding(struct planner *p,
                              bt_status (*meet)(struct planner *, const bt_value *))
{
    bt_blocks blocks = { 0 };
    for (uint32_t i = 0; i < p->module->nglobal; i++) {
        const bt_func *func = p->module->globals[i]->func;
        if (func && !bt_func_is_primitive(func))
            BT_TRY(bt_block_nested(p->arena, func->block, &blocks));
    }
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        for (uint32_t i = 0; i < block->nparam; i++)
            BT_TRY(check_stated(p, &block->params[i]->base));
        for (uint32_t i = 0; i < block->nbinding; i++)
            BT_TRY(meet(p, block->bindings[i]));
    }
    return NULL;
}

/* ---- rewriting ---- */

static bt_status rewrite_call(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value *old = &call->base;
    uint32_t class;
    if (old->device || call->callee_kind != BT_CALLEE_OP ||
        !bt_map_find(&p->numbers, old))
        return NULL;
    BT_TRY(class_of(p, old, &class));
    if (!p->classes.at[class].device)
        return NULL;
    const bt_value **operands = BT_NEWS(p->arena, const bt_value *, call->narg);
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rw, call->args[i], &operands[i]));
    bt_builder_device(b, p->classes.at[class].device);
    return bt_build_again(b, old, operands, NULL, NULL, out);
}

static const bt_rewriter rewriter = { .call_ = rewrite_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct planner p = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&p.numbers, p.arena, 0);
    BT_TRY(each_binding(&p, check_stated));
    if (!p.is_stated) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    BT_TRY(each_binding(&p, join_binding));
    return bt_rewrite_module(ctx, call, &rewriter, &p, out);
}

static const bt_pass passes[] = {
    {
        .name = "plan-devices",
        .doc = "Say of every call which device computes it.\n"
               "before\n"
               "    #[attrs(devices=[\"cpu\", \"reference\"])]\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %0 on 2 = exp(%x);\n"
               "        %1 = negative(%0);\n"
               "        %2 on 1 = sqrt(%1);\n"
               "        tanh(%2)\n"
               "    }\n"
               "after\n"
               "    #[attrs(devices=[\"cpu\", \"reference\"])]\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %0 on 2 = exp(%x);\n"
               "        %1 on 2 = negative(%0);\n"
               "        %2 on 1 = sqrt(%1);\n"
               "        %3 on 1 = tanh(%2);\n"
               "        %3\n"
               "    }",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_placement_plan_devices[] = { BT_PASSES(passes), { 0 } };
