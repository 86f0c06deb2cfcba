/* Tapes: data types of what the way back reads of the way forward. */
#include "common/names.h"
#include "common/vars.h"
#include "gradients/adjoint_path.h"

bt_status adjoint_name(struct differentiation *diff, bt_map *taken, const char *base,
                       const char *what, const char **out)
{
    return name_new(diff->module, diff->arena, taken, out, "%s.%s", base, what);
}

bt_status adjoint_tape_declare(struct differentiation *diff, const char *base,
                               const bt_func *func, bt_adt_def **def, const bt_type **out)
{
    bt_store *store = diff->module->store;
    const bt_type **vars;
    const char *name;
    BT_TRY(vars_like(diff->ctx, diff->arena, store, func->nvar, func->vars, &vars));
    BT_TRY(adjoint_name(diff, &diff->taken, base, "tape", &name));
    BT_TRY(bt_module_builder_declare_adt(diff->builder, name, func->span, func->nvar,
                                         vars, def));
    *out = bt_type_apply(store, *def, func->nvar, func->vars);
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

/* A dim that only the run knows is one that each value of the field brings along. */
static const bt_type *open_dim(bt_subst *subst, const bt_type *leaf)
{
    const struct copy *c = subst->state;
    return leaf->kind == BT_TYPE_OPAQUE ? bt_type_hole(c->store, BT_KIND_DIM) : NULL;
}

static bt_status open_dims(struct copy *c, const bt_type *type, const bt_type **out)
{
    bt_subst subst = { .leaf = open_dim, .state = c };
    *out = type->has & BT_HAS_OPAQUE ? bt_type_subst(c->store, &subst, type) : type;
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

/* Fields in terms of the data type's own parameters. */
static bt_status fields_of(struct differentiation *diff, const bt_adt_def *def,
                           const bt_func *func, const struct adjoint_path *path,
                           const bt_type ***out)
{
    struct copy c = { .ctx = diff->ctx,
                      .store = diff->module->store,
                      .arena = diff->arena };
    const bt_type **fields = *out = BT_NEWS(diff->arena, const bt_type *, path->kept.len);
    if (!fields)
        return bt_no_memory();
    bt_map_init(&c.types, diff->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++)
        BT_TRY(copy_put_type(&c, func->vars[i], def->vars[i]));
    for (uint32_t i = 0; i < path->kept.len; i++) {
        BT_TRY(copy_type(&c, path->kept.at[i]->type, &fields[i]));
        BT_TRY(open_dims(&c, fields[i], &fields[i]));
    }
    return NULL;
}

bt_status adjoint_tape_define(struct differentiation *diff, bt_adt_def *def,
                              const bt_func *func, uint32_t npath,
                              struct adjoint_path *paths)
{
    bt_ctor *ctors = BT_NEWS(diff->arena, bt_ctor, npath);
    if (!ctors)
        return bt_no_memory();
    for (uint32_t i = 0; i < npath; i++) {
        const bt_type **fields;
        BT_TRY(fields_of(diff, def, func, &paths[i], &fields));
        BT_TRY(adjoint_name(diff, &diff->ctors, func->name ? func->name : "fn", "Path",
                            &ctors[i].name));
        ctors[i].nfield = paths[i].kept.len;
        ctors[i].fields = fields;
    }
    BT_TRY(bt_module_builder_define_adt(diff->builder, def, npath, ctors));
    for (uint32_t i = 0; i < npath; i++)
        paths[i].ctor = def->ctors[i];
    return NULL;
}
