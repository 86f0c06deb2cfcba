#include "language/instances.h"

#include "common/copy.h"
#include "common/names.h"

enum {
    MAX_NUMBERS = 16,        /* copies of one function, where numbers are given by one */
    MAX_DEPTH = 16,          /* copies of one function asked for by copies of it */
    MAX_INSTANCES = 1 << 14, /* of all functions */
    MAX_NAME = 64
};

/* ---- types ---- */

static const bt_type *replace(bt_subst *subst, const bt_type *leaf)
{
    return bt_map_find(subst->state, leaf);
}

static bt_status subst_type(struct instances *in, bt_map *terms, const bt_type *type,
                            const bt_type **out)
{
    bt_subst subst = { .leaf = replace, .state = terms };
    *out = bt_type_subst(in->module->store, &subst, type);
    return *out ? NULL : bt_store_why(in->ctx, in->module->store);
}

static bt_status put_term(bt_map *terms, const bt_type *leaf, const bt_type *term)
{
    return bt_map_put(terms, leaf, (void *)(uintptr_t)term) ? NULL : bt_no_memory();
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

static bt_status name_instance(struct instances *in, struct instance *instance)
{
    const bt_func *func = instance->of->func;
    bt_text text;
    bt_text_init(&text, in->arena);
    bt_text_addf(&text, "%s", instance->of->name);
    for (uint32_t i = 0; i < func->nvar; i++) {
        int64_t number;
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            name_type(&text, instance->terms[i]);
        else if (bt_dim_is_const(instance->terms[i], &number))
            bt_text_addf(&text, "_%lld", (long long)number);
    }
    if (!bt_text_get(&text))
        return bt_no_memory();
    return name_new(in->module, in->arena, &in->taken, &instance->name, "%s", text.at);
}

/* ---- which copy a call needs ---- */

/* Whether a copy gives a type parameter this term: any that is no dim; of dims numbers. A
 * function that calls itself with changing numbers has them as parameters. */
static int is_given(const struct instances *in, const bt_global *of, uint32_t i,
                    const bt_type *term)
{
    int64_t number, other;
    if (bt_type_kind_of(of->func->vars[i]) != BT_KIND_DIM)
        return 1;
    if (!in->gives_numbers || bt_map_find(&in->open, of) ||
        !bt_dim_is_const(term, &number))
        return 0;
    for (const struct instance *p = in->at; p; p = p->parent) {
        if (p->of == of && !(bt_dim_is_const(p->terms[i], &other) && other == number))
            return 0;
    }
    return 1;
}

/* A function as a call wants it: the terms that a copy gives; NULL: what the call passes. */
struct wanted {
    const bt_global *of;
    const bt_type **given;
    uint32_t ngiven;
};

static bt_status want(const struct instances *in, const bt_global *of,
                      const bt_type *const *type_args, int numbers, struct wanted *out)
{
    uint32_t n = of->func->nvar;
    *out = (struct wanted){ of, BT_NEWS(in->arena, const bt_type *, n), 0 };
    if (!out->given)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if ((!numbers && bt_type_kind_of(of->func->vars[i]) == BT_KIND_DIM) ||
            !is_given(in, of, i, type_args[i]))
            continue;
        out->given[i] = type_args[i];
        out->ngiven++;
    }
    return NULL;
}

/* The variables and opaque dims of what a function is given, in order. */
struct atoms {
    struct instances *in;
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
        (is_given && !BT_PUSH(a->in->arena, &a->given, leaf)))
        a->failed = 1;
    return NULL;
}

static bt_status find_atoms(struct atoms *a, const bt_type *type)
{
    bt_subst subst = { .leaf = find_atom, .state = a };
    if (!bt_type_subst(a->in->module->store, &subst, type))
        return bt_store_why(a->in->ctx, a->in->module->store);
    return a->failed ? bt_no_memory() : NULL;
}

