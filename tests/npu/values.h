/* Layers with values: what their arithmetic gives in plain loops, and what a plan's stream leaves. */
#ifndef NPU_VALUES_H
#define NPU_VALUES_H

#include "kit.h"
#include "layer.h"

/* Values of a layer, without blocks: x [n][c][row][column], weights [o][i][row][column], operands
 * and y [n][o][row][column], numbers of scales by channel. */
struct values {
    struct npu_layer layer;
    int8_t *x, *weights, *operands[NPU_MAX_POST_OPS];
    int32_t *numbers[NPU_MAX_POST_OPS][2]
                    [3]; /* of the post-op, of its operand: add, shift, factor */
    int32_t *y;
    struct npu_buffer buffers[NPU_NBUFFER];
};

static inline int8_t *draw_codes(size_t n, uint32_t bits)
{
    int8_t *at = BT_NEWS(arena, int8_t, n);
    assert_non_null(at);
    for (size_t i = 0; i < n; i++)
        at[i] = (int8_t)((int32_t)draw(1u << bits) - (1 << (bits - 1)));
    return at;
}

static inline size_t ny_of(const struct npu_layer *l)
{
    return (size_t)(l->batch * l->out * l->rows.out * l->columns.out);
}

static inline void draw_numbers(struct values *v, uint32_t post_op, uint32_t is_operand)
{
    const size_t n = (size_t)v->layer.out;
    for (uint32_t k = 0; k < 3; k++)
        assert_non_null(v->numbers[post_op][is_operand][k] = BT_NEWS(arena, int32_t, n));
    for (size_t i = 0; i < n; i++) {
        int32_t *const *at = v->numbers[post_op][is_operand];
        at[0][i] = (int32_t)draw(4001) - 2000;
        at[1][i] = config.has_multiplier ? (int32_t)draw(40) : (int32_t)draw(16) - 4;
        at[2][i] = config.has_multiplier ? (int32_t)draw(1u << 30) - (1 << 29) : 1;
    }
}

static inline void draw_values(struct values *v)
{
    const struct npu_layer *l = &v->layer;
    v->x = draw_codes((size_t)(l->batch * l->in * l->rows.in * l->columns.in), 8);
    if (l->kind == NPU_PRODUCTS)
        v->weights = draw_codes(
            (size_t)(l->out * (l->in / l->groups) * l->rows.taps * l->columns.taps),
            l->weight_bits);
    for (uint32_t i = 0; i < l->npost_op; i++) {
        if (l->post_ops[i].has_operand)
            v->operands[i] = draw_codes(ny_of(l), 8);
        if (l->post_ops[i].requantizes)
            draw_numbers(v, i, 0);
        if (l->post_ops[i].requantizes_operand)
            draw_numbers(v, i, 1);
    }
    assert_non_null(v->y = BT_NEWS(arena, int32_t, ny_of(l)));
}

/* ---- plain loops ---- */

