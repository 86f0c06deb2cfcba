/* Gradients of functions with type parameters: of each copy of the function one, and of what
 * attributes vjp and jvp name the copy for the same types. */
#include <string.h>

#include "common/copy.h"
#include "common/derivative_attrs.h"
#include "common/derived_by.h"
#include "common/names.h"
#include "language/instances.h"

/* A declaration derives by what its type says, whatever a copy's types hold. */
static bt_status type_one(struct instances *in, const bt_global *of, const bt_value *at,
                          const bt_global *primal, bt_global *now)
{
    const bt_global *generic = bt_module_find(in->module, of->primal);
    bt_global named = *of; // for errors
    if (now->gradient.wrt.n == BT_NONE_LIST)
        BT_TRY(derived_by(in->arena, bt_as_func_type(generic->type), 0, &now->gradient));
    named.gradient = now->gradient;
    bt_status status =
        bt_gradient_type(in->ctx, in->module->store, &named, primal->type, &now->type);
    return status
               ? bt_note(in->ctx, status, in->module->store, at->span,
                         "it is called with such types here: wrt=, which the declaration "
                         "may have, names the arguments to derive by")
               : NULL;
}

/* The one of the chain of declarations that leads to a copy, or a new one. primal: what it is
 * of, the copy or another of them. at: the use. */
static bt_status find_one(struct instances *in, const bt_global *of,
                          const struct instance *instance, const bt_value *at,
                          const bt_global *primal, const bt_global **out)
{
    struct gradient_instance *made;
    for (uint32_t i = 0; i < in->gradients.len; i++) {
        made = in->gradients.at[i];
        *out = &made->now;
        if (made->of == of && made->instance == instance)
            return NULL;
    }
    made = BT_NEW(in->arena, struct gradient_instance);
    if (!made || !BT_PUSH(in->arena, &in->gradients, made))
        return bt_no_memory();
    *made = (struct gradient_instance){ .of = of, .instance = instance, .now = *of };
    // @df of @f_float32 is @df_float32
    BT_TRY(name_new(in->module, in->arena, &in->taken, &made->now.name, "%s%s", of->name,
                    instance->name + strlen(instance->of->name)));
    made->now.primal = primal->name;
    *out = &made->now;
    return type_one(in, of, at, primal, &made->now);
}

bt_status instances_find_gradient(struct instances *in, const bt_global *of,
                                  const bt_value *at, const bt_type *const *type_args,
                                  bt_call *call, const bt_global **out)
{
    bt_vec(const bt_global *) chain = { 0 };
    const struct instance *instance = NULL;
    const bt_global *func = bt_module_primal(in->module, of);
    *out = NULL;
    if (func->kind == BT_GLOBAL_FUNC)
        BT_TRY(instances_find(in, func, at, type_args, call, &instance));
    if (!instance)
        return NULL;
    const bt_global like = { .name = instance->name, .type = instance->type };
    for (; of->kind == BT_GLOBAL_GRADIENT; of = bt_module_find(in->module, of->primal)) {
        if (!BT_PUSH(in->arena, &chain, of))
            return bt_no_memory();
    }
    *out = &like;
    while (chain.len)
        BT_TRY(find_one(in, chain.at[--chain.len], instance, at, *out, out));
    return NULL;
}

/* ---- what attributes vjp and jvp name ---- */

/* NULL: it has no type parameters that a copy gives, or others than the function; what is
 * wrong with it pass differentiate tells. */
static const bt_global *rule_like(const struct instances *in, const bt_func *func,
                                  const char *attr)
{
    const bt_dict_entry *entry = bt_dict_find(&func->attrs, attr);
    const bt_global *rule = entry && entry->kind == BT_DICT_TEXT
                                ? bt_module_find(in->module, entry->text)
                                : NULL;
    if (!rule || rule->kind != BT_GLOBAL_FUNC || rule->func->nvar != func->nvar)
        return NULL;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != bt_type_kind_of(rule->func->vars[i]))
            return NULL;
    }
    return rule;
}

static bt_status aim(struct instances *in, const struct instance *instance,
                     const char *attr, bt_dict *attrs)
{
    const bt_func *func = instance->of->func;
    const bt_global *rule = rule_like(in, func, attr);
    const struct instance *made;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE };
    if (!rule)
        return NULL;
    BT_TRY(instances_find(in, rule, func->block->result, instance->terms, &call, &made));
    bt_dict_entry *now = BT_NEWS(in->arena, bt_dict_entry, attrs->n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < attrs->n; i++) {
        now[i] = attrs->at[i];
        if (made && strcmp(now[i].name, attr) == 0)
            now[i].text = made->name;
    }
    attrs->at = now;
    return NULL;
}

bt_status instances_aim_rules(struct instances *in, const struct instance *instance,
                              bt_dict *attrs)
{
    for (uint32_t i = 0; i < DERIVATIVE_NRULE; i++)
        BT_TRY(aim(in, instance, derivative_rules[i], attrs));
    return NULL;
}
