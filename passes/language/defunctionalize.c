/*
 * defunctionalize: values of function type become values of data types.
 * Each type of functions becomes a data type with a constructor for each function that is
 * used as a value of that type, which holds what the closure held; a call of a value becomes
 * the call of a function that looks at the constructor. The program is first-order then. It
 * must be flat. Where types of functions that differ by dims alone have open dims, one data
 * type is for all of them, with these dims as parameters; a dim that only what a closure holds
 * has is `?` in its field, and what has no tensor there an empty one; a call checks what the
 * constructor does not tell. What the program is run from takes and gives no functions; other
 * functions that do, and data types that hold some, are replaced by new ones.
 * keeps    every invariant
 * source   Reynolds 1972, Definitional Interpreters; Relay's Defunctionalization
 */
#include <string.h>

#include "common/checked.h"
#include "common/patterns.h"
#include "common/version.h"
#include "language/families.h"
#include "language/families_dims.h"

static bt_status type_of_copy(struct copy *c, const bt_type *type, const bt_type **out)
{
    return families_type(c->state, type, out);
}

/* ---- functions ---- */

/* The dims that a type of functions gives the family, where they are open. */
static bt_status dims_as_arguments(struct copy *c, const bt_type *type, bt_call *call)
{
    struct defun *d = c->state;
    const struct family *family = bt_map_find(&d->families, type);
    call->ntype_arg = family->dims.nvar;
    BT_TRY(families_dims(d, family, type, &call->type_args));
    return copy_types(c, family->dims.nvar, call->type_args, &call->type_args);
}

/* An empty tensor, which shows a dim that nothing else in the constructor does. */
static bt_status build_witness(struct copy *c, const bt_type *dim, const bt_value **out)
{
    const bt_type *type;
    const bt_op *op;
    BT_TRY(copy_type(c, dim, &dim));
    BT_TRY(families_witness(c->state, dim, &type));
    const struct {
        const bt_type *shape, *dtype;
    } attrs = { &bt_tensor_shape(type)->base, bt_as_tensor_type(type)->dtype };
    BT_TRY(bt_op_get(c->ctx, "zeros", &op));
    return bt_build_op(c->b, op, &attrs, 0, NULL, out);
}

/* type: that the function is used as, of the old program. */
static bt_status make_value(struct copy *c, const bt_value *old, const bt_type *type,
                            const bt_value **out)
{
    struct defun *d = c->state;
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_call *call = closure ? bt_closure_flat_call(closure) : NULL;
    struct maker *maker;
    uint32_t n = 0;
    BT_TRY(families_maker(d, old, type, &maker));
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, maker->nfield);
    if (!args)
        return bt_no_memory();
    for (; n < maker->ncapture; n++)
        BT_TRY(copy_operand(c, call->args[n], NULL, &args[n]));
    for (uint32_t i = 0; i < maker->nvar; i++) {
        if (!maker->is_hidden[i])
            continue;
        if (!call)
            return bt_fail_at(c->ctx, BT_ERR_UNSUPPORTED, c->store, old->span,
                              "no tensor that @%s takes shows one of its dims: write a "
                              "function that calls it, fn (%%x: ..) { @%s(%%x) }",
                              maker->global, maker->global);
        BT_TRY(build_witness(c, call->type_args[i], &args[n++]));
    }
    bt_call made = {
        .callee_kind = BT_CALLEE_CTOR, .ctor = maker->ctor, .narg = n, .args = args
    };
    BT_TRY(dims_as_arguments(c, type, &made));
    bt_builder_at(c->b, old->span, old->prov);
    if (closure)
        bt_builder_like(c->b, old);
    return bt_build_call(c->b, &made, out);
}

static bt_status value_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                               const bt_value **out)
{
    if (old->kind != BT_VALUE_GLOBAL || !families_is_function(old))
        return NULL;
    return c->is_callee ? bt_build_global(c->b, families_name(c->state, old->name), out)
                        : make_value(c, old, wanted ? wanted : old->type, out);
}

