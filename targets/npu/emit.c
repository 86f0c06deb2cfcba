/* Tiles of a layer, one after the other: what is not in a slot yet is loaded, GEMM or ALU sums a
 * chunk, and behind a sum's last chunk its post-ops are done and the result is stored. */
#include "cycles.h"
#include "emit_parts.h"

/* ---- sums ---- */

/* Sums of a window over all places: groups in rows and columns, and of each the micro-ops. A tile
 * returns when its group has passed, or waits. */
static void sum_window(struct npu_emitter *e, const struct npu_place *p,
                       struct npu_variant v, struct npu_instruction in,
                       struct npu_touch touch)
{
    const struct npu_config *c = e->config;
    const struct npu_tile *t = e->tile;
    const uint64_t nrow = p->rows / t->group_rows,
                   ncolumn = p->columns / t->group_columns;
    const uint64_t group = (uint64_t)p->nout * t->group_rows * t->group_columns;
    const uint64_t nproduct =
        (uint64_t)p->sum.nin * p->sum.taps * (uint64_t)e->shape->columns.taps;
    const uint64_t src_outer =
        nrow > 1 ? t->group_rows * (uint64_t)e->shape->rows.stride * t->pitch : 0;
    const uint64_t src_inner =
        ncolumn > 1 ? t->group_columns * (uint64_t)e->shape->columns.stride : 0;
    if (src_outer > UINT16_MAX || src_inner > UINT16_MAX) {
        e->draft->is_over = 1;
        return;
    }
    v.has_window = 1;
    v.nout = p->nout;
    v.nin = p->sum.nin;
    v.taps = p->sum.taps;
    in.outer = (uint16_t)nrow;
    in.inner = (uint16_t)ncolumn;
    in.dst_outer = nrow > 1 ? (uint16_t)(t->group_rows * p->columns) : 0;
    in.dst_inner = ncolumn > 1 ? (uint16_t)t->group_columns : 0;
    in.src_outer = (uint16_t)src_outer;
    in.src_inner = (uint16_t)src_inner;
    touch.tile = e->ntile;
    npu_emit_line(
        e->draft,
        &(struct npu_line){
            .in = in,
            .touch = touch,
            .variant = npu_emit_variant(c, e->shape, t, &v, e->draft),
            .cycles = (in.op == NPU_GEMM ? c->gemm_fill : c->alu_fill) +
                      nrow * ncolumn *
                          ((nproduct - 1) * npu_most(group, c->distance) + group) });
}

static void sum_products(struct npu_emitter *e, const struct npu_place *p, uint32_t out)
{
    const struct npu_tile *t = e->tile;
    int is_new;
    const uint32_t inp = npu_slot_of(
        e, NPU_SLOT_INP, npu_places_key(e, p) * t->nchunk + p->chunk, &is_new);
    if (is_new)
        npu_load_x(e, p, p->sum.in, p->sum.nin, NPU_INP, inp * t->inp_slot,
                   npu_slot_bit(NPU_SLOT_INP, inp));
    const uint64_t o = (uint64_t)p->group * t->nblock + p->o;
    const uint32_t wgt = npu_slot_of(e, NPU_SLOT_WGT, o * t->nchunk + p->chunk, &is_new);
    if (is_new)
        npu_load_weights(e, p, wgt);
    sum_window(e, p,
               (struct npu_variant){ .dst = out * t->out_slot,
                                     .src = inp * t->inp_slot,
                                     .wgt = wgt * t->wgt_slot,
                                     .begins = p->chunk == 0 },
               (struct npu_instruction){ .op = NPU_GEMM },
               (struct npu_touch){ .reads = npu_slot_bit(NPU_SLOT_INP, inp) |
                                            npu_slot_bit(NPU_SLOT_WGT, wgt),
                                   .writes = npu_slot_bit(NPU_SLOT_OUT, out) });
}

