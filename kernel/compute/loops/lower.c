/*
 * From the compute graph to loops: a nest for each stage, in order.
 *
 * A value that needs statements (a reduction; a choice of which one side must not be
 * evaluated) stands in a local, and so does one that is used more than once (share.h).
 * Their statements go to the outermost scope that binds their indices, and behind no
 * condition that they do without; because a loop or a condition joins its parent when it
 * is complete, they come before it. A conjunct of a condition is tested as soon as its
 * indices are bound. What elements address, or runs along an axis, is computed into a
 * buffer before the stage.
 */
#include "compute/graph/bounds.h"
#include "compute/graph/scatter.h"
#include "compute/graph/share.h"
#include <baton/loops.h>

#include "base/arena.h"
#include "compute/graph/graph.h"

/* Statements under construction, in loops and behind conditions. */
struct scope {
    struct scope *outer;
    bt_stmts *to;
    uint64_t bound;         /* indices that have a value */
    uint32_t is_guard;      /* what is here must stay here */
    struct bt__facts facts; /* on nodes of the graph */
    bt_map values;          /* node of the graph -> node of the loops */
};

struct lowerer {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_graph *from;
    bt_loops *loops;
    bt_lower_options options;
    uint32_t *buffers; /* by array */
    bt_map scattered;  /* reduction -> struct scattered */
    struct bt__shared shared;
    struct scope outermost; /* where extents are known */
};

static const bt_node *emit(struct lowerer *l, struct scope *s, const bt_node *node);

static void open_scope(struct lowerer *l, struct scope *s, struct scope *outer,
                       bt_stmts *to)
{
    *s = (struct scope){ .outer = outer, .to = to };
    s->facts.outer = outer ? &outer->facts : NULL;
    s->bound = outer ? outer->bound : 0;
    bt_map_init(&s->values, l->arena, 0);
}

static int new_local(struct lowerer *l, bt_dtype dtype, uint32_t *out)
{
    const char *name = bt__format(l->arena, "t%u", l->loops->graph->narray);
    return name && bt_loops_add_buffer(l->loops, BT_BUFFER_LOCAL, name, dtype,
                                       bt_node_int(l->loops->graph, 1), out);
}

static const bt_node *zero(struct lowerer *l)
{
    return bt_node_int(l->loops->graph, 0);
}

static const bt_node *read_local(struct lowerer *l, uint32_t buffer)
{
    return bt_loops_read(l->loops, buffer, zero(l));
}

static int store(struct lowerer *l, bt_stmts *to, uint32_t buffer, const bt_node *offset,
                 const bt_node *value)
{
    bt_stmt *stmt = offset && value ? bt_stmt_add(l->loops, to, BT_STMT_STORE) : NULL;
    if (!stmt)
        return 0;
    stmt->buffer = buffer;
    stmt->offset = offset;
    stmt->value = value;
    return 1;
}

/* ---- reads ---- */

/* A read that is not proved to be in bounds fails by a check of its own. */
static int check_index(struct lowerer *l, struct scope *s, const bt_node *read,
                       uint32_t axis, const bt_node *index)
{
    bt_graph *g = l->loops->graph;
    const bt_array *array = l->from->arrays[read->which];
    if (bt__facts_bound(l->from, &s->facts, read->args[axis], array->extents[axis]))
        return 1;
    const bt_node *extent = emit(l, s, array->extents[axis]);
    bt_stmt *stmt = extent ? bt_stmt_add(l->loops, s->to, BT_STMT_CHECK) : NULL;
    if (!stmt)
        return 0;
    stmt->condition = bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, zero(l), index),
                                  bt_node_scalar(g, BT_SCALAR_LT, index, extent));
    stmt->array = bt_loops_word(l->arena, array->name);
    stmt->axis = axis;
    stmt->extent = extent;
    return stmt->condition && stmt->array;
}

/* An extent of the graph, in the loops. */
static const bt_node *extent_of(struct lowerer *l, const bt_node *extent)
{
    return emit(l, &l->outermost, extent);
}

