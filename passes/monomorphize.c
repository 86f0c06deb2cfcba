/*
 * monomorphize: one copy of a function for each way that its type parameters are given.
 *     before
 *         def @pair<A>(%x: A) -> (A, A) { (%x, %x) }
 *         def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {
 *             (@pair(%x), @pair(%y), @pair(3))
 *         }
 *     after
 *         def @pair<A>(%x: A) -> (A, A) { (%x, %x) }
 *         def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {
 *             (@pair_float32_n(%x), @pair_int32(%y), @pair_int32(3))
 *         }
 *         def @pair_float32_n<n: Dim>(%x: Tensor[(n), float32]) -> (Tensor[(n), float32], Tensor[(n), float32]) {
 *             (%x, %x)
 *         }
 *         def @pair_int32(%x: int32) -> (int32, int32) { (%x, %x) }
 * Types, shapes and element types are given by copies; dim parameters stay, and dims that
 * have no number become dim parameters. A function with type parameters that is passed as
 * one of given types becomes a closure of these, which calls the copy. The functions that
 * copies were made of stay; dead-code drops them where it knows the entry. Data types keep
 * their parameters.
 * keeps    every invariant
 * source   as in MLton (Weeks 2006, Whole-program compilation in MLton)
 */
#include <string.h>

#include <baton/pass.h>

#include "copy.h"
#include "flat.h"

enum {
    MAX_DEPTH = 16,          /* copies of one function asked for by copies of it */
    MAX_INSTANCES = 1 << 14, /* of all functions */
    MAX_NAME = 64
};

struct instance {
    const bt_global *of;
    const struct instance *parent; /* whose body asked for it first */
    const char *name;
    const bt_type *type;
    /* Of the function it is a copy of, by variable. */
    const bt_type **terms;
    uint32_t nvar; /* dims */
    const bt_type **vars;
};

struct mono {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_module *declared; /* NULL: what is needed is looked for */
    const struct instance *at; /* the copy at hand; NULL: a function of the module */
    bt_map known;              /* globals -> bt_map of keys -> struct instance */
    bt_vec(struct instance *) all;
    bt_map taken; /* names */
    bt_map busy;  /* closures being copied */
    int changes;
};

/* ---- types ---- */

static const bt_global *generic_global(const struct mono *m, const bt_value *value)
{
    const bt_global *global = value && value->kind == BT_VALUE_GLOBAL
                                  ? bt_module_find(m->module, value->name)
                                  : NULL;
    return global && global->kind == BT_GLOBAL_FUNC && flat_is_generic(global->type)
               ? global
               : NULL;
}

struct replacing {
    bt_map terms;
};

static const bt_type *replace(bt_subst *subst, const bt_type *leaf)
{
    const struct replacing *r = subst->state;
    return bt_map_find(&r->terms, leaf);
}

static bt_status subst_type(struct mono *m, struct replacing *r, const bt_type *type,
                            const bt_type **out)
{
    bt_subst subst = { .leaf = replace, .state = r };
    *out = bt_type_subst(m->module->store, &subst, type);
    return *out ? NULL : bt_store_why(m->ctx, m->module->store);
}

static bt_status put_term(struct replacing *r, const bt_type *leaf, const bt_type *term)
{
    return bt_map_put(&r->terms, leaf, (void *)(uintptr_t)term) ? NULL : bt_no_memory();
}

/* ---- names ---- */

static void name_type(bt_text *text, const bt_type *type);

static void name_types(bt_text *text, uint32_t n, const bt_type *const *types)
{
    for (uint32_t i = 0; i < n && text->len < MAX_NAME; i++)
        name_type(text, types[i]);
}

static void name_dims(bt_text *text, const bt_type *type)
{
    const bt_shape_type *shape = bt_as_shape_type(type);
    int64_t value;
    for (uint32_t i = 0; shape && i < shape->n && text->len < MAX_NAME; i++) {
        if (bt_dim_is_const(shape->dims[i], &value))
            bt_text_addf(text, "%s%lld", i ? "x" : "_", (long long)value);
        else
            bt_text_addf(text, "%sn", i ? "x" : "_");
    }
}

