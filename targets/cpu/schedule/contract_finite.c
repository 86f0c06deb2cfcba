/*
 * Sums whose tiles multiply zeros in the place of elements outside, made right where a factor
 * is not finite, as 0 * inf is NaN: a flag says whether all elements of both factors are
 * finite, and where they are not, the sum is computed again as its formula says, in loops
 * that are skipped otherwise.
 *
 *     finite[] = all(i, k: isfinite(x[i, k])) && all(k, j: isfinite(w[k, j]))
 *     exact[i, j] = the stage with its own sum, where finite[] does not hold
 *     y[i, j] = select(finite[], the stage with the sums of tiles, exact[i, j])
 */
#include "contract.h"

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

/* The read of an array at indices that run along its axes; NULL: failure. */
static const bt_node *read_all(bt_graph *g, uint32_t array)
{
    const bt_array a = *g->arrays[array];
    const bt_node **indices = BT_NEWS(g->arena, const bt_node *, a.rank);
    for (uint32_t i = 0; indices && i < a.rank; i++)
        indices[i] = bt_node_index(g, i, a.extents[i]);
    return indices ? bt_node_read(g, array, a.dtype, a.rank, indices) : NULL;
}

static const bt_node *all_finite(bt_graph *g, uint32_t array)
{
    const bt_node *element = read_all(g, array);
    const bt_node *is =
        element ? bt_node_scalar(g, BT_SCALAR_ISFINITE, element, NULL) : NULL;
    return is ? bt_node_reduce(g, BT_REDUCER_ALL, 0, g->arrays[array]->rank,
                               g->arrays[array]->extents, bt_node_bool(g, 1), is)
              : NULL;
}

/* Whether one factor goes backwards along d where the other goes forwards. */
static int are_opposed(const struct cpu_operand *o, uint32_t axis,
                       const struct cpu_operand *other, uint32_t d)
{
    for (uint32_t a = 0; a < other->rank; a++) {
        if (other->coefs[a][d] && (other->coefs[a][d] < 0) != (o->coefs[axis][d] < 0))
            return 1;
    }
    return 0;
}

/* Whether it is read outside along an index that is divided, as the data of a transposed
 * convolution are, or where the other factor runs against it, as data and weights do there.
 * A convolution has zeros around its data: these are multiplied. */
static int is_spread(const struct cpu_contraction *c, const struct cpu_operand *o,
                     const struct cpu_operand *other)
{
    if (!(BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(c->dtype)))
        return 0;
    for (uint32_t a = 0; a < o->rank; a++) {
        for (uint32_t d = 0; d < c->ndim; d++) {
            if (o->guards[a] && o->coefs[a][d] &&
                (c->dims[d].scale > 1 || are_opposed(o, a, other, d)))
                return 1;
        }
    }
    return 0;
}

bt_status cpu_contract_finite(bt_graph *g, const bt_array *stage,
                              const struct cpu_contraction *c, const bt_node *by_tiles,
                              struct cpu_finite *out)
{
    bt_array exact = *stage, flag = { .dtype = BT_BOOL };
    *out = (struct cpu_finite){ .body = by_tiles };
    if (!is_spread(c, &c->operands[0], &c->operands[1]) &&
        !is_spread(c, &c->operands[1], &c->operands[0]))
        return NULL;
    const bt_node *both[] = { all_finite(g, c->operands[0].array),
                              all_finite(g, c->operands[1].array) };
    flag.body = both[0] && both[1] ? bt_node_and(g, both[0], both[1]) : NULL;
    if (!flag.body || !bt_graph_add_array(g, &flag, &out->flag) ||
        !bt_graph_add_array(g, &exact, &out->exact))
        return why(g);
    const bt_node *is = read_all(g, out->flag), *other = read_all(g, out->exact);
    out->body = is && other ? bt_node_select(g, is, by_tiles, other) : NULL;
    out->is_needed = 1;
    return out->body ? NULL : why(g);
}

int cpu_emit_finite(bt_loops *loops, const struct cpu_finite *f, bt_stmt *nest)
{
    bt_graph *g = loops->graph;
    bt_stmts made = { .len = 0 };
    bt_stmt *test = bt_stmt_add(loops, &made, BT_STMT_IF);
    const bt_node *flag = bt_loops_read(loops, f->flag, bt_node_int(g, 0));
    if (!test || !flag)
        return 0;
    test->condition = bt_node_scalar(g, BT_SCALAR_NOT, flag, NULL);
    test->body = nest->body;
    nest->body = made;
    return test->condition != NULL;
}