/* Offset of an element, row major. */
static const bt_node *flatten(struct lowerer *l, const bt_array *array,
                              const bt_node *const *indices)
{
    bt_graph *g = l->loops->graph;
    const bt_node *parts[BT_MAX_RANK], *stride = bt_node_int(g, 1);
    int64_t ones[BT_MAX_RANK];
    for (uint32_t i = array->rank; i-- > 0;) {
        parts[i] = bt_node_scalar(g, BT_SCALAR_MUL, indices[i], stride);
        ones[i] = 1;
        stride =
            bt_node_scalar(g, BT_SCALAR_MUL, stride, extent_of(l, array->extents[i]));
    }
    return bt_node_linear(g, 0, array->rank, parts, ones);
}

static const bt_node *emit_read(struct lowerer *l, struct scope *s, const bt_node *node)
{
    const bt_node *indices[BT_MAX_RANK];
    for (uint32_t i = 0; i < node->narg; i++) {
        indices[i] = emit(l, s, node->args[i]);
        if (!indices[i] || !check_index(l, s, node, i, indices[i]))
            return NULL;
    }
    return bt_loops_read(l->loops, l->buffers[node->which],
                         flatten(l, l->from->arrays[node->which], indices));
}

/* ---- conditions ---- */

/* A scope for what is done only where `condition` holds, which is known from then on; its
 * statement is complete before it joins those around. NULL: failure. */
static bt_stmt *open_if(struct lowerer *l, struct scope *s, struct scope *outer,
                        const bt_node *condition)
{
    bt_stmt *stmt = BT_NEW(l->arena, bt_stmt);
    if (!stmt)
        return NULL;
    *stmt = (bt_stmt){ .kind = BT_STMT_IF, .condition = emit(l, outer, condition) };
    open_scope(l, s, outer, &stmt->body);
    s->is_guard = 1;
    return stmt->condition && bt_node_conjuncts(l->arena, condition, &s->facts.conjuncts)
               ? stmt
               : NULL;
}

/* A choice with a side that needs statements. */
static const bt_node *emit_choice(struct lowerer *l, struct scope *s, const bt_node *node)
{
    uint32_t local;
    struct scope yes, no;
    const bt_node *opposite = bt_node_scalar(l->from, BT_SCALAR_NOT, node->args[0], NULL);
    if (!opposite || !new_local(l, node->dtype, &local))
        return NULL;
    bt_stmt *stmt = open_if(l, &yes, s, node->args[0]);
    if (!stmt || !store(l, yes.to, local, zero(l), emit(l, &yes, node->args[1])))
        return NULL;
    open_scope(l, &no, s, &stmt->otherwise);
    no.is_guard = 1;
    if (!bt_node_conjuncts(l->arena, opposite, &no.facts.conjuncts) ||
        !store(l, no.to, local, zero(l), emit(l, &no, node->args[2])) ||
        !BT_PUSH(l->arena, s->to, stmt))
        return NULL;
    return read_local(l, local);
}

/* ---- reductions ---- */

struct reduction {
    const bt_node *node, *body;
    bt_dtype of;           /* what is reduced */
    uint32_t acc, acc2;    /* locals, or buffers of a scatter */
    const bt_node *place;  /* a scatter's: where the value goes, in the graph */
    const bt_node *offset; /* where the result stands */
    uint8_t *is_tested;    /* of the condition's conjuncts */
    bt_nodes conjuncts;
    bt_vec(uint64_t)
        after; /* of each, indices of what stands before it and is tested first */
};

static bt_dtype accumulator_of(const struct lowerer *l, const bt_node *reduce)
{
    bt_dtype of = reduce->args[1]->dtype;
    if (!bt_dtype_is_float(of))
        return of;
    return of != BT_FLOAT64 && l->options.is_narrow &&
                   l->options.is_narrow(l->options.self, reduce)
               ? BT_FLOAT32
               : BT_FLOAT64;
}

static int start(struct lowerer *l, struct scope *s, struct reduction *r)
{
    bt_graph *g = l->loops->graph;
    const struct bt__reducer *row = bt__reducer_get(r->node->which);
    bt_dtype acc = accumulator_of(l, r->node);
    bt_dtype acc2 = row->result == BT__RESULT_INT64 ? BT_INT64 : acc;
    if (!new_local(l, acc, &r->acc) ||
        !store(l, s->to, r->acc, zero(l),
               bt__node_const(g, acc, bt__reducer_start(r->node->which, r->of, 0))))
        return 0;
    return row->nstate == 1 ||
           (new_local(l, acc2, &r->acc2) &&
            store(l, s->to, r->acc2, zero(l),
                  bt__node_const(g, acc2, bt__reducer_start(r->node->which, r->of, 1))));
}

