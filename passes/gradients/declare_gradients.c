/*
 * declare-gradients: operators gradient and jvp become declarations.
 *     %g = gradient(@f, wrt=[0]);  %g(%x)
 *  -> gradient @f.gradient = @f(wrt=[0]);  @f.gradient(%x)
 * A closure that calls a function of the module, as lambda-lift leaves them, gives its function
 * what it holds as further arguments, by which is not derived:
 *     %h = fn (%y) { @lifted(%x, %y) };  %g = gradient(%h)
 *  -> gradient @lifted.gradient = @lifted(wrt=[1]);  %g = fn (%y) { @lifted.gradient(%x, %y) }
 * Declarations by all arguments of a function that takes functions, too, get a list of those
 * that it is: functions become data later, which may hold floats.
 * needs    lifted
 * keeps    every invariant
 */
#include <string.h>

#include "common/copy.h"
#include "common/derived_by.h"
#include "common/names.h"
#include "common/version.h"
#include "gradients/adjoint.h"

/* What stands for a call of one of the operators. */
struct made {
    const bt_global *declared;
    const bt_call
        *held;      /* the call in a closure that is derived; NULL: it is no closure */
    uint32_t nheld; /* its arguments that the closure holds */
};

struct declaring {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_module *declared;       /* with the declarations */
    bt_map calls;                    /* of the operators -> struct made */
    bt_map taken;                    /* names */
    bt_vec(const bt_global *) funcs; /* with such calls */
    bt_vec(const bt_global *) globals;
    bt_vec(const bt_global *) explicit; /* declarations again, with their wrt */
};

/* ---- what is derived ---- */

static int is_operator(const bt_value *value)
{
    return bt_as_op_call(value, "gradient") || bt_as_op_call(value, "jvp");
}

static bt_status fail(struct declaring *d, const bt_value *at, const char *why)
{
    return bt_fail_at(d->ctx, BT_ERR_UNSUPPORTED, d->module->store, at->span, "%s: %s",
                      bt_as_call(at)->op->name, why);
}

/* The operator's options. */
static bt_gradient_spec read_spec(const bt_call *call)
{
    const bt_ints *wrt = bt_attr_find(call->op, call->attrs, "wrt", BT_ATTR_INTS);
    const bt_ints *keep = bt_attr_find(call->op, call->attrs, "keep", BT_ATTR_INTS);
    if (bt_as_op_call(&call->base, "jvp"))
        return (bt_gradient_spec){ .wrt = *wrt, .is_forward = 1 };
    return (bt_gradient_spec){ .from = (uint32_t)bt_call_int(call, "from", 0),
                               .wrt = *wrt,
                               .keep = *keep,
                               .is_seeded = (uint32_t)bt_call_int(call, "seeded", 0) };
}

/* The function that is derived, and what a closure holds of its arguments. */
static bt_status find_primal(struct declaring *d, const bt_call *call, struct made *out,
                             const bt_global **primal)
{
    const bt_value *operand = call->args[0];
    const struct made *inner = bt_map_find(&d->calls, operand);
    const bt_closure_value *closure = bt_as_closure(operand);
    *primal = bt_module_global(d->module, operand);
    if (inner) {
        *out = *inner;
        *primal = inner->declared;
    } else if (closure && (out->held = bt_closure_flat_call(closure))) {
        out->nheld = out->held->narg - closure->func->block->nparam;
        *primal = bt_module_global(d->module, out->held->callee);
        if (closure->func->nvar)
            return fail(d, &call->base,
                        "its function has type parameters of its own and holds values: "
                        "annotate its parameters with known types");
    }
    if (!*primal)
        return fail(d, &call->base,
                    "what its function is shows only when the program runs: give a "
                    "function of the module, or a fn that stands in the same function");
    if ((*primal)->kind == BT_GLOBAL_CONST)
        return bt_fail_at(d->ctx, BT_ERR_UNSUPPORTED, d->module->store, call->base.span,
                          "%s: @%s is no function of the module", call->op->name,
                          (*primal)->name);
    return NULL;
}

