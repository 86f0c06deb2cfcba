/* Steps of a layer, one after the other: what is not in a slot yet is loaded, GEMM or ALU sums a
 * chunk, and behind a sum's last chunk its steps are done and the result is stored. */
#include "emit.h"

/* Slots of memories; each slot is a resource. */
enum { INP, WGT, OUT, X, PARAMS, OPERAND, NMEMORY = OPERAND + NPU_MOST_STEPS };

enum { MOST_SLOTS = 3 };
struct slots {
    uint64_t keys[MOST_SLOTS];
    uint32_t used[MOST_SLOTS]; /* when, of a counter; 0: never */
};

struct emitter {
    const struct npu_config *config;
    const struct npu_shape *shape;
    const struct npu_tile *tile;
    struct npu_code *code;
    struct slots slots[NMEMORY];
    uint32_t now, step;
};

/* Where a step computes. */
struct place {
    uint32_t group, image, row, column, o; /* blocks and tiles by number */
    uint32_t rows, columns, nout;          /* extents, less at the ends */
    uint32_t chunk;
    struct npu_chunk sum;
};

/* ---- slots ---- */

static uint32_t bit(uint32_t memory, uint32_t slot)
{
    return (uint32_t)1 << (MOST_SLOTS * memory + slot);
}

/* The slot of what `key` names; the one that is longest unused where it is new. */
static uint32_t slot_of(struct emitter *e, uint32_t memory, uint64_t key, int *is_new)
{
    struct slots *s = &e->slots[memory];
    const uint32_t n = memory == OUT ? e->tile->nout_slot : e->tile->nslot;
    uint32_t slot = 0;
    *is_new = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (s->used[i] < s->used[slot])
            slot = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s->used[i] && s->keys[i] == key) {
            slot = i;
            *is_new = 0;
        }
    }
    s->keys[slot] = key;
    s->used[slot] = ++e->now;
    return slot;
}

/* Of the results at hand. */
static uint64_t places_key(const struct emitter *e, const struct place *p)
{
    const struct npu_tile *t = e->tile;
    return ((uint64_t)(p->group * e->shape->images + p->image) * t->nrow + p->row) *
               t->ncolumn +
           p->column;
}

static uint64_t results_key(const struct emitter *e, const struct place *p)
{
    return places_key(e, p) * e->tile->nblock + p->o;
}

/* ---- transfers ---- */

/* Blocks of rows of tiles, in main memory and one behind the other in scratch. */
struct box {
    uint32_t nblock, nrow, ncolumn;
    uint64_t offset, block, row; /* bytes */
    uint32_t nbytes;             /* of a tile */
    uint32_t block_tiles;        /* in scratch */
    uint32_t top, bottom, left, right;
};

/* Rows without anything between are one. */
static void merge(struct box *b)
{
    const int is_padded = b->top || b->bottom || b->left || b->right;
    if (!is_padded && (b->nrow == 1 || b->row == (uint64_t)b->ncolumn * b->nbytes) &&
        (uint64_t)b->nrow * b->ncolumn <= UINT16_MAX) {
        b->ncolumn *= b->nrow;
        b->nrow = 1;
    }
    if (!is_padded && b->nrow == 1 && b->block_tiles == b->ncolumn &&
        b->block == (uint64_t)b->ncolumn * b->nbytes &&
        (uint64_t)b->nblock * b->ncolumn <= UINT16_MAX) {
        b->ncolumn *= b->nblock;
        b->nblock = 1;
    }
    if (b->nrow == 1 && b->block_tiles == b->left + b->ncolumn + b->right &&
        b->nblock <= UINT16_MAX) {
        b->nrow = b->nblock;
        b->row = b->block;
        b->nblock = 1;
    }
}

