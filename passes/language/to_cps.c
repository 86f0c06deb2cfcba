/*
 * to-cps: functions give their result to a continuation instead of returning it.
 * Every call is in tail position then, and what is left to do is a closure. Functions of
 * the module are replaced by others, as their types change. These, closures and function
 * types have one more parameter, the continuation, whose
 * result, the answer, may be of any type. Operators, constructors and primitive functions
 * are called as before, and so is a branch in which no function is called. The order of
 * bindings stays, so that references are read and written as before. Pass un-cps makes
 * functions that return again.
 * What comes behind a call is nested in it, so that a function may have as many calls one
 * behind the other as blocks may nest. Refused are function values with type parameters and
 * results with dims that only a run shows, of which the type of a continuation cannot speak;
 * fields of function type in data types, but by their parameters; and gradients and operators
 * that are given functions, as vmap, which are of functions that return.
 * keeps    every invariant
 * source   Relay's to_cps; Appel 1992, Compiling with Continuations
 */
#include <string.h>

#include <baton/pass.h>

#include "common/copy.h"
#include "common/names.h"
#include "common/retype.h"
#include "common/version.h"

struct cps {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    const bt_type *answer; /* of the function at hand */
    bt_map known;          /* types -> what they become in it */
    bt_map passing;        /* bindings that give their value to a continuation */
    bt_map names;          /* functions -> what replaces them */
    bt_map taken;
    bt_span span; /* of the function at hand */
};

static bt_status fail(const struct cps *s, bt_span span, const char *what)
{
    return bt_fail_at(s->ctx, BT_ERR_UNSUPPORTED, s->module->store, span, "to-cps: %s",
                      what);
}

/* Whether a function of the module takes a continuation. */
static int is_converted(const bt_global *global)
{
    return global && global->kind == BT_GLOBAL_FUNC &&
           !bt_func_is_primitive(global->func);
}

static const char *name_now(const struct cps *s, const char *name)
{
    const char *now = bt_map_find(&s->names, name);
    return now ? now : name;
}

/* ---- types ---- */

/* fn (T) -> Answer */
static bt_status type_of_rest(const struct cps *s, const bt_type *type,
                              const bt_type **out)
{
    bt_func_type fields = { .narg = 1, .args = &type, .result = s->answer };
    *out = bt_type_func(s->module->store, &fields);
    return *out ? NULL : bt_store_why(s->ctx, s->module->store);
}

static bt_status map_type(void *state, const bt_type *type, const bt_type **out);

static struct retype retype(struct cps *s)
{
    return (struct retype){ s->ctx, s->arena, s->module->store, map_type, s };
}

/* What a function takes: the types of its own parameters, and of the continuation last. */
static bt_status map_args(struct cps *s, uint32_t n, const bt_type *const *args,
                          const bt_type *result, const bt_type ***out)
{
    const struct retype r = retype(s);
    const bt_type **own;
    int same = 1;
    if (result->has & BT_HAS_OPAQUE)
        return fail(s, s->span,
                    "a function here gives dims that only a run shows, of which the "
                    "type of a continuation cannot speak");
    BT_TRY(retype_list(&r, n, args, &own, &same));
    BT_TRY(map_type(s, result, &result));
    *out = BT_NEWS(s->arena, const bt_type *, (size_t)n + 1);
    if (!*out)
        return bt_no_memory();
    if (n)
        memcpy(*out, own, n * sizeof(*own));
    return type_of_rest(s, result, &(*out)[n]);
}

static bt_status map_func(struct cps *s, const bt_func_type *type, const bt_type **out)
{
    const bt_type **args;
    if (type->nparam)
        return fail(s, s->span,
                    "a function with type parameters is used as a value; run "
                    "monomorphize before");
    BT_TRY(map_args(s, type->narg, type->args, type->result, &args));
    bt_func_type fields = { .narg = type->narg + 1, .args = args, .result = s->answer };
    *out = bt_type_func(s->module->store, &fields);
    return *out ? NULL : bt_store_why(s->ctx, s->module->store);
}

