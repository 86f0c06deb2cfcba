/* Walks functions: a slot for each value, a node for each constraint. Only regions nest,
 * bounded by limits.depth. */
#include "solve/solver.h"

struct bt__slot *bt__slot_new(bt_solver *s, const bt_value *value)
{
    struct bt__slot *slot = BT_NEW(s->arena, struct bt__slot);
    if (!slot || !bt_map_put(&s->slots, value, slot))
        return NULL;
    slot->value = value;
    slot->function = s->function;
    slot->order = (uint64_t)++s->nbinding << 32;
    return slot;
}

struct bt__slot *bt__slot_of(const bt_solver *s, const bt_value *value)
{
    return bt_map_find(&s->slots, value);
}

/* ---- operands ---- */

static bt_status typed_operand(bt_solver *s, const bt_value *value, const bt_type **out)
{
    const bt_global *global = NULL;
    *out = value->type;
    if (!*out && s->module)
        global = bt_module_global(s->module, value);
    if (global)
        *out = global->type;
    if (*out)
        return NULL;
    return bt_fail_at(s->ctx, BT_ERR_ARGUMENT, s->store, value->span,
                      "%s has no type: it is not of a typed module",
                      bt__show_value(s, value));
}

bt_status bt__type_of(bt_solver *s, const bt_value *value, const bt_type **out)
{
    struct bt__function *member;
    const struct bt__slot *slot = bt__slot_of(s, value);
    if (slot && (slot->type || slot->closure)) {
        *out = slot->type ? slot->type : bt__function_inside(s, slot->closure);
        return *out ? NULL : bt_store_why(s->ctx, s->store);
    }
    if (!s->globals || bt_as_const(value))
        return typed_operand(s, value, out);
    if (bt_as_global(value))
        return bt__global_type(s, value, &member, out);
    return bt_fail_at(s->ctx, BT_ERR_VERIFY, s->store, value->span,
                      "%s is used where it is not bound", bt__show_value(s, value));
}

static bt_status types_of(bt_solver *s, uint32_t n, const bt_value *const *values,
                          const bt_type ***out)
{
    const bt_type **types = BT_NEWS(s->arena, const bt_type *, n);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt__type_of(s, values[i], &types[i]));
    *out = types;
    return NULL;
}

/* ---- bindings ---- */

/* Tries the node that computes the slot's type. */
static bt_status produce(bt_solver *s, struct bt__slot *slot, struct bt__node *node)
{
    struct bt__node *kept;
    node->is_producer = 1;
    BT_TRY(bt__submit(s, node, &kept));
    slot->type = kept ? kept->result : node->result;
    return NULL;
}

static bt_status submit_flow(bt_solver *s, struct bt__slot *slot, uint32_t what,
                             const bt_type *from, const bt_type *to, uint32_t id)
{
    struct bt__node *kept, node = bt__node_begin(s, NODE_FLOW, slot);
    if (id)
        node.id = id;
    node.u.flow.from = from;
    node.u.flow.to = to;
    node.u.flow.what = what;
    return bt__submit(s, &node, &kept);
}

/* Attributes as the operator's relation sees them. */
struct attrs {
    bt_solver *solver;
    const struct bt__slot *slot;
};

static bt_status type_function(void *self, const bt_value *value, const bt_value **out)
{
    const struct attrs *a = self;
    bt_solver *s = a->solver;
    bt_global_ref *typed = BT_NEW(bt_store_arena(s->store), bt_global_ref);
    if (!typed)
        return bt_no_memory();
    typed->base = *value;
    BT_TRY(bt__type_of(s, value, &typed->base.type));
    *out = &typed->base;
    return NULL;
}

/* A builder's one call has the dims that are meant. */
static bt_status annotate_term(void *self, const bt_type *term, const bt_type **out)
{
    const struct attrs *a = self;
    *out = term;
    return a->solver->globals ? bt__annotate(a->solver, a->slot->function, term,
                                             ANNOTATE_ATTR, 0, a->slot->value, out)
                              : NULL;
}

static bt_status visit_op(bt_solver *s, struct bt__slot *slot, const bt_call *call)
{
    const bt_type **types;
    struct attrs attrs = { s, slot };
    const bt__attr_map map = { type_function, annotate_term, &attrs };
    struct bt__node node = bt__node_begin(s, NODE_OP, slot);
    BT_TRY(types_of(s, call->narg, call->args, &types));
    node.u.op.op = call->op;
    BT_TRY(bt__map_attrs(s, call, &map, &node.u.op.attrs));
    node.u.op.call = call;
    node.u.op.narg = call->narg;
    node.u.op.args = types;
    node.u.op.layout = s->globals ? bt_type_layout(call->base.type) : s->layout;
    return produce(s, slot, &node);
}

