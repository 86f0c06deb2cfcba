/*
 * Adjoints of data types.
 *
 *     type Tree { Leaf(Tensor[(4), float32]), Node(Tree, Tree), }
 *  -> type Tree.adjoint { Tree.Zero, Leaf.adjoint(Tensor[(4), float32]),
 *                         Node.adjoint(Tree.adjoint, Tree.adjoint), }
 *     def @Tree.add(a, b)          of two adjoints of one value
 *
 * A field that holds no float has no part in it. What is Zero holds no tensor, and what is added
 * to it is not looked at.
 */
#include "gradients/adjoint_data.h"

const bt_adt_def *adjoint_def(const bt_type *type)
{
    const bt_list_type *apply = bt_as_apply_type(type);
    return apply ? ((const bt_adt_type *)(const void *)apply->at[0])->def : NULL;
}

/* ---- which types have adjoints ---- */

struct seen {
    const struct seen *outer;
    const bt_adt_def *def;
};

static int has_adjoint(const bt_type *, const struct seen *);

static int def_has_adjoint(const bt_adt_def *def, const struct seen *outer)
{
    const struct seen here = { outer, def };
    for (const struct seen *at = outer; at; at = at->outer) {
        if (at->def == def)
            return 0;
    }
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++) {
            if (has_adjoint(def->ctors[i]->fields[k], &here))
                return 1;
        }
    }
    return 0;
}

static int has_adjoint(const bt_type *type, const struct seen *outer)
{
    const bt_list_type *tuple = bt_as_tuple_type(type), *apply = bt_as_apply_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (has_adjoint(tuple->at[i], outer))
            return 1;
    }
    for (uint32_t i = 1; apply && i < apply->n; i++) {
        if (has_adjoint(apply->at[i], outer))
            return 1;
    }
    if (apply)
        return def_has_adjoint(adjoint_def(type), outer);
    return bt_as_tensor_type(type) && bt_dtype_is_float(bt_tensor_dtype(type));
}

int adjoint_has(const bt_type *type)
{
    return has_adjoint(type, NULL);
}

/* ---- the types ---- */

/* Of all instances: where one has types as parameters, not only dims, each has its own. */
static int has_one_adjoint(const bt_adt_def *def)
{
    for (uint32_t i = 0; i < def->nvar; i++) {
        if (bt_type_kind_of(def->vars[i]) == BT_KIND_TYPE)
            return 0;
    }
    return 1;
}

struct adjoint_data *adjoint_data_of(const struct adjoint_pairs *p, const bt_type *type)
{
    const bt_adt_def *def = adjoint_def(type);
    return bt_map_find(&p->data, has_one_adjoint(def) ? (const void *)def : type);
}

bt_status adjoint_field_type(const struct adjoint_pairs *p, const bt_ctor *ctor,
                             uint32_t field, const bt_type *const *args,
                             const bt_type **out)
{
    bt_store *store = p->module->store;
    *out = bt_ctor_field_type(store, ctor, field, args);
    return *out ? NULL : bt_store_why(p->ctx, store);
}

bt_status adjoint_leaf_types(struct adjoint_pairs *p, const bt_type *type,
                             adjoint_types *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(adjoint_leaf_types(p, tuple->at[i], out));
    if (tuple || !adjoint_has(type))
        return NULL;
    BT_TRY(adjoint_type_of(p, type, &type));
    return BT_PUSH(p->arena, out, type) ? NULL : bt_no_memory();
}

/* Fields of a constructor's adjoint, in terms of the adjoint's parameters. */
static bt_status fields_of(struct adjoint_pairs *p, const struct adjoint_data *data,
                           const bt_ctor *ctor, adjoint_types *out)
{
    const bt_type *const *args =
        data->def->nvar ? data->def->vars : bt_as_apply_type(data->primal)->at + 1;
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        const bt_type *field;
        BT_TRY(adjoint_field_type(p, ctor, i, args, &field));
        BT_TRY(adjoint_leaf_types(p, field, out));
    }
    return NULL;
}