static bt_status takes_code(struct declaring *d, const bt_func_type *type, int *out)
{
    int has_float;
    *out = 0;
    for (uint32_t i = 0; i < type->narg && !*out; i++)
        BT_TRY(bt_type_holds(d->arena, type->args[i], &has_float, out));
    return NULL;
}

/* ---- declarations ---- */

static const bt_global *find_same(const struct declaring *d, const bt_global *wanted)
{
    for (uint32_t i = 0; i < d->globals.len; i++) {
        const bt_global *other = d->globals.at[i];
        if (other->primal == wanted->primal &&
            bt_gradient_spec_equal(&other->gradient, &wanted->gradient))
            return other;
    }
    return NULL;
}

static bt_status declare_call(struct declaring *d, const bt_call *call)
{
    struct made *made = BT_NEW(d->arena, struct made);
    bt_global *global = BT_NEW(d->arena, bt_global);
    const bt_global *primal;
    int has_code;
    if (!made || !global)
        return bt_no_memory();
    *made = (struct made){ 0 };
    *global = (bt_global){ .kind = BT_GLOBAL_GRADIENT, .span = call->base.span };
    BT_TRY(find_primal(d, call, made, &primal));
    global->primal = primal->name;
    global->gradient = read_spec(call);
    const bt_func_type *type = bt_as_func_type(primal->type);
    BT_TRY(takes_code(d, type, &has_code));
    if (made->held || (global->gradient.wrt.n == BT_NONE_LIST && has_code))
        BT_TRY(derived_by(d->arena, type, made->nheld, &global->gradient));
    if (!(made->declared = find_same(d, global))) {
        BT_TRY(name_new(d->module, d->arena, &d->taken, &global->name, "%s.%s",
                        global->primal,
                        global->gradient.is_forward ? "jvp" : "gradient"));
        BT_TRY(bt_gradient_type(d->ctx, d->module->store, global, primal->type,
                                &global->type));
        if (!BT_PUSH(d->arena, &d->globals, global))
            return bt_no_memory();
        made->declared = global;
    }
    return bt_map_put(&d->calls, call, made) ? NULL : bt_no_memory();
}

static bt_status find_calls(struct declaring *d, const bt_global *global)
{
    bt_blocks blocks = { 0 };
    int any = 0;
    BT_TRY(bt_block_nested(d->arena, global->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            if (!is_operator(blocks.at[b]->bindings[i]))
                continue;
            BT_TRY(declare_call(d, bt_as_call(blocks.at[b]->bindings[i])));
            any = 1;
        }
    }
    return !any || BT_PUSH(d->arena, &d->funcs, global) ? NULL : bt_no_memory();
}

/* A declaration by all of some arguments says by which. */
static bt_status make_explicit(struct declaring *d, const bt_global *old)
{
    const bt_global *primal = bt_module_find(d->module, old->primal);
    const bt_func_type *type = primal ? bt_as_func_type(primal->type) : NULL;
    bt_global *now;
    int has_code;
    if (!type || old->gradient.wrt.n != BT_NONE_LIST)
        return NULL;
    BT_TRY(takes_code(d, type, &has_code));
    if (!has_code)
        return NULL;
    if (!(now = BT_NEW(d->arena, bt_global)))
        return bt_no_memory();
    *now = *old;
    BT_TRY(derived_by(d->arena, type, 0, &now->gradient));
    return BT_PUSH(d->arena, &d->explicit, now) ? NULL : bt_no_memory();
}

static bt_status find_all(struct declaring *d)
{
    for (uint32_t g = 0; g < d->module->nglobal; g++) {
        const bt_global *global = d->module->globals[g];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(find_calls(d, global));
        else if (global->kind == BT_GLOBAL_GRADIENT)
            BT_TRY(make_explicit(d, global));
    }
    return NULL;
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct declaring *d = state;
    for (uint32_t i = 0; i < d->explicit.len; i++)
        BT_TRY(bt_module_builder_set(builder, d->explicit.at[i], 0));
    for (uint32_t i = 0; i < d->globals.len; i++)
        BT_TRY(bt_module_builder_set(builder, d->globals.at[i], 1));
    return NULL;
}

/* ---- their uses ---- */

