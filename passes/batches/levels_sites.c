/* Calls of operator `vmap` with data for each example, and the functions that they apply. */
#include "batches/levels_sites.h"

#include <string.h>

static bt_status refuse(const struct levels_sites *s, const bt_value *at,
                        const char *what)
{
    return bt_fail_at(s->ctx, BT_ERR_UNSUPPORTED, s->module->store, at->span,
                      "batch-levels: %s", what);
}

/* The argument that is a list of data for the examples; 0: there is none. */
static uint32_t data_arg(const bt_call *call)
{
    bt_ints axes;
    memcpy(&axes, call->attrs, sizeof(axes)); // its only attribute
    for (uint32_t i = 1; i < call->narg; i++) {
        if ((axes.n == BT_NONE_LIST || axes.at[i - 1] >= 0) &&
            bt_as_apply_type(call->args[i]->type))
            return i;
    }
    return 0;
}

/* The call that is all that a function does, of a global; NULL: it does something else. */
static const bt_call *only_call(const struct levels_sites *s, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    return bt_call_global(s->module, call) && block->result == &call->base ? call : NULL;
}

struct terms {
    const bt_func *func;
    const bt_type *const *at;
};

static const bt_type *find_term(bt_subst *subst, const bt_type *leaf)
{
    const struct terms *t = subst->state;
    for (uint32_t i = 0; t->at && i < t->func->nvar; i++) {
        if (t->func->vars[i] == leaf)
            return t->at[i];
    }
    return NULL;
}

/* What a call inside of a function is given where the function is given the site's. */
static bt_status look_inside(struct levels_sites *s, const bt_func *func,
                             const bt_call *call, struct levels_site *site)
{
    struct terms terms = { func, site->type_args };
    bt_subst subst = { .leaf = find_term, .state = &terms };
    const bt_value **args = BT_NEWS(s->arena, const bt_value *, call->narg);
    const bt_type **types = BT_NEWS(s->arena, const bt_type *, call->ntype_arg);
    if (!args || !types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = call->args[i];
        for (uint32_t k = 0; k < func->block->nparam; k++) {
            if (call->args[i] == &func->block->params[k]->base)
                args[i] = site->args[k];
        }
    }
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        if (!(types[i] = bt_type_subst(s->module->store, &subst, call->type_args[i])))
            return bt_store_why(s->ctx, s->module->store);
    }
    site->args = args;
    site->type_args = types;
    return NULL;
}

/* What is applied: a global, or what a function that only calls one calls. */
static bt_status find_target(struct levels_sites *s, const bt_call *call,
                             struct levels_site *site, const bt_global **of)
{
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    const bt_func *func = closure ? closure->func : NULL;
    *of = bt_module_global(s->module, call->args[0]);
    site->args = BT_NEWS(s->arena, const bt_value *, call->narg);
    if (!site->args)
        return bt_no_memory();
    for (uint32_t i = 1; i < call->narg; i++)
        site->args[i - 1] = call->args[i];
    // as often as there are globals: functions may call each other in a circle
    for (uint32_t n = 0; n <= s->module->nglobal; n++) {
        if (*of)
            func = (*of)->func;
        const bt_call *inner = func ? only_call(s, func) : NULL;
        if (!inner || (func->nvar && !site->type_args))
            break;
        BT_TRY(look_inside(s, func, inner, site));
        *of = bt_module_global(s->module, inner->callee);
    }
    return *of ? NULL
               : refuse(
                     s, &call->base,
                     "what is applied to data is a function of the module, or a function "
                     "that only calls one");
}

/* List[T]: of one constructor with an element and the rest, and one with nothing. */
static int find_list(struct levels *l, const bt_type *type)
{
    l->list = bt_as_apply_type(type);
    if (!l->list || l->list->n != 2)
        return 0;
    const bt_adt_def *def = ((const bt_adt_type *)(const void *)l->list->at[0])->def;
    for (uint32_t i = 0; i < def->nctor; i++) {
        const bt_ctor *ctor = def->ctors[i];
        if (!ctor->nfield)
            l->nil = ctor;
        else if (ctor->nfield == 2 && ctor->fields[0] == def->vars[0])
            l->cons = ctor;
    }
    return def->nctor == 2 && l->nil && l->cons;
}

static struct levels *find_levels(const struct levels_sites *s, const bt_global *of,
                                  uint32_t param)
{
    for (uint32_t i = 0; i < s->all.len; i++) {
        if (s->all.at[i]->of == of && s->all.at[i]->param == param)
            return s->all.at[i];
    }
    return NULL;
}

static bt_status add_call(struct levels_sites *s, const bt_call *call,
                          const bt_value *list)
{
    struct levels_site *site = BT_NEW(s->arena, struct levels_site);
    const bt_global *of;
    uint32_t param = 0;
    if (!site)
        return bt_no_memory();
    *site = (struct levels_site){ 0 };
    BT_TRY(find_target(s, call, site, &of));
    if (of->kind == BT_GLOBAL_GRADIENT)
        return refuse(s, &call->base,
                      "derivatives of functions of data are not batched: a gradient of "
                      "the function that applies vmap to the primal is");
    if (of->kind != BT_GLOBAL_FUNC)
        return refuse(s, &call->base,
                      "what is applied to data has no body to be looked at");
    while (param < of->func->block->nparam && site->args[param] != list)
        param++;
    if (param == of->func->block->nparam)
        return refuse(s, &call->base,
                      "the function that is called does not take the data");
    if (!site->type_args && of->func->nvar)
        return refuse(s, &call->base,
                      "the function has dims as type parameters: give one that calls it, "
                      "fn (%t) { @f(%w, %t) }");
    site->levels = find_levels(s, of, param);
    if (!site->levels) {
        struct levels *l = site->levels = BT_NEW(s->arena, struct levels);
        if (!l)
            return bt_no_memory();
        *l = (struct levels){ .ctx = s->ctx,
                              .arena = s->arena,
                              .module = s->module,
                              .taken = &s->taken,
                              .taken_ctors = &s->taken_ctors,
                              .of = of,
                              .param = param };
        if (!find_list(l, list->type))
            return refuse(s, &call->base, "data of examples is a list of them");
        BT_TRY(levels_find(l));
        if (!BT_PUSH(s->arena, &s->all, l))
            return bt_no_memory();
    }
    return bt_map_put(&s->calls, call, site) ? NULL : bt_no_memory();
}

static bt_status find_in(struct levels_sites *s, const bt_global *global)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(s->arena, global->func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_call *call = bt_as_op_call(blocks.at[b]->bindings[i], "vmap");
            const uint32_t arg = call ? data_arg(call) : 0;
            if (!arg)
                continue;
            BT_TRY(add_call(s, call, call->args[arg]));
            if (!bt_map_put(&s->callers, global, s))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status levels_find_sites(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                            struct levels_sites *s)
{
    *s = (struct levels_sites){ .ctx = ctx, .arena = arena, .module = module };
    bt_map_init(&s->calls, arena, 0);
    bt_map_init(&s->callers, arena, 0);
    bt_map_init(&s->taken, arena, 1);
    bt_map_init(&s->taken_ctors, arena, 1);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(find_in(s, module->globals[i]));
    }
    return NULL;
}
