/*
 * Adjoints of data types.
 *
 *     type Tree { Leaf(Tensor[(4), float32]), Node(Tree, Tree), }
 *  -> type Tree.adjoint { Tree.Zero, Leaf.adjoint(Tensor[(4), float32]),
 *                         Node.adjoint(Tree.adjoint, Tree.adjoint), }
 *     def @Tree.add(a, b)          of two adjoints of one value
 *
 * Instances that differ by dims alone, some of which only the run knows, have one type of adjoints,
 * with a parameter for each dim in which they differ.
 *
 * A field that holds no float has no part in it. What is Zero holds no tensor, and what is added
 * to it is not looked at.
 */
#include "common/vars.h"
#include "gradients/adjoint_data.h"

const bt_adt_def *adjoint_def(const bt_type *type)
{
    const bt_list_type *apply = bt_as_apply_type(type);
    return apply ? ((const bt_adt_type *)(const void *)apply->at[0])->def : NULL;
}

/* ---- the types ---- */

int adjoint_has_one(const bt_adt_def *def)
{
    for (uint32_t i = 0; i < def->nvar; i++) {
        const uint32_t kind = bt_type_kind_of(def->vars[i]);
        if (kind == BT_KIND_TYPE || kind == BT_KIND_DTYPE)
            return 0;
    }
    return 1;
}

struct dims_map adjoint_dims_map(const struct differentiation *diff)
{
    return (struct dims_map){ .ctx = diff->ctx,
                              .arena = diff->arena,
                              .store = diff->module->store };
}

bt_status adjoint_data_of(const struct differentiation *diff, const bt_type *type,
                          struct adjoint_data **out)
{
    const struct dims_map m = adjoint_dims_map(diff);
    const bt_adt_def *def = adjoint_def(type);
    *out = bt_map_find(&diff->data, adjoint_has_one(def) ? (const void *)def : type);
    if (*out || !diff->united.len)
        return NULL;
    BT_TRY(dims_erase(&m, type, &type));
    *out = bt_map_find(&diff->united, type);
    return NULL;
}

bt_status adjoint_field_type(const struct differentiation *diff, const bt_ctor *ctor,
                             uint32_t field, const bt_type *const *args,
                             const bt_type **out)
{
    bt_store *store = diff->module->store;
    *out = bt_ctor_field_type(store, ctor, field, args);
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

bt_status adjoint_leaf_types(struct differentiation *diff, const bt_type *type,
                             adjoint_types *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(adjoint_leaf_types(diff, tuple->at[i], out));
    if (tuple || !adjoint_has(diff, type))
        return NULL;
    BT_TRY(adjoint_type_of(diff, type, &type));
    return BT_PUSH(diff->arena, out, type) ? NULL : bt_no_memory();
}

/* Fields of a constructor's adjoint, in terms of the adjoint's parameters. */
static bt_status fields_of(struct differentiation *diff, const struct adjoint_data *data,
                           const bt_ctor *ctor, adjoint_types *out)
{
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        const bt_type *field;
        BT_TRY(adjoint_field_type(diff, ctor, i, bt_as_apply_type(data->primal)->at + 1,
                                  &field));
        BT_TRY(adjoint_leaf_types(diff, field, out));
    }
    return NULL;
}

bt_status adjoint_data_want(struct differentiation *diff, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_adt_def *def = adjoint_def(type);
    struct adjoint_data *data;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(adjoint_data_want(diff, tuple->at[i]));
    if (!def || !adjoint_has(diff, type) || bt_map_find(&diff->made, def))
        return NULL;
    BT_TRY(adjoint_data_of(diff, type, &data));
    if (data)
        return NULL;
    data = BT_NEW(diff->arena, struct adjoint_data);
    const void *key = adjoint_has_one(def) ? (const void *)def : type;
    if (!data || !bt_map_put(&diff->data, key, data))
        return bt_no_memory();
    data->primal = type;
    // what its fields are of
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++) {
            const bt_type *field;
            BT_TRY(adjoint_field_type(diff, def->ctors[i], k,
                                      bt_as_apply_type(type)->at + 1, &field));
            BT_TRY(adjoint_data_want(diff, field));
        }
    }
    return NULL;
}