static int take(struct lowerer *l, struct scope *s, const struct reduction *r)
{
    const bt_node *value = emit(l, s, r->body);
    const bt_node *offset = r->place ? emit(l, s, r->place) : zero(l);
    bt_stmt *stmt = value && offset ? bt_stmt_add(l->loops, s->to, BT_STMT_TAKE) : NULL;
    if (!stmt)
        return 0;
    stmt->reducer = r->node->which;
    stmt->of = r->of;
    stmt->buffer = r->acc;
    stmt->buffer2 = r->acc2;
    stmt->offset = offset;
    stmt->value = value;
    if (bt__reducer_get(r->node->which)->result != BT__RESULT_INT64)
        return 1;
    const bt_node *extents[BT_MAX_INDEX];
    for (uint32_t i = 0; i < r->node->nindex; i++)
        extents[i] = extent_of(l, r->node->args[2 + i]);
    stmt->position =
        bt__row_position(l->loops->graph, r->node->first, r->node->nindex, extents);
    return stmt->position != NULL;
}

/* Whether a conjunct can stand beside others: what it reads is in bounds whatever they are. */
static int is_free(struct lowerer *l, const struct scope *s, const bt_node *conjunct)
{
    return !conjunct->reads || bt__facts_cover(l->from, &s->facts, conjunct);
}

/* Conjuncts whose indices are bound here, as one condition; NULL: no memory. One that reads
 * what others keep in bounds waits until they have been tested. */
static const bt_node *testable(struct lowerer *l, const struct scope *s,
                               struct reduction *r)
{
    const bt_node *all = bt_node_bool(l->from, 1);
    for (int waits = 1; waits >= 0 && all && bt_node_is_true(all); waits--) {
        for (uint32_t i = 0; i < r->conjuncts.len && all; i++) {
            const bt_node *conjunct = r->conjuncts.at[i];
            if (r->is_tested[i] || ((conjunct->free | r->after.at[i]) & ~s->bound) ||
                (waits && !is_free(l, s, conjunct)))
                continue;
            r->is_tested[i] = 1;
            all = bt_node_and(l->from, all, conjunct);
            if (!waits)
                break;
        }
    }
    return all;
}

/* select(a, b, false) is a, and b behind it: a may be among the others, or tell of ranges. */
static int is_behind(const bt_node *node)
{
    return node->kind == BT_NODE_SELECT && node->dtype == BT_BOOL &&
           bt_node_is_false(node->args[2]);
}

static int has_conjunct(const struct reduction *r, const bt_node *conjunct)
{
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        if (r->conjuncts.at[i] == conjunct)
            return 1;
    }
    return 0;
}

