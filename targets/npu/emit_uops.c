/* Micro-ops: what they are, where they stand in memory, and when they are loaded. */
#include <string.h>

#include "emit.h"

void npu_emit_line(struct npu_code *code, const struct npu_line *line)
{
    if (code->lines.len >= NPU_MOST_LINES)
        code->is_over = code->is_long = 1;
    else if (!BT_PUSH(code->arena, &code->lines, *line))
        code->failed = 1;
}

/* ---- variants ---- */

static void add(struct npu_code *code, uint64_t dst, uint64_t src, uint64_t wgt,
                int begins)
{
    if (dst > UINT16_MAX || src > UINT16_MAX || wgt > UINT16_MAX ||
        code->uops.len > 2 * UINT16_MAX) {
        code->is_over = 1;
        return;
    }
    const struct npu_uop u = { (uint16_t)dst, (uint16_t)src, (uint16_t)wgt,
                               begins ? NPU_UOP_BEGINS : 0 };
    if (!BT_PUSH(code->arena, &code->uops, u))
        code->failed = 1;
}

/* One tap of one block of inputs, of the whole group. */
static void add_group(const struct npu_shape *s, const struct npu_tile *t,
                      const struct npu_variant *v, uint32_t in, uint32_t tap,
                      uint32_t column, struct npu_code *code)
{
    const int is_product = s->layer->kind == NPU_PRODUCTS;
    const uint64_t area = (uint64_t)t->area_rows * t->pitch;
    const uint64_t ntap = (uint64_t)v->taps * (uint64_t)s->columns.taps;
    const uint64_t product = in * ntap + tap * (uint64_t)s->columns.taps + column;
    for (uint32_t o = 0; o < v->nout; o++) {
        for (uint32_t r = 0; r < t->group_rows; r++) {
            for (uint32_t c = 0; c < t->group_columns && !code->is_over; c++) {
                const uint64_t row =
                    r * (uint64_t)s->rows.stride + tap * (uint64_t)s->rows.dilation;
                const uint64_t at = row * t->pitch + c * (uint64_t)s->columns.stride +
                                    column * (uint64_t)s->columns.dilation;
                add(code, v->dst + (uint64_t)o * t->nplace + r * t->columns + c,
                    v->src + (is_product ? in : o) * area + at,
                    is_product ? v->wgt + o * v->nin * ntap + product : 0,
                    v->begins && product == 0);
            }
        }
    }
}

static void add_window(const struct npu_shape *s, const struct npu_tile *t,
                       const struct npu_variant *v, struct npu_code *code)
{
    for (uint32_t in = 0; in < v->nin; in++) {
        for (uint32_t tap = 0; tap < v->taps; tap++) {
            for (uint32_t c = 0; c < s->columns.taps && !code->is_over; c++)
                add_group(s, t, v, in, tap, c, code);
        }
    }
}

static int is_same(const struct npu_variant *a, const struct npu_variant *b)
{
    return a->has_window == b->has_window && a->dst == b->dst && a->src == b->src &&
           a->wgt == b->wgt && a->nout == b->nout && a->nin == b->nin &&
           a->taps == b->taps && a->begins == b->begins;
}

uint32_t npu_emit_variant(const struct npu_config *c, const struct npu_shape *s,
                          const struct npu_tile *t, const struct npu_variant *wanted,
                          struct npu_code *code)
{
    for (uint32_t i = 0; i < code->variants.len; i++) {
        if (is_same(&code->variants.at[i], wanted))
            return i;
    }
    struct npu_variant v = *wanted;
    v.at = code->uops.len;
    if (v.has_window)
        add_window(s, t, &v, code);
    for (uint32_t o = 0; !v.has_window && o < v.nout; o++)
        add(code, v.dst + (uint64_t)o * t->nplace, v.src + (uint64_t)o * t->nplace,
            v.wgt + (uint64_t)o * s->nscale * s->nparam, 0);
    v.n = code->uops.len - v.at;
    code->is_over |= v.n > npu_least(c->ntile[NPU_UOP], UINT16_MAX);
    if (!BT_PUSH(code->arena, &code->variants, v))
        code->failed = 1;
    return code->variants.len ? code->variants.len - 1 : 0;
}

/* ---- loads ---- */

static void load(const struct npu_config *c, struct npu_code *code, uint32_t from,
                 uint32_t tile, uint32_t n)
{
    struct npu_line line = { .variant = NPU_NO_VARIANT };
    line.in = (struct npu_instruction){ .op = NPU_LOAD,
                                        .memory = NPU_UOP,
                                        .buffer = NPU_BUFFER_UOPS,
                                        .offset = from * 8,
                                        .tile = (uint16_t)tile,
                                        .rows = 1,
                                        .columns = (uint16_t)n };
    line.cycles = c->dma_latency + c->dma_row + npu_ceildiv((uint64_t)n * 8, c->bus);
    npu_emit_line(code, &line);
}

static void use(struct npu_line *line, const struct npu_variant *v)
{
    if (line->in.op == NPU_LOAD) {
        line->in.offset = v->at * 8;
        line->in.tile = (uint16_t)v->place;
    } else {
        line->in.first = (uint16_t)v->place;
        line->in.nuop = (uint16_t)v->n;
    }
}

/* All of them stay. */
static void load_all(const struct npu_config *c, struct npu_code *code)
{
    for (uint32_t i = 0; i < code->variants.len; i++)
        code->variants.at[i].place = code->variants.at[i].at;
    load(c, code, 0, 0, code->uops.len);
}

/* Those without window stay, of the others there is one at a time, behind them. */
static void load_short(const struct npu_config *c, struct npu_code *code)
{
    uint32_t used = 0, most = 0;
    for (uint32_t i = 0; i < code->variants.len; i++) {
        struct npu_variant *v = &code->variants.at[i];
        most = v->has_window && v->n > most ? v->n : most;
        if (v->has_window)
            continue;
        v->place = used;
        used += v->n;
        load(c, code, v->at, v->place, v->n);
    }
    for (uint32_t i = 0; i < code->variants.len; i++) {
        if (code->variants.at[i].has_window)
            code->variants.at[i].place = used;
    }
    code->is_over |= (uint64_t)used + most > c->ntile[NPU_UOP];
}

void npu_emit_uop_loads(const struct npu_config *c, struct npu_code *code)
{
    const struct npu_line *lines = code->lines.at;
    const uint32_t n = code->lines.len;
    const int all_fit = code->uops.len <= npu_least(c->ntile[NPU_UOP], UINT16_MAX);
    uint32_t current = NPU_NO_VARIANT;
    code->lines.at = NULL;
    code->lines.len = code->lines.cap = 0;
    if (code->uops.len)
        (all_fit ? load_all : load_short)(c, code);
    for (uint32_t i = 0; i < n && !code->failed && !code->is_over; i++) {
        struct npu_line line = lines[i];
        const struct npu_variant *v =
            line.variant != NPU_NO_VARIANT ? &code->variants.at[line.variant] : NULL;
        if (v && v->has_window && !all_fit && line.variant != current) {
            load(c, code, v->at, v->place, v->n);
            current = line.variant;
        }
        if (v)
            use(&line, v);
        npu_emit_line(code, &line);
    }
}
