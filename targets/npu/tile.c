#include "tile.h"

struct npu_chunk npu_tile_chunk(const struct npu_shape *s, const struct npu_tile *t,
                                uint32_t i)
{
    const uint32_t ntap = npu_ceildiv((uint64_t)s->rows.taps, t->taps);
    const uint32_t in = i / ntap * t->nin, tap = i % ntap * t->taps;
    return (struct npu_chunk){ in, npu_least(t->nin, s->nin - in), tap,
                               npu_least(t->taps, (uint64_t)s->rows.taps - tap) };
}

/* ---- what is read of x ---- */

/* Whether some part of x, of `size` results and `taps`, is padding alone. A LOAD has at least one
 * true row and column: it then takes one more, that nothing reads. */
static int has_only_padding(const struct npu_window *e, uint32_t size, uint32_t taps)
{
    const int64_t last = (e->out - 1) / size * size;
    const int64_t tap = (e->taps - 1) / taps * taps;
    const int64_t first_end =
        -e->before + (int64_t)npu_span(e, npu_least(size, (uint64_t)e->out), taps);
    return first_end <= 0 || last * e->stride - e->before + tap * e->dilation >= e->in;
}

/* ---- groups ---- */

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The least divisor of n that is at least `wanted`; n where none is. */
static uint32_t divisor(uint32_t n, uint32_t wanted)
{
    for (uint32_t d = wanted; d < n; d++) {
        if (n % d == 0)
            return d;
    }
    return n;
}

/* Groups are the same in all tiles, those at the ends too. */
static void choose_group(const struct npu_config *c, const struct npu_shape *s,
                         struct npu_tile *t)
{
    const uint32_t rest_rows = (uint32_t)((uint64_t)s->rows.out % t->rows);
    const uint32_t rest_columns = (uint32_t)((uint64_t)s->columns.out % t->columns);
    const uint32_t rest = s->nout % t->nout;
    const uint32_t nout = rest ? rest : t->nout;
    t->group_columns =
        divisor(gcd(t->columns, rest_columns), npu_ceildiv(c->distance, nout));
    t->group_rows = 1;
    // tiles of narrower rows have another pitch, and rows are not of the group
    if (!rest_columns)
        t->group_rows = divisor(gcd(t->rows, rest_rows),
                                npu_ceildiv(c->distance, nout * t->group_columns));
}

/* ---- memories ---- */

/* Tiles of a LOAD that fills `n` with padding: it has one true tile, the last. */
static uint64_t fill(struct npu_tile *t, uint32_t n)
{
    t->filled[1] = npu_least(n, 255);
    t->filled[0] = npu_ceildiv((uint64_t)n + 1, t->filled[1] + 1) - 1;
    return (uint64_t)(t->filled[0] + 1) * (t->filled[1] + 1);
}

/* ALU's memory: results, what is read of x, operands, parameters. */
static int fit_acc(const struct npu_config *c, const struct npu_shape *s,
                   struct npu_tile *t)
{
    const struct npu_layer *l = s->layer;
    const int is_pool = l->kind == NPU_TOTAL || l->kind == NPU_GREATEST;
    const uint64_t n = (uint64_t)t->nout * t->nplace, ntile = c->ntile[NPU_ACC];
    const uint64_t area = is_pool ? (uint64_t)t->nout * t->area_rows * t->pitch : 0;
    const uint64_t nparam = (uint64_t)t->nout * s->nrequantize * s->nparam;
    uint64_t noperand = 0;
    for (uint32_t i = 0; i < l->npost_op; i++)
        noperand += l->post_ops[i].has_operand;
    if (n > ntile || n > UINT16_MAX || area > ntile || nparam > ntile)
        return 0;
    const uint64_t out = is_pool ? fill(t, (uint32_t)n) : n;
    if (is_pool && t->filled[0] > UINT8_MAX)
        return 0;
    // where LOAD writes results too, it waits for the STORE of the same slot, by way of a compute
    // instruction between: a third slot. Tiles of pools compute for long, and would wait for a STORE
    // that has just begun: a fourth
    t->nout_slot = t->nslot + (t->nslot == 1 || l->kind == NPU_PRODUCTS ? 0
                               : is_pool                                ? 2
                                                                        : 1);
    if (out * t->nout_slot + (area + nparam + noperand * n) * t->nslot > ntile)
        return 0;
    t->out_slot = (uint32_t)out;
    t->x_slot = (uint32_t)area;
    t->params_slot = (uint32_t)nparam;
    t->operand_slot = (uint32_t)n;
    t->x = t->nout_slot * t->out_slot;
    t->params = t->x + t->nslot * t->x_slot;
    t->operands = t->params + t->nslot * t->params_slot;
    return 1;
}

static int fit_products(const struct npu_config *c, const struct npu_shape *s,
                        struct npu_tile *t)
{
    const uint64_t area = (uint64_t)t->area_rows * t->pitch * t->nin;
    const uint64_t columns = (uint64_t)s->columns.taps;
    if (columns > UINT16_MAX)
        return 0;
    const uint64_t weights = (uint64_t)t->nout * t->nin * t->taps * columns;
    if (area * t->nslot > c->ntile[NPU_INP] || weights > UINT16_MAX ||
        weights * t->nslot > c->ntile[NPU_WGT])
        return 0;
    t->inp_slot = (uint32_t)area;
    t->wgt_slot = (uint32_t)weights;
    return 1;
}

int npu_tile_fit(const struct npu_config *c, const struct npu_shape *s,
                 struct npu_tile *t)
{
    const uint64_t area_rows = npu_span(&s->rows, t->rows, t->taps) +
                               (uint64_t)has_only_padding(&s->rows, t->rows, t->taps);
    const uint64_t pitch =
        npu_span(&s->columns, t->columns, (uint64_t)s->columns.taps) +
        (uint64_t)has_only_padding(&s->columns, t->columns, (uint32_t)s->columns.taps);
    if (area_rows > UINT16_MAX || pitch > UINT16_MAX ||
        (uint64_t)t->rows * t->columns > UINT16_MAX)
        return 0;
    t->area_rows = (uint32_t)area_rows;
    t->pitch = (uint32_t)pitch;
    t->nplace = t->rows * t->columns;
    t->nrow = npu_ceildiv((uint64_t)s->rows.out, t->rows);
    t->ncolumn = npu_ceildiv((uint64_t)s->columns.out, t->columns);
    t->nblock = npu_ceildiv(s->nout, t->nout);
    t->nchunk =
        npu_ceildiv(s->nin, t->nin) * npu_ceildiv((uint64_t)s->rows.taps, t->taps);
    choose_group(c, s, t);
    if (!fit_acc(c, s, t))
        return 0;
    return s->layer->kind != NPU_PRODUCTS || fit_products(c, s, t);
}
