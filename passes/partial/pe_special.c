/* Versions of functions for what is known of their arguments: what a closure does, constructors,
 * numbers that decide. Calls that know the same share a version. */
#include "common/copy.h"
#include "common/names.h"
#include "partial/pe_pieces.h"

/* Of one function, and each called for by the one before: where a closure that is passed on holds the one
 * that came, such a chain has no end. */
enum { MAX_VERSIONS = 16, MAX_CHAIN = 2 };

/* ---- versions ---- */

static struct pe_version *find_version(const struct pe *p, const struct pe_pieces *s,
                                       const bt_global *of, uint32_t *nversion)
{
    *nversion = 0;
    for (uint32_t i = 0; i < p->versions.len; i++) {
        struct pe_version *v = p->versions.at[i];
        int same = v->of == of && v->nkey == s->key.len;
        *nversion += v->of == of;
        for (uint32_t k = 0; same && k < s->key.len; k++)
            same = v->key[k] == s->key.at[k];
        if (same)
            return v;
    }
    return NULL;
}

/* Whether a version would be called for by the last one of a chain, or by the function itself. */
static int ends_chain(const struct pe *p, const bt_global *of)
{
    uint32_t n = p->made ? 0 : p->at == of->func ? MAX_CHAIN : 0;
    for (const struct pe_version *v = p->made; v; v = v->within)
        n += v->of == of;
    return n >= MAX_CHAIN;
}

/* Its type parameters in place of the leaves. */
static bt_status make_vars(struct pe *p, const struct pe_leaves *l, struct copy *c,
                           struct pe_version *v)
{
    const bt_type **vars = BT_NEWS(p->arena, const bt_type *, l->number.len);
    if (!vars)
        return bt_no_memory();
    bt_map_init(&v->terms, p->arena, 0);
    for (uint32_t i = 0; i < l->number.len; i++) {
        BT_TRY(copy_var(c, l->number.at[i].key, &vars[i]));
        if (!bt_map_put(&v->terms, l->number.at[i].key, (void *)(uintptr_t)vars[i]))
            return bt_no_memory();
    }
    v->nvar = l->number.len;
    v->vars = vars;
    return NULL;
}

static bt_status make_type(struct pe *p, struct pe_activation *at, const bt_call *call,
                           const struct pe_pieces *s, struct pe_version *v)
{
    const bt_func *func = v->of->func;
    const bt_type **args = BT_NEWS(p->arena, const bt_type *, s->left.len), *term;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->left.len; i++)
        BT_TRY(pe_renamed(p, &v->terms, s->left.at[i]->type, &args[i]));
    bt_map_init(&v->types.map, p->arena, 0);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_type_take(p, &v->types, func, func->block->params[i]->base.type,
                            v->args[i]->type));
    for (uint32_t i = 0; i < func->nvar; i++) {
        term = bt_map_find(&v->types.map, func->vars[i]);
        if (!term)
            BT_TRY(pe_type(p, &at->types, call->type_args[i], &term));
        BT_TRY(pe_renamed(p, &v->terms, term, &term));
        if (!bt_map_put(&v->types.map, func->vars[i], (void *)(uintptr_t)term))
            return bt_no_memory();
    }
    BT_TRY(pe_type(p, &v->types, func->result, &v->result));
    v->npiece = s->left.len;
    v->pieces = args;
    v->type = bt_func_type_close(p->store, v->nvar, v->vars, s->left.len, args, v->result,
                                 0, NULL);
    return v->type ? NULL : bt_store_why(p->ctx, p->store);
}

static bt_status make_version(struct pe *p, struct pe_activation *at, const bt_call *call,
                              const struct pe_pieces *s, const struct pe_leaves *l,
                              struct pe_version *v)
{
    struct copy c;
    BT_TRY(copy_init(&c, p->ctx, p->arena, p->module));
    bt_status status = make_vars(p, l, &c, v);
    if (!status)
        status = name_new(p->module, p->arena, &p->taken, &v->name, "%s", v->of->name);
    copy_deinit(&c);
    BT_TRY(status);
    v->nkey = s->key.len;
    v->key = s->key.at;
    BT_TRY(make_type(p, at, call, s, v));
    return BT_PUSH(p->arena, &p->versions, v) ? NULL : bt_no_memory();
}

