/*
 * A gradient that is run by itself: before passes it is a declaration, which has neither
 * parameters with names nor a body, so that a function that calls it stands in its place.
 *
 *     gradient @df = @f(wrt=[0])
 *  -> gradient @df.declared = @f(wrt=[0]);  def @df(%x) { @df.declared(%x) }
 */
#include <string.h>

#include <baton/importer.h>

#include "base/arena.h"
#include "compile/program/program.h"
#include "ir/module.h"
#include "text/given_dims.h"

struct wrapper {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_global *declared;  /* as it was */
    bt_vec(const char *) names; /* of its parameters */
    bt_builder *b;
    bt__given_dims given;
    bt_vec(const char *) open; /* dims that stay */
    bt_vec(const bt_type *) vars;
};

/* `name`, with a number behind it where another parameter has it. */
static bt_status add_name(struct wrapper *w, const char *prefix, const char *name)
{
    for (uint32_t k = 0;; k++) {
        const char *own = k ? bt__format(w->arena, "%s%s_%u", prefix, name ? name : "", k)
                            : bt__format(w->arena, "%s%s", prefix, name ? name : "");
        uint32_t i = 0;
        if (!own)
            return bt_no_memory();
        while (i < w->names.len && strcmp(w->names.at[i], own) != 0)
            i++;
        if (i == w->names.len)
            return BT_PUSH(w->arena, &w->names, own) ? NULL : bt_no_memory();
    }
}

/* Whether a parameter has a tangent where a jvp leaves `wrt` out. */
static bt_status is_moved(struct wrapper *w, const bt_type *param, int *out)
{
    int has_float, has_code;
    BT_TRY(bt_type_holds(w->arena, param, &has_float, &has_code));
    *out = has_float && !has_code;
    return NULL;
}

/* Of tangents, in the order of `wrt`; had: parameters of what is differentiated. */
static bt_status add_tangents(struct wrapper *w, const bt_global *global, uint32_t had)
{
    const bt_gradient_spec *spec = &global->gradient;
    const bt_func_type *type = bt_as_func_type(global->type);
    for (uint32_t k = 0; k < bt_gradient_spec_nwrt(spec, had); k++) {
        const int64_t index = bt_gradient_spec_wrt(spec, k);
        int moves = 1;
        if (spec->wrt.n == BT_NONE_LIST)
            BT_TRY(is_moved(w, type->args[index], &moves));
        if (moves)
            BT_TRY(add_name(w, "d", w->names.at[index]));
    }
    return NULL;
}

/* Of the function's parameters, which an external one has no names for, then of what each
 * declaration takes behind them, the innermost first. */
static bt_status find_names(struct wrapper *w)
{
    bt_vec(const bt_global *) chain = { 0 };
    const bt_global *at = w->declared;
    for (; at->kind == BT_GLOBAL_GRADIENT; at = bt_module_find(w->module, at->primal)) {
        if (!BT_PUSH(w->arena, &chain, at))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < bt_as_func_type(at->type)->narg; i++)
        BT_TRY(add_name(w, "", at->func ? at->func->block->params[i]->base.name : "x"));
    while (chain.len) {
        const bt_global *global = chain.at[--chain.len];
        if (global->gradient.is_forward)
            BT_TRY(add_tangents(w, global, w->names.len));
        while (w->names.len < bt_as_func_type(global->type)->narg)
            BT_TRY(add_name(w, "", "seed"));
    }
    return NULL;
}

/* A parameter of the function, or the number that is given for it; name: NULL: it has none, as
 * a `?` of the function that is differentiated: no number is given for it, and none for two. */
static bt_status find_var(struct wrapper *w, const bt_type_param *param, const char *name,
                          const bt_type **out)
{
    bt_store *store = w->module->store;
    if (!name) {
        *out = bt_type_var_anonymous(store, param);
        if (!*out)
            return bt_store_why(w->ctx, store);
        return BT_PUSH(w->arena, &w->vars, *out) ? NULL : bt_no_memory();
    }
    struct bt__given_dim *dim = bt__given_dims_find(&w->given, name);
    if (dim && !bt__given_dim_use(dim, param))
        return bt_fail_at(w->ctx, BT_ERR_SHAPE, store, w->declared->span,
                          BT__GIVEN_DIM_REFUSED, name, (long long)dim->value);
    *out = dim ? bt_dim(store, dim->value) : bt_type_var(store, param, name);
    if (!*out)
        return bt_store_why(w->ctx, store);
    return dim || (BT_PUSH(w->arena, &w->vars, *out) && BT_PUSH(w->arena, &w->open, name))
               ? NULL
               : bt_no_memory();
}

/* Those of the function that is differentiated, by its names for them: n, n_1 .. where it is
 * external and has none. */
