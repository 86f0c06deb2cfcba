/*
 * defunctionalize: values of function type become values of data types.
 * Each type of functions becomes a data type with a constructor for each function that is
 * used as a value of that type, which holds what the closure held; a call of a value becomes
 * the call of a function that looks at the constructor. The program is first-order then. It
 * must be flat; types of functions, and what closures hold, must have no open dims, and data
 * types no fields of function type but by their parameters. What the program is run from
 * takes and gives no functions; other functions that do are replaced by new ones.
 * keeps    every invariant
 * source   Reynolds 1972, Definitional Interpreters; Relay's Defunctionalization
 */
#include <string.h>

#include "common/version.h"
#include "language/families.h"

static bt_status type_of_copy(struct copy *c, const bt_type *type, const bt_type **out)
{
    return families_type(c->state, type, out);
}

/* ---- functions ---- */

static bt_status make_value(struct copy *c, const bt_value *old, const bt_value **out)
{
    struct defun *d = c->state;
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_call *call = closure ? bt_closure_flat_call(closure) : NULL;
    struct maker *maker;
    BT_TRY(families_maker(d, old, &maker));
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, maker->ncapture);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < maker->ncapture; i++)
        BT_TRY(copy_operand(c, call->args[i], NULL, &args[i]));
    bt_call made = { .callee_kind = BT_CALLEE_CTOR,
                     .ctor = maker->ctor,
                     .narg = maker->ncapture,
                     .args = args };
    bt_builder_at(c->b, old->span, old->prov);
    if (closure)
        bt_builder_like(c->b, old);
    return bt_build_call(c->b, &made, out);
}

static bt_status value_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                               const bt_value **out)
{
    (void)wanted;
    if (old->kind != BT_VALUE_GLOBAL || !families_is_function(old))
        return NULL;
    return c->is_callee ? bt_build_global(c->b, families_name(c->state, old->name), out)
                        : make_value(c, old, out);
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
    return copy_call(c, old, &call, same_facts, out);
}

static bt_status value_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_call *call = bt_as_call(old);
    const bt_value *now;
    *done = 1;
    if (old->kind == BT_VALUE_CLOSURE)
        BT_TRY(make_value(c, old, &now));
    else if (call && call->callee_kind == BT_CALLEE_VALUE &&
             call->callee->kind != BT_VALUE_GLOBAL)
        BT_TRY(call_value(c, call, &now));
    else
        *done = 0;
    return *done ? copy_put(c, old, now) : NULL;
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
static bt_status make_clause(struct copy *c, const struct maker *maker, uint32_t narg,
                             const bt_value *const *given, bt_clause *out)
{
    uint32_t n = maker->ncapture;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, n);
    const bt_pattern **at = BT_NEWS(c->arena, const bt_pattern *, n);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, (size_t)n + narg);
    bt_pattern pattern = {
        .kind = BT_PATTERN_CTOR, .ctor = maker->ctor, .n = n, .at = at
    };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = n + narg, .args = args };
    const bt_value *result;
    if (!params || !at || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(bt_build_param(c->b, NULL, maker->ctor->fields[i], &params[i]));
        bt_pattern var = { .kind = BT_PATTERN_VAR, .var = params[i] };
        if (!(at[i] = bt_pattern_create(c->store, &var)))
            return bt_no_memory();
        args[i] = &params[i]->base;
    }
    if (narg)
        memcpy(args + n, given, narg * sizeof(*given));
    if (!(out->pattern = bt_pattern_create(c->store, &pattern)))
        return bt_no_memory();
    BT_TRY(bt_block_begin(c->b, n, params));
    BT_TRY(bt_build_global(c->b, families_name(c->state, maker->global), &call.callee));
    BT_TRY(bt_build_call(c->b, &call, &result));
    return bt_block_end(c->b, result, &out->block);
}

/* No function is of the type, and a match of no clauses has none: what is never called calls
 * itself. */
static bt_status build_itself(struct copy *c, const struct family *family,
                              const bt_param *const *params, uint32_t nparam,
                              const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
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
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, type->narg);
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, n);
    bt_func func = { .name = family->call, .result = type->result };
    const bt_value *result;
    if (!params || !clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(c->b, i ? NULL : "f", type->args[i], &params[i]));
    BT_TRY(bt_block_begin(c->b, type->narg, params));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_clause(c, family->makers.at[i], type->narg - 1,
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
    return status ? status
                  : version_set_func(d->ctx, d->module->store, builder, &global,
                                     global.func);
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    struct defun *d = state;
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (families_is_program(d->module->globals[i]))
            BT_TRY(set_func(d, builder, d->module->globals[i], NULL));
    }
    for (uint32_t i = 0; i < d->families.len; i++) {
        const struct family *family = d->families.at[i].value;
        BT_TRY(set_func(d, builder, bt_module_find(d->declared, family->call), family));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct defun d = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&d.families, d.arena, 0);
    bt_map_init(&d.known, d.arena, 0);
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
