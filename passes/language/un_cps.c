/*
 * un-cps: functions that return, beside those that give their result to a continuation.
 * Those with a continuation, which pass to-cps makes, have a function as their last parameter
 * and the type that it gives as theirs, which is a parameter of theirs too. For each there
 * comes one, by its name without _cps (or _cps_1, where the name was taken), that calls it with
 * a continuation that gives what it gets.
 * Functions among its parameters take continuations as before; there comes none for a
 * function that gives functions, as these want a continuation of the answer that it has.
 * keeps    every invariant
 * source   Relay's un_cps
 */
#include <string.h>

#include <baton/pass.h>

#include "common/copy.h"
#include "common/names.h"
#include "common/version.h"

/* A function in this form. */
struct direct {
    const bt_global *of;
    uint32_t answer;      /* which of the type variables */
    const bt_type *gives; /* what its continuation takes */
};

struct uncps {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_vec(struct direct *) directs;
    bt_map taken; /* names */
};

/* ---- which functions ---- */

struct mention {
    const bt_type *var;
    int found;
};

static const bt_type *see(bt_subst *subst, const bt_type *leaf)
{
    struct mention *m = subst->state;
    m->found |= leaf == m->var;
    return NULL;
}

static bt_status mentions(const struct uncps *u, const bt_type *type, const bt_type *var,
                          int *out)
{
    struct mention m = { .var = var };
    bt_subst subst = { .leaf = see, .state = &m };
    if (!bt_type_subst(u->module->store, &subst, type))
        return bt_store_why(u->ctx, u->module->store);
    *out = m.found;
    return NULL;
}

static bt_status read_func(struct uncps *u, const bt_global *global)
{
    const bt_func *func = global->func;
    if (global->kind != BT_GLOBAL_FUNC || bt_func_is_primitive(func) ||
        !func->block->nparam)
        return NULL;
    const bt_param *last = func->block->params[func->block->nparam - 1];
    const bt_func_type *rest = bt_as_func_type(last->base.type);
    uint32_t answer = 0;
    int is_in = 0;
    while (answer < func->nvar && func->vars[answer] != func->result)
        answer++;
    if (answer == func->nvar || bt_type_kind_of(func->result) != BT_KIND_TYPE || !rest ||
        rest->nparam || rest->narg != 1 || rest->result != func->result)
        return NULL;
    BT_TRY(mentions(u, rest->args[0], func->result, &is_in));
    if (is_in)
        return NULL;
    struct direct *direct = BT_NEW(u->arena, struct direct);
    if (!direct || !BT_PUSH(u->arena, &u->directs, direct))
        return bt_no_memory();
    *direct = (struct direct){ global, answer, rest->args[0] };
    return NULL;
}

/* ---- functions ---- */

/* fn (%x: T) { %x } */
static bt_status make_identity(struct copy *c, const bt_type *type, const bt_value **out)
{
    const bt_func_type fields = { .narg = 1, .args = &type, .result = type };
    const bt_type *whole = bt_type_func(c->store, &fields);
    const bt_param *param;
    const bt_func *now;
    bt_func func = { .result = type };
    if (!whole)
        return bt_store_why(c->ctx, c->store);
    BT_TRY(bt_build_closures(c->b, 1, NULL, &whole, out));
    BT_TRY(bt_build_param(c->b, NULL, type, &param));
    BT_TRY(bt_block_begin(c->b, 1, &param));
    BT_TRY(bt_block_end(c->b, &param->base, &func.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &func, &now));
    return bt_build_closure_body(c->b, *out, now);
}

/* Type parameters of its own: variables that two functions share are mixed up where one
 * calls the other. Where the answer was, what it gives is. */
static bt_status give_vars(struct copy *c, const struct direct *direct, bt_func *out)
{
    const bt_func *old = direct->of->func;
    const bt_type **vars = BT_NEWS(c->arena, const bt_type *, old->nvar);
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nvar; i++) {
        if (i != direct->answer)
            BT_TRY(copy_var(c, old->vars[i], &vars[out->nvar++]));
    }
    out->vars = vars;
    BT_TRY(copy_type(c, direct->gives, &out->result));
    BT_TRY(copy_put_type(c, old->result, out->result));
    return copy_wheres(c, old->nwhere, old->wheres, &out->wheres);
}

