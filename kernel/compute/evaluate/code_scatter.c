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
#include "compute/evaluate/code.h"
#include "compute/graph/scatter.h"

struct bt__scattered {
    struct bt__scatter at;
    uint32_t buffer;
    bt_dtype dtype; /* of the cells: float64 or int64 */
};

/* ---- code ---- */

/* Loops over the axes that no equality gives, and the reduction's own indices. */
static void order_loops(const struct bt__coder *c, const struct bt__scattered *s,
                        struct bt__nest *nest)
{
    const bt_node *node = s->at.node;
    for (uint32_t k = s->at.naxis; k-- > 0;) {
        if (!bt__scatter_is_free(&s->at, k))
            continue;
        nest->extents[nest->n] = c->code->dims[s->at.axes[k]];
        nest->indices[nest->n++] = s->at.axes[k];
    }
    for (uint32_t i = 0; i < node->nindex; i++) {
        nest->extents[nest->n] = bt_node_number(node->args[2 + i]);
        nest->indices[nest->n++] = node->first + i;
    }
    uint32_t best =
        bt__strip_of_nest(&c->strips, s->at.body, nest->n, nest->indices, nest->extents);
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
    bt_linear l;
    const bt_node *to =
        bt_node_linear(c->graph, 0, s->at.naxis, s->at.place, s->at.strides);
    const bt_node *node = s->at.node;
    const bt_node *position =
        bt__row_position(c->graph, node->first, node->nindex, node->args + 2);
    if (!to || !position)
        return bt__code_why(c);
    bt_node_as_linear(position, &l);
    BT_TRY(bt__emit(c, b, s->at.body, &in.a));
    BT_TRY(bt__emit(c, b, to, &in.b));
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    return bt__block_push(c, b, in);
}

static bt_status code_scatter(struct bt__coder *c, struct bt__block *root,
                              struct bt__scattered *s, int64_t nelem, uint32_t nstate)
{
    struct bt__nest nest = { .strip = -1 };
    struct bt__masked masked;
    bt_nodes masks = { 0 };
    uint32_t first = c->graph->narray + s->buffer;
    bt__instr in = { .run = bt__run_scatter,
                     .array = first,
                     .array2 = first + (nstate > 1),
                     .factor = 1,
                     .take = bt__reducer_take(s->at.node->which,
                                              s->at.node->args[1]->dtype) };
    order_loops(c, s, &nest);
    BT_TRY(bt__nest_open(c, root, &nest));
    BT_TRY(bt__nest_limit(c, &nest, s->at.condition, &masks));
    BT_TRY(bt__masked_open(c, nest.innermost, &masks, &masked));
    in.c = masked.mask;
    BT_TRY(emit_scatter(c, &masked.block, s, in));
    BT_TRY(bt__masked_close(c, &masked));
    BT_TRY(bt__nest_close(c, &nest));
    if (s->at.scan >= 0)
        BT_TRY(bt__block_push(c, root,
                              (bt__instr){ .run = bt__run_scan,
                                           .array = in.array,
                                           .factor = nelem,
                                           .lane = s->at.strides[s->at.scan],
                                           .lane2 = c->code->dims[s->at.axes[s->at.scan]],
                                           .cursor = (uint32_t)s->at.is_descending,
                                           .take = in.take }));
    return bt__block_push(c, root,
                          (bt__instr){ .run = bt__run_scatter_end,
                                       .array = in.array,
                                       .array2 = in.array2,
                                       .factor = nelem,
                                       .reducer = s->at.node->which,
                                       .from = s->at.node->args[1]->dtype });
}

/* Computes the reduction into a buffer if an equality of elements addresses it, or it runs
 * along an axis. */
static bt_status try_scatter(struct bt__coder *c, struct bt__block *root,
                             const bt_node *node)
{
    struct bt__scattered *s = BT_NEW(c->arena, struct bt__scattered);
    uint32_t nstate = bt__reducer_get(node->which)->nstate;
    if (!s)
        return bt_no_memory();
    s->at.node = node;
    s->at.rank = c->code->rank;
    for (uint32_t i = 0; i < c->code->rank; i++)
        s->at.extents[i] = bt_node_int(c->graph, c->code->dims[i]);
    s->dtype = bt_dtype_is_float(node->dtype) ? BT_FLOAT64 : BT_INT64;
    int solved = bt__scatter_solve(c->graph, &s->at);
    if (solved < 0)
        return bt__code_why(c);
    if (!solved)
        return NULL;
    int64_t nelem = bt_node_number(s->at.nelem);
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
static bt_status visit(struct bt__coder *c, struct bt__block *root, const bt_node *node,
                       uint32_t rank, int is_guarded, uint8_t *seen)
{
    uint64_t axes = rank ? UINT64_MAX >> (BT_MAX_INDEX - rank) : 0;
    uint8_t bit = is_guarded ? 1 : 2;
    if (!node->reads || (seen[node->id] & bit))
        return NULL;
    seen[node->id] |= bit;
    if (node->kind == BT_NODE_REDUCE && !(node->free & ~axes) &&
        !bt_map_find(&c->scattered, node) &&
        (!is_guarded || bt__facts_cover(c->graph, NULL, node)))
        BT_TRY(try_scatter(c, root, node));
    if (bt_map_find(&c->scattered, node))
        return NULL;
    is_guarded |= node->kind == BT_NODE_SELECT || node->kind == BT_NODE_REDUCE;
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(visit(c, root, node->args[i], rank, is_guarded, seen));
    return NULL;
}

bt_status bt__scatter_all(struct bt__coder *c, struct bt__block *root,
                          const bt_array *array)
{
    uint8_t *seen = BT_NEWS(c->arena, uint8_t, c->graph->nnode);
    return seen ? visit(c, root, array->body, array->rank, 0, seen) : bt_no_memory();
}

bt_status bt__emit_scattered(struct bt__coder *c, struct bt__block *b,
                             const bt_node *node, struct bt__reg *out, int *done)
{
    const struct bt__scattered *s = bt_map_find(&c->scattered, node);
    const bt_node *indices[BT_MAX_RANK], *address;
    bt_linear l;
    *done = s != NULL;
    if (!s)
        return NULL;
    bt__instr in = { .run = bt__run_load(s->dtype),
                     .array = c->graph->narray + s->buffer };
    for (uint32_t k = 0; k < s->at.naxis; k++)
        indices[k] = bt_node_index(c->graph, s->at.axes[k],
                                   bt_node_int(c->graph, c->code->dims[s->at.axes[k]]));
    address = bt_node_linear(c->graph, 0, s->at.naxis, indices, s->at.strides);
    if (!address)
        return bt__code_why(c);
    bt_node_as_linear(address, &l);
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    BT_TRY(bt__reg_new(c, b, in.lane != 0, &in.out));
    *out = in.out;
    return bt__block_push(c, b, in);
}