/* 0: no memory. */
static int find_conjuncts(struct lowerer *l, struct reduction *r,
                          const bt_node *condition, uint64_t after)
{
    bt_nodes all = { 0 };
    if (!bt_node_conjuncts(l->arena, condition, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        const bt_node *node = all.at[i];
        if (is_behind(node)) {
            if (!find_conjuncts(l, r, node->args[0], after) ||
                !find_conjuncts(l, r, node->args[1], after | node->args[0]->free))
                return 0;
        } else if (!has_conjunct(r, node) && (!BT_PUSH(l->arena, &r->conjuncts, node) ||
                                              !BT_PUSH(l->arena, &r->after, after))) {
            return 0;
        }
    }
    return 1;
}

static int find_condition(struct lowerer *l, struct reduction *r,
                          const bt_node *condition)
{
    if (!find_conjuncts(l, r, condition, 0))
        return 0;
    r->is_tested = BT_NEWS(l->arena, uint8_t, r->conjuncts.len);
    return r->is_tested != NULL;
}

/* The loops of the indices from `i` on. */
static int reduce_nest(struct lowerer *l, struct scope *outer, struct reduction *r,
                       uint32_t i)
{
    struct scope inner;
    const bt_node *condition = testable(l, outer, r);
    if (!condition)
        return 0;
    if (!bt_node_is_true(condition)) {
        bt_stmt *stmt = open_if(l, &inner, outer, condition);
        return stmt && reduce_nest(l, &inner, r, i) && BT_PUSH(l->arena, outer->to, stmt);
    }
    if (i == r->node->nindex)
        return take(l, outer, r);
    bt_stmt *loop = BT_NEW(l->arena, bt_stmt);
    if (!loop)
        return 0;
    *loop = (bt_stmt){ .kind = BT_STMT_FOR,
                       .index = r->node->first + i,
                       .extent = extent_of(l, r->node->args[2 + i]) };
    if (!loop->extent)
        return 0;
    open_scope(l, &inner, outer, &loop->body);
    inner.bound |= bt_index_bit(loop->index);
    return reduce_nest(l, &inner, r, i + 1) && BT_PUSH(l->arena, outer->to, loop);
}

static const bt_node *end(struct lowerer *l, const struct reduction *r)
{
    bt_graph *g = l->loops->graph;
    const bt_node *acc = bt_loops_read(l->loops, r->acc, r->offset);
    if (bt__reducer_get(r->node->which)->result == BT__RESULT_INT64)
        return bt_loops_read(l->loops, r->acc2, r->offset);
    if (r->node->which == BT_REDUCER_LOGSUMEXP) {
        const bt_node *sum = bt_loops_read(l->loops, r->acc2, r->offset);
        const bt_node *none = acc ? bt_node_float(g, acc->dtype, 0) : NULL;
        acc = bt_node_select(g, sum ? bt_node_scalar(g, BT_SCALAR_LT, none, sum) : NULL,
                             bt_node_scalar(g, BT_SCALAR_ADD, acc,
                                            bt_node_scalar(g, BT_SCALAR_LOG, sum, NULL)),
                             acc);
    }
    return acc ? bt_node_cast(g, r->node->dtype, acc) : NULL;
}

static const bt_node *emit_reduction(struct lowerer *l, struct scope *s,
                                     const bt_node *node)
{
    struct reduction r = { .node = node, .body = node->args[1] };
    r.of = r.body->dtype;
    r.offset = zero(l);
    if (!r.offset || !find_condition(l, &r, node->args[0]) || !start(l, s, &r) ||
        !reduce_nest(l, s, &r, 0))
        return NULL;
    return end(l, &r);
}

/* ---- reductions that elements address ---- */

struct scattered {
    struct bt__scatter at;
    uint32_t acc, acc2; /* with an element for each result */
};

static int new_accumulator(struct lowerer *l, bt_dtype dtype, const bt_node *nelem,
                           uint32_t *out)
{
    const char *name = bt__format(l->arena, "b%u", l->loops->graph->narray);
    return name && bt_loops_add_buffer(l->loops, BT_BUFFER_TEMP, name, dtype, nelem, out);
}

/* A loop whose body is filled before it joins the block. */
static bt_stmt *open_loop(struct lowerer *l, struct scope *s, struct scope *outer,
                          uint32_t index, const bt_node *extent)
{
    bt_stmt *loop = extent ? BT_NEW(l->arena, bt_stmt) : NULL;
    if (!loop)
        return NULL;
    *loop = (bt_stmt){ .kind = BT_STMT_FOR, .index = index, .extent = extent };
    open_scope(l, s, outer, &loop->body);
    s->bound |= bt_index_bit(index);
    return loop;
}

/* All accumulators as they start. */
static int start_scatter(struct lowerer *l, struct scope *s, struct scattered *to)
{
    bt_graph *g = l->loops->graph;
    const bt_node *node = to->at.node;
    const struct bt__reducer *row = bt__reducer_get(node->which);
    bt_dtype of = node->args[1]->dtype;
    bt_dtype acc = accumulator_of(l, node);
    bt_dtype acc2 = row->result == BT__RESULT_INT64 ? BT_INT64 : acc;
    struct scope inner;
    const bt_node *nelem = extent_of(l, to->at.nelem);
    bt_stmt *loop = open_loop(l, &inner, s, 0, nelem);
    const bt_node *at = loop ? bt_node_index(g, 0, nelem) : NULL;
    if (!at || !new_accumulator(l, acc, nelem, &to->acc) ||
        !store(l, inner.to, to->acc, at,
               bt__node_const(g, acc, bt__reducer_start(node->which, of, 0))))
        return 0;
    if (row->nstate > 1 &&
        (!new_accumulator(l, acc2, nelem, &to->acc2) ||
         !store(l, inner.to, to->acc2, at,
                bt__node_const(g, acc2, bt__reducer_start(node->which, of, 1)))))
        return 0;
    return BT_PUSH(l->arena, s->to, loop);
}

/* Loops over the axes that nothing addresses, then those of the reduction. */
static int scatter_nest(struct lowerer *l, struct scope *outer, struct scattered *to,
                        struct reduction *r, uint32_t k)
{
    struct scope inner;
    while (k > 0 && !bt__scatter_is_free(&to->at, k - 1))
        k--;
    if (k == 0)
        return reduce_nest(l, outer, r, 0);
    uint32_t axis = to->at.axes[k - 1];
    bt_stmt *loop = open_loop(l, &inner, outer, axis, extent_of(l, to->at.extents[axis]));
    return loop && scatter_nest(l, &inner, to, r, k - 1) &&
           BT_PUSH(l->arena, outer->to, loop);
}

/* Each place takes what the one before it has. */
static int scan(struct lowerer *l, struct scope *s, const struct scattered *to)
{
    bt_graph *g = l->loops->graph;
    int64_t stride = to->at.strides[to->at.scan];
    int64_t extent = bt_node_number(to->at.extents[to->at.axes[to->at.scan]]);
    int64_t block = stride * extent, nelem = bt_node_number(to->at.nelem);
    int64_t extents[] = { block ? nelem / block : 0, extent - 1, stride };
    int64_t coefs[] = { block, to->at.is_descending ? -stride : stride, 1 };
    int64_t first = to->at.is_descending ? block - stride : 0;
    const bt_node *indices[3];
    bt_stmts *block_at = s->to;
    if (extent < 2)
        return 1;
    for (uint32_t i = 0; i < 3; i++) {
        bt_stmt *loop = bt_stmt_add(l->loops, block_at, BT_STMT_FOR);
        const bt_node *count = bt_node_int(g, extents[i]);
        indices[i] = bt_node_index(g, i, count);
        if (!loop || !indices[i])
            return 0;
        loop->index = i;
        loop->extent = count;
        block_at = &loop->body;
    }
    const bt_node *from = bt_node_linear(g, first, 3, indices, coefs);
    bt_stmt *take = bt_stmt_add(l->loops, block_at, BT_STMT_TAKE);
    if (!from || !take)
        return 0;
    take->reducer = to->at.node->which;
    take->of = g->arrays[to->acc]->dtype;
    take->buffer = to->acc;
    take->offset = bt_node_linear(g, coefs[1], 1, &from, (int64_t[]){ 1 });
    take->value = bt_loops_read(l->loops, to->acc, from);
    return take->offset && take->value;
}

static int find_shared(struct lowerer *l, uint32_t nroot, const bt_node *const *roots)
{
    return l->options.is_tree ||
           bt__shared_find(l->arena, l->from, nroot, roots, &l->shared);
}

/* 1: computed into accumulators, or not to be; 0: failure. */
static int try_scatter(struct lowerer *l, struct scope *root, uint32_t array,
                       const bt_node *node)
{
    const bt_array *stage = l->from->arrays[array];
    struct scattered *to = BT_NEW(l->arena, struct scattered);
    struct reduction r = { .node = node };
    if (!to)
        return 0;
    to->at.node = node;
    to->at.rank = stage->rank;
    for (uint32_t i = 0; i < stage->rank; i++)
        to->at.extents[i] = stage->extents[i];
    int solved = bt__scatter_solve(l->from, &to->at);
    if (solved <= 0)
        return solved == 0;
    r.place = bt_node_linear(l->from, 0, to->at.naxis, to->at.place, to->at.strides);
    r.body = to->at.body;
    r.of = r.body->dtype;
    if (!r.place || !find_condition(l, &r, to->at.condition) ||
        !start_scatter(l, root, to))
        return 0;
    r.acc = to->acc;
    r.acc2 = to->acc2;
    const bt_node *roots[] = { r.place, r.body, to->at.condition };
    return find_shared(l, BT_COUNT(roots), roots) &&
           scatter_nest(l, root, to, &r, to->at.naxis) &&
           (to->at.scan < 0 || scan(l, root, to)) && bt_map_put(&l->scattered, node, to);
}

/* Reductions over the stage's axes alone; those behind a guard only where they read
 * nothing that relies on it. */
static int scatter_all(struct lowerer *l, struct scope *root, uint32_t array,
                       const bt_node *node, int is_guarded, uint8_t *seen)
{
    uint32_t rank = l->from->arrays[array]->rank;
    uint64_t axes = rank ? UINT64_MAX >> (BT_MAX_INDEX - rank) : 0;
    uint8_t bit = is_guarded ? 1 : 2;
    if (!node->reads || l->options.gathers || (seen[node->id] & bit) ||
        bt_map_find(&l->scattered, node))
        return 1;
    seen[node->id] |= bit;
    if (node->kind == BT_NODE_REDUCE && !(node->free & ~axes) &&
        (!is_guarded || bt__facts_cover(l->from, NULL, node)) &&
        !try_scatter(l, root, array, node))
        return 0;
    if (bt_map_find(&l->scattered, node))
        return 1;
    is_guarded |= node->kind == BT_NODE_SELECT || node->kind == BT_NODE_REDUCE;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!scatter_all(l, root, array, node->args[i], is_guarded, seen))
            return 0;
    }
    return 1;
}