/* def @name(%x: A) -> B { @f(%x, fn (%y: B) { %y }) } */
static bt_status make_direct(struct copy *c, const struct direct *direct,
                             const char *name, const bt_func **out)
{
    const bt_func *old = direct->of->func;
    uint32_t n = old->block->nparam;
    const bt_param **params;
    const bt_value *identity, *result;
    bt_func func = {
        .name = name, .span = old->span, .attrs = old->attrs, .nwhere = old->nwhere
    };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = n, .ntype_arg = old->nvar };
    BT_TRY(give_vars(c, direct, &func));
    BT_TRY(copy_params(c, n - 1, old->block->params, &params));
    BT_TRY(copy_types(c, old->nvar, old->vars, &call.type_args));
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, n);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i + 1 < n; i++)
        args[i] = &params[i]->base;
    bt_builder_at(c->b, old->span, 0);
    BT_TRY(bt_block_begin(c->b, n - 1, params));
    BT_TRY(make_identity(c, func.result, &identity));
    args[n - 1] = identity;
    call.args = args;
    BT_TRY(bt_build_global(c->b, direct->of->name, &call.callee));
    bt_builder_type(c->b, func.result);
    BT_TRY(bt_build_call(c->b, &call, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* ---- the next version ---- */

static bt_status name_direct(const struct uncps *u, bt_map *taken, const char *name,
                             const char **out)
{
    static const char suffix[] = "_cps";
    size_t n = strlen(name), end = sizeof(suffix) - 1, stem = n;
    while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    if (stem < n && stem > end && name[stem - 1] == '_' &&
        memcmp(name + stem - 1 - end, suffix, end) == 0)
        n = stem - 1; // pass to-cps found the name taken
    if (n > end && memcmp(name + n - end, suffix, end) == 0)
        n -= end;
    return name_new(u->module, u->arena, taken, out, "%.*s", (int)n, name);
}

static bt_status add_direct(struct uncps *u, const struct direct *direct,
                            bt_module_builder *builder)
{
    bt_global global = *direct->of;
    struct copy c;
    BT_TRY(copy_init(&c, u->ctx, u->arena, u->module));
    bt_status status = name_direct(u, &u->taken, direct->of->name, &global.name);
    if (!status)
        status = make_direct(&c, direct, global.name, &global.func);
    copy_deinit(&c);
    return status ? status : version_set_func(builder, &global, global.func);
}

static bt_status add_all(void *state, bt_module_builder *builder)
{
    struct uncps *u = state;
    for (uint32_t i = 0; i < u->directs.len; i++)
        BT_TRY(add_direct(u, u->directs.at[i], builder));
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct uncps u = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&u.taken, u.arena, 0);
    for (uint32_t i = 0; i < u.module->nglobal; i++)
        BT_TRY(read_func(&u, u.module->globals[i]));
    if (u.directs.len)
        return version_next(ctx, u.module, add_all, &u, out);
    *out = bt_module_ref(u.module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "un-cps",
        .doc =
            "Functions that return, beside those that give their result to a "
            "continuation.\n"
            "before\n"
            "    def @main_cps<Answer>(%x: float32, %return: fn (float32) -> Answer) -> "
            "Answer {\n"
            "        %0 = add(%x, 1f);\n"
            "        %return(%0)\n"
            "    }\n"
            "after\n"
            "    def @main_cps<Answer>(%x: float32, %return: fn (float32) -> Answer) -> "
            "Answer {\n"
            "        %0 = add(%x, 1f);\n"
            "        %return(%0)\n"
            "    }\n"
            "    def @main(%x: float32) -> float32 {\n"
            "        @main_cps(%x, fn (%0: float32) { %0 })\n"
            "    }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_un_cps[] = { BT_PASSES(passes), { 0 } };
