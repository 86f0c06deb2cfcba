/*
 * The typed version of a function: every binding again, with its type put in. New nodes
 * throughout, since operands point to nodes.
 */
#include "solve/solver.h"

#include "ir/builder.h"
#include "ir/func.h"

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

static bt_status write_operands(struct writer *w, uint32_t n, const bt_value *const *old,
                                const bt_value *const **out)
{
    const bt_value **values = BT_NEWS(w->solver->arena, const bt_value *, n);
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(write_operand(w, old[i], &values[i]));
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

static bt_status write_function_attr(void *self, const bt_value *old,
                                     const bt_value **out)
{
    return write_operand(self, old, out);
}

static bt_status write_call(struct writer *w, const struct bt__slot *slot,
                            const bt_call *old, const bt_value **out)
{
    bt_call call = *old;
    BT_TRY(write_operands(w, old->narg, old->args, &call.args));
    if (old->callee_kind == BT_CALLEE_VALUE)
        BT_TRY(write_operand(w, old->callee, &call.callee));
    if (old->callee_kind == BT_CALLEE_OP)
        BT_TRY(bt__map_attrs(w->solver, old, write_function_attr, w, &call.attrs));
    BT_TRY(write_type_args(w, slot, &call));
    call.ncheck = slot->checks.len;
    call.checks = slot->checks.at;
    call.contents = slot->contents;
    return bt_build_call(w->builder, &call, out);
}

static bt_status write_match(struct writer *w, const bt_match *old, const bt_value **out)
{
    bt_store *store = w->solver->store;
    const bt_value *data;
    bt_clause *clauses = BT_NEWS(w->solver->arena, bt_clause, old->nclause);
    struct bt__preset preset = w->builder->preset;
    if (!clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nclause; i++) {
        uint32_t next = 0;
        BT_TRY(write_block(w, old->clauses[i].block, &clauses[i].block));
        clauses[i].pattern = bt__pattern_with(store, old->clauses[i].pattern,
                                              clauses[i].block->params, &next);
        if (!clauses[i].pattern)
            return bt_no_memory();
    }
    BT_TRY(write_operand(w, old->data, &data));
    w->builder->preset = preset;
    return bt_build_match(w->builder, data, old->nclause, clauses, (int)old->is_partial,
                          out);
}

static bt_status write_if(struct writer *w, const bt_if *old, const bt_value **out)
{
    const bt_block *then_block, *else_block;
    const bt_value *condition;
    struct bt__preset preset = w->builder->preset;
    BT_TRY(write_operand(w, old->condition, &condition));
    BT_TRY(write_block(w, old->then_block, &then_block));
    BT_TRY(write_block(w, old->else_block, &else_block));
    w->builder->preset = preset;
    return bt_build_if(w->builder, condition, then_block, else_block, out);
}

static bt_status write_kind(struct writer *w, const struct bt__slot *slot,
                            const bt_value **out)
{
    bt_builder *b = w->builder;
    const bt_value *old = slot->value, *const * at;
    const bt_tuple_value *tuple = bt_as_tuple(old);
    uint32_t n = tuple ? tuple->nfield : bt_value_noperand(old);
    const bt_value *few[2] = { NULL, NULL };
    if (old->kind == BT_VALUE_CALL)
        return write_call(w, slot, bt_as_call(old), out);
    if (old->kind == BT_VALUE_MATCH)
        return write_match(w, bt_as_match(old), out);
    if (old->kind == BT_VALUE_IF)
        return write_if(w, bt_as_if(old), out);
    for (uint32_t i = 0; !tuple && i < n; i++)
        few[i] = bt_value_operand(old, i);
    BT_TRY(write_operands(w, n, tuple ? tuple->fields : few, &at));
    switch (old->kind) {
    case BT_VALUE_TUPLE: return bt_build_tuple(b, n, at, out);
    case BT_VALUE_PROJ: return bt_build_proj(b, at[0], bt_as_proj(old)->index, out);
    case BT_VALUE_REF: return bt_build_ref(b, at[0], out);
    case BT_VALUE_READ: return bt_build_read(b, at[0], out);
    default: return bt_build_write(b, at[0], at[1], out);
    }
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
    bt_builder_like(w->builder, value);
    bt_builder_type(w->builder, type);
    return write_kind(w, slot, &slot->typed);
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
    if (!wheres)
        return bt_no_memory();
    BT_TRY(write_block(&w, f->func->block, &fields.block));
    BT_TRY(final(s, f->slot, f->result, &fields.result));
    for (uint32_t i = 0; i < f->wheres.len; i++) {
        wheres[i] = f->wheres.at[i];
        BT_TRY(final_all(s, f->slot, wheres[i].ntype, wheres[i].types, &wheres[i].types));
    }
    fields.nvar = f->vars.len;
    fields.vars = f->vars.at;
    fields.nwhere = f->wheres.len;
    fields.wheres = wheres;
    return bt_func_create(s->ctx, s->store, &fields, out);
}