static bt_status find_vars(struct wrapper *w, const bt_type **vars)
{
    const bt_func_type *type = bt_as_func_type(w->declared->type);
    const bt_func *primal = bt_module_primal(w->module, w->declared)->func;
    for (uint32_t i = 0; i < type->nparam; i++) {
        const bt_var_type *like =
            primal && i < primal->nvar ? bt_as_var_type(primal->vars[i]) : NULL;
        const char *name = like && like->name ? like->name
                           : primal || i == 0 ? "n"
                                              : bt__format(w->arena, "n_%u", i);
        if (!name)
            return bt_no_memory();
        BT_TRY(find_var(w, &type->params[i], like && like->is_anonymous ? NULL : name,
                        &vars[i]));
    }
    return NULL;
}

static bt_status make_func(struct wrapper *w, const char *callee, bt_func *now)
{
    const bt_func_type *type = bt_as_func_type(w->declared->type);
    bt_store *store = w->module->store;
    const bt_type **vars = BT_NEWS(w->arena, const bt_type *, type->nparam);
    const bt_param **params = BT_NEWS(w->arena, const bt_param *, type->narg);
    const bt_value *result;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = type->narg,
                     .args = (const bt_value *const *)params,
                     .ntype_arg = type->nparam,
                     .type_args = vars };
    if (!vars || !params)
        return bt_no_memory();
    BT_TRY(find_vars(w, vars));
    BT_TRY(
        bt__given_dims_check(w->ctx, w->arena, NULL, &w->given, w->open.len, w->open.at));
    if (type->nparam && !(type = bt_func_type_open(store, type, vars)))
        return bt_store_why(w->ctx, store);
    BT_TRY(find_names(w));
    bt_builder_at(w->b, w->declared->span, 0);
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(w->b, w->names.at[i], type->args[i], &params[i]));
    BT_TRY(bt_block_begin(w->b, type->narg, params));
    BT_TRY(bt_build_global(w->b, callee, &call.callee));
    bt_builder_type(w->b, type->result);
    BT_TRY(bt_build_call(w->b, &call, &result));
    BT_TRY(bt_block_end(w->b, result, &now->block));
    now->name = w->declared->name;
    now->span = w->declared->span;
    now->nvar = w->vars.len;
    now->vars = w->vars.at;
    now->nwhere = type->nwhere;
    now->wheres = type->wheres;
    now->result = type->result;
    return NULL;
}

/* With the declaration under another name. */
static bt_status rename_declared(struct wrapper *w, const char **name, bt_module **out)
{
    bt_global global = *w->declared;
    for (uint32_t k = 0; !k || bt_module_find(w->module, *name); k++) {
        *name = k ? bt__format(w->arena, "%s.declared_%u", global.name, k)
                  : bt__format(w->arena, "%s.declared", global.name);
        if (!*name)
            return bt_no_memory();
    }
    global.name = *name = bt_name_of(w->module->store, *name);
    if (!*name)
        return bt_no_memory();
    return bt__module_with(w->ctx, w->module, &global, 1, out);
}

static bt_status set_func(struct wrapper *w, const bt_module *renamed, const char *callee,
                          bt_module **out)
{
    bt_store *store = renamed->store;
    bt_global global = { .name = w->declared->name,
                         .kind = BT_GLOBAL_FUNC,
                         .span = w->declared->span };
    bt_func now = { 0 };
    BT_TRY(bt_builder_create(w->ctx, store, renamed, &w->b));
    bt_status status = make_func(w, callee, &now);
    bt_builder_destroy(w->b);
    BT_TRY(status);
    BT_TRY(bt_func_create(w->ctx, store, &now, &global.func));
    if (!(global.type = bt_func_type_of(store, global.func)))
        return bt_store_why(w->ctx, store);
    return bt__module_with(w->ctx, renamed, &global, 0, out);
}

bt_status bt_entry_define(bt_ctx *ctx, const bt_module *module, const char *name,
                          const char *const *dims, bt_module **out)
{
    const bt_global *entry = bt_module_find(module, name ? name : "main");
    if (!entry || entry->kind != BT_GLOBAL_GRADIENT) {
        *out = bt_module_ref(module);
        return NULL;
    }
    bt_arena *arena = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(arena);
    struct wrapper w = {
        .ctx = ctx, .arena = arena, .module = module, .declared = entry
    };
    const char *callee = NULL;
    bt_module *renamed;
    bt_status status = bt__given_dims_read(ctx, arena, dims, &w.given);
    if (!status)
        status = rename_declared(&w, &callee, &renamed);
    if (!status) {
        status = set_func(&w, renamed, callee, out);
        bt_module_unref(renamed);
    }
    bt_arena_release(arena, mark);
    return status;
}
