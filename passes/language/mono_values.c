/*
 * Functions with type parameters that are values: made for the types that the place asks for.
 *
 *     @f of type fn<A>(A) -> A, passed as fn(float32) -> float32    fn (%x: float32) { @f[float32](%x) }
 *     a closure, an `if` or a `match` that chooses one               made again where it is used
 */
#include "language/mono.h"

#include "common/vars.h"

static bt_status put_term(bt_map *terms, const bt_type *var, const bt_type *term)
{
    return bt_map_put(terms, var, (void *)(uintptr_t)term) ? NULL : bt_no_memory();
}

/* ---- the types that are given ---- */

/* What stands for the variables of `pattern` where it is `type`. */
static bt_status match_type(struct mono *m, bt_map *terms, const bt_type *pattern,
                            const bt_type *type)
{
    const bt_tensor_type *t = bt_as_tensor_type(pattern), *u = bt_as_tensor_type(type);
    const bt_func_type *f = bt_as_func_type(pattern), *g = bt_as_func_type(type);
    const bt_list_type *l = bt_as_list_type(pattern), *k = bt_as_list_type(type);
    const bt_shape_type *s = bt_as_shape_type(pattern), *q = bt_as_shape_type(type);
    bt_store *store = m->module->store;
    if (!(pattern->has & BT_HAS_VAR))
        return NULL;
    const bt_map_entry *entry = bt_map_entry_find(terms, pattern);
    if (entry)
        return entry->value ? NULL : put_term(terms, pattern, type);
    if (t && u) {
        BT_TRY(match_type(m, terms, t->shape, u->shape));
        return match_type(m, terms, t->dtype, u->dtype);
    }
    if (f && g && f->narg == g->narg) {
        for (uint32_t i = 0; i < f->narg; i++)
            BT_TRY(match_type(m, terms, f->args[i], g->args[i]));
        return match_type(m, terms, f->result, g->result);
    }
    if (s && q && !q->rest && q->n >= s->n) {
        uint32_t more = s->rest ? q->n - s->n : 0;
        for (uint32_t i = 0; i < s->n; i++)
            BT_TRY(match_type(m, terms, s->dims[i],
                              q->dims[i + (s->rest && i >= s->position ? more : 0)]));
        if (!s->rest)
            return NULL;
        const bt_type *rest = bt_type_shape(store, more, q->dims + s->position);
        return rest ? match_type(m, terms, s->rest, rest) : bt_store_why(m->ctx, store);
    }
    for (uint32_t i = 0;
         l && k && l->n == k->n && pattern->kind == type->kind && i < l->n; i++)
        BT_TRY(match_type(m, terms, l->at[i], k->at[i]));
    return NULL;
}

/* The type arguments by which a function with type parameters is `wanted`. */
static bt_status type_args_of(struct copy *c, const bt_value *value, const bt_func *func,
                              const bt_type *wanted, const bt_type *const **out)
{
    struct mono *m = c->state;
    const bt_func_type *type = bt_as_func_type(wanted);
    const bt_type **args = BT_NEWS(m->arena, const bt_type *, func->nvar);
    bt_map found;
    if (!args)
        return bt_no_memory();
    bt_map_init(&found, m->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++)
        BT_TRY(put_term(&found, func->vars[i], NULL));
    for (uint32_t i = 0; i < func->block->nparam && i < type->narg; i++)
        BT_TRY(match_type(m, &found, func->block->params[i]->base.type, type->args[i]));
    BT_TRY(match_type(m, &found, func->result, type->result));
    for (uint32_t i = 0; i < func->nvar; i++) {
        args[i] = bt_map_find(&found, func->vars[i]);
        if (!args[i])
            return bt_fail_at(m->ctx, BT_ERR_UNSUPPORTED, m->module->store, value->span,
                              "type parameter %u of %s%s does not follow from the type "
                              "that it is passed as; call it in a closure",
                              i, value->kind == BT_VALUE_GLOBAL ? "@" : "%",
                              value->name ? value->name : "_");
    }
    *out = args;
    return NULL;
}

/* ---- what stands for a value ---- */

static bt_status eta_expand(struct copy *c, const bt_value *old, const bt_global *of,
                            const bt_type *wanted, const bt_value **out)
{
    const bt_type *const *type_args;
    bt_call call = { .callee = old, .ntype_arg = of->func->nvar };
    BT_TRY(type_args_of(c, old, of->func, wanted, &type_args));
    call.type_args = type_args;
    if (vars_are_generic(of->type))
        BT_TRY(mono_aim_call(c, of, old, old, type_args, &call));
    return copy_eta(c, old, of->func, wanted, &call, out);
}