bt_status adjoint_data_want(struct adjoint_pairs *p, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_adt_def *def = adjoint_def(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(adjoint_data_want(p, tuple->at[i]));
    if (!def || !adjoint_has(type) || adjoint_data_of(p, type))
        return NULL;
    struct adjoint_data *data = BT_NEW(p->arena, struct adjoint_data);
    const void *key = has_one_adjoint(def) ? (const void *)def : type;
    if (!data || !bt_map_put(&p->data, key, data))
        return bt_no_memory();
    data->primal = type;
    if (!has_one_adjoint(def) && type->has & (BT_HAS_VAR | BT_HAS_OPAQUE))
        return bt_fail(
            p->ctx, BT_ERR_UNSUPPORTED,
            "data of type %s is differentiated for types that a function has as "
            "parameters: call it for known ones",
            def->name);
    // what its fields are of
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++) {
            const bt_type *field;
            BT_TRY(adjoint_field_type(p, def->ctors[i], k, bt_as_apply_type(type)->at + 1,
                                      &field));
            BT_TRY(adjoint_data_want(p, field));
        }
    }
    return NULL;
}

static bt_status declare(struct adjoint_pairs *p, bt_module_builder *builder,
                         struct adjoint_data *data)
{
    bt_store *store = p->module->store;
    const bt_adt_def *def = adjoint_def(data->primal);
    const uint32_t nvar = has_one_adjoint(def) ? def->nvar : 0;
    const bt_type **vars = BT_NEWS(p->arena, const bt_type *, nvar);
    const char *name;
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < nvar; i++) {
        const bt_var_type *var = bt_as_var_type(def->vars[i]);
        if (!(vars[i] = bt_type_var(store, &var->param, var->name)))
            return bt_store_why(p->ctx, store);
    }
    BT_TRY(adjoint_name(p, &p->taken, def->name, "adjoint", &name));
    BT_TRY(
        bt_module_builder_declare_adt(builder, name, def->span, nvar, vars, &data->def));
    return adjoint_name(p, &p->taken, def->name, "add", &data->add);
}

static bt_status define(struct adjoint_pairs *p, bt_module_builder *builder,
                        struct adjoint_data *data)
{
    const bt_adt_def *def = adjoint_def(data->primal);
    bt_ctor *ctors = BT_NEWS(p->arena, bt_ctor, def->nctor + 1);
    if (!ctors)
        return bt_no_memory();
    BT_TRY(adjoint_name(p, &p->ctors, def->name, "Zero", &ctors[0].name));
    for (uint32_t i = 0; i < def->nctor; i++) {
        adjoint_types fields = { 0 };
        BT_TRY(fields_of(p, data, def->ctors[i], &fields));
        BT_TRY(adjoint_name(p, &p->ctors, def->ctors[i]->name, "adjoint",
                            &ctors[i + 1].name));
        ctors[i + 1].nfield = fields.len;
        ctors[i + 1].fields = fields.at;
    }
    return bt_module_builder_define_adt(builder, data->def, def->nctor + 1, ctors);
}

static bt_status declare_add(struct adjoint_pairs *p, bt_module_builder *builder,
                             const struct adjoint_data *data)
{
    bt_store *store = p->module->store;
    const bt_adt_def *def = data->def;
    bt_global global = { .name = data->add, .kind = BT_GLOBAL_EXTERN, .span = def->span };
    const bt_type *type = bt_type_apply(store, def, def->nvar, def->vars);
    const bt_type *both[] = { type, type };
    if (!type || !(global.type = bt_func_type_close(store, def->nvar, def->vars, 2, both,
                                                    type, 0, NULL)))
        return bt_store_why(p->ctx, store);
    return bt_module_builder_set(builder, &global, 0);
}

bt_status adjoint_data_declare(struct adjoint_pairs *p, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < p->data.len; i++)
        BT_TRY(declare(p, builder, p->data.at[i].value));
    for (uint32_t i = 0; i < p->data.len; i++)
        BT_TRY(define(p, builder, p->data.at[i].value));
    for (uint32_t i = 0; i < p->data.len; i++)
        BT_TRY(declare_add(p, builder, p->data.at[i].value));
    return NULL;
}

bt_status adjoint_type_of(const struct adjoint_pairs *p, const bt_type *type,
                          const bt_type **out)
{
    bt_store *store = p->module->store;
    const bt_list_type *apply = bt_as_apply_type(type);
    const struct adjoint_data *data;
    *out = type;
    if (!apply)
        return NULL;
    data = adjoint_data_of(p, type);
    if (!data || !data->def)
        return bt_fail(p->ctx, BT_ERR_INTERNAL, "data type %s was given no adjoint",
                       adjoint_def(type)->name);
    *out = bt_type_apply(store, data->def, data->def->nvar, apply->at + 1);
    return *out ? NULL : bt_store_why(p->ctx, store);
}
