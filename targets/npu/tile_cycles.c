/* How long a layer takes by a tile: an estimate from sizes alone, for which no instruction is made. */
#include "cycles.h"
#include "tile.h"

struct cost {
    uint64_t compute, bus, first, last; /* first, last: what nothing overlaps */
};

static void add_products(const struct npu_config *c, const struct npu_shape *s,
                         const struct npu_tile *t, uint64_t noutput, struct cost *cost)
{
    const struct npu_window *r = &s->rows, *k = &s->columns;
    const uint64_t taps = (uint64_t)r->taps * (uint64_t)k->taps;
    const uint64_t nproduct = s->nin * taps; // of a sum
    const uint64_t ngroup = (uint64_t)r->out * (uint64_t)k->out /
                            ((uint64_t)t->group_rows * t->group_columns);
    const int is_product = s->layer->kind == NPU_PRODUCTS;
    const uint64_t planes = (uint64_t)s->images * s->groups;
    for (uint32_t o = 0; o < 2; o++) {
        const uint64_t nout = o ? s->nout % t->nout : t->nout;
        const uint64_t n = o ? nout > 0 : s->nout / t->nout;
        const uint64_t group = nout * t->group_rows * t->group_columns;
        cost->compute +=
            planes * n * ngroup *
            ((nproduct - t->nchunk) * npu_most(group, c->distance) + t->nchunk * group);
    }
    cost->compute += noutput * t->nchunk * (is_product ? c->gemm_fill : c->alu_fill);
    // x: of each place once, or for each block of outputs
    const uint64_t ntile = (uint64_t)t->nrow * t->ncolumn;
    const uint64_t rows = npu_least(t->area_rows, (uint64_t)r->in);
    const uint64_t columns = npu_least(t->pitch, (uint64_t)k->in);
    const uint64_t nblock = is_product ? t->nin : t->nout;
    const uint64_t load_x = nblock * npu_transfer_cycles(c, rows, columns * s->x.tile);
    const int once =
        is_product && (t->keeps_weights ? ntile * s->images * t->nchunk <= t->nslot
                                        : t->nchunk <= t->nslot);
    cost->bus += planes * ntile * t->nchunk * (once ? 1 : t->nblock) * load_x;
    cost->first = load_x;
    if (!is_product)
        return;
    const uint64_t weights = (uint64_t)t->nin * t->taps * (uint64_t)k->taps;
    const uint64_t load_w =
        npu_transfer_cycles(c, t->nchunk > 1 ? t->nout : 1,
                            weights * s->weight_nbytes * (t->nchunk > 1 ? 1 : t->nout));
    const int once_w =
        t->keeps_weights ? t->nchunk <= t->nslot : t->nchunk * t->nblock <= t->nslot;
    cost->bus += s->groups * (uint64_t)t->nblock * t->nchunk *
                 (once_w ? 1 : ntile * s->images) * load_w;
    cost->first += load_w;
}

static void add_results(const struct npu_config *c, const struct npu_shape *s,
                        const struct npu_tile *t, uint64_t noutput, struct cost *cost)
{
    const struct npu_layer *l = s->layer;
    const uint64_t nresult = (uint64_t)s->images * s->groups * s->nout *
                             (uint64_t)s->rows.out * (uint64_t)s->columns.out;
    const int is_whole = t->columns == s->columns.out;
    const uint64_t nrow = is_whole ? 1 : t->rows;
    const uint64_t ncolumn = is_whole ? t->nplace : t->columns;
    uint64_t npass = s->nrequantize, noperand = 0;
    for (uint32_t i = 0; i < l->npost_op; i++)
        noperand += l->post_ops[i].has_operand;
    npass += noperand;
    cost->compute += npass * (nresult + noutput * c->alu_fill);
    cost->last = t->nout * npu_transfer_cycles(c, nrow, ncolumn * s->y.tile);
    cost->bus += noutput * (cost->last +
                            noperand * t->nout *
                                npu_transfer_cycles(c, nrow, ncolumn * s->operand.tile));
    const uint64_t nparam =
        t->keeps_weights || t->nblock <= t->nslot ? t->nblock : noutput;
    if (s->nrequantize)
        cost->bus +=
            nparam * npu_transfer_cycles(c, 1,
                                         (uint64_t)t->nout * s->nrequantize * s->nparam *
                                             npu_tile_nbytes(c, NPU_ACC));
    if (l->kind == NPU_ELEMENT) {
        cost->bus += noutput * cost->last;
        cost->first = cost->last;
    }
}

uint64_t npu_tile_cycles(const struct npu_config *c, const struct npu_shape *s,
                         const struct npu_tile *t)
{
    struct cost cost = { 0 };
    const uint64_t noutput =
        (uint64_t)s->images * s->groups * t->nrow * t->ncolumn * t->nblock;
    if (npu_shape_has_window(s))
        add_products(c, s, t, noutput, &cost);
    add_results(c, s, t, noutput, &cost);
    const uint64_t nuop = (uint64_t)t->nslot * t->nin * t->taps *
                          (uint64_t)s->columns.taps * t->nout * t->group_rows *
                          t->group_columns;
    cost.first += npu_transfer_cycles(c, 1, nuop * 8);
    if (t->nslot == 1)
        return cost.compute + cost.bus;
    return npu_most(cost.compute, cost.bus) + cost.first + cost.last;
}