/* The result, where its axes have values. */
static const bt_node *emit_scattered(struct lowerer *l, const struct scattered *to)
{
    bt_graph *g = l->loops->graph;
    const bt_node *indices[BT_MAX_RANK];
    struct reduction r = { .node = to->at.node, .acc = to->acc, .acc2 = to->acc2 };
    for (uint32_t k = 0; k < to->at.naxis; k++) {
        const bt_node *extent = extent_of(l, to->at.extents[to->at.axes[k]]);
        indices[k] = extent ? bt_node_index(g, to->at.axes[k], extent) : NULL;
        if (!indices[k])
            return NULL;
    }
    r.offset = bt_node_linear(g, 0, to->at.naxis, indices, to->at.strides);
    return r.offset ? end(l, &r) : NULL;
}

/* ---- all nodes ---- */

/* Whether a side of a choice can be an expression: it needs no statements. */
static int is_expression(struct lowerer *l, const struct scope *s, const bt_node *choice,
                         uint32_t side)
{
    struct bt__facts facts = { .outer = &s->facts };
    const bt_node *condition = choice->args[0];
    if (side == 2)
        condition = bt_node_scalar(l->from, BT_SCALAR_NOT, condition, NULL);
    if (!condition)
        return 0;
    if (!bt_node_conjuncts(l->arena, condition, &facts.conjuncts)) {
        l->from->status = bt_no_memory(); // not a reason to write it in another way
        return 0;
    }
    return !choice->args[side]->reduces &&
           bt__facts_cover(l->from, &facts, choice->args[side]);
}

