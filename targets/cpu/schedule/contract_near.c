/*
 * Sums of integers: what a block of columns reads is packed into panels that stay in the cache while
 * all rows are multiplied with them:
 *
 *     for each block of columns
 *         panels[q][r, s, c][0..15] = x[c, y + r, 16 * q + s ...]    a run for each term
 *         for each block of rows: tiles of w and panels
 *
 * A tile reads its terms from planes otherwise, each from a page of its own, which takes a third
 * longer; and where a window moves by steps it is called for each class of taps.
 */
#include "contract_layout.h"

#include "primitives/pack.h"
#include "vectorise.h"

enum { NEAR_ROWS = 24, NEAR_PANELS_NBYTES = 1024 * 1024 };

/* Columns, with those between rows of them. */
static const bt_node *span_of(bt_graph *g, const struct cpu_tiling *p,
                              const bt_node *columns)
{
    return p->n0 < 0 ? columns
                     : cpu_along(g, p->view.dims[p->n].extent,
                                 bt_node_linear(g, -1, 1, &columns, (int64_t[]){ 1 }),
                                 p->bs[p->n0]);
}

int cpu_has_near_panels(bt_graph *g, const struct cpu_tiling *p,
                        const struct cpu_blocks *b, struct cpu_tiling *near)
{
    *near = *p;
    if (!p->pairs_nelem || p->tile->c != BT_INT32 || p->b_kind == CPU_B_PANELS ||
        p->is_line || p->is_turned || p->limited || b->by_m ||
        cpu_iterations_at_least(p->nrow) < NEAR_ROWS)
        return 0;
    const bt_node *depth = bt_node_int(g, 1), *zero = bt_node_int(g, 0);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (!p->view.dims[d].is_k)
            continue;
        near->bs[d] = cpu_scaled(g, p->as[d], p->tile->nr);
        near->nclass[d] = 1;
        near->classes[d][0] = (struct cpu_class){ p->view.dims[d].extent, zero, p->as[d],
                                                  zero, near->bs[d] };
        depth = cpu_times(g, depth, p->view.dims[d].extent);
    }
    near->b_kind = CPU_B_PANELS;
    near->bs[p->n] = depth; // a panel is as many columns as it is wide
    const bt_node *all = cpu_scaled(g, depth, p->tile->nr);
    near->nelem = cpu_times(
        g, all,
        cpu_ceildiv(g, span_of(g, p, bt_node_int(g, cpu_most_columns(b))), p->tile->nr));
    const int64_t nelem = near->nelem ? bt_node_number(near->nelem) : -1;
    return nelem >= 0 && nelem <= NEAR_PANELS_NBYTES / (int64_t)sizeof(uint32_t);
}

/* The runs of one class of each reduced dim. */
static int emit_class(const struct cpu_emitter *at, const struct cpu_tiling *p,
                      const uint32_t *choice, const bt_node *width, struct cpu_address to,
                      struct cpu_address from)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const bt_node *nr = bt_node_int(g, p->tile->nr), *one = bt_node_int(g, 1);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        const struct cpu_class *k = &p->classes[d][choice[d]];
        if (!p->view.dims[d].is_k)
            continue;
        to.offset = cpu_along_int(g, to.offset, k->a_at, p->tile->nr);
        from.offset = cpu_plus(g, from.offset, k->b_at);
        if (d == p->paired)
            continue;
        const bt_node *index = cpu_emit_loop(&e, k->extent, 0);
        to.offset = cpu_along(g, to.offset, index, cpu_scaled(g, k->a, p->tile->nr));
        from.offset = cpu_along(g, from.offset, index, k->b);
        if (!to.offset || !from.offset)
            return 0;
    }
    const struct cpu_class *k = &p->classes[p->paired][choice[p->paired]];
    const bt_node *integers[CPU_PACK_NINT] = { k->extent, width, nr, nr, k->b, one };
    struct cpu_address addresses[] = { to, from };
    return cpu_emit_call(&e, "pack.4", CPU_PACK_NPOINTER, addresses, CPU_PACK_NINT,
                         integers);
}

int cpu_emit_near_panels(const struct cpu_emitter *at, const struct cpu_tiling *p,
                         const bt_node *columns, uint32_t to, struct cpu_address from)
{
    struct cpu_emitter e = *at;
    bt_graph *g = e.loops->graph;
    const bt_node *span = span_of(g, p, columns);
    const bt_node *panel =
        span ? cpu_emit_loop(&e, cpu_ceildiv(g, span, p->tile->nr), 0) : NULL;
    const bt_node *width = panel ? cpu_along_int(g, span, panel, -p->tile->nr) : NULL;
    const bt_node *size = bt_node_int(g, p->tile->nr);
    uint32_t choice[CPU_DIMS] = { 0 }, d;
    for (d = 0; d < p->view.ndim; d++) {
        if (p->view.dims[d].is_k)
            size = cpu_times(g, size, p->view.dims[d].extent);
    }
    from.offset = cpu_along_int(g, from.offset, panel, p->tile->nr);
    const struct cpu_address first = { to, cpu_times(g, panel, size) };
    width = cpu_least(g, bt_node_int(g, p->tile->nr), width);
    if (!from.offset || !first.offset || !width)
        return 0;
    do {
        if (!emit_class(&e, p, choice, width, first, from))
            return 0;
        for (d = 0; d < p->view.ndim; d++) {
            if (p->view.dims[d].is_k && ++choice[d] < p->nclass[d])
                break;
            choice[d] = 0;
        }
    } while (d < p->view.ndim);
    return 1;
}
