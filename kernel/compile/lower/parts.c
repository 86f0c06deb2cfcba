/*
 * Functions that lay tensors one after the other in memory: concatenations along an axis with
 * none before it that is longer than 1. Their graph chooses among reads by one index, and each
 * read's place is the element's own, but for where its tensor begins:
 *
 *     s0[i0, i1] = select(0 <= -i0 + 2, a1[i0, i1], a0[i0 - 3, i1])
 *     s0[5, 4], a1[3, 4], a0[2, 4]: parts a1 and a0
 *
 * Several concatenations in one function are as good as one.
 */
#include <baton/graph.h>

#include "compile/lower/lower.h"

struct finder {
    bt_graph *g;
    bt_arena *arena;
    const bt_array *to;
    const bt_node *here; /* an element's own place */
    uint32_t axis;       /* by which parts are chosen */
    int64_t inner;       /* elements behind one of its index */
    uint8_t *seen;       /* by input: it is a part already */
    bt_vec(uint32_t) parts;
};

/* Elements of an array; -1: it is no number. */
static int64_t count(const bt_array *array, uint32_t first)
{
    int64_t n = 1, extent;
    for (uint32_t i = first; i < array->rank; i++) {
        if (!bt_node_is_const(array->extents[i], &extent) || !bt_mul_int64(n, extent, &n))
            return -1;
    }
    return n;
}

/* Whether a condition is that the axis' index is in [low, cut), or in [cut, high) where
 * *is_turned is set. */
static int find_cut(struct finder *f, const bt_node *condition, int64_t *cut,
                    int *is_turned)
{
    bt_linear l;
    int64_t zero;
    if (condition->kind != BT_NODE_SCALAR || condition->which != BT_SCALAR_LE ||
        condition->args[1]->dtype != BT_INT64 ||
        !bt_node_is_const(condition->args[0], &zero) || zero != 0)
        return 0;
    bt_node_as_linear(condition->args[1], &l);
    if (l.n != 1 || l.atoms[0]->kind != BT_NODE_INDEX ||
        (l.coefs[0] != 1 && l.coefs[0] != -1))
        return 0;
    if (f->axis == UINT32_MAX)
        f->axis = l.atoms[0]->which;
    *is_turned = l.coefs[0] == 1;
    return f->axis == l.atoms[0]->which && f->axis < f->to->rank &&
           (*is_turned ? bt_mul_int64(l.constant, -1, cut)
                       : bt_add_int64(l.constant, 1, cut));
}

/* The part that is read from `low` to `high`. */
static int add_part(struct finder *f, const bt_node *read, int64_t low, int64_t high)
{
    const bt_array *from = f->g->arrays[read->which];
    int64_t first, nelem;
    if (read->which >= f->g->ninput || from->dtype != f->to->dtype ||
        !bt_mul_int64(low, f->inner, &first) ||
        !bt_mul_int64(high - low, f->inner, &nelem) || count(from, 0) != nelem)
        return 0;
    const bt_node *there = bt__node_position(f->g, from, read->args);
    const bt_node *own =
        bt_node_linear(f->g, -first, 1, &f->here, (const int64_t[]){ 1 });
    if (!there || there != own || f->seen[read->which]++)
        return 0;
    if (!BT_PUSH(f->arena, &f->parts, read->which))
        f->g->status = bt_no_memory();
    return !f->g->status;
}

/* The parts that a value is made of where the axis' index is in [low, high), in their order.
 * Recursion is bounded by the depth of formulas. */
static int find_parts(struct finder *f, const bt_node *value, int64_t low, int64_t high)
{
    int64_t cut;
    int is_turned;
    while (value->kind == BT_NODE_CAST && value->dtype == value->args[0]->dtype)
        value = value->args[0];
    if (low >= high)
        return 1;
    if (value->kind == BT_NODE_READ)
        return f->axis != UINT32_MAX && add_part(f, value, low, high);
    if (value->kind != BT_NODE_SELECT || !find_cut(f, value->args[0], &cut, &is_turned))
        return 0;
    f->inner = count(f->to, f->axis + 1);
    cut = cut < low ? low : cut > high ? high : cut;
    return f->inner >= 0 && find_parts(f, value->args[is_turned ? 2 : 1], low, cut) &&
           find_parts(f, value->args[is_turned ? 1 : 2], cut, high);
}

/* What other functions than concatenations hardly ever are is not looked at more closely. */
static int may_have_parts(const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_type *size =
        bt_tensor_shape(func->result) ? bt_tensor_size(func->result) : NULL;
    int64_t nbytes;
    if (!size || !bt_dim_is_const(size, &nbytes) || !nbytes)
        return 0;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        if (call && (call->callee_kind != BT_CALLEE_OP || call->narg != 1))
            return 0;
    }
    uint32_t nleaf = 0;
    for (uint32_t i = 0; i < block->nparam; i++)
        nleaf += bt_type_nleaf(block->params[i]->base.type);
    return nleaf > 1;
}

bt_status bt__func_parts(bt_ctx *ctx, bt_arena *arena, const bt_func *func, uint32_t *n,
                         const uint32_t **out)
{
    struct finder f = { .arena = arena, .axis = UINT32_MAX };
    const bt_node *own[BT_MAX_RANK];
    *n = 0;
    *out = NULL;
    if (!may_have_parts(func))
        return NULL;
    bt_status status = bt_graph_compose(ctx, arena, func, &f.g);
    if (status) // what cannot be composed is treated as if it had none
        return status->code == BT_ERR_MEMORY ? status : NULL;
    f.to = f.g->nresult == 1 ? f.g->arrays[f.g->results[0]] : NULL;
    if (!f.to || !f.to->body || f.to->rank > BT_MAX_RANK || count(f.to, 0) < 0)
        return NULL;
    for (uint32_t i = 0; i < f.to->rank; i++)
        own[i] = bt_node_index(f.g, i, f.to->extents[i]);
    f.here = bt__node_position(f.g, f.to, own);
    f.seen = BT_NEWS(arena, uint8_t, f.g->ninput);
    if (!f.seen)
        return bt_no_memory();
    const bt_node *first = f.to->body;
    while (first->kind == BT_NODE_CAST)
        first = first->args[0];
    int64_t cut, extent = 0;
    int is_turned;
    if (f.here && first->kind == BT_NODE_SELECT &&
        find_cut(&f, first->args[0], &cut, &is_turned) &&
        bt_node_is_const(f.to->extents[f.axis], &extent) &&
        find_parts(&f, f.to->body, 0, extent)) {
        *n = f.parts.len;
        *out = f.parts.at;
    }
    return f.g->status && f.g->status->code == BT_ERR_MEMORY ? f.g->status : NULL;
}
