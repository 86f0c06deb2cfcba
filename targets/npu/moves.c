#include "moves.h"

#include <math.h>
#include <string.h>

/* ---- moves ---- */

static uint64_t blocks_of(uint64_t extent, uint32_t block)
{
    return (extent + block - 1) / block;
}

/* a * b + c */
static int multiply_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *out)
{
    size_t product, sum;
    if (!bt_mul_size(a, b, &product) || !bt_add_size(product, c, &sum))
        return 0;
    *out = sum;
    return 1;
}

/* Elements up to the last one. */
static int reach(const uint64_t *extents, const uint64_t *strides, uint64_t *out)
{
    *out = 1;
    for (uint32_t i = 0; i < NPU_NAXIS; i++) {
        if (!extents[i] || !multiply_add(extents[i] - 1, strides[i], *out, out))
            return 0;
    }
    return 1;
}

int npu_move_nbytes(const struct npu_move *m, uint64_t *tensor, uint64_t *blocks)
{
    if ((m->nbyte != 1 && m->nbyte != 4) || !m->batch || !m->block ||
        !reach(m->extents, m->strides, tensor) ||
        !multiply_add(*tensor, m->nbyte, 0, tensor))
        return 0;
    *blocks = m->nbyte;
    const uint64_t extents[] = { blocks_of(m->extents[NPU_N], m->batch),
                                 blocks_of(m->extents[NPU_C], m->block),
                                 m->extents[NPU_H],
                                 m->extents[NPU_W],
                                 m->batch,
                                 m->block };
    for (uint32_t i = 0; i < 6; i++) {
        if (!multiply_add(*blocks, extents[i], 0, blocks))
            return 0;
    }
    return 1;
}

int npu_move_is_none(const struct npu_move *m)
{
    const uint64_t axes[6][2] = {
        // extents, strides in the tensor
        { blocks_of(m->extents[NPU_N], m->batch), m->strides[NPU_N] * m->batch },
        { blocks_of(m->extents[NPU_C], m->block), m->strides[NPU_C] * m->block },
        { m->extents[NPU_H], m->strides[NPU_H] },
        { m->extents[NPU_W], m->strides[NPU_W] },
        { m->batch, m->strides[NPU_N] },
        { m->block, m->strides[NPU_C] }
    };
    uint64_t step = 1;
    if (m->extents[NPU_N] % m->batch || m->extents[NPU_C] % m->block)
        return 0;
    for (uint32_t i = 6; i-- > 0;) {
        if (axes[i][0] > 1 && axes[i][1] != step)
            return 0;
        step *= axes[i][0];
    }
    return 1;
}

/* A tile: `nimage` x `nchannel` of its elements are in the tensor. */
static void move_tile(const struct npu_move *m, uint64_t nimage, uint64_t nchannel,
                      uint8_t *tensor, uint8_t *tile)
{
    const size_t size = m->nbyte;
    for (uint64_t b = 0; b < nimage; b++) {
        for (uint64_t i = 0; i < nchannel; i++) {
            uint8_t *element =
                tensor + (b * m->strides[NPU_N] + i * m->strides[NPU_C]) * size;
            uint8_t *place = tile + (b * m->block + i) * size;
            memcpy(m->is_back ? element : place, m->is_back ? place : element, size);
        }
    }
}

/* A row of tiles. */
static void move_row(const struct npu_move *m, uint64_t n, uint64_t c, uint64_t h,
                     uint8_t *tensor, uint8_t *blocks)
{
    const uint64_t tile = (uint64_t)m->batch * m->block * m->nbyte;
    const uint64_t nimage = npu_least(m->batch, m->extents[NPU_N] - n);
    const uint64_t nchannel = npu_least(m->block, m->extents[NPU_C] - c);
    tensor += (n * m->strides[NPU_N] + c * m->strides[NPU_C] + h * m->strides[NPU_H]) *
              m->nbyte;
    if (!m->is_back && (nimage < m->batch || nchannel < m->block))
        memset(blocks, 0, m->extents[NPU_W] * tile);
    for (uint64_t w = 0; w < m->extents[NPU_W]; w++)
        move_tile(m, nimage, nchannel, tensor + w * m->strides[NPU_W] * m->nbyte,
                  blocks + w * tile);
}

