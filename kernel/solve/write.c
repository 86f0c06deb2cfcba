/*
 * The typed version of a function: every binding again, with its type put in. New nodes
 * throughout, since operands point to nodes.
 */
#include "solve/solver.h"

#include "base/arena.h"
#include "ir/builder.h"

struct writer {
    bt_solver *solver;
    bt_builder *builder;
};

static bt_status report_hole(bt_solver *s, void *self, struct bt__hole *hole)
{
    return hole->is_poison ? NULL : bt__report_unknown(s, self, hole, NULL);
}

/* A term without holes; reports what is not known. */
static bt_status final(bt_solver *s, const struct bt__slot *slot, const bt_type *type,
                       const bt_type **out)
{
    BT_TRY(bt__resolve(s, type, out));
    uint32_t size;
    BT_TRY(bt__type_size(s, *out, &size));
    if (size >= BT__TYPE_SIZE)
        return bt__report_large(s, slot);
    if (!((*out)->has & BT_HAS_HOLE))
        return NULL;
    struct bt__slot *of = (struct bt__slot *)(uintptr_t)slot;
    return bt__holes_in(s, *out, report_hole, of);
}

static bt_status final_all(bt_solver *s, const struct bt__slot *slot, uint32_t n,
                           const bt_type *const *types, const bt_type *const **out)
{
    const bt_type **finals = BT_NEWS(s->arena, const bt_type *, n);
    if (!finals)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(final(s, slot, types[i], &finals[i]));
    *out = finals;
    return NULL;
}

/* ---- operands ---- */

static bt_status write_global(struct writer *w, const bt_value *old, const bt_value **out)
{
    struct bt__function *member;
    bt_solver *s = w->solver;
    bt_global_ref *value = bt__node(w->builder, BT_VALUE_GLOBAL, sizeof(*value));
    if (!value)
        return bt_no_memory();
    uint32_t id = value->base.id;
    value->base = *old;
    value->base.id = id;
    BT_TRY(bt__global_type(s, old, &member, &value->base.type));
    if (member)
        value->base.type = member->type;
    *out = &value->base;
    return NULL;
}

static bt_status write_operand(struct writer *w, const bt_value *old,
                               const bt_value **out)
{
    const struct bt__slot *slot = bt__slot_of(w->solver, old);
    *out = slot ? slot->typed : old;
    return bt_as_global(old) ? write_global(w, old, out) : NULL;
}

/* In the order of bt_value_operand. */
static bt_status write_operands(struct writer *w, const bt_value *old,
                                const bt_value *const **out)
{
    uint32_t n = bt_value_noperand(old);
    const bt_value **values = BT_NEWS(w->solver->arena, const bt_value *, n);
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(write_operand(w, bt_value_operand(old, i), &values[i]));
    *out = values;
    return NULL;
}

/* ---- bindings ---- */

static bt_status write_block(struct writer *w, const bt_block *block,
                             const bt_block **out);

/* Type arguments of a call: its instance's, or, inside a group, the callee's own
 * variables. */
static bt_status write_type_args(struct writer *w, const struct bt__slot *slot,
                                 bt_call *call)
{
    if (slot->callee) {
        call->ntype_arg = slot->callee->vars.len;
        call->type_args = slot->callee->vars.at;
        return NULL;
    }
    call->ntype_arg = slot->ntype_arg;
    return final_all(w->solver, slot, slot->ntype_arg, slot->type_args, &call->type_args);
}

struct attrs {
    struct writer *writer;
    const struct bt__slot *slot;
};

static bt_status write_function_attr(void *self, const bt_value *old,
                                     const bt_value **out)
{
    const struct attrs *a = self;
    return write_operand(a->writer, old, out);
}

static bt_status write_term(void *self, const bt_type *old, const bt_type **out)
{
    const struct attrs *a = self;
    bt_solver *s = a->writer->solver;
    BT_TRY(
        bt__annotate(s, a->slot->function, old, ANNOTATE_ATTR, 0, a->slot->value, out));
    return final(s, a->slot, *out, out);
}

static bt_status write_call(struct writer *w, const struct bt__slot *slot,
                            const bt_type *type, const bt_value *const *operands,
                            const bt_value **out)
{
    bt_call call = *bt_as_call(slot->value);
    if (call.callee_kind == BT_CALLEE_VALUE)
        call.callee = *operands++;
    call.args = operands;
    struct attrs attrs = { w, slot };
    const bt__attr_map map = { write_function_attr, write_term, &attrs };
    if (call.callee_kind == BT_CALLEE_OP)
        BT_TRY(bt__map_attrs(w->solver, bt_as_call(slot->value), &map, &call.attrs));
    BT_TRY(write_type_args(w, slot, &call));
    call.ncheck = slot->checks.len;
    call.checks = slot->checks.at;
    call.contents = slot->contents;
    bt_builder_like(w->builder, slot->value);
    bt_builder_type(w->builder, type);
    return bt_build_call(w->builder, &call, out);
}