static bt_status all_atoms(struct instances *in, const struct wanted *w, struct atoms *a)
{
    const bt_func *func = w->of->func;
    bt_map given;
    *a = (struct atoms){ .in = in, .is_param = 1 };
    bt_map_init(&a->found, in->arena, 0);
    bt_map_init(&given, in->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (w->given[i])
            BT_TRY(put_term(&given, func->vars[i], w->given[i]));
    }
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_type *type = func->block->params[i]->base.type;
        if (type->kind == BT_TYPE_FUNC)
            continue;
        // the function's own dims are no atoms
        for (uint32_t k = 0; k < func->nvar; k++) {
            if (!w->given[k] && !bt_map_put(&a->found, func->vars[k], (void *)3))
                return bt_no_memory();
        }
        BT_TRY(subst_type(in, &given, type, &type));
        BT_TRY(find_atoms(a, type));
    }
    a->is_param = 0;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (w->given[i])
            BT_TRY(find_atoms(a, w->given[i]));
    }
    return NULL;
}

/* What is given, up to the names of its dims. */
static bt_status make_key(struct instances *in, const struct wanted *w,
                          const struct atoms *a, const bt_type **out)
{
    enum { RESULT = 1 << 20 };
    const bt_func *func = w->of->func;
    bt_store *store = in->module->store;
    const bt_type **key = BT_NEWS(in->arena, const bt_type *, func->nvar);
    bt_map holes;
    if (!key)
        return bt_no_memory();
    bt_map_init(&holes, in->arena, 0);
    for (uint32_t i = 0; i < a->found.len; i++) {
        uint32_t number = i + 1 + (a->found.at[i].value == (void *)2 ? RESULT : 0);
        const bt_type *hole = bt_type_hole_numbered(store, BT_KIND_DIM, number);
        if (!hole)
            return bt_store_why(in->ctx, store);
        BT_TRY(put_term(&holes, a->found.at[i].key, hole));
    }
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (!w->given[i]) {
            key[i] = bt_type_tuple(store, 0, NULL);
        } else {
            BT_TRY(subst_type(in, &holes, w->given[i], &key[i]));
            // of a tuple all terms are types
            if (bt_type_kind_of(key[i]) == BT_KIND_DIM)
                key[i] = bt_type_shape(store, 1, &key[i]);
            if (key[i] && bt_type_kind_of(key[i]) == BT_KIND_DTYPE)
                key[i] = bt_type_tensor(store, bt_type_shape(store, 0, NULL), key[i]);
            else if (key[i] && bt_type_kind_of(key[i]) == BT_KIND_SHAPE)
                key[i] = bt_type_tensor(store, key[i], bt_type_dtype(store, BT_BOOL));
        }
        if (!key[i])
            return bt_store_why(in->ctx, store);
    }
    *out = bt_type_tuple(store, func->nvar, key);
    return *out ? NULL : bt_store_why(in->ctx, store);
}

static bt_status check_limits(struct instances *in, const bt_global *of,
                              const bt_value *at)
{
    uint32_t depth = 0;
    for (const struct instance *p = in->at; p; p = p->parent)
        depth += p->of == of;
    if (depth < MAX_DEPTH && in->all.len < MAX_INSTANCES)
        return NULL;
    bt_status status = bt_fail_at(
        in->ctx, BT_ERR_UNSUPPORTED, in->module->store, at->span,
        "@%s is needed for more and more types, %s: each copy of it asks for another",
        of->name, depth < MAX_DEPTH ? "more than 16384" : "16 within each other");
    return bt_note(in->ctx, status, in->module->store, of->span,
                   "a function that calls itself must do so with the same types, or with "
                   "types of a limited number; executor interp runs it as it is");
}