/* Readable; not unique. */
static void name_type(bt_text *text, const bt_type *type)
{
    const bt_list_type *list = bt_as_list_type(type);
    char dtype[32];
    switch (type->kind) {
    case BT_TYPE_TENSOR:
        name_type(text, bt_as_tensor_type(type)->dtype);
        name_dims(text, bt_as_tensor_type(type)->shape);
        break;
    case BT_TYPE_DTYPE:
        bt_text_addf(text, "_%s",
                     bt_dtype_name(((const bt_dtype_type *)(const void *)type)->dtype,
                                   dtype, sizeof(dtype)));
        break;
    case BT_TYPE_SHAPE: name_dims(text, type); break;
    case BT_TYPE_TUPLE:
        bt_text_addf(text, "_tuple");
        name_types(text, list->n, list->at);
        break;
    case BT_TYPE_REF:
        bt_text_addf(text, "_ref");
        name_types(text, list->n, list->at);
        break;
    case BT_TYPE_APPLY: name_types(text, list->n, list->at); break;
    case BT_TYPE_ADT:
        bt_text_addf(text, "_%s", ((const bt_adt_type *)(const void *)type)->def->name);
        break;
    case BT_TYPE_FUNC: bt_text_addf(text, "_fn"); break;
    default: break;
    }
}

static bt_status name_instance(struct mono *m, struct copy *c, struct instance *instance)
{
    const bt_func *func = instance->of->func;
    bt_text text;
    bt_text_init(&text, m->arena);
    bt_text_addf(&text, "%s", instance->of->name);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            name_type(&text, instance->terms[i]);
    }
    if (!bt_text_get(&text))
        return bt_no_memory();
    return copy_name(c, m->module, &m->taken, text.at, &instance->name);
}

/* ---- which copy a call needs ---- */

/* The variables and opaque dims of what a function is given, in order. */
struct atoms {
    struct mono *m;
    bt_map found;                  /* -> 1 where it is a parameter's, else 2 */
    bt_vec(const bt_type *) given; /* those that become dim parameters */
    int is_param, failed;
};

static const bt_type *find_atom(bt_subst *subst, const bt_type *leaf)
{
    struct atoms *a = subst->state;
    if ((leaf->kind != BT_TYPE_VAR && leaf->kind != BT_TYPE_OPAQUE) ||
        bt_map_find(&a->found, leaf))
        return NULL;
    // an opaque dim of the result only is not known where the call is made
    int is_given = a->is_param || leaf->kind == BT_TYPE_VAR;
    if (!bt_map_put(&a->found, leaf, (void *)(uintptr_t)(is_given ? 1 : 2)) ||
        (is_given && !BT_PUSH(a->m->arena, &a->given, leaf)))
        a->failed = 1;
    return NULL;
}

static bt_status find_atoms(struct atoms *a, const bt_type *type)
{
    bt_subst subst = { .leaf = find_atom, .state = a };
    if (!bt_type_subst(a->m->module->store, &subst, type))
        return bt_store_why(a->m->ctx, a->m->module->store);
    return a->failed ? bt_no_memory() : NULL;
}

static bt_status all_atoms(struct mono *m, const bt_func *func,
                           const bt_type *const *type_args, struct atoms *a)
{
    struct replacing given;
    *a = (struct atoms){ .m = m, .is_param = 1 };
    bt_map_init(&a->found, m->arena, 0);
    bt_map_init(&given.terms, m->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            BT_TRY(put_term(&given, func->vars[i], type_args[i]));
    }
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_type *type = func->block->params[i]->base.type;
        if (type->kind == BT_TYPE_FUNC)
            continue;
        // the function's own dims are no atoms
        for (uint32_t k = 0; k < func->nvar; k++) {
            if (bt_type_kind_of(func->vars[k]) == BT_KIND_DIM &&
                !bt_map_put(&a->found, func->vars[k], (void *)3))
                return bt_no_memory();
        }
        BT_TRY(subst_type(m, &given, type, &type));
        BT_TRY(find_atoms(a, type));
    }
    a->is_param = 0;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            BT_TRY(find_atoms(a, type_args[i]));
    }
    return NULL;
}

