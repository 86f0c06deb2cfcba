/* Calls of functions and constructors: instantiation, flows of arguments, wheres. */
#include "solve/solver.h"

/* ---- who computes the holes of an instance ---- */

/* An argument gives its value to a parameter of the callee where it stands in its type so
 * that it can be read off: alone, before sums; in the result of a function last. */
enum { CLAIM_ALONE, CLAIM_SUM, CLAIM_FUNCTION, CLAIM_COUNT };

struct claim {
    bt_solver *solver;
    uint32_t first, end; /* numbers of the instance's holes */
    uint32_t owner;      /* the node that will be the owner */
    uint32_t how;
    bt_map seen;
};

static void claim_hole(struct claim *c, const bt_type *type)
{
    struct bt__hole *hole = bt__hole_of(c->solver, type);
    uint32_t number = hole ? (uint32_t)(hole - c->solver->holes.at) + 1 : 0;
    if (number >= c->first && number < c->end && !hole->owner)
        hole->owner = c->owner;
}

static void claim_sum(struct claim *c, const bt_type *dim)
{
    const bt_linear_type *sum = (const bt_linear_type *)(const void *)dim;
    const bt_type *only = NULL;
    for (uint32_t i = 0; dim->kind == BT_TYPE_LINEAR && i < sum->n; i++) {
        const struct bt__hole *hole = bt__hole_of(c->solver, sum->terms[i].atom);
        int64_t by = sum->terms[i].coefficient;
        if (hole && !hole->owner && (only || (by != 1 && by != -1)))
            return;
        if (hole && !hole->owner)
            only = hole->term;
    }
    if (only)
        claim_hole(c, only);
}

static int claim(struct claim *c, const bt_type *type);

static int claim_all(struct claim *c, uint32_t n, const bt_type *const *at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!claim(c, at[i]))
            return 0;
    }
    return 1;
}

static int claim_parts(struct claim *c, const bt_type *type)
{
    const bt_shape_type *shape;
    switch (type->kind) {
    case BT_TYPE_HOLE: return claim_hole(c, type), 1;
    case BT_TYPE_TENSOR:
        return claim(c, bt_as_tensor_type(type)->shape) &&
               claim(c, bt_as_tensor_type(type)->dtype);
    case BT_TYPE_TUPLE:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY:
        return claim_all(c, bt_as_list_type(type)->n, bt_as_list_type(type)->at);
    case BT_TYPE_SHAPE:
        shape = bt_as_shape_type(type);
        return claim_all(c, shape->n, shape->dims) &&
               (!shape->rest || claim(c, shape->rest));
    case BT_TYPE_LINEAR:
        if (c->how == CLAIM_SUM)
            claim_sum(c, type);
        return 1;
    case BT_TYPE_FUNC:
        return c->how == CLAIM_FUNCTION ? claim(c, bt_as_func_type(type)->result) : 1;
    default: return 1;
    }
}

/* 0: no memory. */
static int claim(struct claim *c, const bt_type *type)
{
    if (!(type->has & BT_HAS_HOLE) || bt_map_find(&c->seen, type))
        return 1;
    return bt_map_put(&c->seen, type, c) && claim_parts(c, type);
}

static bt_status claim_args(bt_solver *s, uint32_t first, uint32_t n,
                            const bt_type *const *params, const struct bt__node *flows)
{
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    struct claim c = { .solver = s, .first = first, .end = s->holes.len + 1 };
    int ok = 1;
    for (c.how = 0; ok && first < c.end && c.how < CLAIM_COUNT; c.how++) {
        const void *mark = bt_arena_mark(scratch);
        bt_map_init(&c.seen, scratch, 0);
        for (uint32_t i = 0; ok && i < n; i++) {
            c.owner = flows[i].id;
            ok = claim(&c, params[i]);
        }
        bt_arena_release(scratch, mark);
    }
    return ok ? NULL : bt_no_memory();
}

/* ---- opaque dims of a result: others for each call ---- */

struct refresh {
    bt_subst base;
    bt_solver *solver;
    struct bt__node *node;
    bt_map memo, kept;
    bt_status failed;
};