static void transfer(struct emitter *e, struct npu_instruction in, struct box b,
                     struct npu_touch touch)
{
    const struct npu_config *c = e->config;
    merge(&b);
    const uint32_t most = b.top > b.bottom ? b.top : b.bottom;
    if (most > UINT8_MAX || b.left > UINT8_MAX || b.right > UINT8_MAX ||
        b.nrow > UINT16_MAX || b.ncolumn > UINT16_MAX) {
        e->code->is_over = 1;
        return;
    }
    in.rows = (uint16_t)b.nrow;
    in.columns = (uint16_t)b.ncolumn;
    in.stride = b.nrow > 1 ? (uint32_t)b.row : 0;
    in.top = (uint8_t)b.top;
    in.bottom = (uint8_t)b.bottom;
    in.left = (uint8_t)b.left;
    in.right = (uint8_t)b.right;
    if (!most && !b.left && !b.right)
        in.pad = 0;
    touch.step = e->step;
    for (uint32_t i = 0; i < b.nblock && !e->code->is_over; i++) {
        struct npu_line line = { .in = in, .touch = touch, .variant = NPU_NO_VARIANT };
        line.in.offset = (uint32_t)(b.offset + i * b.block);
        line.in.tile = (uint16_t)(in.tile + i * b.block_tiles);
        line.cycles =
            c->dma_latency +
            b.nrow * (uint64_t)(c->dma_row +
                                npu_ceildiv((uint64_t)b.ncolumn * b.nbytes, c->bus));
        npu_emit_line(e->code, &line);
    }
}

/* What [from, from + n) of an extent has before it, of it and behind. */
struct cut {
    uint32_t before, at, n, behind;
};

/* Of padding alone: one true place behind it, that nothing reads. */
static struct cut cut(int64_t from, uint32_t n, int64_t extent)
{
    const int64_t begin = from < 0 ? 0 : from;
    const int64_t end = from + n > extent ? extent : from + n;
    if (begin >= end)
        return (struct cut){ n, 0, 1, 0 };
    return (struct cut){ (uint32_t)(begin - from), (uint32_t)begin,
                         (uint32_t)(end - begin), (uint32_t)(from + n - end) };
}

static uint32_t span(const struct npu_extent *x, uint32_t n, uint32_t taps)
{
    return (uint32_t)((n - 1) * x->stride + (taps - 1) * x->dilation + 1);
}

/* Blocks [block, block + n) of x, as far as the step reads them. */
static void load_x(struct emitter *e, const struct place *p, uint32_t block, uint32_t n,
                   uint8_t memory, uint32_t tile, uint32_t writes)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    const struct npu_extent *r = &s->rows, *k = &s->columns;
    const uint32_t ncolumn = span(k, p->columns, (uint32_t)k->taps);
    const struct cut rows =
        cut((int64_t)p->row * t->rows * r->stride - r->before + p->sum.tap * r->dilation,
            span(r, p->rows, p->sum.taps), r->in);
    const struct cut columns =
        cut((int64_t)p->column * t->columns * k->stride - k->before, ncolumn, k->in);
    transfer(e,
             (struct npu_instruction){ .op = NPU_LOAD,
                                       .memory = memory,
                                       .buffer = NPU_BUFFER_X,
                                       .tile = (uint16_t)tile,
                                       .pad = (int8_t)s->layer->pad },
             (struct box){ .nblock = n,
                           .nrow = rows.n,
                           .ncolumn = columns.n,
                           .offset = p->image * s->x.image + p->group * s->x.group +
                                     block * s->x.block + rows.at * s->x.row +
                                     (uint64_t)columns.at * s->x.tile,
                           .block = s->x.block,
                           .row = s->x.row,
                           .nbytes = (uint32_t)s->x.tile,
                           .block_tiles = t->area_rows * t->pitch,
                           .top = rows.before,
                           .bottom = rows.behind,
                           .left = columns.before,
                           .right = t->pitch - columns.before - columns.n },
             (struct npu_touch){ .writes = writes });
}

static void load_weights(struct emitter *e, const struct place *p, uint32_t slot)
{
    const struct npu_shape *s = e->shape;
    const uint64_t columns = (uint64_t)s->columns.taps,
                   taps = (uint64_t)s->rows.taps * columns;
    const uint32_t n = (uint32_t)(p->sum.nin * p->sum.taps * columns);
    const uint64_t o = (uint64_t)p->group * s->nout + p->o * e->tile->nout;
    transfer(
        e,
        (struct npu_instruction){ .op = NPU_LOAD,
                                  .memory = NPU_WGT,
                                  .buffer = NPU_BUFFER_WEIGHTS,
                                  .tile = (uint16_t)(slot * e->tile->wgt_slot),
                                  .bits = (uint8_t)s->layer->weight_bits },
        (struct box){ .nblock = p->nout,
                      .nrow = 1,
                      .ncolumn = n,
                      .offset = ((o * s->nin + p->sum.in) * taps + p->sum.tap * columns) *
                                s->weight_nbytes,
                      .block = s->nin * taps * s->weight_nbytes,
                      .nbytes = s->weight_nbytes,
                      .block_tiles = n },
        (struct npu_touch){ .writes = bit(WGT, slot) });
}

