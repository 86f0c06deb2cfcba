/* What goes between main memory and scratch, and into which slot. */
#include "cycles.h"
#include "emit_parts.h"

/* ---- slots ---- */

uint32_t npu_slot_bit(uint32_t memory, uint32_t slot)
{
    // two each, and of results, which are last, up to NPU_MAX_SLOTS
    return (uint32_t)1 << (2 * memory + slot);
}

/* The slot of what `key` names; the one that is longest unused where it is new. */
uint32_t npu_slot_of(struct npu_emitter *e, uint32_t memory, uint64_t key, int *is_new)
{
    struct npu_slots *s = &e->slots[memory];
    const uint32_t n = memory == NPU_SLOT_OUT ? e->tile->nout_slot : e->tile->nslot;
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
uint64_t npu_places_key(const struct npu_emitter *e, const struct npu_place *p)
{
    const struct npu_tile *t = e->tile;
    return ((uint64_t)(p->group * e->shape->images + p->image) * t->nrow + p->row) *
               t->ncolumn +
           p->column;
}

uint64_t npu_results_key(const struct npu_emitter *e, const struct npu_place *p)
{
    return npu_places_key(e, p) * e->tile->nblock + p->o;
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

static void transfer(struct npu_emitter *e, struct npu_instruction in, struct box b,
                     struct npu_touch touch)
{
    const struct npu_config *c = e->config;
    merge(&b);
    const uint32_t most = b.top > b.bottom ? b.top : b.bottom;
    if (most > UINT8_MAX || b.left > UINT8_MAX || b.right > UINT8_MAX ||
        b.nrow > UINT16_MAX || b.ncolumn > UINT16_MAX) {
        e->draft->is_over = 1;
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
    touch.tile = e->ntile;
    for (uint32_t i = 0; i < b.nblock && !e->draft->is_over; i++) {
        struct npu_line line = { .in = in, .touch = touch, .variant = NPU_NO_VARIANT };
        line.in.offset = (uint32_t)(b.offset + i * b.block);
        line.in.tile = (uint16_t)(in.tile + i * b.block_tiles);
        line.cycles = npu_transfer_cycles(c, b.nrow, (uint64_t)b.ncolumn * b.nbytes);
        npu_emit_line(e->draft, &line);
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

/* Blocks [block, block + n) of x, as far as the tile reads them. */
void npu_load_x(struct npu_emitter *e, const struct npu_place *p, uint32_t block,
                uint32_t n, uint8_t memory, uint32_t tile, uint32_t writes)
{
    const struct npu_shape *s = e->shape;
    const struct npu_tile *t = e->tile;
    const struct npu_window *r = &s->rows, *k = &s->columns;
    const uint32_t ncolumn = (uint32_t)npu_span(k, p->columns, (uint64_t)k->taps);
    const struct cut rows =
        cut((int64_t)p->row * t->rows * r->stride - r->before + p->sum.tap * r->dilation,
            (uint32_t)npu_span(r, p->rows, p->sum.taps), r->in);
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

void npu_load_weights(struct npu_emitter *e, const struct npu_place *p, uint32_t slot)
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
        (struct npu_touch){ .writes = npu_slot_bit(NPU_SLOT_WGT, slot) });
}

uint32_t npu_load_params(struct npu_emitter *e, const struct npu_place *p)
{
    const struct npu_shape *s = e->shape;
    const uint32_t n = s->nrequantize * s->nparam,
                   nbytes = npu_tile_nbytes(e->config, NPU_ACC);
    const uint64_t o = (uint64_t)p->group * s->nout + p->o * e->tile->nout;
    int is_new;
    const uint32_t slot = npu_slot_of(
        e, NPU_SLOT_PARAMS, (uint64_t)p->group * e->tile->nblock + p->o, &is_new);
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
                 (struct npu_touch){ .writes = npu_slot_bit(NPU_SLOT_PARAMS, slot) });
    return slot;
}

/* Results or operands: the same places. */
static struct box results(const struct npu_emitter *e, const struct npu_place *p,
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

uint32_t npu_load_operand(struct npu_emitter *e, const struct npu_place *p,
                          uint32_t post_op, uint32_t number, uint32_t *tile)
{
    const struct npu_tile *t = e->tile;
    int is_new;
    const uint32_t slot =
        npu_slot_of(e, NPU_SLOT_OPERAND + post_op, npu_results_key(e, p), &is_new);
    *tile = t->operands + (number * t->nslot + slot) * t->operand_slot;
    transfer(
        e,
        (struct npu_instruction){ .op = NPU_LOAD,
                                  .memory = NPU_ACC_OF_INT8,
                                  .buffer = (uint8_t)(NPU_BUFFER_OPERAND + post_op),
                                  .tile = (uint16_t)*tile },
        results(e, p, &e->shape->operand),
        (struct npu_touch){ .writes = npu_slot_bit(NPU_SLOT_OPERAND + post_op, slot) });
    return npu_slot_bit(NPU_SLOT_OPERAND + post_op, slot);
}

/* A LOAD writes what a sum begins with: padding, and one tile of x behind it. */
void npu_load_fill(struct npu_emitter *e, uint32_t out, int32_t code)
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
             (struct npu_touch){ .writes = npu_slot_bit(NPU_SLOT_OUT, out) });
}

/* Elements go where their results will be. */
void npu_load_elements(struct npu_emitter *e, const struct npu_place *p, uint32_t out)
{
    transfer(e,
             (struct npu_instruction){ .op = NPU_LOAD,
                                       .memory = NPU_ACC_OF_INT8,
                                       .buffer = NPU_BUFFER_X,
                                       .tile = (uint16_t)(out * e->tile->out_slot) },
             results(e, p, &e->shape->x),
             (struct npu_touch){ .writes = npu_slot_bit(NPU_SLOT_OUT, out) });
}

void npu_store(struct npu_emitter *e, const struct npu_place *p, uint32_t out)
{
    transfer(e,
             (struct npu_instruction){
                 .op = NPU_STORE,
                 .memory = e->shape->layer->is_wide ? NPU_ACC : NPU_INT8_OF_ACC,
                 .buffer = NPU_BUFFER_Y,
                 .tile = (uint16_t)(out * e->tile->out_slot) },
             results(e, p, &e->shape->y),
             (struct npu_touch){ .reads = npu_slot_bit(NPU_SLOT_OUT, out) });
}