static int is_in_scope(bt_solver *s, const struct bt__node *node, const bt_type *dim)
{
    const struct bt__function *birth = bt_map_find(&s->births, dim);
    for (const struct bt__function *f = node->slot->function; f && birth; f = f->outer) {
        if (f == birth)
            return 1;
    }
    return 0;
}

static const bt_type *refresh_leaf(bt_subst *base, const bt_type *leaf)
{
    static const char refreshed;
    struct refresh *r = (struct refresh *)(void *)base;
    const bt_type *out = NULL;
    if (leaf->kind != BT_TYPE_OPAQUE || r->failed || bt_map_find(&r->kept, leaf) ||
        is_in_scope(r->solver, r->node, leaf))
        return NULL;
    r->failed = bt__opaque(r->solver, r->node, leaf, &refreshed, &out);
    return r->failed ? NULL : out;
}

static const bt_type *keep_leaf(bt_subst *base, const bt_type *leaf)
{
    struct refresh *r = (struct refresh *)(void *)base;
    if (leaf->kind == BT_TYPE_OPAQUE && !bt_map_put(&r->kept, leaf, r))
        r->failed = bt_no_memory();
    return NULL;
}

/* Dims of the arguments belong to the scope of the function, those that the result has besides
 * to the call. */
bt_status bt__result_of_call(bt_solver *s, struct bt__node *node,
                             const bt_func_type *func, const bt_type **out)
{
    *out = func->result;
    if (!(func->result->has & BT_HAS_OPAQUE))
        return NULL;
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct refresh r = { .base = { .leaf = keep_leaf }, .solver = s, .node = node };
    bt_map_init(&r.memo, scratch, 0);
    bt_map_init(&r.kept, scratch, 0);
    r.base.memo = &r.memo;
    for (uint32_t i = 0; i < func->narg && !r.failed; i++) {
        if ((func->args[i]->has & BT_HAS_OPAQUE) &&
            !bt_type_subst(s->store, &r.base, func->args[i]))
            r.failed = bt_store_why(s->ctx, s->store);
    }
    bt_map_init(&r.memo, scratch, 0);
    r.base.leaf = refresh_leaf;
    if (!r.failed && !(*out = bt_type_subst(s->store, &r.base, func->result)))
        r.failed = bt_store_why(s->ctx, s->store);
    bt_arena_release(scratch, mark);
    return r.failed;
}

/* ---- instances ---- */

struct instance {
    const bt_func_type *func; /* without parameters */
    const bt_type *const *type_args;
    uint32_t first_hole;
};

static bt_status open_type(bt_solver *s, struct bt__node *node, const bt_func_type *func,
                           uint32_t ngiven, const bt_type *const *given,
                           struct instance *out)
{
    bt_func_type fields = *func;
    BT_TRY(bt__result_of_call(s, node, func, &fields.result));
    out->first_hole = s->holes.len + 1;
    const bt_type *fresh = bt_type_func(s->store, &fields);
    const bt_type **args = BT_NEWS(s->arena, const bt_type *, func->nparam);
    if (!fresh || !args)
        return bt_store_why(s->ctx, s->store);
    for (uint32_t i = 0; i < func->nparam; i++) {
        if (i >= ngiven)
            args[i] = bt__hole_new(s, func->params[i].kind, 0, node->slot->value);
        else if (!s->globals)
            args[i] = given[i];
        else
            BT_TRY(bt__annotate(s, node->slot->function, given[i], ANNOTATE_TERM, 0,
                                node->slot->value, &args[i]));
        if (!args[i])
            return bt_no_memory();
    }
    out->type_args = args;
    out->func = bt_func_type_open(s->store, bt_as_func_type(fresh), args);
    return out->func ? NULL : bt_store_why(s->ctx, s->store);
}

