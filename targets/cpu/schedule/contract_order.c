/*
 * Sums in another order of axes. The weights' adjoint of a convolution ends in taps, which are few columns:
 *
 *     w[o, c, i, j] = sum(n, p, q: d[n, o, p, q] * x[n, c, p + i, q + j])
 *  -> s[i, j, c, o] = ...;  w[o, c, i, j] = s[i, j, c, o]
 *
 * Turned, a tile would have no more rows than there are taps in a row, and wait for panels that it passes
 * for each channel anew. With channels innermost tiles are full, and one copy turns the sums round.
 */
#include "contract_layout.h"

#include "vectorise.h"

/* What tiles of few rows wait for: panels from the second cache, once for each of the loops around. */
static double ns_of_passing(const struct cpu_tiling *p)
{
    enum { NBYTES_PER_NS = 80 };
    double n = (double)cpu_iterations(p->nelem) * (BT_DTYPE_BITS(p->b->dtype) / 8) *
               (double)bt_ceildiv_int64(cpu_iterations(p->nrow), p->tile->mr);
    for (uint32_t d = 0; d < p->view.ndim; d++)
        n *= cpu_is_around(p, d) && cpu_is_in(p->a, d)
                 ? (double)cpu_iterations(p->view.dims[d].extent)
                 : 1;
    return n / NBYTES_PER_NS;
}

/* The longest dim of one factor alone that is an axis; -1: there is none. */
static int32_t longest_axis(const struct cpu_tiling *p, const struct cpu_operand *o)
{
    int32_t longest = -1;
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_dim *dim = &p->view.dims[d];
        if (!dim->is_k && !dim->carries && cpu_has_own_index(p, d) && cpu_is_in(o, d) &&
            !cpu_is_in(o == p->a ? p->b : p->a, d) &&
            (longest < 0 ||
             bt_node_number(dim->extent) > bt_node_number(p->view.dims[longest].extent)))
            longest = (int32_t)d;
    }
    return longest;
}

/* The sum with axis order[i] of the stage as its axis i. NULL: failure. */
static const bt_node *put_axes(bt_graph *g, const bt_array *stage, const bt_node *sum,
                               const uint32_t *order)
{
    for (uint32_t i = 0; i < stage->rank && sum; i++)
        sum = bt_node_substitute(
            g, sum, order[i],
            bt_node_index(g, CPU_FIRST_INDEX + i, stage->extents[order[i]]));
    for (uint32_t i = 0; i < stage->rank && sum; i++)
        sum = bt_node_substitute(g, sum, CPU_FIRST_INDEX + i,
                                 bt_node_index(g, i, stage->extents[order[i]]));
    return sum;
}

bt_status cpu_order_sums(bt_graph *g, const bt_array *stage,
                         const struct cpu_config *config, const struct cpu_tiling *p,
                         uint32_t *order, bt_array *out)
{
    const struct cpu_tiling *turned;
    const bt_array whole = *stage;
    const int32_t n = p->m < 0 ? -1 : longest_axis(p, p->a), m = longest_axis(p, p->b);
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, whole.rank);
    double elements = 1;
    struct cpu_tiling *full = BT_NEW(g->arena, struct cpu_tiling);
    out->body = NULL;
    if (!extents || !full)
        return bt_no_memory();
    if (n < 0 || m < 0 || m == (int32_t)p->n || cpu_is_constant(g, config, p->a) ||
        cpu_is_constant(g, config, p->b))
        return NULL;
    bt_array sums = whole;
    sums.dtype = p->view.dtype;
    sums.body = bt_node_cast(g, sums.dtype, p->view.reduce);
    turned = sums.body ? cpu_contract_turn(g, &sums, config, p) : NULL;
    if (!turned)
        return g->status;
    for (uint32_t i = 0, at = 0; i < whole.rank; i++) {
        elements *= (double)cpu_iterations(whole.extents[i]);
        if (i != p->view.dims[n].index && i != p->view.dims[m].index)
            order[at++] = i;
    }
    order[whole.rank - 2] = p->view.dims[m].index;
    order[whole.rank - 1] = p->view.dims[n].index;
    for (uint32_t i = 0; i < whole.rank; i++)
        extents[i] = whole.extents[order[i]];
    sums.extents = extents;
    sums.body = put_axes(g, &whole, p->view.reduce, order);
    sums.body = sums.body ? bt_node_cast(g, sums.dtype, sums.body) : NULL;
    if (!sums.body)
        return g->status ? g->status : bt_no_memory();
    BT_TRY(cpu_contract_tiling(g, &sums, config, full));
    if (!full->tile || full->b_kind != CPU_B_PANELS ||
        cpu_number(full->nrow) < 2 * cpu_number(turned->nrow))
        return NULL;
    const double passing = ns_of_passing(turned) - elements,
                 panels = cpu_ns_of_panels(full) - cpu_ns_of_panels(turned);
    if (cpu_ns_of_tiles(full) + panels < passing &&
        ns_of_passing(full) + panels < passing)
        *out = sums;
    return NULL;
}