static bt_status call_value(struct copy *c, const bt_call *old, const bt_value **out)
{
    const struct defun *d = c->state;
    const struct family *family = bt_map_find(&d->families, old->callee->type);
    const bt_value **operands;
    bt_call call = *old;
    int same_facts;
    BT_TRY(copy_operands(c, &old->base, &operands, &same_facts));
    BT_TRY(bt_build_global(c->b, family->call, &call.callee));
    call.narg = old->narg + 1;
    call.args = operands;
    BT_TRY(dims_as_arguments(c, old->callee->type, &call));
    return copy_call(c, old, &call, same_facts, out);
}

/* ---- data that holds functions ---- */

static bt_status changes_type(struct copy *c, const bt_type *old, int *out)
{
    const bt_type *now;
    BT_TRY(copy_type(c, old, &now));
    *out = now != old;
    return NULL;
}

static bt_status value_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_call *call = bt_as_call(old);
    const bt_match *match = bt_as_match(old);
    const bt_value *now;
    *done = 1;
    if (match)
        BT_TRY(changes_type(c, match->data->type, done));
    else if (call && call->callee_kind == BT_CALLEE_CTOR)
        BT_TRY(changes_type(c, old->type, done));
    else
        *done = old->kind == BT_VALUE_CLOSURE ||
                (call && call->callee_kind == BT_CALLEE_VALUE &&
                 call->callee->kind != BT_VALUE_GLOBAL);
    if (!*done)
        return NULL;
    if (match)
        BT_TRY(copy_match(c, match, &now));
    else if (!call)
        BT_TRY(make_value(c, old, old->type, &now));
    else if (call->callee_kind == BT_CALLEE_CTOR)
        BT_TRY(copy_ctor(c, call, &now));
    else
        BT_TRY(call_value(c, call, &now));
    return copy_put(c, old, now);
}

static bt_status begin(struct defun *d, struct copy *c)
{
    BT_TRY(copy_init(c, d->ctx, d->arena, d->declared));
    c->state = d;
    c->type = type_of_copy;
    c->binding = value_binding;
    c->operand = value_operand;
    return NULL;
}

/* Name(%captures) => @function(%captures, arguments) */
static bt_status make_clause(struct copy *c, const struct maker *maker,
                             const bt_func_type *of, const bt_value *const *given,
                             bt_clause *out)
{
    const uint32_t n = maker->nfield, ncapture = maker->ncapture, narg = of->narg - 1;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, n);
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, n);
    const bt_type **terms = BT_NEWS(c->arena, const bt_type *, maker->nvar);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, (size_t)ncapture + narg);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = ncapture + narg,
                     .args = args,
                     .ntype_arg = maker->nvar,
                     .type_args = terms };
    const bt_value *result;
    if (!params || !types || !terms || !args)
        return bt_no_memory();
    BT_TRY(families_held(c->state, maker, types, terms));
    for (uint32_t i = 0; i < n; i++) {
        const bt_type *type;
        BT_TRY(families_type(c->state, types[i], &type));
        BT_TRY(bt_build_param(c->b, NULL, type, &params[i]));
        if (i < ncapture)
            args[i] = &params[i]->base;
    }
    if (narg)
        memcpy(args + ncapture, given, narg * sizeof(*given));
    BT_TRY(pattern_ctor(c->store, c->arena, maker->ctor, params, &out->pattern));
    BT_TRY(bt_block_begin(c->b, n, params));
    BT_TRY(bt_build_global(c->b, families_name(c->state, maker->global), &call.callee));
    BT_TRY(checked_call(c, &call, of->result, &result));
    return bt_block_end(c->b, result, &out->block);
}

/* No function is of the type, and a match of no clauses has none: what is never called calls
 * itself. */