/* Types nest at most BT_TYPE_DEPTH deep. */
static bt_status map_type(void *state, const bt_type *type, const bt_type **out)
{
    struct cps *s = state;
    const struct retype r = retype(s);
    *out = bt_map_find(&s->known, type);
    if (*out)
        return NULL;
    if (type->kind == BT_TYPE_FUNC)
        BT_TRY(map_func(s, bt_as_func_type(type), out));
    else
        BT_TRY(retype_parts(&r, type, out));
    return bt_map_put(&s->known, type, (void *)(uintptr_t)*out) ? NULL : bt_no_memory();
}

static bt_status type_of_copy(struct copy *c, const bt_type *type, const bt_type **out)
{
    return map_type(c->state, type, out);
}

/* ---- what gives its value to a continuation ---- */

static int is_passing(const struct cps *s, const bt_value *value)
{
    return bt_map_find(&s->passing, value) != NULL;
}

static int calls_converted(const struct cps *s, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_VALUE &&
           (call->callee->kind != BT_VALUE_GLOBAL ||
            is_converted(bt_module_global(s->module, call->callee)));
}

/* Calls of functions, and branches in which there are any. Blocks nest as deep as builders
 * allow. */
static bt_status find_passing(struct cps *s, const bt_block *block, int *any)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        int passes = calls_converted(s, value), inside = 0;
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(find_passing(s, bt_value_region(value, k), &inside));
        passes |= inside && value->kind != BT_VALUE_CLOSURE;
        *any |= passes;
        if (passes && !bt_map_put(&s->passing, value, s))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- blocks ---- */

static bt_status convert(struct copy *c, const bt_block *block, uint32_t from,
                         const bt_value *rest, const bt_value **out);

/* fn (%value: T) -> Answer { what comes behind binding i } */
static bt_status make_rest(struct copy *c, const bt_block *block, uint32_t i,
                           const bt_value *rest, const bt_value **out)
{
    const struct cps *s = c->state;
    const bt_value *value = block->bindings[i], *result;
    const bt_type *type, *value_type;
    const bt_param *param;
    const bt_func *now;
    bt_func func = { .result = s->answer, .span = value->span };
    if (value->type->has & BT_HAS_OPAQUE)
        return fail(s, value->span,
                    "what is called gives dims that only a run shows, of which the type "
                    "of a continuation cannot speak");
    BT_TRY(copy_type(c, value->type, &value_type));
    BT_TRY(type_of_rest(s, value_type, &type));
    bt_builder_at(c->b, value->span, value->prov);
    BT_TRY(bt_build_closures(c->b, 1, NULL, &type, out));
    BT_TRY(bt_build_param(c->b, value->name, value_type, &param));
    BT_TRY(copy_put(c, value, &param->base));
    BT_TRY(bt_block_begin(c->b, 1, &param));
    BT_TRY(convert(c, block, i + 1, rest, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &func, &now));
    return bt_build_closure_body(c->b, *out, now);
}

/* A call that the answer comes of. */
static bt_status call_answer(struct copy *c, const bt_call *call, const bt_value **out)
{
    const struct cps *s = c->state;
    bt_builder_type(c->b, s->answer);
    return bt_build_call(c->b, call, out);
}

static bt_status give(struct copy *c, const bt_value *rest, const bt_value *value,
                      const bt_value **out)
{
    const bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = rest, .narg = 1, .args = &value
    };
    // a result of another type than its function's was checked to be of that
    return bt_as_func_type(rest->type)->args[0] == value->type
               ? call_answer(c, &call, out)
               : bt_build_call(c->b, &call, out);
}