static uint32_t params_of(struct emitter *e, const struct place *p)
{
    const struct npu_shape *s = e->shape;
    const uint32_t n = s->nscale * s->nparam,
                   nbytes = npu_tile_nbytes(e->config, NPU_ACC);
    const uint64_t o = (uint64_t)p->group * s->nout + p->o * e->tile->nout;
    int is_new;
    const uint32_t slot =
        slot_of(e, PARAMS, (uint64_t)p->group * e->tile->nblock + p->o, &is_new);
    if (is_new)
        transfer(e,
                 (struct npu_instruction){
                     .op = NPU_LOAD,
                     .memory = NPU_ACC,
                     .buffer = NPU_BUFFER_PARAMETERS,
                     .tile = (uint16_t)(e->tile->params + slot * e->tile->params_slot) },
                 (struct box){ .nblock = 1,
                               .nrow = 1,
                               .ncolumn = p->nout * n,
                               .offset = o * n * nbytes,
                               .nbytes = nbytes },
                 (struct npu_touch){ .writes = bit(PARAMS, slot) });
    return slot;
}

/* Results or operands: the same places. */
static struct box results(const struct emitter *e, const struct place *p,
                          const struct npu_strides *s)
{
    const struct npu_tile *t = e->tile;
    return (struct box){ .nblock = p->nout,
                         .nrow = p->rows,
                         .ncolumn = p->columns,
                         .offset = p->image * s->image + p->group * s->group +
                                   (uint64_t)p->o * t->nout * s->block +
                                   (uint64_t)p->row * t->rows * s->row +
                                   (uint64_t)p->column * t->columns * s->tile,
                         .block = s->block,
                         .row = s->row,
                         .nbytes = (uint32_t)s->tile,
                         .block_tiles = t->nplace };
}

/* ---- sums ---- */

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sums of a window over all places: groups in rows and columns, and of each the micro-ops. A tile
 * returns when its group has passed, or waits. */
static void sum_window(struct emitter *e, const struct place *p, struct npu_variant v,
                       struct npu_instruction in, struct npu_touch touch)
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
        e->code->is_over = 1;
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
    touch.step = e->step;
    npu_emit_line(
        e->code, &(struct npu_line){
                     .in = in,
                     .touch = touch,
                     .variant = npu_emit_variant(c, e->shape, t, &v, e->code),
                     .cycles = (in.op == NPU_GEMM ? c->gemm_fill : c->alu_fill) +
                               nrow * ncolumn *
                                   ((nproduct - 1) * more(group, c->distance) + group) });
}

static void sum_products(struct emitter *e, const struct place *p, uint32_t out)
{
    const struct npu_tile *t = e->tile;
    int is_new;
    const uint32_t inp =
        slot_of(e, INP, places_key(e, p) * t->nchunk + p->chunk, &is_new);
    if (is_new)
        load_x(e, p, p->sum.in, p->sum.nin, NPU_INP, inp * t->inp_slot, bit(INP, inp));
    const uint64_t o = (uint64_t)p->group * t->nblock + p->o;
    const uint32_t wgt = slot_of(e, WGT, o * t->nchunk + p->chunk, &is_new);
    if (is_new)
        load_weights(e, p, wgt);
    sum_window(e, p,
               (struct npu_variant){ .dst = out * t->out_slot,
                                     .src = inp * t->inp_slot,
                                     .wgt = wgt * t->wgt_slot,
                                     .begins = p->chunk == 0 },
               (struct npu_instruction){ .op = NPU_GEMM },
               (struct npu_touch){ .reads = bit(INP, inp) | bit(WGT, wgt),
                                   .writes = bit(OUT, out) });
}

/* A LOAD writes what a sum begins with: padding, and one tile of x behind it. */
static void fill(struct emitter *e, uint32_t out, int32_t code)
{
    const struct npu_tile *t = e->tile;
    transfer(e,
             (struct npu_instruction){ .op = NPU_LOAD,
                                       .memory = NPU_ACC_OF_INT8,
                                       .buffer = NPU_BUFFER_X,
                                       .tile = (uint16_t)(out * t->out_slot),
                                       .pad = (int8_t)code },
             (struct box){ .nblock = 1,
                           .nrow = 1,
                           .ncolumn = 1,
                           .nbytes = (uint32_t)e->shape->x.tile,
                           .top = t->filled[0],
                           .left = t->filled[1] },
             (struct npu_touch){ .writes = bit(OUT, out) });
}

