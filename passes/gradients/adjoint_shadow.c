/* The version of a module in which cells have shadows (adjoint_cells.h). */
#include <string.h>

#include "common/vars.h"
#include "common/version.h"
#include "gradients/adjoint_shadow.h"
#include "gradients/custom.h"

/* ---- functions ---- */

struct filler {
    struct adjoint adjoint;
    struct shadows *shadows;
};

static bt_status type_of_copy(struct copy *c, const bt_type *type, const bt_type **out)
{
    const struct filler *f = c->state;
    return shadow_type(f->shadows, type, out);
}

/* A content, of type `type` before, and zeros. */
static bt_status fill(struct adjoint *a, const bt_type *type, const bt_value *content,
                      const bt_value **out)
{
    adjoint_values fields = { 0 }, leaves = { 0 };
    if (!BT_PUSH(a->copy.arena, &fields, content))
        return bt_no_memory();
    BT_TRY(adjoint_split(a, content, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++) {
        const bt_type *leaf = adjoint_leaf(type, i);
        const bt_value *zero;
        if (!adjoint_has(a->diff, leaf))
            continue;
        BT_TRY(adjoint_cell_zero(a, leaves.at[i], leaf, &zero));
        if (!BT_PUSH(a->copy.arena, &fields, zero))
            return bt_no_memory();
    }
    return bt_build_tuple(a->copy.b, fields.len, fields.at, out);
}

static bt_status cell_again(struct filler *f, const bt_value *old, const bt_value *ref,
                            const bt_value *content, const bt_value **out)
{
    struct copy *c = &f->adjoint.copy;
    const bt_value *held;
    if (old != ref)
        BT_TRY(copy_operand(c, ref, NULL, &ref));
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    if (!content) {
        BT_TRY(bt_build_read(c->b, ref, &held));
        bt_builder_like(c->b, old);
        return bt_build_proj(c->b, held, 0, out);
    }
    const bt_type *type = content->type;
    BT_TRY(copy_operand(c, content, NULL, &content));
    BT_TRY(fill(&f->adjoint, type, content, &held));
    bt_builder_like(c->b, old);
    return old == ref ? bt_build_ref(c->b, held, out)
                      : bt_build_write(c->b, ref, held, out);
}

static bt_status binding_again(struct copy *c, const bt_value *old, int *done)
{
    struct filler *f = c->state;
    const bt_call *call = bt_as_call(old);
    const bt_match *match = bt_as_match(old);
    const bt_value *content, *ref = adjoint_cell_of(old, &content), *now;
    const bt_type *type;
    if (ref)
        BT_TRY(adjoint_is_cell(f->adjoint.diff, ref->type, done));
    if (match) {
        BT_TRY(copy_type(c, match->data->type, &type));
        *done = type != match->data->type;
    }
    if (call && call->callee_kind == BT_CALLEE_CTOR) {
        BT_TRY(copy_type(c, old->type, &type));
        *done = type != old->type;
    }
    if (!*done)
        return NULL;
    BT_TRY(ref     ? cell_again(f, old, ref, content, &now)
           : match ? copy_match(c, match, &now)
                   : copy_ctor(c, call, &now));
    return copy_put(c, old, now);
}

static bt_status operand_again(struct copy *c, const bt_value *old, const bt_type *wanted,
                               const bt_value **out)
{
    const struct filler *f = c->state;
    const char *name =
        old->kind == BT_VALUE_GLOBAL ? bt_map_find(&f->shadows->names, old->name) : NULL;
    (void)wanted;
    return name ? bt_build_global(c->b, name, out) : NULL;
}

static bt_status copy_one(struct shadows *s, const bt_global *global, const bt_func **out)
{
    struct filler f = { .shadows = s };
    BT_TRY(adjoint_init(&f.adjoint, s->diff, global->func));
    f.adjoint.copy.state = &f;
    f.adjoint.copy.type = type_of_copy;
    f.adjoint.copy.binding = binding_again;
    f.adjoint.copy.operand = operand_again;
    s->span = global->span;
    const char *name = bt_map_find(&s->names, global->name);
    bt_func named = *global->func;
    named.name = name ? name : named.name;
    bt_status status = copy_func(&f.adjoint.copy, &named, out);
    adjoint_deinit(&f.adjoint);
    return status;
}

/* ---- the next version ---- */

static bt_status refuse(const struct shadows *s, const bt_global *global, const char *why)
{
    return bt_fail_at(s->diff->ctx, BT_ERR_UNSUPPORTED, s->diff->module->store,
                      global->span,
                      "@%s takes or gives a reference whose content is differentiated, "
                      "but %s: pass what it holds instead, and give what it becomes as a "
                      "result",
                      global->name, why);
}

static int takes_cells(const bt_type *old, const bt_type *now)
{
    const bt_func_type *a = bt_as_func_type(old), *b = bt_as_func_type(now);
    for (uint32_t i = 0; i < a->narg; i++) {
        if (a->args[i] != b->args[i])
            return 1;
    }
    return 0;
}

/* Others than the module call a function by its name, or rely on its type; tangents that a cell
 * has from another call are none of this one. */
static bt_status check_global(const struct shadows *s, const bt_global *global,
                              const bt_type *type)
{
    if (global->kind == BT_GLOBAL_GRADIENT && global->gradient.is_forward &&
        takes_cells(global->type, type))
        return refuse(s, global, "forward mode knows cells alone that are made in it");
    if (global->kind == BT_GLOBAL_EXTERN)
        return refuse(s, global, "is external");
    if (s->entry && !strcmp(global->name, s->entry))
        return refuse(s, global, "the program is run from it");
    if (!s->entry && global->kind == BT_GLOBAL_GRADIENT)
        return refuse(s, global, "may be called from outside: no entry is named");
    if (custom_attr(global, "vjp") || custom_attr(global, "jvp"))
        return refuse(s, global,
                      "brings its derivative with it, which is not told of references");
    return NULL;
}

/* One whose type changes has another name, and stays for who may call it from outside. */
static bt_status rename(struct shadows *s, bt_module_builder *builder, bt_global *global,
                        const bt_type *type)
{
    struct differentiation *diff = s->diff;
    const char *name = global->name;
    BT_TRY(check_global(s, global, type));
    BT_TRY(adjoint_name(diff, &diff->taken, name, "cells", &global->name));
    if (!bt_map_put(&s->names, name, (void *)(uintptr_t)global->name))
        return bt_no_memory();
    if (s->entry)
        bt_module_builder_remove(builder, name);
    global->type = type;
    if (global->kind != BT_GLOBAL_FUNC)
        return NULL;
    *global = (bt_global){
        .name = global->name, .kind = BT_GLOBAL_EXTERN, .span = global->span, .type = type
    };
    return bt_module_builder_set(builder, global, 0);
}

static bt_status declare_globals(struct shadows *s, bt_module_builder *builder)
{
    struct differentiation *diff = s->diff;
    for (uint32_t g = 0; g < diff->module->nglobal; g++) {
        bt_global global = *diff->module->globals[g];
        const bt_type *type;
        s->span = global.span;
        if (vars_are_generic(global.type))
            continue;
        BT_TRY(shadow_type(s, global.type, &type));
        if (type != global.type)
            BT_TRY(rename(s, builder, &global, type));
    }
    return NULL;
}

/* Declarations, of functions that may have other names. */
static bt_status declare_gradients(struct shadows *s, bt_module_builder *builder)
{
    const struct differentiation *diff = s->diff;
    for (uint32_t g = 0; g < diff->module->nglobal; g++) {
        bt_global global = *diff->module->globals[g];
        const char *name = bt_map_find(&s->names, global.name);
        const char *primal = global.kind == BT_GLOBAL_GRADIENT
                                 ? bt_map_find(&s->names, global.primal)
                                 : NULL;
        if (global.kind != BT_GLOBAL_GRADIENT || (!name && !primal))
            continue;
        if (name)
            BT_TRY(shadow_type(s, global.type, &global.type));
        global.name = name ? name : global.name;
        global.primal = primal ? primal : global.primal;
        BT_TRY(bt_module_builder_set(builder, &global, 0));
    }
    return NULL;
}

static bt_status declare(void *state, bt_module_builder *builder)
{
    struct shadows *s = state;
    s->diff->builder = builder;
    BT_TRY(adjoint_data_declare(s->diff));
    BT_TRY(declare_globals(s, builder));
    return declare_gradients(s, builder);
}

static bt_status define(void *state, bt_module_builder *builder)
{
    struct shadows *s = state;
    struct differentiation *diff = s->diff;
    const bt_module *old = diff->module;
    diff->builder = builder;
    diff->module = s->declared;
    BT_TRY(adjoint_data_define(diff));
    for (uint32_t g = 0; g < old->nglobal; g++) {
        bt_global global = *old->globals[g];
        const char *name = bt_map_find(&s->names, global.name);
        const bt_func *func;
        if (global.kind != BT_GLOBAL_FUNC || vars_are_generic(global.type))
            continue;
        BT_TRY(copy_one(s, &global, &func));
        global.name = name ? name : global.name;
        BT_TRY(version_set_func(builder, &global, func));
    }
    return NULL;
}

/* ---- what is known of them ---- */

/* Where the variables of a pattern are among the dims of its type, which others are between. */
static bt_status place_vars(const struct shadows *s, const bt_type *type,
                            struct dims_pattern *dims)
{
    const struct dims_map m = adjoint_dims_map(s->diff);
    dims_of_type all = { 0 };
    dims->places = BT_NEWS(s->diff->arena, uint32_t, dims->nvar);
    if (!dims->places)
        return bt_no_memory();
    BT_TRY(dims_list(&m, type, &all));
    for (uint32_t i = 0; i < dims->nvar; i++) {
        while (all.at[dims->places[i]] != dims->vars[i])
            dims->places[i]++;
    }
    return NULL;
}

static bt_status hand_on_data(struct shadows *s, struct differentiation *next,
                              const struct adjoint_data *old, struct adjoint_data **out)
{
    struct adjoint_data *now = *out = BT_NEW(next->arena, struct adjoint_data);
    if (!now)
        return bt_no_memory();
    *now = (struct adjoint_data){
        .dims = old->dims, .def = old->def, .add = old->add, .is_made = 1
    };
    BT_TRY(shadow_type(s, old->primal, &now->primal));
    if (old->dims.type)
        BT_TRY(shadow_type(s, old->dims.type, &now->dims.type));
    BT_TRY(place_vars(s, now->primal, &now->dims));
    return bt_map_put(&next->made, now->def, now) &&
                   BT_PUSH(next->arena, &next->datas, now)
               ? NULL
               : bt_no_memory();
}

static bt_status hand_on_cell(struct shadows *s, struct differentiation *next,
                              const bt_type *type)
{
    const struct dims_map m = adjoint_dims_map(s->diff);
    const bt_type *key;
    BT_TRY(shadow_type(s, type, &type));
    BT_TRY(dims_erase(&m, type, &key));
    return bt_map_put(&next->cells, key, (void *)(uintptr_t)type) ? NULL : bt_no_memory();
}

/* Cells, and adjoints of data that were declared, by types as they are now. */
static bt_status hand_on(struct shadows *s, struct differentiation *next)
{
    const struct differentiation *diff = s->diff;
    const struct dims_map m = adjoint_dims_map(s->diff);
    bt_map known;
    bt_map_init(&known, next->arena, 0);
    for (uint32_t i = 0; i < diff->cells.len; i++)
        BT_TRY(hand_on_cell(s, next, diff->cells.at[i].value));
    for (uint32_t i = 0; i < diff->data.len; i++) {
        const struct adjoint_data *old = diff->data.at[i].value;
        struct adjoint_data *now = bt_map_find(&known, old);
        const void *key = diff->data.at[i].key;
        const bt_type *type = key;
        if (!now)
            BT_TRY(hand_on_data(s, next, old, &now));
        if (key == adjoint_def(old->primal))
            type = old->primal;
        BT_TRY(shadow_type(s, type, &type));
        if (adjoint_has_one(adjoint_def(type)))
            key = adjoint_def(type);
        else
            key = type;
        if (!bt_map_put(&known, old, now) || !bt_map_put(&next->data, key, now))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < diff->united.len; i++) {
        struct adjoint_data *now = bt_map_find(&known, diff->united.at[i].value);
        const bt_type *key;
        BT_TRY(dims_erase(&m, now->dims.type, &key));
        if (!bt_map_put(&next->united, key, now))
            return bt_no_memory();
    }
    return NULL;
}

bt_status adjoint_shadow_make(struct differentiation *diff, const char *entry,
                              struct differentiation *next, bt_module **out)
{
    struct shadows s = { .diff = diff, .entry = entry };
    bt_map_init(&s.types, diff->arena, 0);
    bt_map_init(&s.names, diff->arena, 1);
    bt_map_init(&s.holders, diff->arena, 0);
    BT_TRY(
        version_create(diff->ctx, diff->module, declare, define, &s, &s.declared, out));
    next->module = diff->module = *out;
    next->has_shadows = 1;
    bt_status status = hand_on(&s, next);
    if (status)
        bt_module_unref(*out);
    return status;
}
