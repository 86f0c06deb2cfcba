/* Layers as streams, and what they must give. */
#ifndef NPU_LAYERS_H
#define NPU_LAYERS_H

#include "kit.h"

/* Element `i` of packed integers, as ONNX packs them, without the code under test. */
static inline int32_t packed_at(const uint8_t *at, size_t i, uint32_t bits)
{
    int32_t value = 0;
    for (uint32_t k = 0; k < bits; k++)
        value |= (at[(i * bits + k) / 8] >> ((i * bits + k) % 8) & 1) << k;
    return value >> (bits - 1) ? value - (1 << bits) : value;
}

/* acc = x w, of `nin` x `nout` blocks: a block of outputs at a time, in two halves. Operands are
 * laid out as tiles: x[i][b][k], w[o][i][out][in], y[o][b][out] as int32. */
struct dense {
    uint16_t nin, nout, bits;
    uint8_t x, w, y, uops;
};

static inline struct dense dense_of(uint16_t nin, uint16_t nout, uint16_t bits)
{
    struct npu_uop uops[2] = { { .flags = NPU_UOP_BEGINS }, { 0 } };
    struct dense d = { .nin = nin, .nout = nout, .bits = bits };
    d.x = add_buffer((size_t)nin * config.batch * config.in, 1);
    d.w = add_buffer((size_t)nout * nin * config.out * config.in * bits / 8, 1);
    d.y = add_buffer((size_t)nout * config.batch * config.out * 4, 0);
    d.uops = add_uops(uops, 2);
    return d;
}

/* Loads what output block `o` needs; `half` is where it is put. */
static inline void dense_load(const struct dense *d, uint16_t o, uint16_t half)
{
    const uint32_t inp = config.batch * config.in;
    const uint32_t wgt = config.out * config.in * d->bits / 8;
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = o > 1 ? NPU_POP_NEXT : 0,
                                  .memory = NPU_INP,
                                  .buffer = d->x,
                                  .tile = (uint16_t)(half * d->nin),
                                  .rows = d->nin,
                                  .columns = 1,
                                  .stride = inp });
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = NPU_PUSH_NEXT,
                                  .memory = NPU_WGT,
                                  .buffer = d->w,
                                  .offset = o * d->nin * wgt,
                                  .tile = (uint16_t)(half * d->nin),
                                  .rows = 1,
                                  .columns = d->nin,
                                  .bits = (uint8_t)d->bits });
}

/* The first product of a sum begins it, the others are added: two micro-ops, two GEMMs. */
static inline void dense_compute(const struct dense *d, uint16_t o, uint16_t half)
{
    uint8_t pops = NPU_POP_PREV | (o > 1 ? NPU_POP_NEXT : 0);
    uint8_t pushes = NPU_PUSH_NEXT | (o + 2 < d->nout ? NPU_PUSH_PREV : 0);
    struct npu_instruction in = {
        .op = NPU_GEMM, .nuop = 1, .outer = 1, .inner = 1, .src_inner = 1, .wgt_inner = 1
    };
    in.tokens = (uint8_t)(pops | (d->nin == 1 ? pushes : 0));
    in.first = (uint16_t)(2 * half);
    add(in);
    if (d->nin == 1)
        return;
    in.tokens = pushes;
    in.first = (uint16_t)(2 * half + 1);
    in.inner = (uint16_t)(d->nin - 1);
    add(in);
}

static inline void dense_emit(const struct dense *d)
{
    // micro-ops: of half h, the first product and the one behind it
    struct npu_uop uops[4];
    for (uint16_t h = 0; h < 2; h++) {
        const uint16_t at = (uint16_t)(h * d->nin);
        uops[2 * h] = (struct npu_uop){ h, at, at, NPU_UOP_BEGINS };
        uops[2 * h + 1] =
            (struct npu_uop){ h, (uint16_t)(at + 1), (uint16_t)(at + 1), 0 };
    }
    load_uops(add_uops(uops, 4), 4);
    for (uint16_t o = 0; o < d->nout; o++) {
        const uint16_t half = o % 2;
        dense_load(d, o, half);
        dense_compute(d, o, half);
        add((struct npu_instruction){ .op = NPU_STORE,
                                      .tokens = (uint8_t)(NPU_POP_PREV | NPU_PUSH_PREV),
                                      .memory = NPU_ACC,
                                      .buffer = d->y,
                                      .offset = o * config.batch * config.out * 4,
                                      .tile = half,
                                      .rows = 1,
                                      .columns = 1 });
    }
    // of the last two stores nobody has taken the tokens
    if (d->nout > 1)
        add((struct npu_instruction){ .op = NPU_LOAD,
                                      .tokens = NPU_POP_NEXT,
                                      .memory = NPU_UOP,
                                      .buffer = d->uops,
                                      .rows = 1,
                                      .columns = 1 });
    finish(NPU_POP_NEXT);
}

static inline void dense_compare(const struct dense *d)
{
    const struct npu_config *c = &config;
    for (uint32_t o = 0; o < d->nout * c->out; o++) {
        for (uint32_t b = 0; b < c->batch; b++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < d->nin * c->in; k++) {
                const uint32_t block = o / c->out * d->nin + k / c->in;
                sum +=
                    (int8_t)buffer_list[d->x]
                        .at[(k / c->in * c->batch + b) * c->in + k % c->in] *
                    packed_at(buffer_list[d->w].at,
                              ((size_t)block * c->out + o % c->out) * c->in + k % c->in,
                              d->bits);
            }
            assert_int_equal(
                word_at(d->y, (o / c->out * c->batch + b) * c->out + o % c->out), sum);
        }
    }
}

