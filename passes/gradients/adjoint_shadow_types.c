/*
 * Types in which references are to cells with shadows.
 *
 *     Ref[T]                           Ref[(T, adjoint of each leaf of T)]
 *     type Box { Box(Ref[float32]) }   type Box.cells { Box.cells(Ref[(float32, float32)]) }
 *     List[Ref[float32]]               List[Ref[(float32, float32)]]
 */
#include "common/retype.h"
#include "common/vars.h"
#include "gradients/adjoint_shadow.h"

/* A data type that has such cells in its fields: those of its instances that are equal but for dims,
 * each of which is a parameter then, where it has types as parameters, else all of them. */
struct holder {
    const bt_type *of; /* in terms of the parameters of `now` */
    const bt_adt_def *old;
    bt_adt_def *now;
};

static struct retype parts_of(struct shadows *s)
{
    return (struct retype){ s->diff->ctx, s->diff->arena, s->diff->module->store,
                            shadow_type, s };
}

/* ---- data types ---- */

/* A search for cells; each type is looked into once. */
struct search {
    struct shadows *shadows;
    bt_map met;
    int found;
};

/* The data types around the one that is looked into. */
struct around {
    const struct around *outer;
    const bt_adt_def *def;
};

/* Whether a cell is in the fields of an instance by its data type's own words: what the
 * arguments bring along becomes another argument. */
static bt_status look_into(struct search *s, const bt_type *type,
                           const struct around *outer);

/* field: of the data type; type: the same for the instance. */
static bt_status look_at(struct search *s, const bt_type *field, const bt_type *type,
                         const struct around *around)
{
    const bt_list_type *list = bt_as_list_type(field), *now = bt_as_list_type(type);
    if (s->found || !list || !now || bt_as_tensor_type(field))
        return NULL;
    if (bt_as_ref_type(field))
        BT_TRY(adjoint_is_cell(s->shadows->diff, type, &s->found));
    if (bt_as_apply_type(field) && !s->found)
        BT_TRY(look_into(s, type, around));
    for (uint32_t i = 0; i < list->n; i++)
        BT_TRY(look_at(s, list->at[i], now->at[i], around));
    return NULL;
}

static bt_status look_into(struct search *s, const bt_type *type,
                           const struct around *outer)
{
    const bt_adt_def *def = adjoint_def(type);
    const struct around here = { outer, def };
    for (const struct around *at = outer; at; at = at->outer) {
        if (adjoint_has_one(def) && at->def == def)
            return NULL;
    }
    if (bt_map_find(&s->met, type))
        return NULL;
    if (!bt_map_put(&s->met, type, s))
        return bt_no_memory();
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield && !s->found; k++) {
            const bt_type *field;
            BT_TRY(adjoint_field_type(s->shadows->diff, def->ctors[i], k,
                                      bt_as_apply_type(type)->at + 1, &field));
            BT_TRY(look_at(s, def->ctors[i]->fields[k], field, &here));
        }
    }
    return NULL;
}

static bt_status holds(struct shadows *s, const bt_type *type, int *out)
{
    struct search search = { .shadows = s };
    bt_map_init(&search.met, s->diff->arena, 0);
    BT_TRY(look_into(&search, type, NULL));
    *out = search.found;
    return NULL;
}

/* Parameters like those of a data type that has dims alone. */
static bt_status like_vars(struct shadows *s, struct holder *h, dims_of_type *vars)
{
    bt_store *store = s->diff->module->store;
    vars->len = h->old->nvar;
    BT_TRY(vars_like(s->diff->ctx, s->diff->arena, store, vars->len, h->old->vars,
                     &vars->at));
    h->of = bt_type_apply(store, h->old, vars->len, vars->at);
    return h->of ? NULL : bt_store_why(s->diff->ctx, store);
}

static bt_status declare_holder(struct shadows *s, const bt_type *type, struct holder *h)
{
    struct differentiation *diff = s->diff;
    const struct dims_map m = adjoint_dims_map(diff);
    dims_of_type vars = { 0 };
    const char *name;
    h->old = adjoint_def(type);
    BT_TRY(adjoint_has_one(h->old) ? like_vars(s, h, &vars)
                                   : dims_name(&m, type, 0, &vars, &h->of));
    BT_TRY(adjoint_name(diff, &diff->taken, h->old->name, "cells", &name));
    return bt_module_builder_declare_adt(diff->builder, name, h->old->span, vars.len,
                                         vars.at, &h->now);
}

static bt_status define_holder(struct shadows *s, const struct holder *h)
{
    struct differentiation *diff = s->diff;
    const bt_span span = s->span;
    bt_ctor *ctors = BT_NEWS(diff->arena, bt_ctor, h->old->nctor);
    if (!ctors)
        return bt_no_memory();
    s->span = h->old->span;
    for (uint32_t i = 0; i < h->old->nctor; i++) {
        const bt_ctor *old = h->old->ctors[i];
        const bt_type **fields = BT_NEWS(diff->arena, const bt_type *, old->nfield);
        if (!fields)
            return bt_no_memory();
        for (uint32_t k = 0; k < old->nfield; k++) {
            BT_TRY(adjoint_field_type(diff, old, k, bt_as_apply_type(h->of)->at + 1,
                                      &fields[k]));
            BT_TRY(shadow_type(s, fields[k], &fields[k]));
        }
        ctors[i] = (bt_ctor){ .nfield = old->nfield, .fields = fields };
        BT_TRY(adjoint_name(diff, &diff->ctors, old->name, "cells", &ctors[i].name));
    }
    s->span = span;
    return bt_module_builder_define_adt(diff->builder, h->now, h->old->nctor, ctors);
}

