/*
 * The end of a group of functions: what of their types is still not known becomes type
 * parameters, and the relations that wait for it become the functions' wheres.
 *
 * A hole belongs to the functions that end here when its level is theirs: everything that
 * was made equal to something outside has the level of that.
 */
#include "solve/solver.h"

#include <stdlib.h>

struct general {
    bt_solver *solver;
    bt_vec(struct bt__hole *) holes; /* to become variables, in order */
    struct bt__function *function;
    uint32_t grew; /* a hole was added */
};

static struct bt__level *innermost(bt_solver *s)
{
    return &s->levels[s->level];
}

/* ---- what cannot become a where ---- */

static bt_status lower(bt_solver *s, void *self, struct bt__hole *hole)
{
    uint32_t level = *(uint32_t *)self;
    (void)s;
    if (hole->level > level)
        hole->level = level;
    return NULL;
}

/* A projection or call that waits cannot be stated in a function's type: what it waits
 * for is one type for all uses. */
static bt_status keep_monomorphic(bt_solver *s)
{
    struct bt__level *level = innermost(s);
    uint32_t outer = s->level - 1;
    for (uint32_t i = 0; i < level->pending.len; i++) {
        struct bt__node *node = level->pending.at[i];
        if (node->state == STATE_WAITING && node->kind != NODE_OP)
            BT_TRY(bt__node_holes(s, node, lower, &outer));
    }
    return NULL;
}

/* ---- from the holes of a type to relations and on to their holes ---- */

static bt_status add_hole(bt_solver *s, void *self, struct bt__hole *hole)
{
    struct general *g = self;
    if (hole->level < s->level || hole->is_poison || hole->mark == s->mark)
        return NULL;
    hole->mark = s->mark;
    g->grew = 1;
    return BT_PUSH(s->arena, &g->holes, hole) ? NULL : bt_no_memory();
}

static bt_status add_type(struct general *g, const bt_type *type)
{
    return bt__holes_in(g->solver, type, add_hole, g);
}