static void sum_places(struct npu_emitter *e, const struct npu_place *p, uint32_t out)
{
    const struct npu_tile *t = e->tile;
    const int is_greatest = e->shape->layer->kind == NPU_GREATEST;
    int is_new;
    const uint32_t x =
        npu_slot_of(e, NPU_SLOT_X, npu_results_key(e, p) * t->nchunk + p->chunk, &is_new);
    if (p->chunk == 0)
        npu_load_fill(e, out, is_greatest ? INT8_MIN : 0);
    npu_load_x(e, p, p->o * t->nout, p->nout, NPU_ACC_OF_INT8, t->x + x * t->x_slot,
               npu_slot_bit(NPU_SLOT_X, x));
    sum_window(
        e, p,
        (struct npu_variant){ .dst = out * t->out_slot, .src = t->x + x * t->x_slot },
        (struct npu_instruction){ .op = NPU_ALU, .sub = is_greatest ? NPU_MAX : NPU_ADD },
        (struct npu_touch){ .reads = npu_slot_bit(NPU_SLOT_X, x),
                            .writes = npu_slot_bit(NPU_SLOT_OUT, out) });
}

/* ---- post-ops ---- */

/* An ALU instruction over all results of the tile, of which each block has a micro-op. */
static void each(struct npu_emitter *e, const struct npu_place *p, struct npu_variant v,
                 struct npu_instruction in, struct npu_touch touch)
{
    const uint32_t n = p->rows * p->columns;
    v.nout = p->nout;
    v.nin = v.taps = 1;
    in.op = NPU_ALU;
    in.outer = 1;
    in.inner = (uint16_t)n;
    in.dst_inner = n > 1;
    in.src_inner = n > 1 && in.sub == NPU_ADD;
    touch.tile = e->ntile;
    npu_emit_line(e->draft, &(struct npu_line){
                                .in = in,
                                .touch = touch,
                                .variant = npu_emit_variant(e->config, e->shape, e->tile,
                                                            &v, e->draft),
                                .cycles = e->config->alu_fill + (uint64_t)n * p->nout });
}

static void requantize(struct npu_emitter *e, const struct npu_place *p,
                       const struct npu_requantize *s, uint32_t tile, uint32_t number,
                       uint32_t writes)
{
    const uint32_t slot = npu_load_params(e, p);
    each(e, p,
         (struct npu_variant){ .dst = tile,
                               .wgt = e->tile->params + slot * e->tile->params_slot +
                                      number * e->shape->nparam },
         (struct npu_instruction){ .sub = NPU_REQ,
                                   .flags = s->is_even ? NPU_EVEN : 0,
                                   .low = s->low,
                                   .high = s->high },
         (struct npu_touch){ .reads = npu_slot_bit(NPU_SLOT_PARAMS, slot),
                             .writes = writes });
}

static void emit_post_ops(struct npu_emitter *e, const struct npu_place *p, uint32_t out)
{
    const struct npu_layer *l = e->shape->layer;
    const uint32_t dst = out * e->tile->out_slot;
    uint32_t nrequantize = 0, noperand = 0, tile;
    for (uint32_t i = 0; i < l->npost_op; i++) {
        const struct npu_post_op *s = &l->post_ops[i];
        if (s->has_operand) {
            const uint32_t touched = npu_load_operand(e, p, i, noperand++, &tile);
            if (s->requantizes_operand)
                requantize(e, p, &s->operand_requantize, tile, nrequantize++, touched);
            each(e, p, (struct npu_variant){ .dst = dst, .src = tile },
                 (struct npu_instruction){ .sub = NPU_ADD },
                 (struct npu_touch){ .reads = touched,
                                     .writes = npu_slot_bit(NPU_SLOT_OUT, out) });
        }
        if (s->requantizes)
            requantize(e, p, &s->requantize, dst, nrequantize++,
                       npu_slot_bit(NPU_SLOT_OUT, out));
    }
}