/* What is given, up to the names of its dims. */
static bt_status make_key(struct mono *m, const bt_func *func,
                          const bt_type *const *type_args, const struct atoms *a,
                          const bt_type **out)
{
    enum { RESULT = 1 << 20 };
    bt_store *store = m->module->store;
    const bt_type **key = BT_NEWS(m->arena, const bt_type *, func->nvar);
    struct replacing holes;
    if (!key)
        return bt_no_memory();
    bt_map_init(&holes.terms, m->arena, 0);
    for (uint32_t i = 0; i < a->found.len; i++) {
        uint32_t number = i + 1 + (a->found.at[i].value == (void *)2 ? RESULT : 0);
        const bt_type *hole = bt_type_hole_numbered(store, BT_KIND_DIM, number);
        if (!hole)
            return bt_store_why(m->ctx, store);
        BT_TRY(put_term(&holes, a->found.at[i].key, hole));
    }
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) == BT_KIND_DIM)
            key[i] = bt_dim(store, 0);
        else
            BT_TRY(subst_type(m, &holes, type_args[i], &key[i]));
        if (!key[i])
            return bt_store_why(m->ctx, store);
        // of a tuple all terms are types
        if (bt_type_kind_of(key[i]) == BT_KIND_DTYPE)
            key[i] = bt_type_tensor(store, bt_type_shape(store, 0, NULL), key[i]);
        else if (bt_type_kind_of(key[i]) == BT_KIND_SHAPE)
            key[i] = bt_type_tensor(store, key[i], bt_type_dtype(store, BT_BOOL));
        else if (bt_type_kind_of(key[i]) == BT_KIND_DIM)
            key[i] = bt_type_tuple(store, 0, NULL);
        if (!key[i])
            return bt_store_why(m->ctx, store);
    }
    *out = bt_type_tuple(store, func->nvar, key);
    return *out ? NULL : bt_store_why(m->ctx, store);
}

static bt_status check_limits(struct mono *m, const bt_global *of, const bt_value *at)
{
    uint32_t depth = 0;
    for (const struct instance *p = m->at; p; p = p->parent)
        depth += p->of == of;
    if (depth < MAX_DEPTH && m->all.len < MAX_INSTANCES)
        return NULL;
    bt_status status = bt_fail_at(
        m->ctx, BT_ERR_LIMIT, m->module->store, at->span,
        "@%s is needed for more and more types, %s: each copy of it asks for another",
        of->name, depth < MAX_DEPTH ? "more than 16384" : "16 within each other");
    return bt_note(m->ctx, status, m->module->store, of->span,
                   "a function that calls itself must do so with the same types, or with "
                   "types of a limited number");
}

/* Its variables, and what stands for those of the function that it is a copy of. */
static bt_status give_terms(struct mono *m, struct copy *c, const struct atoms *a,
                            const bt_type *const *type_args, struct instance *instance)
{
    const bt_func *func = instance->of->func;
    struct replacing dims;
    bt_map_init(&dims.terms, m->arena, 0);
    instance->terms = BT_NEWS(m->arena, const bt_type *, func->nvar);
    instance->vars = BT_NEWS(m->arena, const bt_type *, func->nvar + a->given.len);
    if (!instance->terms || !instance->vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) == BT_KIND_DIM) {
            BT_TRY(copy_var(c, func->vars[i], &instance->terms[i]));
            instance->vars[instance->nvar++] = instance->terms[i];
        }
    }
    for (uint32_t i = 0; i < a->given.len; i++) {
        const bt_type **var = &instance->vars[instance->nvar++];
        BT_TRY(copy_var(c, a->given.at[i], var));
        BT_TRY(put_term(&dims, a->given.at[i], *var));
    }
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM) {
            BT_TRY(subst_type(m, &dims, type_args[i], &instance->terms[i]));
            BT_TRY(copy_put_type(c, func->vars[i], instance->terms[i]));
        }
    }
    return NULL;
}