/* *out NULL: it holds none. */
static bt_status find_holder(struct shadows *s, const bt_type *type,
                             const struct holder **out)
{
    static const struct holder none;
    const struct dims_map m = adjoint_dims_map(s->diff);
    const void *key = adjoint_def(type);
    const bt_type *erased = type;
    int does = 0;
    if (!adjoint_has_one(key)) {
        BT_TRY(dims_erase(&m, type, &erased));
        key = erased;
    }
    *out = bt_map_find(&s->holders, key);
    if (!*out) {
        BT_TRY(holds(s, type, &does));
        struct holder *made = does ? BT_NEW(s->diff->arena, struct holder) : NULL;
        *out = does ? made : &none;
        if (!*out || !bt_map_put(&s->holders, key, (void *)(uintptr_t)*out))
            return bt_no_memory();
        if (does && key == erased && erased->has & BT_HAS_VAR)
            return bt_fail_at(
                s->diff->ctx, BT_ERR_UNSUPPORTED, s->diff->module->store, s->span,
                "what the references in %s hold is differentiated for types "
                "that a function has as parameters: call it for known ones",
                adjoint_def(type)->name);
        if (does) {
            BT_TRY(declare_holder(s, type, made));
            BT_TRY(define_holder(s, made));
        }
    }
    *out = (*out)->now ? *out : NULL;
    return NULL;
}

static bt_status map_data(struct shadows *s, const bt_type *type, const bt_type **out)
{
    const struct retype parts = parts_of(s);
    const struct dims_map m = adjoint_dims_map(s->diff);
    const struct holder *h;
    dims_of_type dims = { 0 };
    BT_TRY(find_holder(s, type, &h));
    BT_TRY(retype_parts(&parts, type, out));
    if (!h)
        return NULL;
    if (!adjoint_has_one(h->old))
        BT_TRY(dims_list(&m, type, &dims));
    *out =
        bt_type_apply(s->diff->module->store, h->now, h->now->nvar,
                      adjoint_has_one(h->old) ? bt_as_apply_type(*out)->at + 1 : dims.at);
    return *out ? NULL : bt_store_why(s->diff->ctx, s->diff->module->store);
}

/* ---- types ---- */

/* The content, then an adjoint of each leaf that has one. */
static bt_status map_cell(struct shadows *s, const bt_type *type, const bt_type **out)
{
    struct differentiation *diff = s->diff;
    const bt_type *content = bt_as_ref_type(type)->at[0], *now;
    adjoint_types all = { 0 };
    BT_TRY(shadow_type(s, content, &now));
    if (!BT_PUSH(diff->arena, &all, now))
        return bt_no_memory();
    BT_TRY(adjoint_leaf_types(diff, content, &all));
    now = bt_type_tuple(diff->module->store, all.len, all.at);
    *out = now ? bt_type_ref(diff->module->store, now) : NULL;
    return *out ? NULL : bt_store_why(diff->ctx, diff->module->store);
}

static bt_status map_func(struct shadows *s, const bt_func_type *type,
                          const bt_type **out)
{
    const struct retype parts = parts_of(s);
    bt_store *store = s->diff->module->store;
    const bt_type **vars = BT_NEWS(s->diff->arena, const bt_type *, type->nparam);
    const bt_type **args, *result;
    const bt_func_type *open = type;
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->nparam; i++) {
        if (!(vars[i] = bt_type_var(store, &type->params[i], "A")))
            return bt_store_why(s->diff->ctx, store);
    }
    if (type->nparam && !(open = bt_func_type_open(store, type, vars)))
        return bt_store_why(s->diff->ctx, store);
    int same = 1;
    BT_TRY(retype_list(&parts, open->narg, open->args, &args, &same));
    BT_TRY(shadow_type(s, open->result, &result));
    if (same && result == open->result)
        return NULL;
    *out = bt_func_type_close(store, type->nparam, vars, open->narg, args, result,
                              open->nwhere, open->wheres);
    return *out ? NULL : bt_store_why(s->diff->ctx, store);
}

bt_status shadow_type(void *state, const bt_type *type, const bt_type **out)
{
    struct shadows *s = state;
    const struct retype parts = parts_of(s);
    int is_cell;
    const bt_type *known = bt_map_find(&s->types, type);
    if (known) {
        *out = known;
        return NULL;
    }
    BT_TRY(adjoint_is_cell(s->diff, type, &is_cell));
    known = type;
    if (is_cell)
        BT_TRY(map_cell(s, type, &known));
    else if (bt_as_func_type(type))
        BT_TRY(map_func(s, bt_as_func_type(type), &known));
    else if (bt_as_apply_type(type))
        BT_TRY(map_data(s, type, &known));
    else
        BT_TRY(retype_parts(&parts, type, &known));
    *out = known;
    return bt_map_put(&s->types, type, (void *)(uintptr_t)known) ? NULL : bt_no_memory();
}
