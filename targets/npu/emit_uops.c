/* Micro-ops: what they are, where they stand in memory, and when they are loaded. */
#include <string.h>

#include "cycles.h"
#include "emit.h"

void npu_emit_line(struct npu_draft *draft, const struct npu_line *line)
{
    if (draft->lines.len >= NPU_MAX_LINES)
        draft->is_over = draft->is_long = 1;
    else if (!BT_PUSH(draft->arena, &draft->lines, *line))
        draft->failed = 1;
}

/* ---- variants ---- */

static void add(struct npu_draft *draft, uint64_t dst, uint64_t src, uint64_t wgt,
                int begins)
{
    if (dst > UINT16_MAX || src > UINT16_MAX || wgt > UINT16_MAX ||
        draft->uops.len > 2 * UINT16_MAX) {
        draft->is_over = 1;
        return;
    }
    const struct npu_uop u = { (uint16_t)dst, (uint16_t)src, (uint16_t)wgt,
                               begins ? NPU_UOP_BEGINS : 0 };
    if (!BT_PUSH(draft->arena, &draft->uops, u))
        draft->failed = 1;
}

/* One tap of one block of inputs, of the whole group. */
static void add_group(const struct npu_shape *s, const struct npu_tile *t,
                      const struct npu_variant *v, uint32_t in, uint32_t tap,
                      uint32_t column, struct npu_draft *draft)
{
    const int is_product = s->layer->kind == NPU_PRODUCTS;
    const uint64_t area = (uint64_t)t->area_rows * t->pitch;
    const uint64_t ntap = (uint64_t)v->taps * (uint64_t)s->columns.taps;
    const uint64_t product = in * ntap + tap * (uint64_t)s->columns.taps + column;
    for (uint32_t o = 0; o < v->nout; o++) {
        for (uint32_t r = 0; r < t->group_rows; r++) {
            for (uint32_t c = 0; c < t->group_columns && !draft->is_over; c++) {
                const uint64_t row =
                    r * (uint64_t)s->rows.stride + tap * (uint64_t)s->rows.dilation;
                const uint64_t at = row * t->pitch + c * (uint64_t)s->columns.stride +
                                    column * (uint64_t)s->columns.dilation;
                add(draft, v->dst + (uint64_t)o * t->nplace + r * t->columns + c,
                    v->src + (is_product ? in : o) * area + at,
                    is_product ? v->wgt + o * v->nin * ntap + product : 0,
                    v->begins && product == 0);
            }
        }
    }
}

static void add_window(const struct npu_shape *s, const struct npu_tile *t,
                       const struct npu_variant *v, struct npu_draft *draft)
{
    for (uint32_t in = 0; in < v->nin; in++) {
        for (uint32_t tap = 0; tap < v->taps; tap++) {
            for (uint32_t c = 0; c < s->columns.taps && !draft->is_over; c++)
                add_group(s, t, v, in, tap, c, draft);
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
                          struct npu_draft *draft)
{
    for (uint32_t i = 0; i < draft->variants.len; i++) {
        if (is_same(&draft->variants.at[i], wanted))
            return i;
    }
    struct npu_variant v = *wanted;
    v.at = draft->uops.len;
    if (v.has_window)
        add_window(s, t, &v, draft);
    for (uint32_t o = 0; !v.has_window && o < v.nout; o++)
        add(draft, v.dst + (uint64_t)o * t->nplace, v.src + (uint64_t)o * t->nplace,
            v.wgt + (uint64_t)o * s->nrequantize * s->nparam, 0);
    v.n = draft->uops.len - v.at;
    draft->is_over |= v.n > npu_least(c->ntile[NPU_UOP], UINT16_MAX);
    if (!BT_PUSH(draft->arena, &draft->variants, v))
        draft->failed = 1;
    return draft->variants.len ? draft->variants.len - 1 : 0;
}

/* ---- loads ---- */

static void load(const struct npu_config *c, struct npu_draft *draft, uint32_t from,
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
    line.cycles = npu_transfer_cycles(c, 1, (uint64_t)n * 8);
    npu_emit_line(draft, &line);
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
static void load_all(const struct npu_config *c, struct npu_draft *draft)
{
    for (uint32_t i = 0; i < draft->variants.len; i++)
        draft->variants.at[i].place = draft->variants.at[i].at;
    load(c, draft, 0, 0, draft->uops.len);
}

/* Those without window stay, of the others there is one at a time, behind them. */
static void load_short(const struct npu_config *c, struct npu_draft *draft)
{
    uint32_t used = 0, most = 0;
    for (uint32_t i = 0; i < draft->variants.len; i++) {
        struct npu_variant *v = &draft->variants.at[i];
        most = v->has_window && v->n > most ? v->n : most;
        if (v->has_window)
            continue;
        v->place = used;
        used += v->n;
        load(c, draft, v->at, v->place, v->n);
    }
    for (uint32_t i = 0; i < draft->variants.len; i++) {
        if (draft->variants.at[i].has_window)
            draft->variants.at[i].place = used;
    }
    draft->is_over |= (uint64_t)used + most > c->ntile[NPU_UOP];
}

void npu_emit_uop_loads(const struct npu_config *c, struct npu_draft *draft)
{
    const struct npu_line *lines = draft->lines.at;
    const uint32_t n = draft->lines.len;
    const int all_fit = draft->uops.len <= npu_least(c->ntile[NPU_UOP], UINT16_MAX);
    uint32_t current = NPU_NO_VARIANT;
    draft->lines.at = NULL;
    draft->lines.len = draft->lines.cap = 0;
    if (draft->uops.len)
        (all_fit ? load_all : load_short)(c, draft);
    for (uint32_t i = 0; i < n && !draft->failed && !draft->is_over; i++) {
        struct npu_line line = lines[i];
        const struct npu_variant *v =
            line.variant != NPU_NO_VARIANT ? &draft->variants.at[line.variant] : NULL;
        if (v && v->has_window && !all_fit && line.variant != current) {
            load(c, draft, v->at, v->place, v->n);
            current = line.variant;
        }
        if (v)
            use(&line, v);
        npu_emit_line(draft, &line);
    }
}