/* With one slot, the next LOAD writes the slot that STORE reads. The two queues have no tokens between
 * them, so that a compute instruction must stand there: a micro-op is loaded once more. */
static void separate(struct npu_emitter *e)
{
    const struct npu_config *c = e->config;
    struct npu_draft *draft = e->draft;
    uint32_t i = draft->lines.len;
    while (i && draft->lines.at[i - 1].variant == NPU_NO_VARIANT)
        i--;
    if (!i)
        return;
    npu_emit_line(draft, &(struct npu_line){ .in = { .op = NPU_LOAD,
                                                     .memory = NPU_UOP,
                                                     .buffer = NPU_BUFFER_UOPS,
                                                     .rows = 1,
                                                     .columns = 1 },
                                             .touch = { .tile = e->ntile },
                                             .variant = draft->lines.at[i - 1].variant,
                                             .cycles = npu_transfer_cycles(c, 1, 8) });
}

/* ---- the layer ---- */

static void emit_tile(struct npu_emitter *e, struct npu_place *p, uint32_t *out)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    int is_new;
    p->sum = npu_tile_chunk(s, t, p->chunk);
    if (p->chunk == 0)
        *out = npu_slot_of(e, NPU_SLOT_OUT, npu_results_key(e, p), &is_new);
    switch (s->layer->kind) {
    case NPU_PRODUCTS: sum_products(e, p, *out); break;
    case NPU_ELEMENT: npu_load_elements(e, p, *out); break;
    default: sum_places(e, p, *out); break;
    }
    if (p->chunk + 1 == t->nchunk) {
        emit_post_ops(e, p, *out);
        npu_store(e, p, *out);
        if (t->nslot == 1 && s->layer->kind != NPU_PRODUCTS)
            separate(e);
    }
    e->ntile++;
}

static void emit_results(struct npu_emitter *e, struct npu_place *p)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    uint32_t out = 0;
    p->rows = npu_least(t->rows, (uint64_t)s->rows.out - (uint64_t)p->row * t->rows);
    p->columns = npu_least(t->columns,
                           (uint64_t)s->columns.out - (uint64_t)p->column * t->columns);
    p->nout = npu_least(t->nout, s->nout - p->o * t->nout);
    for (p->chunk = 0; p->chunk < t->nchunk && !e->draft->is_over; p->chunk++)
        emit_tile(e, p, &out);
}

/* All places of outputs [first, first + n). */
static void emit_places(struct npu_emitter *e, uint32_t group, uint32_t first, uint32_t n)
{
    const struct npu_tile *t = e->tile;
    struct npu_place p = { .group = group };
    for (p.image = 0; p.image < e->shape->images; p.image++) {
        for (p.row = 0; p.row < t->nrow; p.row++) {
            for (p.column = 0; p.column < t->ncolumn; p.column++) {
                for (p.o = first; p.o < first + n && !e->draft->is_over; p.o++)
                    emit_results(e, &p);
            }
        }
    }
}

void npu_emit(const struct npu_config *config, const struct npu_shape *shape,
              const struct npu_tile *tile, struct npu_draft *draft)
{
    struct npu_emitter e = {
        .config = config, .shape = shape, .tile = tile, .draft = draft
    };
    for (uint32_t g = 0; g < shape->groups; g++) {
        for (uint32_t o = 0; tile->keeps_weights && o < tile->nblock; o++)
            emit_places(&e, g, o, 1);
        if (!tile->keeps_weights)
            emit_places(&e, g, 0, tile->nblock);
    }
    npu_emit_line(draft,
                  &(struct npu_line){ .in = { .op = NPU_FINISH },
                                      .touch = { .writes = UINT32_MAX, .tile = e.ntile },
                                      .variant = NPU_NO_VARIANT });
    if (!draft->is_over && !draft->failed)
        npu_emit_uop_loads(config, draft);
}