void npu_move_run(const struct npu_move *m, const uint8_t *from, uint8_t *to)
{
    // both are written in one of two directions
    uint8_t *tensor = m->is_back ? to : (uint8_t *)(uintptr_t)from;
    uint8_t *blocks = m->is_back ? (uint8_t *)(uintptr_t)from : to;
    const uint64_t row = m->extents[NPU_W] * m->batch * m->block * m->nbyte;
    for (uint64_t n = 0; n < m->extents[NPU_N]; n += m->batch) {
        for (uint64_t c = 0; c < m->extents[NPU_C]; c += m->block) {
            for (uint64_t h = 0; h < m->extents[NPU_H]; h++, blocks += row)
                move_row(m, n, c, h, tensor, blocks);
        }
    }
}

/* ---- constants ---- */

static void weight_extents(const struct npu_layer *l, uint64_t out[NPU_NAXIS])
{
    out[NPU_N] = (uint64_t)l->out;
    out[NPU_C] = (uint64_t)(l->in / l->groups);
    out[NPU_H] = (uint64_t)l->rows.taps;
    out[NPU_W] = (uint64_t)l->columns.taps;
}

int npu_weight_nbytes(const struct npu_layer *l, const struct npu_weight *w,
                      uint64_t *out)
{
    uint64_t extents[NPU_NAXIS];
    weight_extents(l, extents);
    return reach(extents, w->strides, out);
}

bt_status npu_weight_run(bt_ctx *ctx, const struct npu_config *config,
                         const struct npu_layer *l, const struct npu_weight *w,
                         const uint8_t *from, uint8_t *to)
{
    uint64_t e[NPU_NAXIS];
    weight_extents(l, e);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    int8_t *all = bt_arena_alloc(scratch, e[NPU_N] * e[NPU_C], e[NPU_H] * e[NPU_W]),
           *next = all;
    if (!all)
        return bt_no_memory();
    for (uint64_t o = 0; o < e[NPU_N]; o++) {
        for (uint64_t i = 0; i < e[NPU_C]; i++) {
            for (uint64_t y = 0; y < e[NPU_H]; y++) {
                for (uint64_t x = 0; x < e[NPU_W]; x++)
                    *next++ = (int8_t)from[o * w->strides[NPU_N] + i * w->strides[NPU_C] +
                                           y * w->strides[NPU_H] + x * w->strides[NPU_W]];
            }
        }
    }
    bt_status status = npu_pack_weights(ctx, config, l, all, to);
    bt_arena_release(scratch, mark);
    return status;
}

static int32_t word_at(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, 4);
    return value;
}

/* Of output `o`; it wraps, as the sum does to which it is added. */
static uint32_t weight_sum(const struct npu_layer *l, const struct npu_weight *w,
                           const uint8_t *from, uint64_t o)
{
    uint64_t e[NPU_NAXIS];
    uint32_t sum = 0;
    weight_extents(l, e);
    for (uint64_t i = 0; i < e[NPU_C]; i++) {
        for (uint64_t y = 0; y < e[NPU_H]; y++) {
            for (uint64_t x = 0; x < e[NPU_W]; x++)
                sum +=
                    (uint32_t)(int8_t)from[o * w->strides[NPU_N] + i * w->strides[NPU_C] +
                                           y * w->strides[NPU_H] + x * w->strides[NPU_W]];
        }
    }
    return sum;
}

/* ---- ratios ---- */

/* m * 2^-n as qnn.requantize states it: m of 31 bits, fewer only where n would be beyond 62. */
static void as_fixed(double factor, int64_t *m, int64_t *n)
{
    const double guess = 30 - floor(log2(factor));
    *n = guess < 0 ? 0 : guess > 62 ? 62 : (int64_t)guess;
    const double first = round(ldexp(factor, (int)*n));
    *n += first < 0x1p30 ? 1 : first >= 0x1p31 ? -1 : 0;
    *n = *n < 0 ? 0 : *n > 62 ? 62 : *n;
    *m = (int64_t)fmin(round(ldexp(factor, (int)*n)), 0x1p31 - 1);
}

