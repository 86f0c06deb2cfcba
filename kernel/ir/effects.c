/*
 * Effects: a fixpoint over each component of the call graph.
 *
 * Of every function, closures included, we keep what calling it may do, and which
 * parameters it calls: where the argument of a call is known, so is the effect of calling
 * it. What cannot be resolved (a function out of a tuple, a data type or a cell, a
 * pattern's variable) has all effects.
 */
#include <string.h>

#include <baton/ir.h>
#include <baton/op.h>

#include "ir/walk.h"

/* Beyond so many called parameters a function counts as calling the unknown. */
enum { MAX_CALLED = 32 };

struct summary {
    uint32_t bits;
    bt_vec(const bt_param *) called; /* parameters, of enclosing functions too */
};

struct bt_effects {
    bt_ctx *ctx; /* while it is made */
    const bt_module *module;
    bt_arena *arena;
    bt_map summaries; /* bt_func -> struct summary */
    bt_map bits;      /* calls, ifs and matches -> bits + 1 */
    uint32_t depth;   /* of nested blocks, at most */
    uint32_t changed, has_recursive_closures;
    uint32_t is_final; /* summaries are known: bits of values are written down */
};

static bt_status add_block(bt_effects *, const bt_block *, struct summary *, uint32_t);

/* ---- summaries ---- */

static void add_bits(bt_effects *e, struct summary *s, uint32_t bits)
{
    if (bits & ~s->bits)
        e->changed = 1;
    s->bits |= bits;
}

static bt_status add_called(bt_effects *e, struct summary *s, const bt_param *param)
{
    for (uint32_t i = 0; i < s->called.len; i++) {
        if (s->called.at[i] == param)
            return NULL;
    }
    if (s->called.len == MAX_CALLED) {
        add_bits(e, s, BT_EFFECT_ALL);
        return NULL;
    }
    e->changed = 1;
    return BT_PUSH(e->arena, &s->called, param) ? NULL : bt_no_memory();
}

static struct summary *summary_of(bt_effects *e, const bt_func *func)
{
    struct summary *s = bt_map_find(&e->summaries, func);
    if (s)
        return s;
    s = BT_NEW(e->arena, struct summary);
    return s && bt_map_put(&e->summaries, func, s) ? s : NULL;
}

static uint32_t total_bits(const struct summary *s)
{
    return s->called.len ? BT_EFFECT_ALL : s->bits;
}

/* ---- calls of function values ---- */

static bt_status add_function(bt_effects *, const bt_value *, const bt_call *,
                              struct summary *);

/* Position of a parameter in its function; -1: it belongs to another one. */
static int64_t param_index(const bt_func *func, const bt_param *param)
{
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (func->block->params[i] == param)
            return i;
    }
    return -1;
}

/* What a call of `func` adds; `call` NULL: with arguments that are not known. */
static bt_status add_summary(bt_effects *e, const bt_func *func, const bt_call *call,
                             struct summary *to)
{
    struct summary *from = summary_of(e, func);
    if (!from)
        return bt_no_memory();
    add_bits(e, to, from->bits);
    // `to` may be `from`, which grows while it is read.
    for (uint32_t i = 0; i < from->called.len; i++) {
        const bt_param *param = from->called.at[i];
        int64_t index = param_index(func, param);
        if (index < 0)
            BT_TRY(add_called(e, to, param));
        else if (!call || index >= call->narg)
            add_bits(e, to, BT_EFFECT_ALL);
        else
            BT_TRY(add_function(e, call->args[index], NULL, to));
    }
    return NULL;
}

static bt_status add_global(bt_effects *e, const char *name, const bt_call *call,
                            struct summary *to)
{
    const bt_global *global = bt_module_find(e->module, name);
    if (global && global->kind == BT_GLOBAL_GRADIENT) {
        // A gradient computes its primal function again, with arguments of its own.
        global = bt_module_primal(e->module, global);
        call = NULL;
    }
    if (global && global->kind == BT_GLOBAL_FUNC)
        return add_summary(e, global->func, call, to);
    if (!global || global->kind != BT_GLOBAL_CONST)
        add_bits(e, to, BT_EFFECT_ALL);
    return NULL;
}

/* What calling a value adds. */
static bt_status add_function(bt_effects *e, const bt_value *function,
                              const bt_call *call, struct summary *to)
{
    switch (function->kind) {
    case BT_VALUE_GLOBAL: return add_global(e, function->name, call, to);
    case BT_VALUE_CLOSURE: return add_summary(e, bt_as_closure(function)->func, call, to);
    case BT_VALUE_PARAM: return add_called(e, to, bt_as_param(function));
    case BT_VALUE_CONST:
    case BT_VALUE_CALL:
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_IF:
    case BT_VALUE_MATCH:
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE:
    case BT_VALUE_COUNT: break;
    }
    add_bits(e, to, BT_EFFECT_ALL);
    return NULL;
}