/* ---- instances ---- */

static bt_status put_instance(struct differentiation *diff, bt_map *groups,
                              const bt_type *type)
{
    const struct dims_map m = adjoint_dims_map(diff);
    struct dims_group *group;
    BT_TRY(dims_group_add(&m, groups, type, &group));
    return group->key->has & (BT_HAS_VAR | BT_HAS_OPAQUE)
               ? bt_fail_at(
                     diff->ctx, BT_ERR_UNSUPPORTED, diff->module->store,
                     adjoint_def(type)->span,
                     "data of type %s is differentiated for types that a function has "
                     "as parameters: call it for known ones",
                     adjoint_def(type)->name)
               : NULL;
}

/* The first stands for all. */
static bt_status unite(struct differentiation *diff, const struct dims_group *group)
{
    const struct dims_map m = adjoint_dims_map(diff);
    struct adjoint_data *all = bt_map_find(&diff->data, group->types.at[0]);
    BT_TRY(dims_unify(&m, group->types.len, group->types.at, &all->dims));
    all->primal = all->dims.type;
    for (uint32_t i = 0; i < group->types.len; i++) {
        bt_map_entry *entry = bt_map_entry_find(&diff->data, group->types.at[i]);
        const struct adjoint_data *one = entry->value;
        for (uint32_t kind = 0; kind < ADJOINT_NCONVERSION; kind++)
            all->converts[kind] |= one->converts[kind];
        entry->value = all;
    }
    return bt_map_put(&diff->united, group->key, all) ? NULL : bt_no_memory();
}