static bt_status convert_call(struct copy *c, const bt_call *old, const bt_value *rest,
                              const bt_value **out)
{
    const struct cps *s = c->state;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, (size_t)old->narg + 1);
    const bt_type **terms = BT_NEWS(c->arena, const bt_type *, old->ntype_arg + 1);
    bt_call call = *old;
    if (!args || !terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++)
        BT_TRY(copy_operand(c, old->args[i], NULL, &args[i]));
    args[call.narg++] = rest;
    for (uint32_t i = 0; i < old->ntype_arg; i++)
        BT_TRY(copy_type(c, old->type_args[i], &terms[i]));
    if (old->callee->kind == BT_VALUE_GLOBAL) {
        terms[call.ntype_arg++] = s->answer;
        BT_TRY(bt_build_global(c->b, name_now(s, old->callee->name), &call.callee));
    } else {
        BT_TRY(copy_operand(c, old->callee, NULL, &call.callee));
    }
    call.args = args;
    call.type_args = terms;
    bt_builder_like(c->b, &old->base);
    bt_builder_name(c->b, NULL);
    return call_answer(c, &call, out);
}

static bt_status convert_region(struct copy *c, const bt_block *old, const bt_value *rest,
                                const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    BT_TRY(copy_params(c, old->nparam, old->params, &params));
    BT_TRY(bt_block_begin(c->b, old->nparam, params));
    BT_TRY(convert(c, old, 0, rest, &result));
    return bt_block_end(c->b, result, out);
}

static bt_status convert_branch(struct copy *c, const bt_value *old, const bt_value *rest,
                                const bt_value **out)
{
    const struct cps *s = c->state;
    uint32_t n = bt_value_nregion(old);
    const bt_block **regions = BT_NEWS(c->arena, const bt_block *, n);
    const bt_value *on;
    if (!regions)
        return bt_no_memory();
    BT_TRY(copy_operand(c, bt_value_operand(old, 0), NULL, &on));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(convert_region(c, bt_value_region(old, i), rest, &regions[i]));
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    bt_builder_type(c->b, s->answer);
    return bt_build_again(c->b, old, &on, regions, s->answer, out);
}

/* The bindings from one on, then what the block gives to the continuation. */
static bt_status convert(struct copy *c, const bt_block *block, uint32_t from,
                         const bt_value *rest, const bt_value **out)
{
    const bt_value *result;
    for (uint32_t i = from; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (!is_passing(c->state, value)) {
            BT_TRY(copy_binding(c, value));
            continue;
        }
        // behind a call in tail position nothing is left to do
        if (i + 1 < block->nbinding || block->result != value)
            BT_TRY(make_rest(c, block, i, rest, &rest));
        return value->kind == BT_VALUE_CALL
                   ? convert_call(c, bt_as_call(value), rest, out)
                   : convert_branch(c, value, rest, out);
    }
    BT_TRY(copy_operand(c, block->result, NULL, &result));
    return give(c, rest, result, out);
}

/* ---- functions ---- */