/* Whether a value of this type may be, or hold, a function: tensors and tuples of them
 * do not. Nested terms have bounded depth. */
static int may_hold_function(const bt_type *type)
{
    if (!type)
        return 1;
    if (type->kind == BT_TYPE_TENSOR)
        return 0;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (may_hold_function(tuple->at[i]))
            return 1;
    }
    return tuple == NULL;
}

static uint32_t op_bits(const bt_call *call)
{
    return (call->op->effects & BT_EFFECT_ALL) | (call->ncheck ? BT_EFFECT_FAILS : 0);
}

struct attr_visit {
    bt_effects *effects;
    struct summary *to;
};

/* Uses of an operator's call besides its operands: functions that it may call. */
static bt_status visit_attr(void *self, const bt_value *user, const bt_value *used)
{
    struct attr_visit *visit = self;
    (void)user;
    return used->kind == BT_VALUE_GLOBAL
               ? add_function(visit->effects, used, NULL, visit->to)
               : NULL;
}

static bt_status add_op_call(bt_effects *e, const bt_call *call, struct summary *to)
{
    add_bits(e, to, op_bits(call));
    for (uint32_t i = 0; i < call->narg; i++) {
        if (call->args[i]->kind != BT_VALUE_GLOBAL &&
            may_hold_function(call->args[i]->type))
            BT_TRY(add_function(e, call->args[i], NULL, to));
    }
    struct attr_visit visit = { e, to };
    return bt__value_uses(&call->base, visit_attr, &visit);
}

static bt_status add_call(bt_effects *e, const bt_call *call, struct summary *to)
{
    switch (call->callee_kind) {
    case BT_CALLEE_OP: return add_op_call(e, call, to);
    case BT_CALLEE_CTOR: return NULL;
    default:
        if (call->ncheck)
            add_bits(e, to, BT_EFFECT_FAILS);
        return add_function(e, call->callee, call, to);
    }
}

/* ---- bindings ---- */

/* Calling a member of a recursive group may not end. */
static bt_status add_group(bt_effects *e, const bt_closure_group *group)
{
    int recursive;
    BT_TRY(bt__group_is_recursive(e->arena, group, &recursive));
    e->has_recursive_closures |= (uint32_t)recursive;
    for (uint32_t i = 0; recursive && i < group->n; i++) {
        struct summary *s = summary_of(e, group->at[i]->func);
        if (!s)
            return bt_no_memory();
        add_bits(e, s, BT_EFFECT_DIVERGES);
    }
    return NULL;
}

/* Making a closure does nothing; calling it does what its block does. */
static bt_status add_closure(bt_effects *e, const bt_closure_value *closure,
                             uint32_t depth)
{
    // nothing refers to a group before its first member
    if (closure == closure->group->at[0] && !bt_map_find(&e->summaries, closure->func))
        BT_TRY(add_group(e, closure->group));
    struct summary *s = summary_of(e, closure->func);
    if (!s)
        return bt_no_memory();
    struct summary scratch = { 0 };
    return add_block(e, closure->func->block, e->is_final ? &scratch : s, depth);
}

static uint32_t plain_bits(const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_MATCH: return bt_as_match(value)->otherwise ? BT_EFFECT_FAILS : 0;
    case BT_VALUE_REF: return BT_EFFECT_ALLOCATES;
    case BT_VALUE_READ: return BT_EFFECT_READS;
    case BT_VALUE_WRITE: return BT_EFFECT_WRITES;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CALL:
    case BT_VALUE_CLOSURE:
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_IF:
    case BT_VALUE_COUNT: break;
    }
    return 0;
}

static int is_kept(const bt_value *value)
{
    return value->kind == BT_VALUE_CALL || value->kind == BT_VALUE_IF ||
           value->kind == BT_VALUE_MATCH;
}

static bt_status add_value(bt_effects *e, const bt_value *value, struct summary *to,
                           uint32_t depth)
{
    if (value->kind == BT_VALUE_CLOSURE)
        return add_closure(e, bt_as_closure(value), depth);
    // In the end each value is asked by itself, so that it can be looked up.
    struct summary own = { 0 };
    struct summary *s = e->is_final && is_kept(value) ? &own : to;
    add_bits(e, s, plain_bits(value));
    if (value->kind == BT_VALUE_CALL)
        BT_TRY(add_call(e, bt_as_call(value), s));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(add_block(e, bt_value_region(value, i), s, depth));
    if (s == to)
        return NULL;
    uint32_t bits = total_bits(s);
    add_bits(e, to, bits);
    return bt_map_put(&e->bits, value, (void *)(uintptr_t)(bits + 1)) ? NULL
                                                                      : bt_no_memory();
}