/* A side of a choice knows what was asked; locals that it alone has are computed where
 * that holds. */
static const bt_node *emit_side(struct lowerer *l, struct scope *s,
                                const bt_node *condition, const bt_node *node)
{
    struct scope side;
    bt_stmt *stmt = condition ? open_if(l, &side, s, condition) : NULL;
    const bt_node *out = stmt ? emit(l, &side, node) : NULL;
    return !out || !stmt->body.len || BT_PUSH(l->arena, s->to, stmt) ? out : NULL;
}

/* A choice that is an expression. */
static const bt_node *emit_select(struct lowerer *l, struct scope *s, const bt_node *node)
{
    const bt_node *opposite = bt_node_scalar(l->from, BT_SCALAR_NOT, node->args[0], NULL);
    const bt_node *condition = emit(l, s, node->args[0]);
    const bt_node *yes = emit_side(l, s, node->args[0], node->args[1]);
    const bt_node *no = emit_side(l, s, opposite, node->args[2]);
    return bt_node_select(l->loops->graph, condition, yes, no);
}

static const bt_node *emit_new(struct lowerer *l, struct scope *s, const bt_node *node)
{
    bt_graph *g = l->loops->graph;
    switch (node->kind) {
    case BT_NODE_CONST: return bt__node_const(g, node->dtype, node->value);
    case BT_NODE_DIM: return bt_node_dim(g, node->which);
    case BT_NODE_INDEX: {
        const bt_node *extent = node->narg ? extent_of(l, node->args[0]) : NULL;
        return node->narg && !extent ? NULL
                                     : bt__index_again(g, node->which, node, &extent);
    }
    case BT_NODE_READ: return emit_read(l, s, node);
    case BT_NODE_REDUCE: return emit_reduction(l, s, node);
    case BT_NODE_SELECT:
        return is_expression(l, s, node, 1) && is_expression(l, s, node, 2)
                   ? emit_select(l, s, node)
                   : emit_choice(l, s, node);
    default: break;
    }
    const bt_node **args = BT_NEWS(l->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = emit(l, s, node->args[i]);
        if (!args[i])
            return NULL;
    }
    return args ? bt_node_again(g, node, node->first, args) : NULL;
}