static inline int32_t wrapped(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static inline int64_t rounded(int64_t x, int32_t n, int is_even)
{
    if (n <= 0)
        return x * ((int64_t)1 << -n);
    const int64_t one = (int64_t)1 << n;
    const int64_t floor = x / one - (x % one < 0), rest = x - floor * one;
    const int64_t twice =
        rest - (one - rest); // its sign: nearer to what is above, or below
    return floor + (twice > 0 || (twice == 0 && (!is_even || floor % 2 != 0)));
}

static inline int32_t scaled(const struct values *v, const struct npu_requantize *s,
                             uint32_t post_op, uint32_t is_operand, int64_t channel,
                             int32_t x)
{
    int32_t *const *at = v->numbers[post_op][is_operand];
    const int64_t sum = wrapped((int64_t)x + at[0][channel]);
    const int64_t y = rounded(sum * at[2][channel], at[1][channel], s->is_even != 0);
    return y < s->low ? s->low : y > s->high ? s->high : (int32_t)y;
}

static inline int64_t sum_of(const struct values *v, int64_t n, int64_t o, int64_t row,
                             int64_t column)
{
    const struct npu_layer *l = &v->layer;
    const struct npu_window *r = &l->rows, *k = &l->columns;
    const int64_t nin = l->kind == NPU_PRODUCTS ? l->in / l->groups : 1;
    const int64_t first = l->kind == NPU_PRODUCTS ? o / (l->out / l->groups) * nin : o;
    int64_t sum = l->kind == NPU_GREATEST ? INT8_MIN : 0;
    for (int64_t i = 0; i < nin; i++) {
        for (int64_t t = 0; t < r->taps * k->taps; t++) {
            const int64_t y = row * r->stride - r->before + t / k->taps * r->dilation;
            const int64_t x = column * k->stride - k->before + t % k->taps * k->dilation;
            const int is_inside = y >= 0 && y < r->in && x >= 0 && x < k->in;
            const int64_t at =
                is_inside ? v->x[((n * l->in + first + i) * r->in + y) * k->in + x]
                          : l->pad;
            if (l->kind == NPU_GREATEST)
                sum = at > sum ? at : sum;
            else
                sum += at * (l->kind == NPU_PRODUCTS
                                 ? v->weights[(o * nin + i) * r->taps * k->taps + t]
                                 : 1);
        }
    }
    return sum;
}

static inline void compute_plainly(struct values *v)
{
    const struct npu_layer *l = &v->layer;
    for (size_t i = 0; i < ny_of(l); i++) {
        const int64_t column = (int64_t)i % l->columns.out;
        const int64_t row = (int64_t)i / l->columns.out % l->rows.out;
        const int64_t o = (int64_t)i / (l->columns.out * l->rows.out) % l->out;
        const int64_t n = (int64_t)i / (l->columns.out * l->rows.out * l->out);
        int32_t x = wrapped(sum_of(v, n, o, row, column));
        for (uint32_t k = 0; k < l->npost_op; k++) {
            const struct npu_post_op *s = &l->post_ops[k];
            int32_t operand = s->has_operand ? v->operands[k][i] : 0;
            if (s->requantizes_operand)
                operand = scaled(v, &s->operand_requantize, k, 1, o, operand);
            x = wrapped((int64_t)x + operand);
            if (s->requantizes)
                x = scaled(v, &s->requantize, k, 0, o, x);
        }
        v->y[i] = x;
    }
}

/* ---- blocks ---- */

/* Where element [n][c][place] of `channels` in groups stands, in blocks of `size`. */
static inline size_t blocked(int64_t n, int64_t c, int64_t place, int64_t channels,
                             int64_t groups, int64_t places, int64_t size)
{
    const int64_t of_group = channels / groups, nblock = (of_group + size - 1) / size;
    const int64_t block = c / of_group * nblock + c % of_group / size;
    const int64_t tile = (n / config.batch * groups * nblock + block) * places + place;
    return (size_t)((tile * config.batch + n % config.batch) * size +
                    c % of_group % size);
}

static inline void put_blocked(const int8_t *from, int64_t batch, int64_t channels,
                               int64_t groups, int64_t places, int64_t size,
                               struct npu_buffer *to)
{
    for (int64_t i = 0; i < batch * channels * places; i++)
        to->at[blocked(i / (channels * places), i / places % channels, i % places,
                       channels, groups, places, size)] = (uint8_t)from[i];
}

static inline void fill_buffers(struct values *v, const struct npu_plan *plan)
{
    const struct npu_layer *l = &v->layer;
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        const size_t n = plan->nbytes[i];
        uint8_t *at = BT_NEWS(arena, uint8_t, n);
        assert_non_null(at);
        for (size_t k = 0; k < n; k++)
            at[k] = (uint8_t)draw(256);
        v->buffers[i] = (struct npu_buffer){ at, n, i == NPU_BUFFER_UOPS };
    }
    memcpy(v->buffers[NPU_BUFFER_UOPS].at, plan->uops, plan->nbytes[NPU_BUFFER_UOPS]);
    put_blocked(v->x, l->batch, l->in, l->groups, l->rows.in * l->columns.in,
                l->kind == NPU_PRODUCTS ? config.in : config.out,
                &v->buffers[NPU_BUFFER_X]);
    if (l->kind == NPU_PRODUCTS)
        assert_ok(ctx, npu_pack_weights(ctx, &config, l, v->weights,
                                        v->buffers[NPU_BUFFER_WEIGHTS].at));
    for (uint32_t i = 0; i < l->npost_op; i++) {
        if (l->post_ops[i].has_operand)
            put_blocked(v->operands[i], l->batch, l->out, l->groups,
                        l->rows.out * l->columns.out, config.out,
                        &v->buffers[NPU_BUFFER_OPERAND + i]);
        for (int k = 0; k < 2; k++) {
            int32_t *const *at = v->numbers[i][k];
            const struct npu_numbers numbers = { at[0], at[1],
                                                 config.has_multiplier ? at[2] : NULL };
            if (k ? l->post_ops[i].requantizes_operand : l->post_ops[i].requantizes)
                assert_ok(ctx, npu_pack_requantize(ctx, &config, l, i, k, &numbers,
                                                   v->buffers[NPU_BUFFER_PARAMETERS].at));
        }
    }
}

/* y has what plain loops give; 0: it has not. */
static inline int is_right(const struct values *v)
{
    const struct npu_layer *l = &v->layer;
    const int64_t places = l->rows.out * l->columns.out;
    const struct npu_buffer *y = &v->buffers[NPU_BUFFER_Y];
    for (int64_t i = 0; i < (int64_t)ny_of(l); i++) {
        const size_t at = blocked(i / (l->out * places), i / places % l->out, i % places,
                                  l->out, l->groups, places, config.out);
        int32_t found = (int8_t)y->at[at];
        for (uint32_t k = 0; l->is_wide && k < 4; k++)
            found = wrapped((k ? found : 0) | (int64_t)y->at[4 * at + k] << 8 * k);
        if (found != v->y[i])
            return 0;
    }
    return 1;
}

#endif