static bt_status write_value(struct writer *w, const struct bt__slot *slot,
                             const bt_type *type, const bt_value **out)
{
    const bt_value *old = slot->value;
    uint32_t nregion = bt_value_nregion(old);
    const bt_block **regions = BT_NEWS(w->solver->arena, const bt_block *, nregion);
    bt__again again = { .regions = regions, .type = type };
    if (!regions)
        return bt_no_memory();
    BT_TRY(write_operands(w, old, &again.operands));
    if (bt_as_call(old))
        return write_call(w, slot, type, again.operands, out);
    for (uint32_t i = 0; i < nregion; i++)
        BT_TRY(write_block(w, bt_value_region(old, i), &regions[i]));
    w->builder->preset = (struct bt__preset){ 0 };
    return bt__build_again(w->builder, old, &again, out);
}

/* ---- closures ---- */

/* The presets are those of the group; each member gets its own place here. */
static void place_member(const bt_value *old, const bt_value *new)
{
    bt_value *open = (bt_value *)(uintptr_t) new;
    open->span = old->span;
    open->prov = old->prov;
    open->device = old->device;
    open->name = old->name;
}

static bt_status write_group(struct writer *w, const bt_closure_group *group)
{
    bt_solver *s = w->solver;
    const bt_type **types = BT_NEWS(s->arena, const bt_type *, group->n);
    const bt_value **values = BT_NEWS(s->arena, const bt_value *, group->n);
    if (!types || !values)
        return bt_no_memory();
    for (uint32_t i = 0; i < group->n; i++) {
        const struct bt__slot *slot = bt__slot_of(s, &group->at[i]->base);
        BT_TRY(final(s, slot, slot->type, &types[i]));
    }
    BT_TRY(bt_build_closures(w->builder, group->n, NULL, types, values));
    for (uint32_t i = 0; i < group->n; i++) {
        place_member(&group->at[i]->base, values[i]);
        bt__slot_of(s, &group->at[i]->base)->typed = values[i];
    }
    for (uint32_t i = 0; i < group->n; i++) {
        const bt_func *func;
        struct bt__slot *slot = bt__slot_of(s, &group->at[i]->base);
        BT_TRY(bt__write_function(w->solver, w->builder, slot->closure, &func));
        BT_TRY(bt_build_closure_body(w->builder, values[i], func));
    }
    return NULL;
}

static bt_status write_binding(struct writer *w, const bt_value *value)
{
    bt_solver *s = w->solver;
    const bt_type *type;
    struct bt__slot *slot = bt__slot_of(s, value);
    const bt_closure_value *closure = bt_as_closure(value);
    if (closure)
        return slot->typed ? NULL : write_group(w, closure->group);
    BT_TRY(final(s, slot, slot->type, &type));
    return write_value(w, slot, type, &slot->typed);
}

/* ---- blocks and functions ---- */

static bt_status write_params(struct writer *w, const bt_block *block,
                              const bt_param ***out)
{
    const bt_param **params = BT_NEWS(w->solver->arena, const bt_param *, block->nparam);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base;
        struct bt__slot *slot = bt__slot_of(w->solver, old);
        const bt_type *type;
        BT_TRY(final(w->solver, slot, slot->type, &type));
        bt_builder_like(w->builder, old);
        BT_TRY(bt_build_param(w->builder, old->name, type, &params[i]));
        slot->typed = &params[i]->base;
    }
    *out = params;
    return NULL;
}

static bt_status write_block(struct writer *w, const bt_block *block,
                             const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    BT_TRY(write_params(w, block, &params));
    bt_builder_name(w->builder, NULL);
    BT_TRY(bt_block_begin(w->builder, block->nparam, params));
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(write_binding(w, block->bindings[i]));
    BT_TRY(write_operand(w, block->result, &result));
    return bt_block_end(w->builder, result, out);
}

bt_status bt__write_function(bt_solver *s, bt_builder *builder, struct bt__function *f,
                             const bt_func **out)
{
    struct writer w = { .solver = s, .builder = builder };
    bt_func fields = *f->func;
    bt_where *wheres = BT_NEWS(s->arena, bt_where, f->wheres.len);
    fields.nwhere = f->wheres.len;
    fields.wheres = wheres ? BT__LIST(s->arena, wheres, f->wheres.len) : NULL;
    if (!fields.wheres)
        return bt_no_memory();
    BT_TRY(write_block(&w, f->func->block, &fields.block));
    BT_TRY(final(s, f->slot, f->result, &fields.result));
    for (uint32_t i = 0; i < f->wheres.len; i++) {
        wheres[i] = *f->wheres.at[i];
        BT_TRY(final_all(s, f->slot, wheres[i].ntype, wheres[i].types, &wheres[i].types));
    }
    fields.nvar = f->vars.len;
    fields.vars = f->vars.at;
    return bt_func_create(s->ctx, s->store, &fields, out);
}