/* The outermost scope in which a node can be computed: its indices are bound, and no
 * condition around is what keeps its reads in bounds. */
static struct scope *scope_of(struct lowerer *l, struct scope *s, const bt_node *node)
{
    int is_shared = bt__is_shared(&l->shared, node);
    while (s->outer && (is_shared || node->kind == BT_NODE_REDUCE) &&
           !(node->free & s->bound & ~s->outer->bound) &&
           ((node->kind == BT_NODE_REDUCE && !s->is_guard) ||
            (is_shared && bt__facts_cover(l->from, &s->outer->facts, node))))
        s = s->outer;
    return s;
}

/* In a local, unless it stands in one already. */
static const bt_node *keep(struct lowerer *l, struct scope *s, const bt_node *value)
{
    uint32_t local;
    if (value->kind == BT_NODE_READ || !value->narg)
        return value;
    return new_local(l, value->dtype, &local) && store(l, s->to, local, zero(l), value)
               ? read_local(l, local)
               : NULL;
}

static const bt_node *emit(struct lowerer *l, struct scope *s, const bt_node *node)
{
    const struct scattered *to = bt_map_find(&l->scattered, node);
    if (to)
        return emit_scattered(l, to);
    s = scope_of(l, s, node);
    for (const struct scope *at = s; at; at = at->outer) {
        const bt_node *known = bt_map_find(&at->values, node);
        if (known)
            return known;
    }
    const bt_node *out = l->from->status ? NULL : emit_new(l, s, node);
    if (out && node->kind != BT_NODE_REDUCE && bt__is_shared(&l->shared, node))
        out = keep(l, s, out);
    return out && bt_map_put(&s->values, node, (void *)(uintptr_t)out) ? out : NULL;
}

/* ---- stages ---- */

static int lower_axis(struct lowerer *l, struct scope *outer, uint32_t array,
                      uint32_t axis)
{
    const bt_array *stage = l->from->arrays[array];
    bt_graph *g = l->loops->graph;
    struct scope inner;
    if (axis == stage->rank) {
        const bt_node *indices[BT_MAX_RANK];
        const bt_node *value = emit(l, outer, stage->body);
        for (uint32_t i = 0; i < stage->rank; i++)
            indices[i] = bt_node_index(g, i, extent_of(l, stage->extents[i]));
        return value &&
               store(l, outer->to, l->buffers[array], flatten(l, stage, indices), value);
    }
    const bt_node *extent = extent_of(l, stage->extents[axis]);
    bt_stmt *loop = extent ? BT_NEW(l->arena, bt_stmt) : NULL;
    if (!loop)
        return 0;
    if (bt_node_number(extent) == 1)
        return lower_axis(l, outer, array, axis + 1);
    *loop = (bt_stmt){ .kind = BT_STMT_FOR, .index = axis, .extent = extent };
    open_scope(l, &inner, outer, &loop->body);
    inner.bound |= bt_index_bit(axis);
    return lower_axis(l, &inner, array, axis + 1) && BT_PUSH(l->arena, outer->to, loop);
}