static bt_status build_itself(struct copy *c, const struct family *family,
                              const bt_param *const *params, uint32_t nparam,
                              const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .ntype_arg = family->dims.nvar,
                     .type_args = family->dims.vars,
                     .narg = nparam,
                     .args = (const bt_value *const *)params };
    BT_TRY(bt_build_global(c->b, family->call, &call.callee));
    return bt_build_call(c->b, &call, out);
}

static bt_status build_call(struct copy *c, const struct family *family,
                            const bt_func **out)
{
    const struct defun *d = c->state;
    const bt_func_type *type =
        bt_as_func_type(bt_module_find(d->declared, family->call)->type);
    uint32_t n = family->makers.len;
    if (family->dims.nvar &&
        !(type = bt_func_type_open(c->store, type, family->dims.vars)))
        return bt_store_why(c->ctx, c->store);
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, type->narg);
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, n);
    bt_func func = { .name = family->call,
                     .nvar = family->dims.nvar,
                     .vars = family->dims.vars,
                     .result = type->result };
    const bt_value *result;
    if (!params || !clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(c->b, i ? NULL : "f", type->args[i], &params[i]));
    BT_TRY(bt_block_begin(c->b, type->narg, params));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_clause(c, family->makers.at[i], type,
                           (const bt_value *const *)(params + 1), &clauses[i]));
    if (n)
        BT_TRY(bt_build_match(c->b, &params[0]->base, n, clauses, NULL, &result));
    else
        BT_TRY(build_itself(c, family, params, type->narg, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* ---- the next version ---- */

static bt_status set_func(struct defun *d, bt_module_builder *builder,
                          const bt_global *like, const struct family *family)
{
    bt_global global = *like;
    struct copy c;
    BT_TRY(begin(d, &c));
    bt_func named = { 0 };
    if (!family)
        named = *like->func;
    global.name = named.name = families_name(d, like->name);
    bt_status status = family ? build_call(&c, family, &global.func)
                              : copy_func(&c, &named, &global.func);
    copy_deinit(&c);
    return status ? status : version_set_func(builder, &global, global.func);
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    struct defun *d = state;
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (families_is_program(d->module->globals[i]))
            BT_TRY(set_func(d, builder, d->module->globals[i], NULL));
    }
    for (uint32_t i = 0; i < d->all.len; i++) {
        const struct family *family = d->all.at[i];
        BT_TRY(set_func(d, builder, bt_module_find(d->declared, family->call), family));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct defun d = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&d.families, d.arena, 0);
    bt_map_init(&d.known, d.arena, 0);
    bt_map_init(&d.united, d.arena, 0);
    bt_map_init(&d.holders, d.arena, 0);
    bt_map_init(&d.holds, d.arena, 0);
    bt_map_init(&d.taken, d.arena, 0);
    bt_map_init(&d.taken_ctors, d.arena, 0);
    bt_map_init(&d.renamed, d.arena, 1);
    BT_TRY(families_find(&d, call->entry));
    if (!d.families.len) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    return version_create(ctx, d.module, families_declare, set_all, &d, &d.declared, out);
}

static const bt_pass passes[] = {
    {
        .name = "defunctionalize",
        .doc = "Values of function type become values of data types.\n"
               "before\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @apply(%f: fn (float32) -> float32, %x: float32) { %f(%x) }\n"
               "    def @main(%x: float32) { @apply(fn (%y: float32) { @add(%x, %y) }, "
               "1f) }\n"
               "after\n"
               "    type Fn { Fn_add(float32), }\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @main(%x: float32) { @apply_1(Fn_add(%x), 1f) }\n"
               "    def @call_Fn(%f: Fn, %0: float32) -> float32 {\n"
               "        match (%f) { Fn_add(%1) => @add(%1, %0), }\n"
               "    }\n"
               "    def @apply_1(%f: Fn, %x: float32) { @call_Fn(%f, %x) }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_defunctionalize[] = { BT_PASSES(passes), { 0 } };