static bt_status type_instance(struct mono *m, struct copy *c, struct instance *instance)
{
    const bt_func *func = instance->of->func;
    uint32_t narg = func->block->nparam;
    const bt_type **args = BT_NEWS(m->arena, const bt_type *, narg), *result;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(copy_type(c, func->block->params[i]->base.type, &args[i]));
    BT_TRY(copy_type(c, func->result, &result));
    instance->type = bt_func_type_close(m->module->store, instance->nvar, instance->vars,
                                        narg, args, result, 0, NULL);
    return instance->type ? NULL : bt_store_why(m->ctx, m->module->store);
}

static bt_status make_instance(struct mono *m, const bt_global *of, const struct atoms *a,
                               const bt_type *const *type_args, struct instance **out)
{
    struct instance *instance = *out = BT_NEW(m->arena, struct instance);
    struct copy c;
    if (!instance || !BT_PUSH(m->arena, &m->all, instance))
        return bt_no_memory();
    instance->of = of;
    instance->parent = m->at;
    BT_TRY(copy_init(&c, m->ctx, m->arena, m->module));
    bt_status status = give_terms(m, &c, a, type_args, instance);
    if (!status)
        status = type_instance(m, &c, instance);
    if (!status)
        status = name_instance(m, &c, instance);
    copy_deinit(&c);
    return status;
}

/* The copy for a call, and the dims that the call gives it. */
static bt_status find_instance(struct mono *m, const bt_global *of, const bt_value *at,
                               const bt_type *const *type_args, bt_call *call,
                               const struct instance **out)
{
    const bt_func *func = of->func;
    struct atoms atoms;
    const bt_type *key;
    bt_map *known = bt_map_find(&m->known, of);
    BT_TRY(all_atoms(m, func, type_args, &atoms));
    BT_TRY(make_key(m, func, type_args, &atoms, &key));
    if (!known) {
        known = BT_NEW(m->arena, bt_map);
        if (!known || !bt_map_put(&m->known, of, known))
            return bt_no_memory();
        bt_map_init(known, m->arena, 0);
    }
    struct instance *instance = bt_map_find(known, key);
    if (!instance) {
        BT_TRY(check_limits(m, of, at));
        BT_TRY(make_instance(m, of, &atoms, type_args, &instance));
        if (!bt_map_put(known, key, instance))
            return bt_no_memory();
    }
    const bt_type **dims = BT_NEWS(m->arena, const bt_type *, instance->nvar);
    if (!dims)
        return bt_no_memory();
    *out = instance;
    call->ntype_arg = 0;
    call->type_args = dims;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) == BT_KIND_DIM)
            dims[call->ntype_arg++] = type_args[i];
    }
    for (uint32_t i = 0; i < atoms.given.len; i++)
        dims[call->ntype_arg++] = atoms.given.at[i];
    return NULL;
}

/* ---- calls ---- */

/* Fills callee and type_args of a call of `of`, or of the copy for these type arguments. */
static bt_status aim_call(struct copy *c, const bt_global *of, const bt_value *at,
                          const bt_value *callee, const bt_type *const *type_args,
                          bt_call *call)
{
    struct mono *m = c->state;
    const struct instance *instance;
    BT_TRY(find_instance(m, of, at, type_args, call, &instance));
    if (m->declared)
        return bt_build_global(c->b, instance->name, &call->callee);
    call->callee = callee;
    call->ntype_arg = of->func->nvar;
    call->type_args = type_args;
    return NULL;
}

static bt_status mono_call(struct copy *c, const bt_call *old, const bt_global *of)
{
    const bt_value **args, *now;
    const bt_type *const *type_args;
    int same_facts;
    bt_call call = *old;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &type_args));
    BT_TRY(copy_args(c, old, &args, &same_facts));
    BT_TRY(aim_call(c, of, &old->base, old->callee, type_args, &call));
    call.args = args;
    BT_TRY(copy_call(c, old, &call, same_facts, &now));
    return copy_put(c, &old->base, now);
}

/* ---- functions as values ---- */