/* A copy of a closure, for the types that it is wanted for. */
static bt_status instantiate_closure(struct copy *c, const bt_closure_value *closure,
                                     const bt_type *const *type_args,
                                     const bt_type *wanted, const bt_value **out)
{
    struct mono *m = c->state;
    if (bt_map_find(&m->busy, closure))
        return bt_fail_at(m->ctx, BT_ERR_UNSUPPORTED, m->module->store,
                          closure->base.span,
                          "%%%s has type parameters and uses itself: pass lambda-lift "
                          "makes a function of it, which is to run before",
                          closure->base.name ? closure->base.name : "_");
    if (!bt_map_put(&m->busy, closure, m))
        return bt_no_memory();
    for (uint32_t i = 0; i < closure->func->nvar; i++)
        BT_TRY(copy_put_type(c, closure->func->vars[i], type_args[i]));
    BT_TRY(copy_closure(c, closure, wanted, out));
    return bt_map_put(&m->busy, closure, NULL) ? NULL : bt_no_memory();
}

/* An if or a match, which gives what its regions do, for the type that is wanted. */
static bt_status instantiate_choice(struct copy *c, const bt_value *old,
                                    const bt_type *wanted, const bt_value **out)
{
    const uint32_t n = bt_value_nregion(old);
    const bt_block **regions = BT_NEWS(c->arena, const bt_block *, n);
    const bt_value **operands;
    int same_facts;
    if (!regions)
        return bt_no_memory();
    BT_TRY(copy_operands(c, old, &operands, &same_facts));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(copy_block(c, bt_value_region(old, i), wanted, &regions[i]));
    bt_builder_like(c->b, old);
    bt_builder_type(c->b, wanted);
    return bt_build_again(c->b, old, operands, regions, wanted, out);
}

static bt_status fail_external(const struct mono *m, const bt_value *value)
{
    return bt_fail_at(m->ctx, BT_ERR_UNSUPPORTED, m->module->store, value->span,
                      "@%s is external and has type parameters besides dims: there is no "
                      "body to copy for the types that it is called with; declare one "
                      "extern for each of them",
                      value->name);
}

static bt_status fail_held(const struct mono *m, const bt_value *value)
{
    const bt_global *global = bt_module_global(m->module, value);
    bt_text text;
    if (global && global->kind == BT_GLOBAL_EXTERN)
        return fail_external(m, value);
    bt_text_init(&text, m->arena);
    if (value->name)
        bt_print_operand(value, &text);
    else
        bt_text_addf(&text, "a function");
    bt_text_addf(&text, " of type ");
    bt_print_type(m->ctx, value->type, &text);
    const char *shown = bt_text_get(&text);
    return shown ? bt_fail_at(m->ctx, BT_ERR_UNSUPPORTED, m->module->store, value->span,
                              "%s is held with its type parameters open, so that no copy "
                              "of it would do: state the types of its parameters, and "
                              "hold one function for each way that it is called",
                              shown)
                 : bt_no_memory();
}

int mono_is_made_where_used(const struct mono *m, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    if (!value->type || !vars_are_generic(value->type))
        return 0;
    return closure ? closure->group->n == 1
                   : bt_value_nregion(value) && !bt_effects_of(m->effects, value);
}

bt_status mono_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                       const bt_value **out)
{
    struct mono *m = c->state;
    const bt_func_type *type = old->type ? bt_as_func_type(old->type) : NULL;
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_type *const *type_args;
    if (!type || !type->nparam)
        return NULL;
    if (wanted)
        BT_TRY(copy_type(c, wanted, &wanted));
    const bt_func_type *now = wanted ? bt_as_func_type(wanted) : NULL;
    const bt_global *global = bt_module_global(m->module, old);
    m->changes = 1;
    if (now && !now->nparam && global && global->kind == BT_GLOBAL_FUNC)
        return eta_expand(c, old, global, wanted, out);
    if (now && !now->nparam && closure && vars_are_generic(old->type)) {
        BT_TRY(type_args_of(c, old, closure->func, wanted, &type_args));
        return instantiate_closure(c, closure, type_args, wanted, out);
    }
    if (now && !now->nparam && mono_is_made_where_used(m, old))
        return instantiate_choice(c, old, wanted, out);
    return vars_are_generic(old->type) ? fail_held(m, old) : NULL;
}

/* ---- calls ---- */

bt_status mono_call_value(struct copy *c, const bt_call *old)
{
    const bt_func_type *type = bt_as_func_type(old->callee->type);
    const bt_value **args, *now;
    const bt_type *const *type_args, *wanted;
    int same_facts;
    bt_call call = *old;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &type_args));
    type = bt_func_type_open(c->store, type, old->type_args);
    if (!type)
        return bt_store_why(c->ctx, c->store);
    bt_func_type plain = { .narg = type->narg,
                           .args = type->args,
                           .result = type->result };
    wanted = bt_type_func(c->store, &plain);
    if (!wanted)
        return bt_store_why(c->ctx, c->store);
    BT_TRY(copy_type(c, wanted, &wanted));
    BT_TRY(copy_args(c, old, &args, &same_facts));
    BT_TRY(bt_as_closure(old->callee)
               ? instantiate_closure(c, bt_as_closure(old->callee), type_args, wanted,
                                     &call.callee)
               : instantiate_choice(c, old->callee, wanted, &call.callee));
    call.args = args;
    call.ntype_arg = 0;
    BT_TRY(copy_call(c, old, &call, same_facts, &now));
    return copy_put(c, &old->base, now);
}
