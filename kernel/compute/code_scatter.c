/*
 * Reductions that elements address run as scatters, running ones as scans.
 *
 *     y[j] = sum(k | idx[k] == j: x[k])
 *  -> for all k: if 0 <= idx[k] < J: buffer[idx[k]] += x[k]
 *
 * The stage's axis j gets its value from the equality, everything else of the condition
 * is a mask, and the stage then reads the buffer. Where the reduction stands in a larger
 * expression, or behind a guard, the same holds: it is computed for all elements first.
 *
 *     y[j] = sum(k | k <= j: x[k])
 *  -> for all k: buffer[k] += x[k]; then for all j: buffer[j] += buffer[j - 1]
 *
 * Where the axis stands in one inequality and nowhere else, an element goes to the first
 * place that takes it, and each place takes what the one before it has. So the time is
 * that of the elements and places, not of their product.
 */
#include "compute/code.h"

struct bt__scattered {
    const bt__node *node;
    uint32_t naxis, axes[BT_MAX_RANK]; /* of the stage, that the result depends on */
    int64_t strides[BT_MAX_RANK];      /* in the buffer */
    uint32_t buffer;
    bt_dtype dtype; /* of the cells: float64 or int64 */
    /* while it is computed: */
    const bt__node *condition, *body;
    const bt__node *place[BT_MAX_RANK]; /* of each axis */
    int scan;                           /* the axis (of `axes`) to run along; -1: none */
    int is_descending;                  /* from its end */
};

/* ---- which reductions ---- */

/* The axis that an equality of elements gives, and its value; -1: none. */
static int addressed_axis(struct bt__coder *c, const struct bt__scattered *s,
                          const bt__node *conjunct, const bt__node **value)
{
    struct bt__linear l;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->which != BT__SCALAR_EQ ||
        conjunct->args[0]->dtype != BT_INT64 || !conjunct->reads)
        return -1;
    bt__node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        uint64_t bit = bt__index_bit(s->axes[k]);
        int64_t coef = bt__linear_coef(&l, s->axes[k]);
        uint32_t uses = 0;
        for (uint32_t i = 0; i < l.n; i++)
            uses += (l.atoms[i]->free & bit) != 0;
        if ((coef != 1 && coef != -1) || uses != 1 || s->place[k]->kind != BT__NODE_INDEX)
            continue;
        // l = coef * axis + e, so the axis is -coef * (l - coef * axis)
        *value = bt__node_linear(c->graph, 0, 2,
                                 (const bt__node *[]){ conjunct->args[1], s->place[k] },
                                 (int64_t[]){ -coef, 1 });
        return *value ? (int)k : -1;
    }
    return -1;
}

static const bt__node *in_range(struct bt__coder *c, const bt__node *value,
                                int64_t extent)
{
    bt__graph *g = c->graph;
    return bt__node_and(
        g, bt__node_scalar(g, BT__SCALAR_LE, bt__node_int(g, 0), value),
        bt__node_scalar(g, BT__SCALAR_LT, value, bt__node_int(g, extent)));
}

/* Solves one equality of elements. 1: done, 0: there is none, -1: failure. */
static int solve_one(struct bt__coder *c, struct bt__scattered *s)
{
    bt__graph *g = c->graph;
    bt__nodes conjuncts = { 0 };
    const bt__node *value = NULL;
    if (!bt__node_conjuncts(c->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = addressed_axis(c, s, conjuncts.at[i], &value);
        if (k < 0)
            continue;
        uint32_t axis = s->axes[k];
        const bt__node *guard = in_range(c, value, c->code->dims[axis]);
        s->condition = guard;
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            const bt__node *rest = bt__node_substitute(g, conjuncts.at[j], axis, value);
            // what reads by the axis may do so only where it has a value
            if (conjuncts.at[j]->reads && (conjuncts.at[j]->free & bt__index_bit(axis)))
                rest = bt__node_select(g, guard, rest, bt__node_bool(g, 0));
            if (j != i)
                s->condition = bt__node_and(g, s->condition, rest);
        }
        s->body = bt__node_substitute(g, s->body, axis, value);
        for (uint32_t j = 0; j < s->naxis && s->body; j++) {
            s->place[j] =
                (int)j == k ? value : bt__node_substitute(g, s->place[j], axis, value);
            if (!s->place[j])
                return -1;
        }
        return s->condition && s->body ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- running reductions ---- */

/* `0 <= axis - v`, or `0 <= v - axis`: the axis, and v; -1: something else. */
static int running_axis(struct bt__coder *c, const struct bt__scattered *s,
                        const bt__node *conjunct, int *is_descending,
                        const bt__node **bound)
{
    struct bt__linear l;
    int64_t zero;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->which != BT__SCALAR_LE ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt__node_is_const(conjunct->args[0], &zero) || zero != 0)
        return -1;
    bt__node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        uint64_t bit = bt__index_bit(s->axes[k]);
        int64_t coef = bt__linear_coef(&l, s->axes[k]);
        uint32_t uses = 0;
        for (uint32_t i = 0; i < l.n; i++)
            uses += (l.atoms[i]->free & bit) != 0;
        if ((coef != 1 && coef != -1) || uses != 1)
            continue;
        *bound = bt__node_linear(c->graph, 0, 2,
                                 (const bt__node *[]){ conjunct->args[1], s->place[k] },
                                 (int64_t[]){ -coef, 1 });
        *is_descending = coef < 0;
        // a bound by axes alone cuts the sum, but does not run
        uint64_t axes = UINT64_MAX >> (BT__MAX_INDEX - c->code->rank);
        return *bound && ((*bound)->free & ~axes) ? (int)k : -1;
    }
    return -1;
}

