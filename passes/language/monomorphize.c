/*
 * monomorphize: one copy of a function for each way that its type parameters are given.
 * Types, shapes and element types are given by copies; dim parameters stay, and dims that
 * have no number become dim parameters. With option dims, numbers are given by copies, too:
 * loops then run over known extents. Not where a copy of a function asks for it with another
 * number, not for more than 16 copies of one, not where the call checks dims, and not
 * where a check in the function would be false: it fails when it is reached.
 * A gradient that is declared of such a function is declared of its copies, and what its
 * attribute vjp names is copied for the same type arguments.
 * A function with type parameters that is passed as one of given types becomes a closure of
 * these, which calls the copy. A closure with type parameters is made for given types where
 * it is used, and so is an `if` or a `match` that chooses one and does nothing else. The
 * functions that copies were made of stay; dead-code drops
 * them where it knows the entry. Data types keep their parameters.
 * keeps    every invariant
 * option   dims    whether copies are made for numbers of dim parameters, default False
 * source   as in MLton (Weeks 2006, Whole-program compilation in MLton)
 */
#include <string.h>

#include "common/vars.h"
#include "common/version.h"
#include "language/mono.h"

struct options {
    int64_t dims;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, dims, BOOL, "False",
            "make copies for numbers of dim parameters"),
    { 0 },
};

/* Whether copies may be needed of what has this type. */
static int is_generic(const struct mono *m, const bt_type *type)
{
    const bt_func_type *func = type ? bt_as_func_type(type) : NULL;
    return vars_are_generic(type) || (m->instances.gives_numbers && func && func->nparam);
}

static const bt_global *generic_global(const struct mono *m, const bt_value *value)
{
    const bt_global *global = bt_module_global(m->module, value);
    if (!global || !is_generic(m, global->type))
        return NULL;
    if (global->kind == BT_GLOBAL_GRADIENT)
        return vars_are_generic(global->type) ? global : NULL;
    return global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func) ? global
                                                                                 : NULL;
}

/* ---- calls ---- */

static bt_status aim_at_gradient(struct copy *c, const bt_global *of, const bt_value *at,
                                 const bt_value *callee, const bt_type *const *type_args,
                                 bt_call *call)
{
    struct mono *m = c->state;
    const bt_global *gradient;
    BT_TRY(instances_find_gradient(&m->instances, of, at, type_args, call, &gradient));
    m->changes |= gradient != NULL;
    if (m->declared && gradient)
        return bt_build_global(c->b, gradient->name, &call->callee);
    call->callee = callee;
    call->ntype_arg = bt_as_func_type(of->type)->nparam;
    call->type_args = type_args;
    return NULL;
}

bt_status mono_aim_call(struct copy *c, const bt_global *of, const bt_value *at,
                        const bt_value *callee, const bt_type *const *type_args,
                        bt_call *call)
{
    struct mono *m = c->state;
    const struct instance *instance;
    if (of->kind == BT_GLOBAL_GRADIENT)
        return aim_at_gradient(c, of, at, callee, type_args, call);
    BT_TRY(instances_find(&m->instances, of, at, type_args, call, &instance));
    m->changes |= instance != NULL;
    if (m->declared && instance)
        return bt_build_global(c->b, instance->name, &call->callee);
    call->callee = callee;
    call->ntype_arg = of->func->nvar;
    call->type_args = type_args;
    return NULL;
}

static bt_status mono_call(struct copy *c, const bt_call *old, const bt_global *of)
{
    const bt_value **args, *now;
    const bt_type *const *type_args;
    int same_facts;
    bt_call call = *old;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &type_args));
    BT_TRY(copy_args(c, old, &args, &same_facts));
    BT_TRY(mono_aim_call(c, of, &old->base, old->callee, type_args, &call));
    call.args = args;
    BT_TRY(copy_call(c, old, &call, same_facts, &now));
    return copy_put(c, &old->base, now);
}

/* ---- functions ---- */