static bt_status visit_callee(bt_solver *s, struct bt__slot *slot, const bt_call *call,
                              const bt_type **out)
{
    if (call->callee_kind == BT_CALLEE_CTOR) {
        *out = bt__ctor_type(s, call->ctor);
        return *out ? NULL : bt_store_why(s->ctx, s->store);
    }
    const struct bt__slot *callee = bt__slot_of(s, call->callee);
    if (callee && callee->closure && !callee->type && !callee->closure->declared)
        slot->callee = callee->closure;
    if (!callee && s->globals && bt_as_global(call->callee))
        return bt__global_type(s, call->callee, &slot->callee, out);
    return bt__type_of(s, call->callee, out);
}

static bt_status visit_call(bt_solver *s, struct bt__slot *slot, const bt_call *call)
{
    struct bt__node node = bt__node_begin(s, NODE_CALL, slot);
    if (call->callee_kind == BT_CALLEE_OP)
        return visit_op(s, slot, call);
    BT_TRY(visit_callee(s, slot, call, &node.u.call.callee));
    if (slot->callee && slot->callee->declared)
        slot->callee = NULL;
    if (call->ntype_arg && !slot->callee) {
        const bt_type **given = BT_NEWS(s->arena, const bt_type *, call->ntype_arg);
        for (uint32_t i = 0; given && i < call->ntype_arg; i++)
            given[i] = call->type_args[i];
        if (!given)
            return bt_no_memory();
        slot->ntype_arg = call->ntype_arg;
        slot->type_args = given;
    }
    return produce(s, slot, &node);
}

static bt_status visit_tuple(bt_solver *s, struct bt__slot *slot,
                             const bt_tuple_value *tuple)
{
    const bt_type **types;
    BT_TRY(types_of(s, tuple->nfield, tuple->fields, &types));
    // a tuple of something that failed is no new error
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const bt_type *field = bt__head(s, types[i]);
        const struct bt__hole *hole = bt__hole_of(s, field);
        if (hole && hole->is_poison) {
            slot->type = field;
            return NULL;
        }
    }
    slot->type = bt_type_tuple(s->store, tuple->nfield, types);
    return slot->type ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status visit_proj(bt_solver *s, struct bt__slot *slot, const bt_proj *proj)
{
    struct bt__node node = bt__node_begin(s, NODE_PROJ, slot);
    BT_TRY(bt__type_of(s, proj->tuple, &node.u.proj.tuple));
    node.u.proj.index = proj->index;
    return produce(s, slot, &node);
}

static bt_status visit_block(bt_solver *s, const bt_block *block);

/* The block's bindings, unless they are typed already, and its result's type. */
static bt_status visit_region(bt_solver *s, const bt_block *block, const bt_type **out)
{
    if (s->globals)
        BT_TRY(visit_block(s, block));
    return bt__type_of(s, block->result, out);
}

static bt_status submit_join(bt_solver *s, struct bt__slot *slot, uint32_t n,
                             const bt_type *const *branches)
{
    struct bt__node node = bt__node_begin(s, NODE_JOIN, slot);
    node.u.join.n = n;
    node.u.join.branches = branches;
    node.u.join.stated = slot->value->type;
    return produce(s, slot, &node);
}

static bt_status visit_if(bt_solver *s, struct bt__slot *slot, const bt_if *value)
{
    const bt_type *condition, *boolean = bt_type_scalar(s->store, BT_BOOL);
    const bt_type **branches = BT_NEWS(s->arena, const bt_type *, 2);
    if (!boolean || !branches)
        return bt_no_memory();
    BT_TRY(bt__type_of(s, value->condition, &condition));
    BT_TRY(submit_flow(s, slot, FLOW_CONDITION, condition, boolean, 0));
    BT_TRY(visit_region(s, value->then_block, &branches[0]));
    BT_TRY(visit_region(s, value->else_block, &branches[1]));
    return submit_join(s, slot, 2, branches);
}