/* Whether the axis stands in this conjunct alone. */
static int runs_along(const struct bt__scattered *s, const bt__nodes *conjuncts,
                      uint32_t which, uint32_t axis)
{
    uint64_t bit = bt__index_bit(axis);
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (i != which && (conjuncts->at[i]->free & bit))
            return 0;
    }
    return !(s->body->free & bit);
}

/* 1: the reduction is a scan. 0: it is none, -1: failure. */
static int solve_scan(struct bt__coder *c, struct bt__scattered *s)
{
    bt__graph *g = c->graph;
    bt__nodes conjuncts = { 0 };
    const bt__node *bound = NULL;
    // what has a position as well cannot take what another one took
    if (bt__reducer_get(s->node->which)->nstate != 1)
        return 0;
    if (!bt__node_conjuncts(c->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = running_axis(c, s, conjuncts.at[i], &s->is_descending, &bound);
        if (k < 0 || !runs_along(s, &conjuncts, i, s->axes[k]))
            continue;
        // the first place: beyond the start it is the start, beyond the end there is none
        const bt__node *zero = bt__node_int(g, 0);
        const bt__node *last = bt__node_int(g, c->code->dims[s->axes[k]] - 1);
        s->scan = k;
        s->place[k] =
            bt__node_scalar(g, s->is_descending ? BT__SCALAR_MIN : BT__SCALAR_MAX, bound,
                            s->is_descending ? last : zero);
        s->condition = bt__node_scalar(g, BT__SCALAR_LE, s->is_descending ? zero : bound,
                                       s->is_descending ? bound : last);
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            if (j != i)
                s->condition = bt__node_and(g, s->condition, conjuncts.at[j]);
        }
        return s->condition && s->place[k] ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- code ---- */

/* The axes that the reduction depends on, as a buffer. */
static bt_status lay_out(struct bt__coder *c, const bt__node *node,
                         struct bt__scattered *s, int64_t *nelem)
{
    *nelem = 1;
    for (uint32_t i = c->code->rank; i-- > 0;) {
        if (!(node->free & bt__index_bit(i)))
            continue;
        s->axes[s->naxis] = i;
        s->strides[s->naxis] = *nelem;
        s->place[s->naxis] = bt__node_index(c->graph, i, c->code->dims[i]);
        if (!s->place[s->naxis++])
            return bt__code_why(c);
        *nelem *= c->code->dims[i];
    }
    return NULL;
}

/* Loops over the axes that no equality gives, and the reduction's own indices. */
static void order_loops(const struct bt__coder *c, const struct bt__scattered *s,
                        struct bt__nest *nest)
{
    const bt__node *node = s->node;
    for (uint32_t k = s->naxis; k-- > 0;) {
        if (s->place[k]->kind != BT__NODE_INDEX || s->place[k]->which != s->axes[k])
            continue;
        nest->extents[nest->n] = c->code->dims[s->axes[k]];
        nest->indices[nest->n++] = s->axes[k];
    }
    for (uint32_t i = 0; i < node->nindex; i++) {
        nest->extents[nest->n] = node->coefs[i];
        nest->indices[nest->n++] = node->first + i;
    }
    uint32_t best =
        bt__strip_of_nest(&c->strips, s->body, nest->n, nest->indices, nest->extents);
    uint32_t index = nest->indices[best];
    int64_t extent = nest->extents[best];
    for (uint32_t i = best; i + 1 < nest->n; i++) {
        nest->indices[i] = nest->indices[i + 1];
        nest->extents[i] = nest->extents[i + 1];
    }
    nest->indices[nest->n - 1] = index;
    nest->extents[nest->n - 1] = extent;
    nest->strip = (int)index;
}

static bt_status emit_scatter(struct bt__coder *c, struct bt__block *b,
                              const struct bt__scattered *s, bt__instr in)
{
    struct bt__linear l;
    const bt__node *to = bt__node_linear(c->graph, 0, s->naxis, s->place, s->strides);
    const bt__node *position =
        bt__node_index(c->graph, s->node->first, s->node->coefs[0]);
    if (!to || !position)
        return bt__code_why(c);
    bt__node_as_linear(position, &l);
    BT_TRY(bt__emit(c, b, s->body, &in.a));
    BT_TRY(bt__emit(c, b, to, &in.b));
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    return bt__block_push(c, b, in);
}

static bt_status code_scatter(struct bt__coder *c, struct bt__block *root,
                              struct bt__scattered *s, int64_t nelem, uint32_t nstate)
{
    struct bt__nest nest = { .strip = -1 };
    struct bt__masked masked;
    bt__nodes masks = { 0 };
    uint32_t first = c->graph->narray + s->buffer;
    bt__instr in = { .run = bt__run_scatter,
                     .array = first,
                     .array2 = first + (nstate > 1),
                     .factor = 1,
                     .take = bt__reducer_take(s->node->which, s->node->args[1]->dtype) };
    order_loops(c, s, &nest);
    BT_TRY(bt__nest_open(c, root, &nest));
    BT_TRY(bt__nest_limit(c, &nest, s->condition, &masks));
    BT_TRY(bt__masked_open(c, nest.innermost, &masks, &masked));
    in.c = masked.mask;
    BT_TRY(emit_scatter(c, &masked.block, s, in));
    BT_TRY(bt__masked_close(c, &masked));
    BT_TRY(bt__nest_close(c, &nest));
    if (s->scan >= 0)
        BT_TRY(bt__block_push(c, root,
                              (bt__instr){ .run = bt__run_scan,
                                           .array = in.array,
                                           .factor = nelem,
                                           .lane = s->strides[s->scan],
                                           .lane2 = c->code->dims[s->axes[s->scan]],
                                           .cursor = (uint32_t)s->is_descending,
                                           .take = in.take }));
    return bt__block_push(c, root,
                          (bt__instr){ .run = bt__run_scatter_end,
                                       .array = in.array,
                                       .array2 = in.array2,
                                       .factor = nelem,
                                       .reducer = s->node->which,
                                       .from = s->node->args[1]->dtype });
}

/* Computes the reduction into a buffer if an equality of elements addresses it, or it runs
 * along an axis. */
static bt_status try_scatter(struct bt__coder *c, struct bt__block *root,
                             const bt__node *node)
{
    struct bt__scattered *s = BT_NEW(c->arena, struct bt__scattered);
    uint32_t nstate = bt__reducer_get(node->which)->nstate;
    int64_t nelem;
    int solved = 0, step;
    if (!s)
        return bt_no_memory();
    s->node = node;
    s->scan = -1;
    s->condition = node->args[0];
    s->body = node->args[1];
    s->dtype = bt__dtype_is_float(node->dtype) ? BT_FLOAT64 : BT_INT64;
    BT_TRY(lay_out(c, node, s, &nelem));
    while ((step = solve_one(c, s)) > 0)
        solved = 1;
    if (step >= 0 && !solved)
        solved = step = solve_scan(c, s);
    if (step < 0)
        return bt__code_why(c);
    if (!solved)
        return NULL;
    s->buffer = c->code->buffers.len;
    for (uint32_t i = 0; i < nstate; i++) {
        struct bt__buffer buffer = { nelem, bt__reducer_start(node->which,
                                                              node->args[1]->dtype, i) };
        if (!BT_PUSH(c->arena, &c->code->buffers, buffer))
            return bt_no_memory();
    }
    if (!bt_map_put(&c->scattered, node, s))
        return bt_no_memory();
    return code_scatter(c, root, s, nelem, nstate);
}

/* Reductions over the stage's axes alone, wherever they stand; those behind a guard only
 * where they read nothing that relies on it. */
static bt_status visit(struct bt__coder *c, struct bt__block *root, const bt__node *node,
                       uint32_t rank, int is_guarded)
{
    uint64_t axes = rank ? UINT64_MAX >> (BT__MAX_INDEX - rank) : 0;
    if (!node->reads)
        return NULL;
    if (node->kind == BT__NODE_REDUCE && !(node->free & ~axes) &&
        !bt_map_find(&c->scattered, node) &&
        (!is_guarded || bt__facts_cover(c->graph, NULL, node)))
        BT_TRY(try_scatter(c, root, node));
    if (bt_map_find(&c->scattered, node))
        return NULL;
    is_guarded |= node->kind == BT__NODE_SELECT || node->kind == BT__NODE_REDUCE;
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(visit(c, root, node->args[i], rank, is_guarded));
    return NULL;
}

bt_status bt__scatter_all(struct bt__coder *c, struct bt__block *root,
                          const struct bt__array *array)
{
    return visit(c, root, array->body, array->rank, 0);
}

bt_status bt__emit_scattered(struct bt__coder *c, struct bt__block *b,
                             const bt__node *node, struct bt__reg *out, int *done)
{
    const struct bt__scattered *s = bt_map_find(&c->scattered, node);
    const bt__node *indices[BT_MAX_RANK], *address;
    struct bt__linear l;
    *done = s != NULL;
    if (!s)
        return NULL;
    bt__instr in = { .run = bt__run_load(s->dtype),
                     .array = c->graph->narray + s->buffer };
    for (uint32_t k = 0; k < s->naxis; k++)
        indices[k] = bt__node_index(c->graph, s->axes[k], c->code->dims[s->axes[k]]);
    address = bt__node_linear(c->graph, 0, s->naxis, indices, s->strides);
    if (!address)
        return bt__code_why(c);
    bt__node_as_linear(address, &l);
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    BT_TRY(bt__reg_new(c, b, in.lane != 0, &in.out));
    *out = in.out;
    return bt__block_push(c, b, in);
}