static bt_status mono_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_call *call = bt_as_call(old);
    struct mono *m = c->state;
    if (mono_is_made_where_used(m, old))
        *done = 1;
    if (!call || call->callee_kind != BT_CALLEE_VALUE ||
        !is_generic(m, call->callee->type))
        return NULL;
    const bt_global *of = generic_global(m, call->callee);
    *done = of || mono_is_made_where_used(m, call->callee) ||
            (bt_as_closure(call->callee) && vars_are_generic(call->callee->type));
    if (of)
        return mono_call(c, call, of);
    m->changes |= *done;
    return *done ? mono_call_value(c, call) : NULL;
}

/* Whether a copy may tell more of what calls give: what was asked of callers holds in it, or
 * a rank is known. */
static int tells_more(const struct instance *instance)
{
    const bt_func *func = instance->of->func;
    int tells = func->nwhere != 0;
    for (uint32_t i = 0; i < func->nvar; i++)
        tells |= bt_type_kind_of(func->vars[i]) == BT_KIND_SHAPE;
    return tells;
}

static bt_status begin(struct mono *m, struct copy *c, const struct instance *instance)
{
    BT_TRY(copy_init(c, m->ctx, m->arena, m->declared ? m->declared : m->module));
    c->state = m;
    c->binding = mono_binding;
    c->operand = mono_operand;
    m->instances.at = instance;
    c->infers = instance && tells_more(instance);
    bt_map_init(&m->busy, m->arena, 0);
    return NULL;
}

static bt_status copy_instance(struct mono *m, const struct instance *instance,
                               const bt_func **out)
{
    const bt_func *func = instance->of->func;
    bt_func fields = *func;
    struct copy c;
    BT_TRY(begin(m, &c, instance));
    bt_status status = NULL;
    for (uint32_t i = 0; i < func->nvar && !status; i++)
        status = copy_put_type(&c, func->vars[i], instance->terms[i]);
    fields.name = instance->name;
    fields.nvar = instance->nvar;
    fields.vars = instance->vars;
    fields.nwhere = 0;
    if (!status)
        status = instances_aim_rules(&m->instances, instance, &fields.attrs);
    if (!status)
        status = copy_func(&c, &fields, out);
    copy_deinit(&c);
    return status;
}

static bt_status copy_plain(struct mono *m, const bt_func *func, const bt_func **out)
{
    struct copy c;
    BT_TRY(begin(m, &c, NULL));
    bt_status status = copy_func(&c, func, out);
    copy_deinit(&c);
    return status;
}

static int has_type_params(const bt_value *value)
{
    const bt_func_type *type = value->type ? bt_as_func_type(value->type) : NULL;
    return type && type->nparam;
}

/* Whether a function uses what has type parameters. */
static bt_status uses_generic(struct mono *m, const bt_func *func, int *out)
{
    bt_blocks blocks = { 0 };
    *out = 0;
    BT_TRY(bt_block_nested(m->arena, func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        *out |= has_type_params(block->result);
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++)
                *out |= has_type_params(bt_value_operand(value, k));
        }
    }
    return NULL;
}

/* The function of a global that is no copy and has to change; NULL: it need not. */
static bt_status root_of(struct mono *m, const bt_global *global, const bt_func **out)
{
    int uses;
    *out = NULL;
    if (global->kind != BT_GLOBAL_FUNC || vars_are_generic(global->type) ||
        bt_func_is_primitive(global->func))
        return NULL;
    BT_TRY(uses_generic(m, global->func, &uses));
    if (uses)
        *out = global->func;
    return NULL;
}

/* ---- the next version ---- */

static bt_status find_all(struct mono *m)
{
    const bt_func *func, *now;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        BT_TRY(root_of(m, m->module->globals[i], &func));
        if (func)
            BT_TRY(copy_plain(m, func, &now));
    }
    for (uint32_t i = 0; i < m->instances.all.len; i++)
        BT_TRY(copy_instance(m, m->instances.all.at[i], &now));
    return NULL;
}