const char *npu_ratio_numbers(const struct npu_ratio *r, int has_multiplier,
                              int32_t *factor, int32_t *shift)
{
    const double exact = (double)r->in / (double)r->out;
    const double ratio =
        r->arithmetic == NPU_RATIO_FLOAT32 ? (double)(r->in / r->out) : exact;
    int64_t m, n;
    int exponent;
    if (!(ratio > 0) || isinf(ratio))
        return "is no factor";
    if (r->arithmetic == NPU_RATIO_INT64) {
        as_fixed(ratio, &m, &n);
        for (; m && m % 2 == 0 && n > 0; n--)
            m /= 2;
    } else {
        if (frexp(ratio, &exponent) != 0.5)
            return "is no power of two, as floats need here (baton quantize --scheme "
                   "shifts chooses such)";
        m = 1;
        n = 1 - exponent;
        if (n > r->most_shift)
            return "shifts sums that float32 rounds before";
    }
    if (!m || n < 0)
        return "is none that sums are shifted by";
    if (m != 1 && !has_multiplier)
        return "is no power of two, and the machine has no multiplier (baton quantize "
               "--scheme shifts chooses such)";
    if (n > (m == 1 ? 31 : 62))
        return "shifts too far";
    *factor = (int32_t)m;
    *shift = (int32_t)n;
    return NULL;
}

static float float_at(const uint8_t *at)
{
    float value;
    memcpy(&value, at, 4);
    return value;
}

/* Of output `o`. */
static bt_status read_ratio(bt_ctx *ctx, const struct npu_config *config,
                            const struct npu_requantize_numbers *s,
                            const uint8_t *const *from, uint64_t o, int32_t *factor,
                            int32_t *shift)
{
    struct npu_ratio r = s->ratio;
    float *const sides[] = { &r.in, &r.out };
    for (uint32_t i = 0; i < 2; i++) {
        if (s->has_scale[i])
            *sides[i] = float_at(from[s->scales[i].buffer] +
                                 o * s->scales[i].stride * sizeof(float));
    }
    const char *why = npu_ratio_numbers(&r, (int)config->has_multiplier, factor, shift);
    return why ? bt_fail(ctx, BT_ERR_UNSUPPORTED, "the ratio of scales %g and %g %s",
                         r.in, r.out, why)
               : NULL;
}

static bt_status lay_out_requantize(bt_ctx *ctx, const struct npu_config *config,
                                    const struct npu_layer *l,
                                    const struct npu_parameters *p, uint32_t post_op,
                                    int is_operand, const uint8_t *const *from,
                                    uint8_t *to)
{
    const struct npu_requantize_numbers *s =
        is_operand ? &p->operand_requantizes[post_op] : &p->requantizes[post_op];
    const uint64_t n = (uint64_t)l->out;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    int32_t *add = BT_NEWS(scratch, int32_t, n), *shift = BT_NEWS(scratch, int32_t, n),
            *factor = BT_NEWS(scratch, int32_t, n);
    if (!add || !shift || !factor)
        return bt_no_memory();
    for (uint64_t o = 0; o < n; o++) {
        uint32_t sum = (uint32_t)s->number;
        for (uint32_t k = 0; k < s->nvector; k++)
            sum += (uint32_t)word_at(from[s->vectors[k].buffer] +
                                     o * s->vectors[k].stride * sizeof(int32_t));
        if (post_op == 0 && !is_operand && p->zero)
            sum -= (uint32_t)p->zero * weight_sum(l, &p->weight, from[p->weights], o);
        add[o] = (int32_t)sum;
        shift[o] = s->shift;
        factor[o] = s->factor;
        if (s->ratio.arithmetic != NPU_RATIO_NONE)
            BT_TRY(read_ratio(ctx, config, s, from, o, &factor[o], &shift[o]));
    }
    const struct npu_numbers numbers = { .add = add, .shift = shift, .factor = factor };
    return npu_pack_requantize(ctx, config, l, post_op, is_operand, &numbers, to);
}

bt_status npu_parameters_run(bt_ctx *ctx, const struct npu_config *config,
                             const struct npu_layer *l, const struct npu_parameters *p,
                             const uint8_t *const *from, uint8_t *to)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < l->npost_op; i++) {
        if (l->post_ops[i].requantizes_operand)
            status = lay_out_requantize(ctx, config, l, p, i, 1, from, to);
        if (!status && l->post_ops[i].requantizes)
            status = lay_out_requantize(ctx, config, l, p, i, 0, from, to);
    }
    bt_arena_release(scratch, mark);
    return status;
}
