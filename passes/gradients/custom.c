/* Attributes vjp and jvp: which function stands in place of deriving one. */
#include "gradients/custom.h"

#include "common/wrap.h"

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

static bt_status wrap(const struct differentiation *diff, struct copy *c,
                      const bt_global *global, bt_func *now)
{
    const bt_param **params;
    const uint32_t n = bt_as_func_type(global->type)->narg;
    if (global->func) {
        *now = *global->func;
        BT_TRY(copy_params(c, n, now->block->params, &params));
    } else {
        BT_TRY(wrap_external(diff->ctx, c->b, diff->arena, global, now, &params));
    }
    return wrap_call(c->b, global, n, params, now);
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
