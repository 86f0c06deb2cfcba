/* Attributes vjp and jvp: which function stands in place of deriving one. */
#include "gradients/custom.h"

const bt_dict *custom_attrs(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC ? &global->func->attrs : &global->attrs;
}

const bt_dict_entry *custom_attr(const bt_global *global, const char *name)
{
    return global->kind == BT_GLOBAL_FUNC || global->kind == BT_GLOBAL_EXTERN
               ? bt_dict_find(custom_attrs(global), name)
               : NULL;
}

const bt_global *custom_callee(const struct differentiation *diff,
                               const bt_value *binding, const char *attr)
{
    const bt_global *global = bt_call_global(diff->module, bt_as_call(binding));
    return global && custom_attr(global, attr) ? global : NULL;
}

static const char *show(const struct differentiation *diff, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, diff->arena);
    bt_print_type(diff->ctx, type, &text);
    const char *shown = bt_text_get(&text);
    return shown ? shown : "a function";
}

bt_status custom_find(const struct differentiation *diff, const struct custom_rule *rule,
                      const bt_value *binding, const bt_global **out)
{
    const bt_global *global = custom_callee(diff, binding, rule->attr);
    const bt_dict_entry *entry = custom_attr(global, rule->attr);
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

bt_status custom_fail(const struct differentiation *diff, bt_span at,
                      const bt_global *global, int is_forward)
{
    const char *name = global->name;
    return bt_fail_at(
        diff->ctx, BT_ERR_UNSUPPORTED, diff->module->store, at,
        is_forward ? "@%s is external, and forward mode has no way through it: name a "
                     "function that gives its result and tangent, as in extern "
                     "@%s(jvp=\"%s_moved\")"
                   : "@%s is external, and there is no way back through it: name a "
                     "function that gives the adjoints of its arguments, as in extern "
                     "@%s(vjp=\"%s_back\")",
        name, name, name);
}

/* ---- a declaration of such a function ---- */

/* An external function's head: no names are known of it. */
static bt_status open_external(const struct differentiation *diff, struct copy *c,
                               const bt_global *global, bt_func *out,
                               const bt_param ***params)
{
    bt_store *store = diff->module->store;
    const bt_func_type *type = bt_as_func_type(global->type);
    const bt_type **vars = BT_NEWS(diff->arena, const bt_type *, type->nparam);
    *params = BT_NEWS(diff->arena, const bt_param *, type->narg);
    if (!vars || !*params)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->nparam; i++) {
        if (!(vars[i] = bt_type_var(store, &type->params[i], "n")))
            return bt_store_why(diff->ctx, store);
    }
    if (type->nparam && !(type = bt_func_type_open(store, type, vars)))
        return bt_store_why(diff->ctx, store);
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(c->b, "x", type->args[i], &(*params)[i]));
    *out = (bt_func){ .name = global->name,
                      .span = global->span,
                      .nvar = bt_as_func_type(global->type)->nparam,
                      .vars = vars,
                      .nwhere = type->nwhere,
                      .wheres = type->wheres,
                      .result = type->result };
    return NULL;
}

static bt_status wrap(const struct differentiation *diff, struct copy *c,
                      const bt_global *global, bt_func *now)
{
    const bt_param **params;
    const bt_value *result;
    uint32_t n = bt_as_func_type(global->type)->narg;
    if (global->func) {
        *now = *global->func;
        BT_TRY(copy_params(c, n, now->block->params, &params));
    } else {
        BT_TRY(open_external(diff, c, global, now, &params));
    }
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = n,
                     .args = (const bt_value *const *)params,
                     .ntype_arg = now->nvar,
                     .type_args = now->vars };
    BT_TRY(bt_block_begin(c->b, n, params));
    BT_TRY(bt_build_global(c->b, global->name, &call.callee));
    bt_builder_at(c->b, now->span, 0);
    bt_builder_type(c->b, now->result);
    BT_TRY(bt_build_call(c->b, &call, &result));
    return bt_block_end(c->b, result, &now->block);
}

bt_status custom_wrap(struct differentiation *diff, const bt_global *global,
                      const char *name, const bt_func **out)
{
    struct copy c;
    bt_func now;
    *out = global->func;
    if (!custom_attr(global, name))
        return NULL;
    BT_TRY(copy_init(&c, diff->ctx, diff->arena, diff->module));
    bt_status status = wrap(diff, &c, global, &now);
    copy_deinit(&c);
    return status ? status : bt_func_create(diff->ctx, diff->module->store, &now, out);
}
