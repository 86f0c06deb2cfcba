/*
 * Functions that bring the derivative with them: the attribute vjp names a function that takes
 * the arguments, the result and its adjoint, and gives the adjoints of the arguments that hold
 * floats, one alone as it is.
 *
 *     def @f(%x: float32, %n: int32, vjp="f_back") -> float32 { .. }
 *     def @f_back(%x: float32, %n: int32, %y: float32, %dy: float32) -> float32 { .. }
 *
 * It stands in place of differentiating @f, which may then be external. A call of @f stays.
 */
#include <string.h>

#include "gradients/adjoint_paths.h"

const bt_dict *adjoint_attrs_of(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC ? &global->func->attrs : &global->attrs;
}

const bt_dict_entry *adjoint_rule_of(const bt_global *global, const char *name)
{
    return global->kind == BT_GLOBAL_FUNC || global->kind == BT_GLOBAL_EXTERN
               ? bt_dict_find(adjoint_attrs_of(global), name)
               : NULL;
}

int adjoint_has_vjp(const bt_global *global)
{
    return adjoint_rule_of(global, "vjp") != NULL;
}

static const bt_global *callee_of(const struct adjoint *a, const bt_call *call)
{
    const bt_global *global = bt_call_global(a->pairs->module, call);
    return global && adjoint_has_vjp(global) ? global : NULL;
}

int adjoint_calls_vjp(const struct adjoint *a, const bt_value *old)
{
    return bt_as_call(old) && callee_of(a, bt_as_call(old));
}

/* ---- its type ---- */

static bt_status wanted_type(const struct adjoint_pairs *p, const bt_func_type *primal,
                             const bt_type **out)
{
    bt_store *store = p->module->store;
    bt_func_type now = *primal;
    const bt_type **args = BT_NEWS(p->arena, const bt_type *, primal->narg + 2);
    const bt_type **back = BT_NEWS(p->arena, const bt_type *, primal->narg);
    uint32_t n = 0;
    if (!args || !back)
        return bt_no_memory();
    for (uint32_t i = 0; i < primal->narg; i++) {
        args[i] = primal->args[i];
        if (adjoint_has(args[i]))
            back[n++] = args[i];
    }
    args[primal->narg] = args[primal->narg + 1] = primal->result;
    now.args = args;
    now.narg += 2;
    now.result = n == 1 ? back[0] : bt_type_tuple(store, n, back);
    *out = now.result ? bt_type_func(store, &now) : NULL;
    return *out ? NULL : bt_store_why(p->ctx, store);
}

static const char *show(const struct adjoint_pairs *p, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, p->arena);
    bt_print_type(p->ctx, type, &text);
    const char *shown = bt_text_get(&text);
    return shown ? shown : "a function";
}

/* What `global` names.
 * errors  at the function, where it is none, or takes or gives something else */
static bt_status find(const struct adjoint_pairs *p, const bt_global *global,
                      const bt_global **out)
{
    const bt_dict_entry *entry = adjoint_rule_of(global, "vjp");
    const bt_type *wanted;
    *out = entry->kind == BT_DICT_TEXT ? bt_module_find(p->module, entry->text) : NULL;
    if (!*out || ((*out)->kind != BT_GLOBAL_FUNC && (*out)->kind != BT_GLOBAL_EXTERN))
        return bt_fail_at(
            p->ctx, BT_ERR_NAME, p->module->store, global->span,
            "@%s: its attribute vjp names %s%s, which is no function of the "
            "module: names are given without @, as in vjp=\"f_back\"",
            global->name, entry->kind == BT_DICT_TEXT ? "@" : "nothing",
            entry->kind == BT_DICT_TEXT ? entry->text : "");
    if (!bt_as_func_type(global->type))
        return bt_fail_at(p->ctx, BT_ERR_TYPE, p->module->store, global->span,
                          "@%s: its attribute vjp is for functions", global->name);
    BT_TRY(wanted_type(p, bt_as_func_type(global->type), &wanted));
    if ((*out)->type == wanted)
        return NULL;
    bt_status status = bt_fail_at(
        p->ctx, BT_ERR_TYPE, p->module->store, global->span,
        "@%s: its attribute vjp names @%s, which is %s, expected %s: the arguments, the "
        "result and its adjoint, giving the adjoints of the arguments that hold floats; what "
        "a fn uses from around it comes first among its arguments",
        global->name, (*out)->name, show(p, (*out)->type), show(p, wanted));
    return bt_note(p->ctx, status, p->module->store, (*out)->span, "it is here");
}