/* What a version gives to this call. */
static bt_status state_result(struct pe *p, const struct pe_version *v,
                              const struct pe_leaves *l)
{
    struct pe_types fresh = { .is_copy = 1 };
    bt_map given;
    const bt_type *type;
    bt_map_init(&fresh.map, p->arena, 0);
    bt_map_init(&given, p->arena, 0);
    for (uint32_t i = 0; i < v->nvar; i++) {
        if (!bt_map_put(&given, v->vars[i], (void *)(uintptr_t)l->number.at[i].key))
            return bt_no_memory();
    }
    BT_TRY(pe_type(p, &fresh, v->result, &type));
    BT_TRY(pe_renamed(p, &given, type, &type));
    bt_builder_type(p->maker, type);
    return NULL;
}

/* The call of a version in place of that of the function. */
static bt_status call_version(struct pe *p, const bt_call *old,
                              const struct pe_version *v, const struct pe_pieces *s,
                              const struct pe_leaves *l, const bt_value **out)
{
    const bt_value **args = BT_NEWS(p->arena, const bt_value *, s->left.len), *callee;
    const bt_type **terms = BT_NEWS(p->arena, const bt_type *, l->number.len);
    if (!args || !terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->left.len; i++)
        BT_TRY(pe_operand(p, s->left.at[i], &args[i]));
    for (uint32_t i = 0; i < l->number.len; i++)
        terms[i] = l->number.at[i].key;
    pe_like(p, &old->base);
    BT_TRY(bt_build_global(p->maker, v->name, &callee));
    // the module does not know it yet, so that its type does not follow
    ((bt_value *)(uintptr_t)callee)->type = v->type;
    BT_TRY(state_result(p, v, l));
    const bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                           .callee = callee,
                           .narg = s->left.len,
                           .args = args,
                           .ntype_arg = l->number.len,
                           .type_args = terms };
    pe_forget(p);
    return bt_build_call(p->maker, &call, out);
}

/* Type parameters that do not follow from what is passed. */
static bt_status say_type_args(struct pe *p, struct pe_activation *at,
                               const bt_call *call, const bt_func *func,
                               struct pe_value *const *args, struct pe_pieces *s)
{
    struct pe_types types = { .outer = NULL };
    const bt_type *term;
    bt_map_init(&types.map, p->arena, 0);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_type_take(p, &types, func, func->block->params[i]->base.type,
                            args[i]->type));
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_map_find(&types.map, func->vars[i]))
            continue;
        BT_TRY(pe_type(p, &at->types, call->type_args[i], &term));
        if (!BT_PUSH(p->arena, &s->types, term))
            return bt_no_memory();
    }
    return NULL;
}

bt_status pe_run_version(struct pe *p, struct pe_activation *at, const bt_call *call,
                         const bt_global *of, struct pe_value *const *args,
                         const uint8_t *keeps, const bt_value **out)
{
    struct pe_pieces s = { .p = p };
    struct pe_leaves leaves;
    uint32_t nversion;
    *out = NULL;
    bt_map_init(&s.met, p->arena, 0);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_take_apart(&s, args[i], keeps[i], 0));
    BT_TRY(say_type_args(p, at, call, of->func, args, &s));
    BT_TRY(pe_find_leaves(p, &s, &leaves));
    if (s.is_refused || !pe_all_are_given(&s, &leaves))
        return NULL;
    BT_TRY(pe_say_types(p, &s, &leaves));
    struct pe_version *v = find_version(p, &s, of, &nversion);
    if (!v) {
        uint64_t size;
        BT_TRY(pe_size(p, of->func->block, &size));
        if (nversion >= MAX_VERSIONS || ends_chain(p, of) ||
            p->reserved + size > p->limit) {
            p->met_limit = 1;
            return NULL;
        }
        v = BT_NEW(p->arena, struct pe_version);
        if (!v)
            return bt_no_memory();
        *v = (struct pe_version){
            .of = of, .within = p->made, .args = args, .keeps = keeps
        };
        BT_TRY(make_version(p, at, call, &s, &leaves, v));
        p->reserved += size;
    }
    p->ngain++;
    return call_version(p, call, v, &s, &leaves, out);
}

/* ---- their bodies ---- */

/* What stands for the pieces of a call in the version that it was made for. */
struct revival {
    struct pe *p;
    struct pe_version *version;
    const bt_param **params;
    uint32_t nparam;
    bt_map met; /* value -> what it is here */
};

static bt_status revive(struct revival *r, struct pe_value *v, int keeps, uint32_t depth,
                        const char *name, struct pe_value **out);

