/* What closures hold, in terms of the dims of their family. */
#include "language/families_dims.h"

struct dims_map families_map(struct defun *d)
{
    return (
        struct dims_map){ .ctx = d->ctx, .arena = d->arena, .store = d->module->store };
}

bt_status families_named(struct defun *d, const bt_func_type *type,
                         const bt_type *const **vars, const bt_func_type **out)
{
    const bt_type **own = BT_NEWS(d->arena, const bt_type *, type->nparam);
    if (!own)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->nparam; i++) {
        if (!(own[i] = bt_type_var(d->module->store, &type->params[i], NULL)))
            return bt_store_why(d->ctx, d->module->store);
    }
    *vars = own;
    *out = type->nparam ? bt_func_type_open(d->module->store, type, own) : type;
    return *out ? NULL : bt_store_why(d->ctx, d->module->store);
}

bt_status families_witness(struct defun *d, const bt_type *dim, const bt_type **out)
{
    bt_store *store = d->module->store;
    const bt_type *dims[] = { dim, bt_dim(store, 0) };
    *out = bt_type_tensor(store, bt_type_shape(store, 2, dims),
                          bt_type_dtype(store, BT_BOOL));
    return *out ? NULL : bt_store_why(d->ctx, store);
}

/* ---- variables of a function in terms of its family ---- */

struct terms {
    struct defun *d;
    const struct maker *maker;
    const bt_type *const *at; /* of the maker's variables; NULL: unknown */
    int is_unknown;
};

static const bt_type *find_term(bt_subst *subst, const bt_type *leaf)
{
    struct terms *t = subst->state;
    for (uint32_t i = 0; i < t->maker->nvar; i++) {
        if (t->maker->vars[i] != leaf)
            continue;
        t->is_unknown |= !t->at[i];
        return t->at[i];
    }
    return NULL;
}

static bt_status put_in_terms(void *state, const bt_type *dim, const bt_type **out)
{
    struct terms *t = state;
    bt_store *store = t->d->module->store;
    bt_subst subst = { .leaf = find_term, .state = t };
    t->is_unknown = 0;
    *out = bt_type_subst(store, &subst, dim);
    if (*out && t->is_unknown)
        *out = bt_type_hole(store, BT_KIND_DIM);
    return *out ? NULL : bt_store_why(t->d->ctx, store);
}

/* What the closure holds, where the function's variables are these. */
static bt_status held(struct defun *d, const struct maker *maker,
                      const bt_type *const *terms, const bt_type **out)
{
    struct terms t = { d, maker, terms, 0 };
    struct dims_map m = families_map(d);
    m.dim = put_in_terms;
    m.state = &t;
    for (uint32_t i = 0; i < maker->ncapture; i++)
        BT_TRY(dims_replace(&m, maker->type->args[i], &out[i]));
    return NULL;
}

/* By its places in the function's type, less what the closure holds. */
static bt_status find_terms(struct defun *d, const struct family *family,
                            struct maker *maker)
{
    const struct dims_map m = families_map(d);
    const bt_func_type less = { .narg = maker->type->narg - maker->ncapture,
                                .args = maker->type->args + maker->ncapture,
                                .result = maker->type->result };
    const bt_type *rest = bt_type_func(d->module->store, &less);
    dims_of_type own = { 0 }, wanted = { 0 };
    if (!rest)
        return bt_store_why(d->ctx, d->module->store);
    BT_TRY(dims_list(&m, rest, &own));
    BT_TRY(dims_list(&m, &family->type->base, &wanted));
    if (own.len != wanted.len)
        return bt_fail(d->ctx, BT_ERR_INTERNAL,
                       "defunctionalize: @%s has %u dims where its family has %u",
                       maker->global, own.len, wanted.len);
    for (uint32_t i = 0; i < maker->nvar; i++) {
        for (uint32_t k = 0; k < own.len; k++) {
            if (own.at[k] == maker->vars[i] && !maker->terms[i])
                maker->terms[i] = wanted.at[k];
        }
    }
    return NULL;
}

static int shows(const bt_type *type, const bt_type *dim)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int does = 0;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        does |= shows(tuple->at[i], dim);
    for (uint32_t i = 0; shape && i < shape->n; i++)
        does |= shape->dims[i] == dim;
    return does;
}

static void find_hidden(struct maker *maker)
{
    for (uint32_t i = 0; i < maker->nvar; i++) {
        int told = maker->terms[i] != NULL;
        for (uint32_t k = 0; k < maker->ncapture; k++)
            told |= shows(maker->type->args[k], maker->vars[i]);
        maker->is_hidden[i] = !told;
    }
}

bt_status families_fields(struct defun *d, const struct family *family,
                          struct maker *maker)
{
    const bt_func_type *type =
        bt_as_func_type(bt_module_find(d->module, maker->global)->type);
    const bt_type *hole = bt_type_hole(d->module->store, BT_KIND_DIM);
    maker->nvar = type->nparam;
    maker->terms = BT_NEWS(d->arena, const bt_type *, maker->nvar);
    maker->is_hidden = BT_NEWS(d->arena, uint8_t, maker->nvar);
    maker->fields =
        BT_NEWS(d->arena, const bt_type *, (size_t)maker->ncapture + maker->nvar);
    if (!maker->terms || !maker->is_hidden || !maker->fields || !hole)
        return bt_no_memory();
    BT_TRY(families_named(d, type, &maker->vars, &maker->type));
    BT_TRY(find_terms(d, family, maker));
    find_hidden(maker);
    BT_TRY(held(d, maker, maker->terms, maker->fields));
    maker->nfield = maker->ncapture;
    for (uint32_t i = 0; i < maker->nvar; i++) {
        if (maker->is_hidden[i])
            BT_TRY(families_witness(d, hole, &maker->fields[maker->nfield++]));
    }
    return NULL;
}

bt_status families_held(struct defun *d, const struct maker *maker, const bt_type **types,
                        const bt_type **terms)
{
    uint32_t n = maker->ncapture;
    for (uint32_t i = 0; i < maker->nvar; i++) {
        terms[i] =
            maker->terms[i] ? maker->terms[i] : bt_dim_opaque(d->module->store, NULL);
        if (!terms[i])
            return bt_store_why(d->ctx, d->module->store);
        if (maker->is_hidden[i])
            BT_TRY(families_witness(d, terms[i], &types[n++]));
    }
    return held(d, maker, terms, types);
}