static bt_status find_all(struct differentiation *diff)
{
    bt_map groups, seen;
    bt_map_init(&groups, diff->arena, 0);
    bt_map_init(&seen, diff->arena, 0);
    for (uint32_t i = 0; i < diff->data.len; i++) {
        const struct adjoint_data *data = diff->data.at[i].value;
        if (!data->is_made && !adjoint_has_one(adjoint_def(data->primal)))
            BT_TRY(put_instance(diff, &groups, data->primal));
    }
    for (uint32_t i = 0; i < groups.len; i++) {
        const struct dims_group *group = groups.at[i].value;
        // data with cells in it is of one data type for all dims (adjoint_shadow.c)
        if (group->is_open || diff->cells.len)
            BT_TRY(unite(diff, group));
    }
    for (uint32_t i = 0; i < diff->data.len; i++) {
        struct adjoint_data *data = diff->data.at[i].value;
        if (!data->is_made && !bt_map_find(&seen, data) &&
            (!bt_map_put(&seen, data, data) || !BT_PUSH(diff->arena, &diff->datas, data)))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- declarations ---- */

/* Parameters of its own, in terms of which it then is of the primal. */
static bt_status new_vars(struct differentiation *diff, struct adjoint_data *data)
{
    bt_store *store = diff->module->store;
    const bt_adt_def *def = adjoint_def(data->primal);
    if (!adjoint_has_one(def))
        return NULL;
    data->dims.nvar = def->nvar;
    data->dims.places = BT_NEWS(diff->arena, uint32_t, def->nvar);
    if (!data->dims.places)
        return bt_no_memory();
    for (uint32_t i = 0; i < def->nvar; i++)
        data->dims.places[i] = i;
    BT_TRY(
        vars_like(diff->ctx, diff->arena, store, def->nvar, def->vars, &data->dims.vars));
    data->primal = bt_type_apply(store, def, def->nvar, data->dims.vars);
    return data->primal ? NULL : bt_store_why(diff->ctx, store);
}

static bt_status declare(struct differentiation *diff, struct adjoint_data *data)
{
    const bt_adt_def *def = adjoint_def(data->primal);
    const char *name;
    BT_TRY(new_vars(diff, data));
    BT_TRY(adjoint_name(diff, &diff->taken, def->name, "adjoint", &name));
    BT_TRY(bt_module_builder_declare_adt(diff->builder, name, def->span, data->dims.nvar,
                                         data->dims.vars, &data->def));
    return adjoint_name(diff, &diff->taken, def->name, "add", &data->add);
}

static bt_status define(struct differentiation *diff, struct adjoint_data *data)
{
    const bt_adt_def *def = adjoint_def(data->primal);
    bt_ctor *ctors = BT_NEWS(diff->arena, bt_ctor, def->nctor + 1);
    if (!ctors)
        return bt_no_memory();
    BT_TRY(adjoint_name(diff, &diff->ctors, def->name, "Zero", &ctors[0].name));
    for (uint32_t i = 0; i < def->nctor; i++) {
        adjoint_types fields = { 0 };
        BT_TRY(fields_of(diff, data, def->ctors[i], &fields));
        BT_TRY(adjoint_name(diff, &diff->ctors, def->ctors[i]->name, "adjoint",
                            &ctors[i + 1].name));
        ctors[i + 1].nfield = fields.len;
        ctors[i + 1].fields = fields.at;
    }
    return bt_module_builder_define_adt(diff->builder, data->def, def->nctor + 1, ctors);
}

static bt_status declare_add(struct differentiation *diff,
                             const struct adjoint_data *data)
{
    bt_store *store = diff->module->store;
    const bt_adt_def *def = data->def;
    bt_global global = { .name = data->add, .kind = BT_GLOBAL_EXTERN, .span = def->span };
    const bt_type *type = bt_type_apply(store, def, def->nvar, def->vars);
    const bt_type *both[] = { type, type };
    if (!type || !(global.type = bt_func_type_close(store, def->nvar, def->vars, 2, both,
                                                    type, 0, NULL)))
        return bt_store_why(diff->ctx, store);
    return bt_module_builder_set(diff->builder, &global, 0);
}

/* Adjoints are of floats, too. */
static bt_status note_floats(struct differentiation *diff, uint32_t first)
{
    const uint32_t n = diff->datas.len - first;
    const bt_adt_def **defs = BT_NEWS(diff->arena, const bt_adt_def *, n);
    if (!defs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        defs[i] = diff->datas.at[first + i]->def;
    return adjoint_find_floats(diff, n, defs);
}

bt_status adjoint_data_declare(struct differentiation *diff)
{
    const uint32_t first = diff->datas.len;
    BT_TRY(find_all(diff));
    for (uint32_t i = first; i < diff->datas.len; i++)
        BT_TRY(declare(diff, diff->datas.at[i]));
    for (uint32_t i = first; i < diff->datas.len; i++)
        BT_TRY(define(diff, diff->datas.at[i]));
    BT_TRY(note_floats(diff, first));
    for (uint32_t i = first; i < diff->datas.len; i++)
        BT_TRY(declare_add(diff, diff->datas.at[i]));
    return NULL;
}

bt_status adjoint_type_of(const struct differentiation *diff, const bt_type *type,
                          const bt_type **out)
{
    bt_store *store = diff->module->store;
    const struct dims_map m = adjoint_dims_map(diff);
    const bt_type *const *args;
    struct adjoint_data *data;
    *out = type;
    if (!bt_as_apply_type(type))
        return NULL;
    BT_TRY(adjoint_data_of(diff, type, &data));
    if (!data || !data->def)
        return bt_fail(diff->ctx, BT_ERR_INTERNAL, "data type %s was given no adjoint",
                       adjoint_def(type)->name);
    BT_TRY(dims_arguments(&m, &data->dims, type, &args));
    *out = bt_type_apply(store, data->def, data->dims.nvar, args);
    return *out ? NULL : bt_store_why(diff->ctx, store);
}