static bt_status add_block(bt_effects *e, const bt_block *block, struct summary *to,
                           uint32_t depth)
{
    if (depth == 0)
        return bt_fail(e->ctx, BT_ERR_LIMIT, "blocks are nested deeper than %u",
                       e->depth);
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(add_value(e, block->bindings[i], to, depth - 1));
    return NULL;
}

/* ---- the fixpoint ---- */

/* Parameters of others that are left at the end of a global function are variables of
 * patterns: what they are is not known. */
static void settle(bt_effects *e, const bt_func *func, struct summary *s)
{
    for (uint32_t i = 0; i < s->called.len; i++) {
        if (param_index(func, s->called.at[i]) < 0)
            add_bits(e, s, BT_EFFECT_ALL);
    }
}

static bt_status add_global_func(bt_effects *e, const bt_global *global, uint32_t bits)
{
    if (global->kind != BT_GLOBAL_FUNC)
        return NULL;
    struct summary scratch = { 0 };
    struct summary *s = e->is_final ? &scratch : summary_of(e, global->func);
    if (!s)
        return bt_no_memory();
    add_bits(e, s, bits);
    BT_TRY(add_block(e, global->func->block, s, e->depth));
    settle(e, global->func, s);
    return NULL;
}

static bt_status solve_component(bt_effects *e, const bt_callgraph *graph, uint32_t c)
{
    uint32_t bits = graph->is_recursive[c] ? BT_EFFECT_DIVERGES : 0;
    do {
        e->changed = 0;
        for (uint32_t i = graph->member_start[c]; i < graph->member_start[c + 1]; i++)
            BT_TRY(add_global_func(e, e->module->globals[graph->members[i]], bits));
    } while (e->changed && (bits || e->has_recursive_closures));
    return NULL;
}

bt_status bt_effects_create(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                            bt_effects **out)
{
    const bt_callgraph *graph;
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    bt_effects *e = BT_NEW(arena, bt_effects);
    if (!e)
        return bt_no_memory();
    *e = (bt_effects){
        .ctx = ctx,
        .module = module,
        .arena = arena,
        .depth = bt_ctx_limits(ctx)->depth,
    };
    bt_map_init(&e->summaries, arena, 0);
    bt_map_init(&e->bits, arena, 0);
    for (uint32_t c = 0; c < graph->ncomponent; c++) {
        e->has_recursive_closures = 0;
        BT_TRY(solve_component(e, graph, c));
    }
    e->is_final = 1;
    for (uint32_t i = 0; i < module->nglobal; i++)
        BT_TRY(add_global_func(e, module->globals[i], 0));
    *out = e;
    return NULL;
}

/* ---- looking up ---- */

static uint32_t bits_of_block(const bt_effects *, const bt_block *, uint32_t depth);

/* The call was made by a pass after the analysis ran. */
static uint32_t new_call_bits(const bt_effects *e, const bt_call *call)
{
    const bt_func *func = NULL;
    if (call->callee_kind == BT_CALLEE_CTOR)
        return 0;
    if (call->callee_kind == BT_CALLEE_OP) {
        for (uint32_t i = 0; i < call->narg; i++) {
            if (may_hold_function(call->args[i]->type))
                return BT_EFFECT_ALL;
        }
        return op_bits(call);
    }
    if (call->callee->kind == BT_VALUE_CLOSURE)
        func = bt_as_closure(call->callee)->func;
    const bt_global *global = bt_module_global(e->module, call->callee);
    if (global && global->kind == BT_GLOBAL_FUNC)
        func = global->func;
    const struct summary *s = func ? bt_map_find(&e->summaries, func) : NULL;
    return s ? total_bits(s) | (call->ncheck ? BT_EFFECT_FAILS : 0) : BT_EFFECT_ALL;
}

static uint32_t bits_of(const bt_effects *e, const bt_value *value, uint32_t depth)
{
    uint32_t known = (uint32_t)(uintptr_t)bt_map_find(&e->bits, value);
    if (known)
        return known - 1;
    if (value->kind == BT_VALUE_CALL)
        return new_call_bits(e, bt_as_call(value));
    uint32_t bits = plain_bits(value);
    if (value->kind != BT_VALUE_CLOSURE) {
        for (uint32_t i = 0; i < bt_value_nregion(value); i++)
            bits |= bits_of_block(e, bt_value_region(value, i), depth);
    }
    return bits;
}

static uint32_t bits_of_block(const bt_effects *e, const bt_block *block, uint32_t depth)
{
    if (depth == 0)
        return BT_EFFECT_ALL;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < block->nbinding; i++)
        bits |= bits_of(e, block->bindings[i], depth - 1);
    return bits;
}

uint32_t bt_effects_of(const bt_effects *e, const bt_value *value)
{
    return bits_of(e, value, e->depth);
}