/* By names that nothing else in the text has. */
static int add_dims(struct lowerer *l)
{
    for (uint32_t i = 0; i < l->from->ndim; i++) {
        bt_graph_dim dim = *l->from->dims[i];
        uint32_t which;
        bt_text name;
        bt_text_init(&name, l->arena);
        bt_text_addf(&name, "d%u", i);
        dim.name = bt_text_get(&name);
        if (!dim.name || !bt_graph_add_dim(l->loops->graph, &dim, &which))
            return 0;
    }
    return 1;
}

static int too_large(struct lowerer *l, const bt_array *array)
{
    if (!l->from->status)
        l->from->status =
            bt_fail(l->ctx, BT_ERR_LIMIT, "%s has more elements than an int64 counts",
                    array->name);
    return 0;
}

static int add_buffers(struct lowerer *l)
{
    const bt_graph *g = l->from;
    for (uint32_t i = 0; i < g->narray; i++) {
        const bt_array *array = g->arrays[i];
        uint32_t role = i < g->ninput ? BT_BUFFER_INPUT : BT_BUFFER_TEMP;
        const bt_node *nelem = bt_node_int(l->loops->graph, 1);
        int64_t known = 1;
        bt_text name;
        for (uint32_t k = 0; k < g->nresult; k++)
            role = g->results[k] == i ? BT_BUFFER_OUTPUT : role;
        for (uint32_t k = 0; k < array->rank; k++) {
            int64_t extent = bt_node_number(array->extents[k]);
            if (extent >= 0 && !bt_mul_int64(known, extent, &known))
                return too_large(l, array);
            nelem = bt_node_scalar(l->loops->graph, BT_SCALAR_MUL, nelem,
                                   extent_of(l, array->extents[k]));
        }
        bt_text_init(&name, l->arena);
        bt_text_addf(&name, i < g->ninput ? "a%u" : "s%u",
                     i < g->ninput ? i : i - g->ninput);
        if (!bt_text_get(&name) ||
            !bt_loops_add_buffer(l->loops, role, bt_text_get(&name), array->dtype, nelem,
                                 &l->buffers[i]))
            return 0;
    }
    for (uint32_t k = 0; k < g->nresult; k++) {
        if (!BT_PUSH(l->arena, &l->loops->results, l->buffers[g->results[k]]))
            return 0;
    }
    return 1;
}

static bt_status why(const struct lowerer *l)
{
    if (l->from->status)
        return l->from->status;
    return bt_arena_has_failed(l->from->arena) ? bt_no_memory() : bt_loops_why(l->loops);
}

bt_status bt_loops_lower_with(bt_ctx *ctx, bt_arena *arena, const char *name,
                              bt_graph *from, const bt_lower_options *options,
                              bt_loops **out)
{
    struct lowerer l = { .ctx = ctx, .arena = arena, .from = from, .options = *options };
    l.buffers = BT_NEWS(arena, uint32_t, from->narray);
    l.loops = bt_loops_create(ctx, arena, name);
    if (!l.buffers || !l.loops)
        return bt_no_memory();
    open_scope(&l, &l.outermost, NULL, &l.loops->body);
    if (!add_dims(&l) || !add_buffers(&l))
        return why(&l);
    uint32_t nnest = options->order ? options->norder : from->narray - from->ninput;
    for (uint32_t k = 0; k < nnest; k++) {
        const uint32_t i = options->order ? options->order[k] : from->ninput + k;
        struct scope root;
        const bt_node *body = from->arrays[i]->body;
        uint8_t *seen = BT_NEWS(arena, uint8_t, from->nnode);
        open_scope(&l, &root, NULL, &l.loops->body);
        bt_map_init(&l.scattered, arena, 0);
        if (!seen || !scatter_all(&l, &root, i, body, 0, seen) ||
            !find_shared(&l, 1, &body) || !lower_axis(&l, &root, i, 0) || from->status)
            return why(&l);
    }
    *out = l.loops;
    return NULL;
}

bt_status bt_loops_lower(bt_ctx *ctx, bt_arena *arena, const char *name, bt_graph *from,
                         bt_loops **out)
{
    return bt_loops_lower_with(ctx, arena, name, from,
                               &(bt_lower_options){ .is_narrow = NULL }, out);
}