/* What stands for the variables of `pattern` where it is `type`. */
static bt_status match_type(struct mono *m, struct replacing *r, const bt_type *pattern,
                            const bt_type *type)
{
    const bt_tensor_type *t = bt_as_tensor_type(pattern), *u = bt_as_tensor_type(type);
    const bt_func_type *f = bt_as_func_type(pattern), *g = bt_as_func_type(type);
    const bt_list_type *l = bt_as_list_type(pattern), *k = bt_as_list_type(type);
    const bt_shape_type *s = bt_as_shape_type(pattern), *q = bt_as_shape_type(type);
    bt_store *store = m->module->store;
    if (!(pattern->has & BT_HAS_VAR))
        return NULL;
    const bt_map_entry *entry = bt_map_entry_find(&r->terms, pattern);
    if (entry)
        return entry->value ? NULL : put_term(r, pattern, type);
    if (t && u) {
        BT_TRY(match_type(m, r, t->shape, u->shape));
        return match_type(m, r, t->dtype, u->dtype);
    }
    if (f && g && f->narg == g->narg) {
        for (uint32_t i = 0; i < f->narg; i++)
            BT_TRY(match_type(m, r, f->args[i], g->args[i]));
        return match_type(m, r, f->result, g->result);
    }
    if (s && q && !q->rest && q->n >= s->n) {
        uint32_t more = s->rest ? q->n - s->n : 0;
        for (uint32_t i = 0; i < s->n; i++)
            BT_TRY(match_type(m, r, s->dims[i],
                              q->dims[i + (s->rest && i >= s->position ? more : 0)]));
        if (!s->rest)
            return NULL;
        const bt_type *rest = bt_type_shape(store, more, q->dims + s->position);
        return rest ? match_type(m, r, s->rest, rest) : bt_store_why(m->ctx, store);
    }
    for (uint32_t i = 0;
         l && k && l->n == k->n && pattern->kind == type->kind && i < l->n; i++)
        BT_TRY(match_type(m, r, l->at[i], k->at[i]));
    return NULL;
}

/* The type arguments by which a function with type parameters is `wanted`. */
static bt_status type_args_of(struct copy *c, const bt_value *value, const bt_func *func,
                              const bt_type *wanted, const bt_type *const **out)
{
    struct mono *m = c->state;
    const bt_func_type *type = bt_as_func_type(wanted);
    const bt_type **args = BT_NEWS(m->arena, const bt_type *, func->nvar);
    struct replacing found;
    if (!args)
        return bt_no_memory();
    bt_map_init(&found.terms, m->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++)
        BT_TRY(put_term(&found, func->vars[i], NULL));
    for (uint32_t i = 0; i < func->block->nparam && i < type->narg; i++)
        BT_TRY(match_type(m, &found, func->block->params[i]->base.type, type->args[i]));
    BT_TRY(match_type(m, &found, func->result, type->result));
    for (uint32_t i = 0; i < func->nvar; i++) {
        args[i] = bt_map_find(&found.terms, func->vars[i]);
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

static bt_status eta_expand(struct copy *c, const bt_value *old, const bt_global *of,
                            const bt_type *wanted, const bt_value **out)
{
    const bt_type *const *type_args;
    bt_call call = { .callee = old, .ntype_arg = of->func->nvar };
    BT_TRY(type_args_of(c, old, of->func, wanted, &type_args));
    call.type_args = type_args;
    if (flat_is_generic(of->type))
        BT_TRY(aim_call(c, of, old, old, type_args, &call));
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

static bt_status mono_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
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
    const bt_global *global =
        old->kind == BT_VALUE_GLOBAL ? bt_module_find(m->module, old->name) : NULL;
    m->changes = 1;
    if (now && !now->nparam && global && global->kind == BT_GLOBAL_FUNC)
        return eta_expand(c, old, global, wanted, out);
    if (now && !now->nparam && closure && flat_is_generic(old->type)) {
        BT_TRY(type_args_of(c, old, closure->func, wanted, &type_args));
        return instantiate_closure(c, closure, type_args, wanted, out);
    }
    if (!flat_is_generic(old->type))
        return NULL;
    return bt_fail_at(m->ctx, BT_ERR_UNSUPPORTED, m->module->store, old->span,
                      "%s%s has type parameters where it is used as a value, so that no "
                      "copy of it would do: give the value a type without",
                      old->kind == BT_VALUE_GLOBAL ? "@" : "%",
                      old->name ? old->name : "_");
}

/* ---- functions ---- */

/* A call of a closure with type parameters. */
static bt_status call_closure(struct copy *c, const bt_call *old)
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
    BT_TRY(instantiate_closure(c, bt_as_closure(old->callee), type_args, wanted,
                               &call.callee));
    call.args = args;
    call.ntype_arg = 0;
    BT_TRY(copy_call(c, old, &call, same_facts, &now));
    return copy_put(c, &old->base, now);
}

static bt_status mono_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_call *call = bt_as_call(old);
    const bt_closure_value *closure = bt_as_closure(old);
    struct mono *m = c->state;
    // made where it is used
    if (closure && closure->group->n == 1 && flat_is_generic(old->type))
        *done = 1;
    if (!call || call->callee_kind != BT_CALLEE_VALUE ||
        !flat_is_generic(call->callee->type))
        return NULL;
    const bt_global *of = generic_global(m, call->callee);
    *done = of || bt_as_closure(call->callee);
    m->changes |= *done;
    if (of)
        return mono_call(c, call, of);
    return *done ? call_closure(c, call) : NULL;
}