/* @declared(what is held.., args..) */
static bt_status call_declared(struct copy *c, const struct made *made,
                               const bt_value *like, const bt_type *type, uint32_t narg,
                               const bt_value *const *args, const bt_value **out)
{
    const bt_value **all = BT_NEWS(c->arena, const bt_value *, made->nheld + narg);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .ntype_arg = made->held->ntype_arg,
                     .narg = made->nheld + narg,
                     .args = all };
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < made->nheld; i++)
        BT_TRY(copy_operand(c, made->held->args[i], NULL, &all[i]));
    for (uint32_t i = 0; i < narg; i++)
        all[made->nheld + i] = args[i];
    BT_TRY(copy_types(c, call.ntype_arg, made->held->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, made->declared->name, &call.callee));
    bt_builder_like(c->b, like);
    bt_builder_type(c->b, type);
    return bt_build_call(c->b, &call, out);
}

/* fn (%y) { @declared(what is held.., %y) } */
static bt_status make_closure(struct copy *c, const struct made *made,
                              const bt_value *old, const bt_value **out)
{
    const bt_type *type;
    bt_func now = { .name = old->name, .span = old->span };
    const bt_value *result;
    const bt_func *func;
    BT_TRY(copy_type(c, old->type, &type));
    const bt_func_type *of = bt_as_func_type(type);
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, of->narg);
    if (!params)
        return bt_no_memory();
    bt_builder_like(c->b, old);
    BT_TRY(bt_build_closures(c->b, 1, &old->name, &type, out));
    for (uint32_t i = 0; i < of->narg; i++)
        BT_TRY(bt_build_param(c->b, "x", of->args[i], &params[i]));
    BT_TRY(bt_block_begin(c->b, of->narg, params));
    BT_TRY(call_declared(c, made, old, of->result, of->narg,
                         (const bt_value *const *)params, &result));
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.result = of->result;
    BT_TRY(bt_func_create(c->ctx, c->store, &now, &func));
    return bt_build_closure_body(c->b, *out, func);
}

static bt_status binding(struct copy *c, const bt_value *old, int *done)
{
    struct declaring *d = c->state;
    const struct made *made = bt_map_find(&d->calls, old);
    const bt_call *call = bt_as_call(old);
    const bt_value *now;
    if (made) {
        *done = 1;
        BT_TRY(made->held ? make_closure(c, made, old, &now)
                          : bt_build_global(c->b, made->declared->name, &now));
        return copy_put(c, old, now);
    }
    // a call in sight is of the declaration itself
    made = call && call->callee_kind == BT_CALLEE_VALUE
               ? bt_map_find(&d->calls, call->callee)
               : NULL;
    if (!made || !made->held)
        return NULL;
    const bt_value **args;
    const bt_type *type;
    int same;
    BT_TRY(copy_args(c, call, &args, &same));
    BT_TRY(copy_type(c, old->type, &type));
    BT_TRY(call_declared(c, made, old, type, call->narg, args, &now));
    *done = 1;
    return copy_put(c, old, now);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct declaring *d = state;
    for (uint32_t i = 0; i < d->funcs.len; i++) {
        const bt_func *func;
        struct copy c;
        BT_TRY(copy_init(&c, d->ctx, d->arena, d->declared));
        c.state = d;
        c.binding = binding;
        bt_status status = copy_func(&c, d->funcs.at[i]->func, &func);
        copy_deinit(&c);
        BT_TRY(status);
        BT_TRY(version_set_func(builder, d->funcs.at[i], func));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct declaring d = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&d.calls, d.arena, 0);
    bt_map_init(&d.taken, d.arena, 1);
    BT_TRY(find_all(&d));
    if (d.globals.len || d.explicit.len)
        return version_create(ctx, d.module, declare_all, define_all, &d, &d.declared,
                              out);
    *out = bt_module_ref(d.module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "declare-gradients",
        .doc = "Operators gradient and jvp become declarations.\n"
               "before\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    def @main(%x: float32) -> float32 { gradient(@f)(%x) }\n"
               "after\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    def @main(%x: float32) -> float32 { @f.gradient(%x) }\n"
               "    gradient @f.gradient = @f();",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_gradients_declare_gradients[] = { BT_PASSES(passes), { 0 } };