static void sum_places(struct emitter *e, const struct place *p, uint32_t out)
{
    const struct npu_tile *t = e->tile;
    const int is_greatest = e->shape->layer->kind == NPU_GREATEST;
    int is_new;
    const uint32_t x = slot_of(e, X, results_key(e, p) * t->nchunk + p->chunk, &is_new);
    if (p->chunk == 0)
        fill(e, out, is_greatest ? INT8_MIN : 0);
    load_x(e, p, p->o * t->nout, p->nout, NPU_ACC_OF_INT8, t->x + x * t->x_slot,
           bit(X, x));
    sum_window(
        e, p,
        (struct npu_variant){ .dst = out * t->out_slot, .src = t->x + x * t->x_slot },
        (struct npu_instruction){ .op = NPU_ALU, .sub = is_greatest ? NPU_MAX : NPU_ADD },
        (struct npu_touch){ .reads = bit(X, x), .writes = bit(OUT, out) });
}

/* ---- steps ---- */

/* An ALU instruction over all results of the step, of which each block has a micro-op. */
static void each(struct emitter *e, const struct place *p, struct npu_variant v,
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
    touch.step = e->step;
    npu_emit_line(e->code, &(struct npu_line){
                               .in = in,
                               .touch = touch,
                               .variant = npu_emit_variant(e->config, e->shape, e->tile,
                                                           &v, e->code),
                               .cycles = e->config->alu_fill + (uint64_t)n * p->nout });
}

static void scale(struct emitter *e, const struct place *p, const struct npu_scale *s,
                  uint32_t tile, uint32_t number, uint32_t writes)
{
    const uint32_t slot = params_of(e, p);
    each(e, p,
         (struct npu_variant){ .dst = tile,
                               .wgt = e->tile->params + slot * e->tile->params_slot +
                                      number * e->shape->nparam },
         (struct npu_instruction){ .sub = NPU_REQ,
                                   .flags = s->is_even ? NPU_EVEN : 0,
                                   .low = s->low,
                                   .high = s->high },
         (struct npu_touch){ .reads = bit(PARAMS, slot), .writes = writes });
}

static uint32_t load_operand(struct emitter *e, const struct place *p, uint32_t step,
                             uint32_t number, uint32_t *tile)
{
    const struct npu_tile *t = e->tile;
    int is_new;
    const uint32_t slot = slot_of(e, OPERAND + step, results_key(e, p), &is_new);
    *tile = t->operands + (number * t->nslot + slot) * t->operand_slot;
    transfer(e,
             (struct npu_instruction){ .op = NPU_LOAD,
                                       .memory = NPU_ACC_OF_INT8,
                                       .buffer = (uint8_t)(NPU_BUFFER_OPERAND + step),
                                       .tile = (uint16_t)*tile },
             results(e, p, &e->shape->operand),
             (struct npu_touch){ .writes = bit(OPERAND + step, slot) });
    return bit(OPERAND + step, slot);
}

static void do_steps(struct emitter *e, const struct place *p, uint32_t out)
{
    const struct npu_layer *l = e->shape->layer;
    const uint32_t dst = out * e->tile->out_slot;
    uint32_t nscale = 0, noperand = 0, tile;
    for (uint32_t i = 0; i < l->nstep; i++) {
        const struct npu_step *s = &l->steps[i];
        if (s->has_operand) {
            const uint32_t touched = load_operand(e, p, i, noperand++, &tile);
            if (s->scales_operand)
                scale(e, p, &s->operand_scale, tile, nscale++, touched);
            each(e, p, (struct npu_variant){ .dst = dst, .src = tile },
                 (struct npu_instruction){ .sub = NPU_ADD },
                 (struct npu_touch){ .reads = touched, .writes = bit(OUT, out) });
        }
        if (s->scales)
            scale(e, p, &s->scale, dst, nscale++, bit(OUT, out));
    }
}