/* The relations that a callee asks of its callers. */
static bt_status submit_wheres(bt_solver *s, struct bt__node *node,
                               const struct instance *instance)
{
    struct bt__node *kept;
    for (uint32_t i = 0; i < instance->func->nwhere; i++) {
        const bt_where *where = instance->func->wheres[i];
        struct bt__node op = bt__node_begin(s, NODE_OP, node->slot);
        op.level = node->level;
        op.order = node->order + 0x10000u * (instance->func->narg + 1) + i + 1;
        op.result = where->types[where->ntype - 1];
        op.u.op.op = where->op;
        op.u.op.attrs = where->attrs;
        op.u.op.narg = where->ntype - 1;
        op.u.op.args = where->types;
        op.u.op.layout = bt_type_layout(bt__head(s, op.result));
        struct claim c = { .solver = s,
                           .first = instance->first_hole,
                           .end = s->holes.len + 1,
                           .owner = op.id };
        if (bt__head(s, op.result)->kind == BT_TYPE_HOLE)
            claim_hole(&c, bt__head(s, op.result));
        BT_TRY(bt__submit(s, &op, &kept));
    }
    return NULL;
}

bt_status bt__instance(bt_solver *s, struct bt__node *node, const bt_type *type,
                       const bt_type **out)
{
    static const char instantiated;
    struct instance instance;
    for (const struct bt__fresh *f = node->fresh; f; f = f->next) {
        if (f->key == type && f->other == &instantiated) {
            *out = f->type;
            return NULL;
        }
    }
    struct bt__fresh *fresh = BT_NEW(s->arena, struct bt__fresh);
    if (!fresh)
        return bt_no_memory();
    BT_TRY(open_type(s, node, bt_as_func_type(type), 0, NULL, &instance));
    for (uint32_t i = instance.first_hole; i <= s->holes.len; i++)
        s->holes.at[i - 1].owner = node->id;
    *fresh = (struct bt__fresh){
        .key = type,
        .other = &instantiated,
        .type = &instance.func->base,
        .first_hole = instance.first_hole,
        .end_hole = s->holes.len + 1,
        .next = node->fresh,
    };
    node->fresh = fresh;
    *out = fresh->type;
    // results that wheres compute are theirs
    for (uint32_t i = 0; i < instance.func->nwhere; i++) {
        const bt_where *where = instance.func->wheres[i];
        struct bt__hole *hole = bt__hole_of(s, where->types[where->ntype - 1]);
        if (hole && hole->owner == node->id)
            hole->owner = 0;
    }
    return submit_wheres(s, node, &instance);
}

/* ---- calls ---- */

static bt_status submit_range(bt_solver *s, struct bt__node *node,
                              const bt_func_type *func, const struct instance *instance)
{
    struct bt__node *kept;
    for (uint32_t i = 0; i < func->nparam; i++) {
        const bt_type_param *param = &func->params[i];
        const bt_type *dim = bt__head(s, instance->type_args[i]);
        if (param->kind != BT_KIND_DIM)
            continue;
        if (param->low <= 0 && param->high == INT64_MAX && param->step <= 1 &&
            dim->kind != BT_TYPE_LINEAR && dim->kind != BT_TYPE_HOLE)
            continue;
        struct bt__node range = bt__node_begin(s, NODE_RANGE, node->slot);
        range.u.range.dim = dim;
        range.u.range.param = *param;
        range.u.range.index = i;
        range.level = node->level;
        BT_TRY(bt__submit(s, &range, &kept));
    }
    return NULL;
}

static bt_status submit_flows(bt_solver *s, struct bt__node *node, const bt_call *call,
                              const struct instance *instance)
{
    const bt_func_type *func = instance->func;
    struct bt__node *kept, *flows = BT_NEWS(s->arena, struct bt__node, func->narg);
    if (!flows)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->narg; i++) {
        flows[i] = bt__node_begin(s, NODE_FLOW, node->slot);
        flows[i].level = node->level;
        flows[i].order = node->order + 0x10000u * (i + 1);
        BT_TRY(bt__type_of(s, call->args[i], &flows[i].u.flow.from));
        BT_TRY(bt__field_type(s, node, NULL, flows[i].id, func->args[i],
                              &flows[i].u.flow.to));
        flows[i].u.flow.what = FLOW_ARG;
        flows[i].u.flow.index = i;
    }
    BT_TRY(claim_args(s, instance->first_hole, func->narg, func->args, flows));
    for (uint32_t i = 0; i < func->narg; i++)
        BT_TRY(bt__submit(s, &flows[i], &kept));
    return NULL;
}