/* Its variables, and what stands for those of the function that it is a copy of. */
static bt_status give_terms(struct instances *in, struct copy *c, const struct atoms *a,
                            const struct wanted *w, struct instance *instance)
{
    const bt_func *func = instance->of->func;
    bt_map dims;
    bt_map_init(&dims, in->arena, 0);
    instance->terms = BT_NEWS(in->arena, const bt_type *, func->nvar);
    instance->vars = BT_NEWS(in->arena, const bt_type *, func->nvar + a->given.len);
    if (!instance->terms || !instance->vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (!w->given[i]) {
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
        if (w->given[i]) {
            BT_TRY(subst_type(in, &dims, w->given[i], &instance->terms[i]));
            BT_TRY(copy_put_type(c, func->vars[i], instance->terms[i]));
        }
    }
    return NULL;
}

static bt_status type_instance(struct instances *in, struct copy *c,
                               struct instance *instance)
{
    const bt_func *func = instance->of->func;
    uint32_t narg = func->block->nparam;
    const bt_type **args = BT_NEWS(in->arena, const bt_type *, narg), *result;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(copy_type(c, func->block->params[i]->base.type, &args[i]));
    BT_TRY(copy_type(c, func->result, &result));
    instance->type = bt_func_type_close(in->module->store, instance->nvar, instance->vars,
                                        narg, args, result, 0, NULL);
    return instance->type ? NULL : bt_store_why(in->ctx, in->module->store);
}

static bt_status make_instance(struct instances *in, const struct wanted *w,
                               const struct atoms *a, struct instance **out)
{
    struct instance *instance = *out = BT_NEW(in->arena, struct instance);
    struct copy c;
    if (!instance || !BT_PUSH(in->arena, &in->all, instance))
        return bt_no_memory();
    instance->of = w->of;
    instance->parent = in->at;
    BT_TRY(copy_init(&c, in->ctx, in->arena, in->module));
    bt_status status = give_terms(in, &c, a, w, instance);
    if (!status)
        status = type_instance(in, &c, instance);
    if (!status)
        status = name_instance(in, instance);
    copy_deinit(&c);
    return status;
}

static bt_status look_up(struct instances *in, const struct wanted *w, struct atoms *a,
                         const bt_type **key, bt_map **known)
{
    *known = bt_map_find(&in->known, w->of);
    BT_TRY(all_atoms(in, w, a));
    BT_TRY(make_key(in, w, a, key));
    if (*known)
        return NULL;
    *known = BT_NEW(in->arena, bt_map);
    if (!*known || !bt_map_put(&in->known, w->of, *known))
        return bt_no_memory();
    bt_map_init(*known, in->arena, 0);
    return NULL;
}

bt_status instances_find(struct instances *in, const bt_global *of, const bt_value *at,
                         const bt_type *const *type_args, bt_call *call,
                         const struct instance **out)
{
    // checks name the function that the source calls
    const int numbers = call->ncheck == 0;
    const bt_func *func = of->func;
    struct wanted w;
    struct atoms atoms;
    const bt_type *key;
    bt_map *known;
    *out = NULL;
    BT_TRY(want(in, of, type_args, numbers, &w));
    BT_TRY(look_up(in, &w, &atoms, &key, &known));
    if (in->gives_numbers && known->len >= MAX_NUMBERS && !bt_map_find(known, key)) {
        BT_TRY(want(in, of, type_args, 0, &w));
        BT_TRY(look_up(in, &w, &atoms, &key, &known));
    }
    if (!w.ngiven)
        return NULL;
    struct instance *instance = bt_map_find(known, key);
    if (!instance) {
        BT_TRY(check_limits(in, of, at));
        BT_TRY(make_instance(in, &w, &atoms, &instance));
        if (!bt_map_put(known, key, instance))
            return bt_no_memory();
    }
    const bt_type **dims = BT_NEWS(in->arena, const bt_type *, instance->nvar);
    if (!dims)
        return bt_no_memory();
    *out = instance;
    call->ntype_arg = 0;
    call->type_args = dims;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (!w.given[i])
            dims[call->ntype_arg++] = type_args[i];
    }
    for (uint32_t i = 0; i < atoms.given.len; i++)
        dims[call->ntype_arg++] = atoms.given.at[i];
    return NULL;
}

void instances_init(struct instances *in, bt_ctx *ctx, bt_arena *arena,
                    const bt_module *module)
{
    *in = (struct instances){ .ctx = ctx, .arena = arena, .module = module };
    bt_map_init(&in->open, arena, 0);
    instances_clear(in);
}

void instances_clear(struct instances *in)
{
    in->at = NULL;
    in->all.len = 0;
    in->gradients.len = 0;
    bt_map_init(&in->known, in->arena, 0);
    bt_map_init(&in->taken, in->arena, 0);
}