/* A convolution of taps x taps, padded to the same size, of one block of channels: taps are
 * micro-ops, rows and columns the loops; padding is the code 3, as where it stands for zero. */
struct conv {
    uint16_t rows, columns, taps;
    uint8_t x, w, y;
};

static inline struct conv conv_of(uint16_t rows, uint16_t columns, uint16_t taps)
{
    struct conv v = { .rows = rows, .columns = columns, .taps = taps };
    v.x = add_buffer((size_t)rows * columns * config.batch * config.in, 1);
    v.w = add_buffer((size_t)taps * taps * config.out * config.in, 1);
    v.y = add_buffer((size_t)rows * columns * config.batch * config.out * 4, 0);
    return v;
}

enum { CONV_PAD = 3 };

static inline void conv_emit(const struct conv *v)
{
    struct npu_uop uops[64];
    const uint16_t taps = v->taps, half = taps / 2;
    const uint16_t width = (uint16_t)(v->columns + taps - 1);
    const uint32_t inp = config.batch * config.in;
    // the sum of an output row fits scratch of the tiny machine only by rows
    const uint16_t at_once =
        config.ntile[NPU_ACC] < (uint32_t)v->rows * v->columns ? 2 : v->rows;
    for (uint16_t t = 0; t < taps * taps; t++)
        uops[t] = (struct npu_uop){ .src = (uint16_t)(t / taps * width + t % taps),
                                    .wgt = t,
                                    .flags = t == 0 };
    load_uops(add_uops(uops, taps * taps), taps * taps);
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .memory = NPU_INP,
                                  .buffer = v->x,
                                  .rows = v->rows,
                                  .columns = v->columns,
                                  .stride = v->columns * inp,
                                  .top = (uint8_t)half,
                                  .bottom = (uint8_t)half,
                                  .left = (uint8_t)half,
                                  .right = (uint8_t)half,
                                  .pad = CONV_PAD });
    add((struct npu_instruction){ .op = NPU_LOAD,
                                  .tokens = NPU_PUSH_NEXT,
                                  .memory = NPU_WGT,
                                  .buffer = v->w,
                                  .rows = 1,
                                  .columns = (uint16_t)(taps * taps),
                                  .bits = 8 });
    for (uint16_t row = 0; row < v->rows; row = (uint16_t)(row + at_once)) {
        // micro-ops of other rows: the same with another first one
        for (uint16_t t = 0; row && t < taps * taps; t++)
            uops[t].src = (uint16_t)(uops[t].src + at_once * width);
        if (row)
            load_uops(add_uops(uops, taps * taps), taps * taps);
        add((struct npu_instruction){
            .op = NPU_GEMM,
            .tokens = (uint8_t)((row ? NPU_POP_NEXT : NPU_POP_PREV) | NPU_PUSH_NEXT),
            .nuop = (uint16_t)(taps * taps),
            .outer = at_once,
            .inner = v->columns,
            .dst_outer = v->columns,
            .dst_inner = 1,
            .src_outer = width,
            .src_inner = 1 });
        add((struct npu_instruction){ .op = NPU_STORE,
                                      .tokens = NPU_POP_PREV | NPU_PUSH_PREV,
                                      .memory = NPU_ACC,
                                      .buffer = v->y,
                                      .offset = row * v->columns * config.batch *
                                                config.out * 4u,
                                      .rows = 1,
                                      .columns = (uint16_t)(at_once * v->columns) });
    }
    finish(NPU_POP_NEXT);
}

static inline int64_t conv_sum(const struct conv *v, uint32_t y, uint32_t x, uint32_t b,
                               uint32_t o)
{
    const struct npu_config *c = &config;
    int64_t sum = 0;
    for (uint32_t t = 0; t < (uint32_t)v->taps * v->taps; t++) {
        const int64_t row = (int64_t)y + t / v->taps - v->taps / 2;
        const int64_t column = (int64_t)x + t % v->taps - v->taps / 2;
        for (uint32_t k = 0; k < c->in; k++) {
            const size_t at =
                ((size_t)(row * v->columns + column) * c->batch + b) * c->in + k;
            const int is_inside =
                row >= 0 && row < v->rows && column >= 0 && column < v->columns;
            sum += (is_inside ? (int8_t)buffer_list[v->x].at[at] : CONV_PAD) *
                   (int8_t)buffer_list[v->w].at[((size_t)t * c->out + o) * c->in + k];
        }
    }
    return sum;
}

static inline void conv_compare(const struct conv *v)
{
    const struct npu_config *c = &config;
    for (uint32_t p = 0; p < (uint32_t)v->rows * v->columns; p++) {
        for (uint32_t i = 0; i < c->batch * c->out; i++)
            assert_int_equal(
                word_at(v->y, (size_t)p * c->batch * c->out + i),
                conv_sum(v, p / v->columns, p % v->columns, i / c->out, i % c->out));
    }
}

#endif