static bt_status convert_func(struct copy *c, const bt_func *old, const bt_func **out)
{
    const struct cps *s = c->state;
    uint32_t n = old->block->nparam;
    const bt_param **own, **params = BT_NEWS(c->arena, const bt_param *, (size_t)n + 1);
    const bt_value *result;
    const bt_type *type;
    bt_func func = *old;
    if (!params)
        return bt_no_memory();
    BT_TRY(copy_params(c, n, old->block->params, &own));
    if (n)
        memcpy(params, own, n * sizeof(*own));
    BT_TRY(copy_type(c, old->result, &type));
    BT_TRY(type_of_rest(s, type, &type));
    BT_TRY(bt_build_param(c->b, "return", type, &params[n]));
    BT_TRY(bt_block_begin(c->b, n + 1, params));
    BT_TRY(convert(c, old->block, 0, &params[n]->base, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    func.result = s->answer;
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* fn (%x: A, %return: fn (B) -> Answer) { @f(%x, %return) }, or for a function that returns
 * { %return(@f(%x)) }. */
static bt_status make_value(struct copy *c, const bt_value *old, const bt_global *global,
                            const bt_value **out)
{
    const struct cps *s = c->state;
    const bt_type *type;
    BT_TRY(copy_type(c, old->type, &type));
    const bt_func_type *to = bt_as_func_type(type);
    uint32_t n = to->narg - 1;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, to->narg);
    const bt_value *result;
    const bt_func *now;
    bt_func func = { .result = s->answer, .span = old->span };
    if (!params)
        return bt_no_memory();
    bt_builder_at(c->b, old->span, old->prov);
    BT_TRY(bt_build_closures(c->b, 1, NULL, &type, out));
    for (uint32_t i = 0; i < to->narg; i++)
        BT_TRY(bt_build_param(c->b, i < n ? NULL : "return", to->args[i], &params[i]));
    BT_TRY(bt_block_begin(c->b, to->narg, params));
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = n,
                     .args = (const bt_value *const *)params };
    BT_TRY(bt_build_global(c->b, name_now(s, old->name), &call.callee));
    if (is_converted(global)) {
        call.narg = to->narg;
        call.ntype_arg = 1;
        call.type_args = &s->answer;
        BT_TRY(call_answer(c, &call, &result));
    } else {
        BT_TRY(bt_build_call(c->b, &call, &result));
        BT_TRY(give(c, &params[n]->base, result, &result));
    }
    BT_TRY(bt_block_end(c->b, result, &func.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &func, &now));
    return bt_build_closure_body(c->b, *out, now);
}

static bt_status value_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                               const bt_value **out)
{
    const struct cps *s = c->state;
    const bt_global *global = bt_module_global(s->module, old);
    (void)wanted;
    return global && !c->is_callee && bt_as_func_type(old->type)
               ? make_value(c, old, global, out)
               : NULL;
}

/* ---- the next version ---- */

/* Begins with a function: its type variables, and the answer's behind them. */
static bt_status begin(struct cps *s, const bt_func *func, const bt_type ***out)
{
    const bt_type_param param = { .kind = BT_KIND_TYPE };
    const bt_type **vars = *out = BT_NEWS(s->arena, const bt_type *, func->nvar + 1);
    const bt_type *answer = bt_type_var(s->module->store, &param, "Answer");
    if (!vars || !answer)
        return bt_store_why(s->ctx, s->module->store);
    if (func->nvar)
        memcpy(vars, func->vars, func->nvar * sizeof(*vars));
    vars[func->nvar] = s->answer = answer;
    s->span = func->span;
    bt_map_init(&s->known, s->arena, 0);
    bt_map_init(&s->passing, s->arena, 0);
    return NULL;
}

static bt_status name_func(struct cps *s, const bt_global *old, const char **out)
{
    BT_TRY(name_new(s->module, s->arena, &s->taken, out, "%s_cps", old->name));
    return bt_map_put(&s->names, old->name, (void *)(uintptr_t)*out) ? NULL
                                                                     : bt_no_memory();
}

static bt_status declare(struct cps *s, const bt_global *old, bt_module_builder *builder)
{
    const bt_func *func = old->func;
    uint32_t n = func->block->nparam;
    const bt_type **vars, **types = BT_NEWS(s->arena, const bt_type *, n), **args;
    bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = old->span };
    if (!types)
        return bt_no_memory();
    BT_TRY(name_func(s, old, &global.name));
    bt_module_builder_remove(builder, old->name);
    BT_TRY(begin(s, func, &vars));
    for (uint32_t i = 0; i < n; i++)
        types[i] = func->block->params[i]->base.type;
    BT_TRY(map_args(s, n, types, func->result, &args));
    global.type = bt_func_type_close(s->module->store, func->nvar + 1, vars, n + 1, args,
                                     s->answer, func->nwhere, func->wheres);
    return global.type ? bt_module_builder_set(builder, &global, 1)
                       : bt_store_why(s->ctx, s->module->store);
}

