/* A data type for each family, with a constructor for each maker. */
#include <string.h>

#include "common/names.h"
#include "language/families.h"

static bt_status name_family(struct defun *d, struct family *family)
{
    BT_TRY(name_new(d->module, d->arena, &d->taken_ctors, &family->name, "Fn"));
    BT_TRY(
        name_new(d->module, d->arena, &d->taken, &family->call, "call_%s", family->name));
    for (uint32_t i = 0; i < family->makers.len; i++) {
        struct maker *maker = family->makers.at[i];
        BT_TRY(name_new(d->module, d->arena, &d->taken_ctors, &maker->name, "%s_%s",
                        family->name, maker->global));
    }
    return NULL;
}

static bt_status declare_family(struct defun *d, bt_module_builder *builder,
                                struct family *family)
{
    BT_TRY(name_family(d, family));
    BT_TRY(bt_module_builder_declare_adt(builder, family->name, 0, family->dims.nvar,
                                         family->dims.vars, &family->def));
    family->now = bt_type_apply(d->module->store, family->def, family->dims.nvar,
                                family->dims.vars);
    return family->now ? NULL : bt_store_why(d->ctx, d->module->store);
}

static bt_status define_family(struct defun *d, bt_module_builder *builder,
                               struct family *family)
{
    uint32_t n = family->makers.len;
    bt_ctor *ctors = BT_NEWS(d->arena, bt_ctor, n);
    if (!ctors)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct maker *maker = family->makers.at[i];
        const bt_type **fields;
        BT_TRY(families_types(d, maker->nfield, maker->fields, &fields));
        ctors[i] =
            (bt_ctor){ .name = maker->name, .nfield = maker->nfield, .fields = fields };
    }
    BT_TRY(bt_module_builder_define_adt(builder, family->def, n, ctors));
    for (uint32_t i = 0; i < n; i++)
        family->makers.at[i]->ctor = family->def->ctors[i];
    return NULL;
}

/* Declares what calls a family's values. */
static bt_status declare_call(struct defun *d, bt_module_builder *builder,
                              const struct family *family)
{
    bt_global global = { .name = family->call, .kind = BT_GLOBAL_EXTERN };
    const uint32_t narg = family->type->narg;
    const bt_type **args = BT_NEWS(d->arena, const bt_type *, (size_t)narg + 1), **own,
                  *result;
    if (!args)
        return bt_no_memory();
    BT_TRY(families_types(d, narg, family->type->args, &own));
    BT_TRY(families_type(d, family->type->result, &result));
    args[0] = family->now;
    if (narg)
        memcpy(args + 1, own, narg * sizeof(*own));
    global.type = bt_func_type_close(d->module->store, family->dims.nvar,
                                     family->dims.vars, narg + 1, args, result, 0, NULL);
    return global.type ? bt_module_builder_set(builder, &global, 1)
                       : bt_store_why(d->ctx, d->module->store);
}

/* One whose type changes is another function, or another declared gradient of one. */
static bt_status declare_func(struct defun *d, bt_module_builder *builder,
                              const bt_global *old)
{
    bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = old->span };
    if (old->kind == BT_GLOBAL_GRADIENT)
        global = *old;
    BT_TRY(families_signature(d, bt_as_func_type(old->type), &global.type));
    if (global.type == old->type)
        return NULL;
    BT_TRY(name_new(d->module, d->arena, &d->taken, &global.name, "%s", old->name));
    if (!bt_map_put(&d->renamed, old->name, (void *)(uintptr_t)global.name))
        return bt_no_memory();
    bt_module_builder_remove(builder, old->name);
    return bt_module_builder_set(builder, &global, 1);
}

const char *families_name(const struct defun *d, const char *name)
{
    const char *now = bt_map_find(&d->renamed, name);
    return now ? now : name;
}

/* What a gradient is of may have another name. */
static bt_status aim_gradient(struct defun *d, bt_module_builder *builder,
                              const bt_global *old)
{
    bt_global global = *old;
    global.name = families_name(d, old->name);
    global.primal = families_name(d, old->primal);
    BT_TRY(families_signature(d, bt_as_func_type(old->type), &global.type));
    return global.primal == old->primal ? NULL
                                        : bt_module_builder_set(builder, &global, 0);
}

bt_status families_declare(void *state, bt_module_builder *builder)
{
    struct defun *d = state;
    for (uint32_t i = 0; i < d->all.len; i++)
        BT_TRY(declare_family(d, builder, d->all.at[i]));
    BT_TRY(families_declare_holders(d, builder));
    d->is_declared = 1;
    bt_map_init(&d->known, d->arena, 0);
    for (uint32_t i = 0; i < d->all.len; i++)
        BT_TRY(define_family(d, builder, d->all.at[i]));
    BT_TRY(families_define_holders(d, builder));
    for (uint32_t i = 0; i < d->all.len; i++)
        BT_TRY(declare_call(d, builder, d->all.at[i]));
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (families_is_left_over(d->module->globals[i]))
            bt_module_builder_remove(builder, d->module->globals[i]->name);
        if (families_is_program(d->module->globals[i]) ||
            families_is_gradient(d->module->globals[i]))
            BT_TRY(declare_func(d, builder, d->module->globals[i]));
    }
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (families_is_gradient(d->module->globals[i]))
            BT_TRY(aim_gradient(d, builder, d->module->globals[i]));
    }
    return NULL;
}