static bt_status wrong_callee(bt_solver *s, const struct bt__node *node,
                              const bt_type *type)
{
    const bt_call *call = bt_as_call(node->slot->value);
    bt_status status = bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, call->base.span,
                                  "%s is %s, which cannot be called",
                                  bt__show_value(s, call->callee), bt__show(s, type));
    return bt__note_operands(s, status, node->slot, -1);
}

static bt_status wrong_count(bt_solver *s, const struct bt__node *node, const char *what,
                             uint32_t wanted, uint32_t given)
{
    const bt_call *call = bt_as_call(node->slot->value);
    const char *name = call->callee_kind == BT_CALLEE_CTOR
                           ? call->ctor->name
                           : bt__show_value(s, call->callee);
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, call->base.span,
                      "%s takes %u %s%s, but is given %u", name, wanted, what,
                      wanted == 1 ? "" : "s", given);
}

/* A callee of which nothing is known becomes a function of the arguments' types. */
static bt_status guess_callee(bt_solver *s, struct bt__node *node, const bt_call *call,
                              const bt_type *callee)
{
    struct bt__hole *hole = bt__hole_of(s, callee);
    if (!hole || hole->is_poison || !bt__may_assign(s, node, hole))
        return &bt__wait;
    bt_func_type func = { .narg = call->narg };
    const bt_type **args = BT_NEWS(s->arena, const bt_type *, call->narg);
    func.args = args;
    func.result = bt__result_of(s, node);
    if (!args || !func.result)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt__type_of(s, call->args[i], &args[i]));
    // the function, once it is known, computes the result
    struct bt__hole *result = bt__hole_of(s, func.result);
    if (result)
        result->owner = 0;
    const bt_type *type = bt_type_func(s->store, &func);
    return type ? bt__assign(s, node, callee, type) : bt_store_why(s->ctx, s->store);
}

bt_status bt__try_call(bt_solver *s, struct bt__node *node)
{
    const bt_call *call = bt_as_call(node->slot->value);
    const bt_type *callee;
    BT_TRY(bt__resolve(s, node->u.call.callee, &callee));
    const bt_func_type *func = bt_as_func_type(callee);
    struct instance instance;
    if (callee->kind == BT_TYPE_HOLE)
        return guess_callee(s, node, call, callee);
    if (!func)
        return wrong_callee(s, node, callee);
    if (func->narg != call->narg)
        return wrong_count(s, node, "argument", func->narg, call->narg);
    uint32_t ngiven = node->slot->ntype_arg;
    if (ngiven && ngiven != func->nparam)
        return wrong_count(s, node, "type argument", func->nparam, ngiven);
    for (uint32_t i = 0; i < ngiven; i++) {
        uint32_t kind = bt_type_kind_of(node->slot->type_args[i]);
        if (kind != func->params[i].kind)
            return bt_fail_at(s->ctx, BT_ERR_KIND, s->store, call->base.span,
                              "type argument %u is of kind %s, but must be of kind %s",
                              i + 1, bt_kind_name(kind),
                              bt_kind_name(func->params[i].kind));
    }
    BT_TRY(open_type(s, node, func, ngiven, node->slot->type_args, &instance));
    node->slot->ntype_arg = func->nparam;
    node->slot->type_args = instance.type_args;
    BT_TRY(submit_flows(s, node, call, &instance));
    BT_TRY(submit_wheres(s, node, &instance));
    BT_TRY(submit_range(s, node, func, &instance));
    return bt__give(s, node, instance.func->result);
}

/* ---- constructors ---- */

const bt_type *bt__ctor_type(bt_solver *s, const bt_ctor *ctor)
{
    const bt_type *known = bt_map_find(&s->ctor_types, ctor);
    if (known)
        return known;
    const bt_adt_def *adt = ctor->adt;
    const bt_type *result = bt_type_apply(s->store, adt, adt->nvar, adt->vars);
    if (!result)
        return NULL;
    const bt_type *type = bt_func_type_close(s->store, adt->nvar, adt->vars, ctor->nfield,
                                             ctor->fields, result, 0, NULL);
    if (!type || !bt_map_put(&s->ctor_types, ctor, (void *)(uintptr_t)type))
        return NULL;
    return type;
}