static bt_status define(struct cps *s, const bt_global *old, bt_module_builder *builder)
{
    bt_global global = *old;
    bt_func func = *old->func;
    const bt_type **vars;
    const bt_func *now;
    struct copy c;
    int any = 0;
    global.name = func.name = name_now(s, old->name);
    BT_TRY(begin(s, old->func, &vars));
    BT_TRY(find_passing(s, old->func->block, &any));
    BT_TRY(copy_init(&c, s->ctx, s->arena, s->declared));
    c.state = s;
    c.type = type_of_copy;
    c.operand = value_operand;
    c.closure = convert_func;
    func.nvar++;
    func.vars = vars;
    bt_status status = convert_func(&c, &func, &now);
    copy_deinit(&c);
    if (status && status->code == BT_ERR_LIMIT)
        status = bt_note(s->ctx, status, s->module->store, old->span,
                         "what comes behind a call is nested in the call: so many in one "
                         "function are too many; a part of @%s as a function of its own "
                         "has a depth of its own",
                         old->name);
    return status ? status : version_set_func(builder, &global, now);
}

static bt_status each_function(struct cps *s, bt_module_builder *builder,
                               bt_status (*make)(struct cps *, const bt_global *,
                                                 bt_module_builder *))
{
    for (uint32_t i = 0; i < s->module->nglobal; i++) {
        if (is_converted(s->module->globals[i]))
            BT_TRY(make(s, s->module->globals[i], builder));
    }
    return NULL;
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    return each_function(state, builder, declare);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    return each_function(state, builder, define);
}

/* An operator calls no function that does not return. */
static bt_status check_call(const struct cps *s, const bt_call *call)
{
    int takes_func = 0;
    for (uint32_t i = 0; call && call->callee_kind == BT_CALLEE_OP && i < call->narg; i++)
        takes_func |= bt_as_func_type(call->args[i]->type) != NULL;
    if (!takes_func)
        return NULL;
    return bt_fail_at(
        s->ctx, BT_ERR_UNSUPPORTED, s->module->store, call->base.span,
        "to-cps: %s takes a function that returns; run %s before", call->op->name,
        strcmp(call->op->name, "vmap") == 0 ? "pass vmap" : "pipeline gradients");
}

static bt_status check_func(const struct cps *s, const bt_func *func)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(s->arena, func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(check_call(s, bt_as_call(blocks.at[b]->bindings[i])));
    }
    return NULL;
}

/* What no continuation can be given to. */
static bt_status check_module(struct cps *s)
{
    const bt_module *module = s->module;
    s->answer = bt_type_tuple(module->store, 0, NULL); // any: only changes are asked for
    if (!s->answer)
        return bt_store_why(s->ctx, module->store);
    bt_map_init(&s->known, s->arena, 0);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_GRADIENT)
            return fail(s, module->globals[i]->span,
                        "a gradient is taken of a function that returns");
        if (is_converted(module->globals[i]))
            BT_TRY(check_func(s, module->globals[i]->func));
    }
    return retype_check_data(s->ctx, s->arena, module, "to-cps");
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct cps s = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&s.names, s.arena, 1);
    bt_map_init(&s.taken, s.arena, 0);
    BT_TRY(check_module(&s));
    return version_create(ctx, s.module, declare_all, define_all, &s, &s.declared, out);
}

static const bt_pass passes[] = {
    {
        .name = "to-cps",
        .doc =
            "Functions give their result to a continuation instead of returning it.\n"
            "before\n"
            "    def @square(%x: float32) { multiply(%x, %x) }\n"
            "    def @main(%x: float32) {\n"
            "        %0 = @square(%x);\n"
            "        add(%0, 1f)\n"
            "    }\n"
            "after\n"
            "    def @square_cps<Answer>(%x: float32, %return: fn (float32) -> Answer) "
            "-> "
            "Answer {\n"
            "        %0 = multiply(%x, %x);\n"
            "        %return(%0)\n"
            "    }\n"
            "    def @main_cps<Answer>(%x: float32, %return: fn (float32) -> Answer) -> "
            "Answer {\n"
            "        @square_cps(%x, fn (%0: float32) {\n"
            "            %1 = add(%0, 1f);\n"
            "            %return(%1)\n"
            "        })\n"
            "    }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_to_cps[] = { BT_PASSES(passes), { 0 } };
