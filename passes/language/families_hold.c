/* Data types that hold functions in their fields: each instance becomes a data type of its own. */
#include "common/names.h"
#include "common/retype.h"
#include "language/families.h"
#include "language/families_dims.h"

static const bt_adt_def *def_of(const bt_type *type)
{
    const bt_list_type *apply = bt_as_apply_type(type);
    return apply ? ((const bt_adt_type *)(const void *)apply->at[0])->def : NULL;
}

/* ---- which ones ---- */

struct search {
    struct retype r;
    bt_map seen;
    int found;
};

static bt_status look(void *state, const bt_type *type, const bt_type **out);

static bt_status look_in(struct search *s, const bt_adt_def *def)
{
    const bt_type *same;
    if (bt_map_find(&s->seen, def))
        return NULL;
    if (!bt_map_put(&s->seen, def, s))
        return bt_no_memory();
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield && !s->found; k++)
            BT_TRY(look(s, def->ctors[i]->fields[k], &same));
    }
    return NULL;
}

static bt_status look(void *state, const bt_type *type, const bt_type **out)
{
    struct search *s = state;
    *out = type;
    s->found |= type->kind == BT_TYPE_FUNC;
    if (type->kind == BT_TYPE_ADT)
        return look_in(s, ((const bt_adt_type *)(const void *)type)->def);
    return s->found ? NULL : retype_parts(&s->r, type, out);
}

/* Whether a function is in its fields, or in those of a data type in them. */
static bt_status holds(struct defun *d, const bt_adt_def *def, int *out)
{
    static const char yes, no;
    const char *known = bt_map_find(&d->holds, def);
    struct search s = { .r = { d->ctx, d->arena, d->module->store, look, &s } };
    if (!known) {
        bt_map_init(&s.seen, d->arena, 0);
        BT_TRY(look_in(&s, def));
        known = s.found ? &yes : &no;
        if (!bt_map_put(&d->holds, def, (void *)(uintptr_t)known))
            return bt_no_memory();
    }
    *out = known == &yes;
    return NULL;
}

/* ---- instances ---- */

bt_status families_field(struct defun *d, const bt_ctor *ctor, uint32_t index,
                         const bt_type *instance, const bt_type **out)
{
    bt_store *store = d->module->store;
    *out = bt_ctor_field_type(store, ctor, index, bt_as_apply_type(instance)->at + 1);
    return *out ? NULL : bt_store_why(d->ctx, store);
}

bt_status families_hold(struct defun *d, const bt_type *type)
{
    const bt_adt_def *def = def_of(type);
    const bt_span span = d->span;
    struct holder *holder;
    int does;
    BT_TRY(holds(d, def, &does));
    if (!does || bt_map_find(&d->holders, type))
        return NULL;
    holder = BT_NEW(d->arena, struct holder);
    if (!holder || !bt_map_put(&d->holders, type, holder))
        return bt_no_memory();
    holder->of.type = type;
    d->span = def->span;
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++) {
            const bt_type *field, *ignored;
            BT_TRY(families_field(d, def->ctors[i], k, type, &field));
            BT_TRY(families_type(d, field, &ignored));
        }
    }
    d->span = span;
    return NULL;
}

bt_status families_hold_all(struct defun *d)
{
    const struct dims_map m = families_map(d);
    const uint32_t n = d->holders.len;
    struct dims_group *group;
    bt_map groups;
    bt_map_init(&groups, d->arena, 0);
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(dims_group_add(&m, &groups, d->holders.at[i].key, &group));
    for (uint32_t i = 0; i < groups.len; i++) {
        group = groups.at[i].value;
        struct holder *first = bt_map_find(&d->holders, group->types.at[0]);
        if (group->is_open)
            BT_TRY(dims_unify(&m, group->types.len, group->types.at, &first->of));
        if (group->is_open && !bt_map_put(&d->holders, group->key, first))
            return bt_no_memory();
        for (uint32_t k = 0; k < group->types.len; k++) {
            bt_map_entry *entry = bt_map_entry_find(&d->holders, group->types.at[k]);
            if (group->is_open)
                entry->value = first;
            if ((!group->is_open || !k) &&
                !BT_PUSH(d->arena, &d->all_holders, entry->value))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status families_held_type(struct defun *d, const bt_type *type, const bt_type **out)
{
    const struct dims_map m = families_map(d);
    const struct holder *holder = bt_map_find(&d->holders, type);
    const bt_type *key, *const *args;
    *out = type;
    if (!holder) {
        BT_TRY(dims_erase(&m, type, &key));
        holder = bt_map_find(&d->holders, key);
    }
    if (!holder)
        return NULL;
    BT_TRY(dims_arguments(&m, &holder->of, type, &args));
    *out = bt_type_apply(d->module->store, holder->now, holder->of.nvar, args);
    return *out ? NULL : bt_store_why(d->ctx, d->module->store);
}

/* ---- declarations ---- */

static bt_status declare(struct defun *d, bt_module_builder *builder,
                         struct holder *holder)
{
    const bt_adt_def *old = def_of(holder->of.type);
    const char *name;
    holder->names = BT_NEWS(d->arena, const char *, old->nctor);
    if (!holder->names)
        return bt_no_memory();
    BT_TRY(name_new(d->module, d->arena, &d->taken_ctors, &name, "%s", old->name));
    for (uint32_t i = 0; i < old->nctor; i++)
        BT_TRY(name_new(d->module, d->arena, &d->taken_ctors, &holder->names[i], "%s",
                        old->ctors[i]->name));
    return bt_module_builder_declare_adt(builder, name, old->span, holder->of.nvar,
                                         holder->of.vars, &holder->now);
}

bt_status families_declare_holders(struct defun *d, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < d->all_holders.len; i++)
        BT_TRY(declare(d, builder, d->all_holders.at[i]));
    return NULL;
}

static bt_status define(struct defun *d, bt_module_builder *builder,
                        const struct holder *holder)
{
    const bt_adt_def *old = def_of(holder->of.type);
    bt_ctor *ctors = BT_NEWS(d->arena, bt_ctor, old->nctor);
    if (!ctors)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nctor; i++) {
        const uint32_t n = old->ctors[i]->nfield;
        const bt_type **fields = BT_NEWS(d->arena, const bt_type *, n);
        if (!fields)
            return bt_no_memory();
        for (uint32_t k = 0; k < n; k++) {
            BT_TRY(families_field(d, old->ctors[i], k, holder->of.type, &fields[k]));
            BT_TRY(families_type(d, fields[k], &fields[k]));
        }
        ctors[i] = (bt_ctor){ .name = holder->names[i], .nfield = n, .fields = fields };
    }
    return bt_module_builder_define_adt(builder, holder->now, old->nctor, ctors);
}

bt_status families_define_holders(struct defun *d, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < d->all_holders.len; i++)
        BT_TRY(define(d, builder, d->all_holders.at[i]));
    return NULL;
}