/* ---- calls ---- */

bt_status adjoint_vjp_want(struct adjoint *a, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    const bt_global *global = callee_of(a, call), *vjp;
    int any = 0;
    for (uint32_t i = 0; i < call->narg; i++)
        any |= adjoint_is_active(a, call->args[i]);
    if (!any)
        return NULL;
    BT_TRY(find(a->pairs, global, &vjp));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(adjoint_convert_want(a->pairs, call->args[i]->type, ADJOINT_STRIP));
    return adjoint_convert_want(a->pairs, old->type, ADJOINT_FILL);
}

static bt_status call_vjp(struct adjoint *a, const bt_call *old, const bt_call *now,
                          const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_global *vjp;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, now->narg + 2);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = now->narg + 2,
                     .args = args,
                     .ntype_arg = now->ntype_arg,
                     .type_args = now->type_args };
    if (!args)
        return bt_no_memory();
    BT_TRY(find(a->pairs, callee_of(a, old), &vjp));
    for (uint32_t i = 0; i < now->narg; i++)
        args[i] = now->args[i];
    args[now->narg] = &now->base;
    BT_TRY(adjoint_join(a, &now->base, adjoint_of(a, &old->base), &args[now->narg + 1]));
    BT_TRY(bt_build_global(c->b, vjp->name, &call.callee));
    return bt_build_call(c->b, &call, out);
}

bt_status adjoint_reverse_vjp(struct adjoint *a, const bt_value *binding)
{
    const bt_call *old = bt_as_call(binding);
    const bt_call *now = bt_as_call(adjoint_now(a, binding));
    const bt_value *given;
    uint32_t nfield = 0, next = 0;
    BT_TRY(call_vjp(a, old, now, &given));
    for (uint32_t i = 0; i < now->narg; i++)
        nfield += adjoint_has(now->args[i]->type) != 0;
    for (uint32_t i = 0; i < now->narg; i++) {
        const bt_value *field = given;
        adjoint_values leaves = { 0 };
        if (!adjoint_has(now->args[i]->type))
            continue;
        const uint32_t at = next++;
        if (!adjoint_is_active(a, old->args[i]))
            continue;
        if (nfield > 1)
            BT_TRY(bt_build_proj(a->copy.b, given, at, &field));
        BT_TRY(adjoint_leaves(a, field, ADJOINT_STRIP, &leaves));
        for (uint32_t k = 0; k < leaves.len; k++)
            BT_TRY(adjoint_add(a, old->args[i], k, leaves.at[k]));
    }
    return NULL;
}

/* ---- a declaration of such a function ---- */

bt_status adjoint_rule_wrap(struct adjoint_pairs *p, const bt_global *global,
                            const char *name, const bt_func **out)
{
    const bt_func *func = global->func;
    bt_func now = *func;
    struct copy c;
    const bt_value *result, **args;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = func->block->nparam,
                     .ntype_arg = func->nvar,
                     .type_args = func->vars };
    const bt_param **params;
    *out = func;
    if (!adjoint_rule_of(global, name))
        return NULL;
    BT_TRY(copy_init(&c, p->ctx, p->arena, p->module));
    bt_status status = copy_params(&c, func->block->nparam, func->block->params, &params);
    args = (const bt_value **)params;
    call.args = args;
    if (!status)
        status = bt_block_begin(c.b, func->block->nparam, params);
    if (!status)
        status = bt_build_global(c.b, global->name, &call.callee);
    bt_builder_at(c.b, func->span, 0);
    bt_builder_type(c.b, func->result);
    if (!status)
        status = bt_build_call(c.b, &call, &result);
    if (!status)
        status = bt_block_end(c.b, result, &now.block);
    copy_deinit(&c);
    return status ? status : bt_func_create(p->ctx, p->module->store, &now, out);
}