/* What stands around a closure: what it holds, and what its types are here. */
static bt_status revive_around(struct revival *r, const struct pe_group *group,
                               uint32_t depth, struct pe_activation *now)
{
    struct pe *p = r->p;
    pe_held values = { 0 };
    const bt_map *terms = &r->version->terms;
    bt_map_init(&now->values, p->arena, 0);
    bt_map_init(&now->types.map, p->arena, 0);
    now->func = group->around->func;
    now->types.is_copy = 1;
    for (const struct pe_types *t = &group->around->types; t; t = t->outer) {
        for (uint32_t i = 0; i < t->map.len; i++) {
            const bt_type *term;
            if (bt_map_find(&now->types.map, t->map.at[i].key))
                continue;
            BT_TRY(pe_renamed(p, &r->version->terms, t->map.at[i].value, &term));
            if (!bt_map_put(&now->types.map, t->map.at[i].key, (void *)(uintptr_t)term))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < terms->len; i++) {
        if (!bt_map_find(&now->types.map, terms->at[i].key) &&
            !bt_map_put(&now->types.map, terms->at[i].key, terms->at[i].value))
            return bt_no_memory();
    }
    BT_TRY(pe_find_held(p, group->source, &values));
    for (uint32_t i = 0; i < values.len; i++) {
        struct pe_value *was, *is;
        BT_TRY(pe_get(p, group->around, values.at[i], &was));
        BT_TRY(revive(r, was, 1, depth + 1, values.at[i]->name, &is));
        BT_TRY(pe_put(now, values.at[i], is));
    }
    return NULL;
}

static bt_status revive_closure(struct revival *r, const struct pe_value *v,
                                uint32_t depth, struct pe_value **out)
{
    const bt_closure_group *source = v->group->source;
    struct pe_activation *around = BT_NEW(r->p->arena, struct pe_activation);
    struct pe_value *value;
    if (!around)
        return bt_no_memory();
    BT_TRY(revive_around(r, v->group, depth, around));
    BT_TRY(pe_run_closures(r->p, around, source));
    for (uint32_t i = 0; i < source->n; i++) {
        BT_TRY(pe_get(r->p, around, &source->at[i]->base, &value));
        if (!bt_map_put(&r->met, v->group->values[i], value))
            return bt_no_memory();
    }
    *out = bt_map_find(&r->met, v);
    return NULL;
}

static bt_status revive_fields(struct revival *r, const struct pe_value *v,
                               uint32_t depth, struct pe_value **out)
{
    struct pe_value **fields = BT_NEWS(r->p->arena, struct pe_value *, v->n);
    const bt_type *type;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < v->n; i++)
        BT_TRY(revive(r, v->fields[i], 1, depth + 1, NULL, &fields[i]));
    BT_TRY(pe_renamed(r->p, &r->version->terms, v->type, &type));
    return v->kind == PE_TUPLE ? pe_tuple(r->p, v->like, v->n, fields, out)
                               : pe_data(r->p, v->like, type, (int)v->is_exact, v->ctor,
                                         v->n, fields, out);
}

/* In the order in which they were taken apart. */
static bt_status revive(struct revival *r, struct pe_value *v, int keeps, uint32_t depth,
                        const char *name, struct pe_value **out)
{
    *out = bt_map_find(&r->met, v);
    if (*out)
        return NULL;
    if (!keeps || !pe_is_taken_apart(v, depth)) {
        const bt_param **param = &r->params[r->nparam];
        pe_like(r->p, NULL);
        BT_TRY(bt_build_param(r->p->maker, name, r->version->pieces[r->nparam++], param));
        BT_TRY(pe_dynamic(r->p, &(*param)->base, out));
    } else if (v->kind == PE_CONST || v->kind == PE_GLOBAL) {
        *out = v;
        return NULL;
    } else if (v->kind == PE_CLOSURE) {
        BT_TRY(revive_closure(r, v, depth, out));
    } else {
        BT_TRY(revive_fields(r, v, depth, out));
    }
    return !v->home || bt_map_put(&r->met, v, *out) ? NULL : bt_no_memory();
}

bt_status pe_revive(struct pe *p, struct pe_version *v, struct pe_activation *at,
                    const bt_param ***params)
{
    const bt_block *block = v->of->func->block;
    struct revival r = { .p = p, .version = v };
    *params = r.params = BT_NEWS(p->arena, const bt_param *, v->npiece);
    if (!r.params)
        return bt_no_memory();
    bt_map_init(&r.met, p->arena, 0);
    for (uint32_t i = 0; i < block->nparam; i++) {
        struct pe_value *value;
        BT_TRY(
            revive(&r, v->args[i], v->keeps[i], 0, block->params[i]->base.name, &value));
        BT_TRY(pe_put(at, &block->params[i]->base, value));
    }
    return NULL;
}
