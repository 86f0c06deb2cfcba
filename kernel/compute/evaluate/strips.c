/* Choice of strips: rough costs in ns, of one point of an expression, for each index that
 * could be the strip. */
#include "compute/evaluate/strips.h"

#include "compute/evaluate/bytecode.h"

/* An instruction's dispatch, a loop's turn, an element of an instruction. */
static const double DISPATCH = 6, TURN = 15, ELEMENT = 0.5;

static double lanes(int64_t extent)
{
    return extent < BT__STRIP ? (extent < 1 ? 1 : (double)extent) : BT__STRIP;
}

/* Elements of array memory between neighbours along the index; 0: the same element. */
static int64_t stride_along(const struct bt__strips *s, const bt_node *read, int index,
                            int *is_linear)
{
    uint64_t sum = 0;
    *is_linear = 1;
    for (uint32_t a = 0; a < read->narg; a++) {
        bt_linear l;
        bt_node_as_linear(read->args[a], &l);
        uint64_t coef = (uint64_t)bt_linear_coef(&l, (uint32_t)index);
        sum += coef * (uint64_t)s->strides[read->which][a];
        for (uint32_t i = 0; i < l.n; i++) {
            if (l.atoms[i]->kind != BT_NODE_INDEX &&
                (l.atoms[i]->free & bt_index_bit((uint32_t)index)))
                *is_linear = 0;
        }
    }
    return (int64_t)sum;
}

static double read_cost(const struct bt__strips *s, const bt_node *read, int index,
                        double nlane)
{
    int is_linear;
    if (index < 0 || !(read->free & bt_index_bit((uint32_t)index)))
        return DISPATCH / nlane;
    int64_t stride = stride_along(s, read, index, &is_linear);
    double nbytes = (double)stride * bt_dtype_nbits(read->dtype) / 8;
    double element = !is_linear                    ? 3
                     : stride == 1                 ? 0.4
                     : nbytes > 63 || nbytes < -63 ? 2
                                                   : 0.7;
    return DISPATCH / nlane + element;
}

/* Costs for one choice of the strip, by node id; 0: not known yet. */
struct known {
    double *costs;
    uint32_t n;
};

static double cost(const struct bt__strips *, const bt_node *, int index, double nlane);

/* Of one point of what the reduction is in. */
static double reduce_cost(const struct bt__strips *s, const bt_node *node, int index,
                          double nlane, double share, uint32_t *best)
{
    double points = 1, least = 0;
    for (uint32_t i = 0; i < node->nindex; i++)
        points *= (double)bt_node_number(node->args[2 + i]);
    if (index >= 0 && (node->free & bt_index_bit((uint32_t)index)))
        return points * (cost(s, node->args[1], index, nlane) + TURN / nlane);
    for (uint32_t i = 0; i < node->nindex; i++) {
        double own = lanes(bt_node_number(node->args[2 + i]));
        double c =
            points * (cost(s, node->args[1], (int)(node->first + i), own) + TURN / own);
        if (i == 0 || c <= least) {
            least = c;
            *best = node->first + i;
        }
    }
    return (least + 2 * TURN) / share;
}

static double cost_in(const struct bt__strips *s, const bt_node *node, int index,
                      double nlane, const struct known *known)
{
    uint32_t best;
    double sum = 0;
    if (node->id < known->n && known->costs[node->id] > 0)
        return known->costs[node->id];
    if (node->kind == BT_NODE_CONST || node->kind == BT_NODE_INDEX)
        return 0;
    if (node->kind == BT_NODE_REDUCE)
        return reduce_cost(s, node, index, nlane, nlane, &best);
    if (node->kind == BT_NODE_READ)
        return read_cost(s, node, index, nlane);
    if (!node->reads)
        return ELEMENT + DISPATCH / nlane;
    int varies = index >= 0 && (node->free & bt_index_bit((uint32_t)index));
    sum = DISPATCH / nlane + (varies ? ELEMENT : 0);
    for (uint32_t i = 0; i < node->narg; i++)
        sum += cost_in(s, node->args[i], index, nlane, known);
    if (node->id < known->n)
        known->costs[node->id] = sum;
    return sum;
}

/* Nodes are shared: each is looked at once. */
static double cost(const struct bt__strips *s, const bt_node *node, int index,
                   double nlane)
{
    bt_arena *scratch = bt_ctx_scratch(s->graph->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct known known = { .costs = BT_NEWS(scratch, double, s->graph->nnode) };
    known.n = known.costs ? s->graph->nnode : 0; // without memory it takes longer
    double sum = cost_in(s, node, index, nlane, &known);
    bt_arena_release(scratch, mark);
    return sum;
}

int bt__strip_of_stage(const struct bt__strips *s, const bt_array *array)
{
    int64_t extent = 1;
    int64_t stride = 1;
    int best = -1;
    // without a strip of the stage's, all else goes one by one
    double least = cost(s, array->body, -1, 1) + TURN;
    for (uint32_t i = array->rank; i-- > 0;) {
        (void)bt_node_is_const(array->extents[i], &extent);
        if (extent < 2)
            continue;
        double n = lanes(extent);
        double c = cost(s, array->body, (int)i, n) + TURN / n + (stride == 1 ? 0.4 : 1);
        if (c < least) {
            least = c;
            best = (int)i;
        }
        stride *= extent;
    }
    return best;
}

uint32_t bt__strip_of_reduction(const struct bt__strips *s, const bt_node *reduce)
{
    uint32_t best = reduce->first + reduce->nindex - 1;
    (void)reduce_cost(s, reduce, -1, 1, 1, &best);
    return best;
}

uint32_t bt__strip_of_nest(const struct bt__strips *s, const bt_node *body, uint32_t n,
                           const uint32_t *indices, const int64_t *extents)
{
    double least = 0;
    uint32_t best = 0;
    for (uint32_t i = 0; i < n; i++) {
        double own = lanes(extents[i]);
        double c = cost(s, body, (int)indices[i], own) + TURN / own;
        if (i == 0 || c <= least) {
            least = c;
            best = i;
        }
    }
    return best;
}