static bt_status begin(struct mono *m, struct copy *c, const struct instance *instance)
{
    BT_TRY(copy_init(c, m->ctx, m->arena, m->declared ? m->declared : m->module));
    c->state = m;
    c->binding = mono_binding;
    c->operand = mono_operand;
    m->at = instance;
    c->infers = instance && instance->of->func->nwhere;
    bt_map_init(&m->busy, m->arena, 0);
    return NULL;
}

static bt_status copy_instance(struct mono *m, const struct instance *instance,
                               const bt_func **out)
{
    const bt_func *func = instance->of->func;
    bt_func fields = *func;
    struct copy c;
    BT_TRY(begin(m, &c, instance));
    bt_status status = NULL;
    for (uint32_t i = 0; i < func->nvar && !status; i++)
        status = copy_put_type(&c, func->vars[i], instance->terms[i]);
    fields.name = instance->name;
    fields.nvar = instance->nvar;
    fields.vars = instance->vars;
    fields.nwhere = 0;
    if (!status)
        status = copy_func(&c, &fields, out);
    copy_deinit(&c);
    return status;
}

static bt_status copy_plain(struct mono *m, const bt_func *func, const bt_func **out)
{
    struct copy c;
    BT_TRY(begin(m, &c, NULL));
    bt_status status = copy_func(&c, func, out);
    copy_deinit(&c);
    return status;
}

static int has_type_params(const bt_value *value)
{
    const bt_func_type *type = value->type ? bt_as_func_type(value->type) : NULL;
    return type && type->nparam;
}