static bt_status visit_match(bt_solver *s, struct bt__slot *slot, const bt_match *match)
{
    struct bt__node *kept, node = bt__node_begin(s, NODE_MATCH, slot);
    const bt_type **branches = BT_NEWS(s->arena, const bt_type *, match->nclause);
    if (!branches)
        return bt_no_memory();
    if (match->nclause == 0)
        return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, match->base.span,
                          "match has no clauses");
    BT_TRY(bt__check_match(s, match));
    if (s->globals) {
        BT_TRY(bt__type_of(s, match->data, &node.u.match.data));
        BT_TRY(bt__match_begin(s, &node));
        BT_TRY(bt__submit(s, &node, &kept));
    }
    for (uint32_t i = 0; i < match->nclause; i++)
        BT_TRY(visit_region(s, match->clauses[i]->block, &branches[i]));
    return submit_join(s, slot, match->nclause, branches);
}

static bt_status visit_ref(bt_solver *s, struct bt__slot *slot, const bt_ref_value *ref)
{
    const bt_type *content;
    BT_TRY(bt__type_of(s, ref->content, &content));
    slot->type = bt_type_ref(s->store, content);
    return slot->type ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status visit_read(bt_solver *s, struct bt__slot *slot, const bt_value *ref)
{
    struct bt__node node = bt__node_begin(s, NODE_READ, slot);
    BT_TRY(bt__type_of(s, ref, &node.u.read.ref));
    return produce(s, slot, &node);
}

static bt_status visit_write(bt_solver *s, struct bt__slot *slot, const bt_write *write)
{
    const bt_type *content, *cell;
    BT_TRY(visit_read(s, slot, write->ref));
    cell = slot->type;
    BT_TRY(bt__type_of(s, write->content, &content));
    BT_TRY(submit_flow(s, slot, FLOW_CONTENT, content, cell, 0));
    slot->type = bt_type_tuple(s->store, 0, NULL);
    return slot->type ? NULL : bt_store_why(s->ctx, s->store);
}

/* ---- closures ---- */

static bt_status visit_group(bt_solver *s, const bt_closure_group *group)
{
    struct bt__function **members = BT_NEWS(s->arena, struct bt__function *, group->n);
    struct bt__function *outer = s->function;
    if (!members)
        return bt_no_memory();
    BT_TRY(bt__push_level(s));
    for (uint32_t i = 0; i < group->n; i++) {
        const bt_closure_value *closure = group->at[i];
        struct bt__slot *slot = bt__slot_new(s, &closure->base);
        if (!slot)
            return bt_no_memory();
        if (!closure->func)
            return bt_fail_at(s->ctx, BT_ERR_VERIFY, s->store, closure->base.span,
                              "closure %s has no body",
                              bt__show_value(s, &closure->base));
        BT_TRY(bt__function_begin(s, closure->func, outer, slot, &members[i]));
        slot->closure = members[i];
    }
    for (uint32_t i = 0; i < group->n; i++)
        BT_TRY(bt__visit_function(s, members[i]));
    s->function = outer;
    BT_TRY(bt__end_group(s, group->n, members));
    for (uint32_t i = 0; i < group->n; i++)
        members[i]->slot->type = members[i]->type;
    s->level--;
    return NULL;
}

static bt_status visit_closure(bt_solver *s, const bt_closure_value *closure)
{
    // the group is done with its first member
    return bt__slot_of(s, &closure->base) ? NULL : visit_group(s, closure->group);
}

/* ---- by kind ---- */

static bt_status visit_kind(bt_solver *s, struct bt__slot *slot)
{
    const bt_value *value = slot->value;
    switch (value->kind) {
    case BT_VALUE_CALL: return visit_call(s, slot, bt_as_call(value));
    case BT_VALUE_TUPLE: return visit_tuple(s, slot, bt_as_tuple(value));
    case BT_VALUE_PROJ: return visit_proj(s, slot, bt_as_proj(value));
    case BT_VALUE_IF: return visit_if(s, slot, bt_as_if(value));
    case BT_VALUE_MATCH: return visit_match(s, slot, bt_as_match(value));
    case BT_VALUE_REF: return visit_ref(s, slot, bt_as_ref(value));
    case BT_VALUE_READ: return visit_read(s, slot, bt_as_read(value)->ref);
    case BT_VALUE_WRITE: return visit_write(s, slot, bt_as_write(value));
    case BT_VALUE_CLOSURE:
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_COUNT: break;
    }
    return bt_fail_at(s->ctx, BT_ERR_VERIFY, s->store, value->span,
                      "a %s stands among the bindings", bt_value_kind_name(value->kind));
}

struct opening {
    bt_solver *solver;
    const bt_value *value;
    bt_map holes; /* of a type -> of the solver */
    uint32_t failed;
};

static const bt_type *open_hole(bt_subst *subst, const bt_type *leaf)
{
    struct opening *o = subst->state;
    const bt_type *hole = bt_map_find(&o->holes, leaf);
    if (leaf->kind != BT_TYPE_HOLE || hole)
        return hole;
    hole = bt__hole_new(o->solver, BT_KIND_DIM, 0, o->value);
    if (!hole || !bt_map_put(&o->holes, leaf, (void *)(uintptr_t)hole))
        o->failed = 1;
    return hole;
}

/* The dims that it leaves open are solved. */
static bt_status open_stated(bt_solver *s, const bt_value *value, const bt_type **out)
{
    struct opening o = { .solver = s, .value = value };
    bt_subst subst = { .leaf = open_hole, .state = &o };
    bt_map_init(&o.holes, s->arena, 0);
    *out = s->stated;
    if (s->stated->has & BT_HAS_HOLE)
        *out = bt_type_subst(s->store, &subst, s->stated);
    if (o.failed)
        return bt_no_memory();
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

/* A stated type takes the place of the computed one, which must fit it. */
static bt_status visit_annotation(bt_solver *s, struct bt__slot *slot)
{
    const bt_type *stated, *computed = slot->type;
    uint32_t id = ++s->nnode;
    BT_TRY(s->globals ? bt__annotate(s, slot->function, slot->value->type, ANNOTATE_VALUE,
                                     id, slot->value, &stated)
                      : open_stated(s, slot->value, &stated));
    if (!stated)
        return NULL;
    slot->type = stated;
    return submit_flow(s, slot, FLOW_ANNOTATION, computed, stated, id);
}

bt_status bt__visit_binding(bt_solver *s, const bt_value *value)
{
    if (bt_as_closure(value))
        return visit_closure(s, bt_as_closure(value));
    struct bt__slot *slot = bt__slot_new(s, value);
    if (!slot)
        return bt_no_memory();
    uint32_t level = s->level;
    bt_status status = visit_kind(s, slot);
    if (status && !bt__is_fatal(status) && status != s->first) {
        if (!status->place.file)
            status = bt_fail_at(s->ctx, status->code, s->store, value->span, "%s",
                                status->message);
        BT_TRY(bt__report(s, status));
        s->level = level;
        s->function = slot->function;
        slot->type = bt__poison(s, BT_KIND_TYPE);
        if (!slot->type)
            return bt_no_memory();
        return NULL;
    }
    BT_TRY(status);
    if (s->globals || s->stated)
        BT_TRY(visit_annotation(s, slot));
    return s->front && !s->seed ? bt__drain(s) : NULL;
}

static bt_status visit_block(bt_solver *s, const bt_block *block)
{
    uint32_t limit = bt_ctx_limits(s->ctx)->depth;
    if (s->depth >= limit)
        return bt_fail_at(s->ctx, BT_ERR_LIMIT, s->store, block->result->span,
                          "regions are nested deeper than %u", limit);
    bt_status status = NULL;
    if (bt_ctx_cancelled(s->ctx))
        return bt_fail(s->ctx, BT_ERR_CANCELLED, "inference was cancelled");
    s->depth++;
    for (uint32_t i = 0; !status && i < block->nbinding; i++)
        status = bt__visit_binding(s, block->bindings[i]);
    s->depth--;
    return status;
}

/* Errors of a result are the call's that gives it, where it is one: only a call can carry
 * a run-time check. */
static bt_status result_slot(bt_solver *s, struct bt__function *f, struct bt__slot **out)
{
    const bt_value *result = f->func->block->result;
    *out = bt__slot_of(s, result);
    if (*out && (*out)->function == f)
        return NULL;
    *out = BT_NEW(s->arena, struct bt__slot);
    if (!*out)
        return bt_no_memory();
    (*out)->value = result;
    (*out)->function = f;
    (*out)->order = (uint64_t)++s->nbinding << 32;
    return NULL;
}

bt_status bt__visit_function(bt_solver *s, struct bt__function *f)
{
    const bt_type *given;
    struct bt__slot *slot;
    s->function = f;
    BT_TRY(visit_block(s, f->func->block));
    BT_TRY(bt__type_of(s, f->func->block->result, &given));
    if (!f->result) {
        f->result = given;
        return NULL;
    }
    BT_TRY(result_slot(s, f, &slot));
    return submit_flow(s, slot, FLOW_RESULT, given, f->result, f->result_owner);
}
