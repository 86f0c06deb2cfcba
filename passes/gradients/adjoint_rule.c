/* Attributes vjp and jvp: which function stands in place of deriving one. */
#include "gradients/adjoint_rule.h"

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

static const char *show(const struct differentiation *diff, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, diff->arena);
    bt_print_type(diff->ctx, type, &text);
    const char *shown = bt_text_get(&text);
    return shown ? shown : "a function";
}

bt_status adjoint_rule_find(const struct differentiation *diff,
                            const struct adjoint_rule *rule, const bt_global *global,
                            const bt_global **out)
{
    const bt_dict_entry *entry = adjoint_rule_of(global, rule->attr);
    const int is_text = entry->kind == BT_DICT_TEXT;
    const bt_type *wanted;
    *out = is_text ? bt_module_find(diff->module, entry->text) : NULL;
    if (!*out || ((*out)->kind != BT_GLOBAL_FUNC && (*out)->kind != BT_GLOBAL_EXTERN))
        return bt_fail_at(diff->ctx, BT_ERR_NAME, diff->module->store, global->span,
                          "@%s: its attribute %s names %s%s, which is no function of the "
                          "module: names are given without @, as in %s=\"%s\"",
                          global->name, rule->attr, is_text ? "@" : "nothing",
                          is_text ? entry->text : "", rule->attr, rule->example);
    if (!bt_as_func_type(global->type))
        return bt_fail_at(diff->ctx, BT_ERR_TYPE, diff->module->store, global->span,
                          "@%s: its attribute %s is for functions", global->name,
                          rule->attr);
    BT_TRY(rule->type(diff, bt_as_func_type(global->type), &wanted));
    if ((*out)->type == wanted)
        return NULL;
    bt_status status =
        bt_fail_at(diff->ctx, BT_ERR_TYPE, diff->module->store, global->span,
                   "@%s: its attribute %s names @%s, which is %s, expected %s: %s",
                   global->name, rule->attr, (*out)->name, show(diff, (*out)->type),
                   show(diff, wanted), rule->expects);
    return bt_note(diff->ctx, status, diff->module->store, (*out)->span, "it is here");
}

/* ---- a declaration of such a function ---- */

bt_status adjoint_rule_wrap(struct differentiation *diff, const bt_global *global,
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
    BT_TRY(copy_init(&c, diff->ctx, diff->arena, diff->module));
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
    return status ? status : bt_func_create(diff->ctx, diff->module->store, &now, out);
}