/* Whether a function uses what has type parameters. Nested blocks by a queue. */
static bt_status uses_generic(struct mono *m, const bt_func *func, int *out)
{
    bt_vec(const bt_block *) queue = { 0 };
    *out = 0;
    if (!BT_PUSH(m->arena, &queue, func->block))
        return bt_no_memory();
    while (queue.len) {
        const bt_block *block = queue.at[--queue.len];
        *out |= has_type_params(block->result);
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++)
                *out |= has_type_params(bt_value_operand(value, k));
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(m->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* The function of a global that is no copy and has to change; NULL: it need not. */
static bt_status root_of(struct mono *m, const bt_global *global, const bt_func **out)
{
    int uses;
    *out = NULL;
    if (global->kind != BT_GLOBAL_FUNC || flat_is_generic(global->type) ||
        bt_func_is_primitive(global->func))
        return NULL;
    BT_TRY(uses_generic(m, global->func, &uses));
    if (uses)
        *out = global->func;
    return NULL;
}

/* ---- the next version ---- */

static bt_status find_all(struct mono *m)
{
    const bt_func *func, *now;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        BT_TRY(root_of(m, m->module->globals[i], &func));
        if (func)
            BT_TRY(copy_plain(m, func, &now));
    }
    for (uint32_t i = 0; i < m->all.len; i++)
        BT_TRY(copy_instance(m, m->all.at[i], &now));
    return NULL;
}

static bt_status set_global(struct mono *m, bt_module_builder *builder,
                            const bt_global *like, const bt_func *func)
{
    bt_global global = *like;
    global.kind = BT_GLOBAL_FUNC;
    global.func = func;
    global.type = bt_func_type_of(m->module->store, func);
    return global.type ? bt_module_builder_set(builder, &global, 0)
                       : bt_store_why(m->ctx, m->module->store);
}

static bt_status set_all(struct mono *m, bt_module_builder *builder)
{
    const bt_func *func, *now;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        BT_TRY(root_of(m, m->module->globals[i], &func));
        if (!func)
            continue;
        BT_TRY(copy_plain(m, func, &now));
        BT_TRY(set_global(m, builder, m->module->globals[i], now));
    }
    for (uint32_t i = 0; i < m->all.len; i++) {
        BT_TRY(copy_instance(m, m->all.at[i], &now));
        BT_TRY(
            set_global(m, builder, bt_module_find(m->declared, m->all.at[i]->name), now));
    }
    return NULL;
}

static bt_status declare_all(struct mono *m, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < m->all.len; i++) {
        const struct instance *instance = m->all.at[i];
        bt_global global = { .name = instance->name,
                             .kind = BT_GLOBAL_EXTERN,
                             .span = instance->of->span,
                             .type = instance->type };
        BT_TRY(bt_module_builder_set(builder, &global, 1));
    }
    return NULL;
}

static bt_status extend(struct mono *m, const bt_module *from,
                        bt_status (*fill)(struct mono *, bt_module_builder *),
                        bt_module **out)
{
    bt_module_builder *builder;
    BT_TRY(bt_module_builder_create(m->ctx, from->store, from, &builder));
    bt_status status = fill(m, builder);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}

static bt_status check_entry(const bt_pass_call *call, bt_ctx *ctx)
{
    const bt_global *entry =
        call->entry ? bt_module_find(call->module, call->entry) : NULL;
    if (!entry || entry->kind != BT_GLOBAL_FUNC || !flat_is_generic(entry->type))
        return NULL;
    return bt_fail_at(
        ctx, BT_ERR_UNSUPPORTED, call->module->store, entry->span,
        "@%s, which the program is run from, has type parameters other than "
        "dims: state the types of its inputs",
        entry->name);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct mono m = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_module *declared;
    bt_map_init(&m.known, m.arena, 0);
    bt_map_init(&m.taken, m.arena, 0);
    BT_TRY(check_entry(call, ctx));
    BT_TRY(find_all(&m));
    if (!m.changes) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    BT_TRY(extend(&m, m.module, declare_all, &declared));
    m.declared = declared;
    bt_status status = extend(&m, declared, set_all, out);
    bt_module_unref(declared);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "monomorphize",
        .doc =
            "One copy of a function for each way that its type parameters are given.\n"
            "before\n"
            "    def @pair<A>(%x: A) -> (A, A) { (%x, %x) }\n"
            "    def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {\n"
            "        (@pair(%x), @pair(%y), @pair(3))\n"
            "    }\n"
            "after\n"
            "    def @pair<A>(%x: A) -> (A, A) { (%x, %x) }\n"
            "    def @main<n: Dim>(%x: Tensor[(n), float32], %y: int32) {\n"
            "        (@pair_float32_n(%x), @pair_int32(%y), @pair_int32(3))\n"
            "    }\n"
            "    def @pair_float32_n<n: Dim>(%x: Tensor[(n), float32]) -> (Tensor[(n), "
            "float32], Tensor[(n), float32]) {\n"
            "        (%x, %x)\n"
            "    }\n"
            "    def @pair_int32(%x: int32) -> (int32, int32) { (%x, %x) }",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_monomorphize[] = { BT_PASSES(passes), { 0 } };