/* Whether the copy at hand failed for the numbers that it gives: it is tried without. */
static int may_open(const struct mono *m, bt_status why)
{
    const struct instance *at = m->instances.at;
    return why && (why->code == BT_ERR_TYPE || why->code == BT_ERR_SHAPE) && at &&
           m->instances.gives_numbers && !bt_map_find(&m->instances.open, at->of);
}

static bt_status find_what_fits(struct mono *m)
{
    bt_status status = find_all(m);
    while (may_open(m, status)) {
        const bt_global *of = m->instances.at->of;
        if (!bt_map_put(&m->instances.open, of, m))
            return bt_no_memory();
        instances_clear(&m->instances);
        m->changes = 0;
        status = find_all(m);
    }
    return status;
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    struct mono *m = state;
    const bt_func *func, *now;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        BT_TRY(root_of(m, m->module->globals[i], &func));
        if (!func)
            continue;
        BT_TRY(copy_plain(m, func, &now));
        BT_TRY(version_set_func(builder, m->module->globals[i], now));
    }
    for (uint32_t i = 0; i < m->instances.all.len; i++) {
        const struct instance *instance = m->instances.all.at[i];
        BT_TRY(copy_instance(m, instance, &now));
        BT_TRY(
            version_set_func(builder, bt_module_find(m->declared, instance->name), now));
    }
    return NULL;
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    const struct mono *m = state;
    for (uint32_t i = 0; i < m->instances.all.len; i++) {
        const struct instance *instance = m->instances.all.at[i];
        bt_global global = { .name = instance->name,
                             .kind = BT_GLOBAL_EXTERN,
                             .span = instance->of->span,
                             .type = instance->type };
        BT_TRY(bt_module_builder_set(builder, &global, 1));
    }
    for (uint32_t i = 0; i < m->instances.gradients.len; i++)
        BT_TRY(bt_module_builder_set(builder, &m->instances.gradients.at[i]->now, 1));
    return NULL;
}

static bt_status check_entry(const bt_pass_call *call, bt_ctx *ctx)
{
    const bt_global *entry =
        call->entry ? bt_module_find(call->module, call->entry) : NULL;
    if (!entry || entry->kind != BT_GLOBAL_FUNC || !vars_are_generic(entry->type))
        return NULL;
    return bt_fail_at(
        ctx, BT_ERR_UNSUPPORTED, call->module->store, entry->span,
        "@%s, which the program is run from, has type parameters other than "
        "dims: state the types of its inputs",
        entry->name);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct mono m = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    instances_init(&m.instances, ctx, m.arena, call->module);
    m.instances.gives_numbers = o->dims != 0;
    BT_TRY(check_entry(call, ctx));
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    m.effects = effects;
    BT_TRY(find_what_fits(&m));
    if (m.changes)
        return version_create(ctx, m.module, declare_all, set_all, &m, &m.declared, out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "monomorphize",
        .doc = "One copy of a function for each way that its type parameters are "
               "given.\n"
               "before\n"
               "    def @pair<A>(%x: A) -> (A, A) { (%x, %x) }\n"
               "    def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {\n"
               "        (@pair(%x), @pair(%y), @pair(3))\n"
               "    }\n"
               "after\n"
               "    def @pair<A>(%x: A) -> (A, A) { (%x, %x) }\n"
               "    def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {\n"
               "        (@pair_float32_n(%x), @pair_int32(%y), @pair_int32(3))\n"
               "    }\n"
               "    def @pair_float32_n<n: Dim>(%x: Tensor[(n), float32]) -> "
               "(Tensor[(n), "
               "float32], Tensor[(n), float32]) {\n"
               "        (%x, %x)\n"
               "    }\n"
               "    def @pair_int32(%x: int32) -> (int32, int32) { (%x, %x) }",
        .level = 0,
        .needs = "effects",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_monomorphize[] = { BT_PASSES(passes), { 0 } };