static int by_order(const void *left, const void *right)
{
    const struct bt__node *a = *(struct bt__node *const *)left;
    const struct bt__node *b = *(struct bt__node *const *)right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The relations that wait for a hole of the function's type, or for one that such a
 * relation mentions. */
static bt_status reach(struct general *g)
{
    bt_solver *s = g->solver;
    struct bt__function *f = g->function;
    for (uint32_t i = 0; i < g->holes.len; i++) {
        for (struct bt__edge *e = g->holes.at[i]->edges; e; e = e->next) {
            struct bt__node *node = e->node;
            if (node->state != STATE_WAITING || node->kind != NODE_OP ||
                node->level != s->level || node->mark == s->mark)
                continue;
            node->mark = s->mark;
            if (!BT_PUSH(s->arena, &f->assumed, node))
                return bt_no_memory();
            BT_TRY(bt__node_holes(s, node, add_hole, g));
        }
    }
    if (f->assumed.len)
        qsort(f->assumed.at, f->assumed.len, sizeof(struct bt__node *), by_order);
    return NULL;
}

static bt_status collect_type(struct general *g)
{
    const struct bt__function *f = g->function;
    for (uint32_t i = 0; i < f->func->block->nparam; i++)
        BT_TRY(add_type(g, f->params[i]));
    // what occurs in a global's result only is no parameter: no call could determine it
    return f->slot ? add_type(g, f->result) : NULL;
}

/* Collects twice: first which relations are reached, then the holes in an order that
 * depends on the program alone. */
static bt_status collect(struct general *g)
{
    bt_solver *s = g->solver;
    s->mark++;
    BT_TRY(collect_type(g));
    BT_TRY(reach(g));
    s->mark++;
    g->holes.len = 0;
    BT_TRY(collect_type(g));
    for (uint32_t i = 0; i < g->function->assumed.len; i++)
        BT_TRY(bt__node_holes(s, g->function->assumed.at[i], add_hole, g));
    return NULL;
}

/* ---- variables ---- */

static const char *hint(uint32_t kind)
{
    switch (kind) {
    case BT_KIND_SHAPE: return "s";
    case BT_KIND_DIM: return "n";
    case BT_KIND_DTYPE: return "t";
    default: return "A";
    }
}

/* The functions of a group may share variables: each quantifies over its own. */
static bt_status make_variables(struct general *g)
{
    bt_solver *s = g->solver;
    for (uint32_t i = 0; i < g->holes.len; i++) {
        struct bt__hole *hole = g->holes.at[i];
        uint32_t kind = bt_type_kind_of(hole->term);
        bt_type_param param = { .kind = kind, .high = INT64_MAX, .step = 1 };
        if (!hole->type) {
            const char *name = bt_name_of(s->store, hint(kind));
            hole->type = name ? bt_type_var(s->store, &param, name) : NULL;
            if (!hole->type)
                return bt_no_memory();
        }
        if (!BT_PUSH(s->arena, &g->function->vars, hole->type))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status make_where(bt_solver *s, struct bt__function *f, struct bt__node *node)
{
    uint32_t narg = node->u.op.narg;
    bt_where *where = BT_NEW(s->arena, bt_where);
    const bt_type **types = BT_NEWS(s->arena, const bt_type *, narg + 1);
    if (!where || !types)
        return bt_no_memory();
    *where = (bt_where){
        .op = node->u.op.op, .attrs = node->u.op.attrs, .ntype = narg + 1, .types = types
    };
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(bt__resolve(s, node->u.op.args[i], &types[i]));
    BT_TRY(bt__resolve(s, node->result, &types[narg]));
    node->state = STATE_DONE;
    if (node->is_producer)
        node->slot->producer = NULL;
    return BT_PUSH(s->arena, &f->wheres, where) ? NULL : bt_no_memory();
}

/* ---- the end ---- */

/* Inside, a function without annotation has one type; what a call of it gives must be the
 * same for each, which dims known only at run time are not. */
static bt_status check_result(bt_solver *s, struct bt__function *f)
{
    const bt_type *result;
    BT_TRY(bt__resolve(s, f->result, &result));
    if (!f->mono || f->declared || !(result->has & BT_HAS_OPAQUE))
        return NULL;
    bt_status status =
        bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, f->func->span,
                   "the function calls itself and gives %s, with a dim known only at run "
                   "time: annotate its result",
                   bt__show(s, result));
    return bt__report(s, status);
}

static bt_status finish(bt_solver *s, struct bt__function *f)
{
    const bt_type *result;
    const bt_type **params = BT_NEWS(s->arena, const bt_type *, f->func->block->nparam);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < f->func->block->nparam; i++)
        BT_TRY(bt__resolve(s, f->params[i], &params[i]));
    BT_TRY(bt__resolve(s, f->result, &result));
    f->type =
        bt_func_type_close(s->store, f->vars.len, f->vars.at, f->func->block->nparam,
                           params, result, f->wheres.len, f->wheres.at);
    return f->type ? NULL : bt_store_why(s->ctx, s->store);
}

/* What still waits belongs to the enclosing functions. */
static bt_status move_out(bt_solver *s)
{
    struct bt__level *level = innermost(s), *outer = &s->levels[s->level - 1];
    uint32_t to = s->level - 1;
    for (uint32_t i = 0; i < level->pending.len; i++) {
        struct bt__node *node = level->pending.at[i];
        if (node->state != STATE_WAITING)
            continue;
        node->level = to;
        BT_TRY(bt__node_holes(s, node, lower, &to));
        if (!BT_PUSH(s->arena, &outer->pending, node))
            return bt_no_memory();
        if (node->is_held_back)
            BT_TRY(bt__hold_back(s, node));
    }
    level->pending.len = 0;
    return NULL;
}

bt_status bt__end_group(bt_solver *s, uint32_t n, struct bt__function *const *members)
{
    struct general *generals = BT_NEWS(s->arena, struct general, n);
    if (!generals)
        return bt_no_memory();
    BT_TRY(bt__settle(s));
    BT_TRY(keep_monomorphic(s));
    for (uint32_t i = 0; i < n; i++) {
        generals[i] = (struct general){ .solver = s, .function = members[i] };
        BT_TRY(check_result(s, members[i]));
        BT_TRY(collect(&generals[i]));
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_variables(&generals[i]));
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < members[i]->assumed.len; k++)
            BT_TRY(make_where(s, members[i], members[i]->assumed.at[k]));
        BT_TRY(finish(s, members[i]));
    }
    return move_out(s);
}