/* Of one slot, into which x is loaded and from which y is stored, a compute instruction is between
 * STORE and LOAD: a micro-op is loaded once more. */
static void separate(struct emitter *e)
{
    const struct npu_config *c = e->config;
    struct npu_code *code = e->code;
    uint32_t i = code->lines.len;
    while (i && code->lines.at[i - 1].variant == NPU_NO_VARIANT)
        i--;
    if (!i)
        return;
    npu_emit_line(code, &(struct npu_line){ .in = { .op = NPU_LOAD,
                                                    .memory = NPU_UOP,
                                                    .buffer = NPU_BUFFER_UOPS,
                                                    .rows = 1,
                                                    .columns = 1 },
                                            .touch = { .step = e->step },
                                            .variant = code->lines.at[i - 1].variant,
                                            .cycles = c->dma_latency + c->dma_row +
                                                      npu_ceildiv(8, c->bus) });
}

/* ---- the layer ---- */

static void emit_step(struct emitter *e, struct place *p, uint32_t *out)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    int is_new;
    p->sum = npu_tile_chunk(s, t, p->chunk);
    if (p->chunk == 0)
        *out = slot_of(e, OUT, results_key(e, p), &is_new);
    switch (s->layer->kind) {
    case NPU_PRODUCTS: sum_products(e, p, *out); break;
    case NPU_ELEMENT:
        transfer(e,
                 (struct npu_instruction){ .op = NPU_LOAD,
                                           .memory = NPU_ACC_OF_INT8,
                                           .buffer = NPU_BUFFER_X,
                                           .tile = (uint16_t)(*out * t->out_slot) },
                 results(e, p, &s->x), (struct npu_touch){ .writes = bit(OUT, *out) });
        break;
    default: sum_places(e, p, *out); break;
    }
    if (p->chunk + 1 == t->nchunk) {
        do_steps(e, p, *out);
        transfer(e,
                 (struct npu_instruction){ .op = NPU_STORE,
                                           .memory = s->layer->is_wide ? NPU_ACC
                                                                       : NPU_INT8_OF_ACC,
                                           .buffer = NPU_BUFFER_Y,
                                           .tile = (uint16_t)(*out * t->out_slot) },
                 results(e, p, &s->y), (struct npu_touch){ .reads = bit(OUT, *out) });
        if (t->nslot == 1 && s->layer->kind != NPU_PRODUCTS)
            separate(e);
    }
    e->step++;
}

static void emit_results(struct emitter *e, struct place *p)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    uint32_t out = 0;
    p->rows = npu_least(t->rows, (uint64_t)s->rows.out - (uint64_t)p->row * t->rows);
    p->columns = npu_least(t->columns,
                           (uint64_t)s->columns.out - (uint64_t)p->column * t->columns);
    p->nout = npu_least(t->nout, s->nout - p->o * t->nout);
    for (p->chunk = 0; p->chunk < t->nchunk && !e->code->is_over; p->chunk++)
        emit_step(e, p, &out);
}

/* All places of outputs [first, first + n). */
static void emit_places(struct emitter *e, uint32_t group, uint32_t first, uint32_t n)
{
    const struct npu_tile *t = e->tile;
    struct place p = { .group = group };
    for (p.image = 0; p.image < e->shape->images; p.image++) {
        for (p.row = 0; p.row < t->nrow; p.row++) {
            for (p.column = 0; p.column < t->ncolumn; p.column++) {
                for (p.o = first; p.o < first + n && !e->code->is_over; p.o++)
                    emit_results(e, &p);
            }
        }
    }
}

void npu_emit(const struct npu_config *config, const struct npu_shape *shape,
              const struct npu_tile *tile, struct npu_code *code)
{
    struct emitter e = { .config = config, .shape = shape, .tile = tile, .code = code };
    for (uint32_t g = 0; g < shape->groups; g++) {
        for (uint32_t o = 0; tile->keeps_weights && o < tile->nblock; o++)
            emit_places(&e, g, o, 1);
        if (!tile->keeps_weights)
            emit_places(&e, g, 0, tile->nblock);
    }
    npu_emit_line(code,
                  &(struct npu_line){ .in = { .op = NPU_FINISH },
                                      .touch = { .writes = UINT32_MAX, .step = e.step },
                                      .variant = NPU_NO_VARIANT });
    if (!code->is_over && !code->failed)
        npu_emit_uop_loads(config, code);
}
