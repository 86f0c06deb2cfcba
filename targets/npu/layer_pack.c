/* Constants of a layer in the layout that LOAD takes. */
#include <inttypes.h>
#include <string.h>

#include "shape.h"

/* ---- weights ---- */

struct packer {
    const struct npu_config *config;
    const struct npu_layer *layer;
    int64_t nin, taps; /* channels of a group, places of a window */
};

/* Element `i` of packed integers. */
static void put(uint8_t *at, size_t i, uint32_t bits, int8_t value)
{
    const size_t bit = i * bits;
    at[bit / 8] |= (uint8_t)(((uint8_t)value & ((1u << bits) - 1)) << bit % 8);
}

/* All weights of output `o`. */
static void pack_output(const struct packer *p, int64_t o, const int8_t *from,
                        uint8_t *out)
{
    const struct npu_config *c = p->config;
    const uint32_t bits = p->layer->weight_bits;
    const int64_t nin = (p->nin + c->in - 1) / c->in;
    for (int64_t i = 0; i < p->nin; i++) {
        for (int64_t t = 0; t < p->taps; t++) {
            const size_t tile = (size_t)((o / c->out * nin + i / c->in) * p->taps + t);
            const size_t at = (tile * c->out + (size_t)(o % c->out)) * c->in;
            put(out, at + (size_t)(i % c->in), bits, from[i * p->taps + t]);
        }
    }
}

bt_status npu_pack_weights(bt_ctx *ctx, const struct npu_config *config,
                           const struct npu_layer *layer, const int8_t *weights,
                           uint8_t *out)
{
    struct npu_shape shape;
    BT_TRY(npu_shape_of(ctx, config, layer, &shape));
    const struct packer p = { .config = config,
                              .layer = layer,
                              .nin = layer->in / layer->groups,
                              .taps = layer->rows.taps * layer->columns.taps };
    const int32_t high = (1 << (layer->weight_bits - 1)) - 1;
    memset(out, 0, shape.nbytes[NPU_BUFFER_WEIGHTS]);
    for (int64_t o = 0; o < layer->out; o++) {
        const int8_t *from = weights + o * p.nin * p.taps;
        for (int64_t k = 0; k < p.nin * p.taps; k++) {
            if (from[k] > high || from[k] < -high - 1)
                return bt_fail(ctx, BT_ERR_ARGUMENT,
                               "npu: weight %" PRId64 " of output %" PRId64
                               ": %d is not of %" PRIu32 " bits",
                               k, o, from[k], layer->weight_bits);
        }
        pack_output(&p, o, from, out);
    }
    return NULL;
}

/* ---- requantizes ---- */

/* The number of a requantize; nrequantize of the shape: the post-op has none. */
static uint32_t number_of(const struct npu_layer *l, uint32_t post_op, int is_operand)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->npost_op; i++) {
        if (i == post_op && (is_operand ? l->post_ops[i].requantizes_operand
                                        : l->post_ops[i].requantizes))
            return n + (!is_operand && l->post_ops[i].requantizes_operand);
        n += l->post_ops[i].requantizes + l->post_ops[i].requantizes_operand;
    }
    return n;
}

static bt_status check_numbers(bt_ctx *ctx, const struct npu_config *c, int64_t channel,
                               int32_t shift, int32_t factor)
{
    const int32_t low = c->has_multiplier ? 0 : -31, high = c->has_multiplier ? 62 : 31;
    if (shift < low || shift > high)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "npu: channel %" PRId64 ": a shift by %" PRId32
                       ", and the machine's are from %" PRId32 " to %" PRId32,
                       channel, shift, low, high);
    if (factor != 1 && !c->has_multiplier)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "npu: channel %" PRId64 ": a factor %" PRId32
                       ", and the machine has no multiplier",
                       channel, factor);
    return NULL;
}

static void put_word(uint8_t *at, int32_t value)
{
    for (uint32_t i = 0; i < 4; i++)
        at[i] = (uint8_t)((uint32_t)value >> 8 * i);
}

bt_status npu_pack_requantize(bt_ctx *ctx, const struct npu_config *config,
                              const struct npu_layer *layer, uint32_t post_op,
                              int is_operand, const struct npu_numbers *numbers,
                              uint8_t *out)
{
    struct npu_shape s;
    BT_TRY(npu_shape_of(ctx, config, layer, &s));
    const uint32_t k = number_of(layer, post_op, is_operand);
    if (k == s.nrequantize)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "npu: post-op %" PRIu32 " has no requantize%s", post_op,
                       is_operand ? " of an operand" : "");
    const size_t ntile = (size_t)s.nrequantize * s.nparam, nrow = config->out;
    for (int64_t o = 0; o < s.groups * (int64_t)s.nout * config->out; o++) {
        // groups are whole tiles; of channels that are none nothing is added, nothing shifted
        const int is_there = o < layer->out;
        const int32_t at[3] = { is_there && numbers->add ? numbers->add[o] : 0,
                                is_there && numbers->shift ? numbers->shift[o] : 0,
                                is_there && numbers->factor ? numbers->factor[o] : 1 };
        BT_TRY(check_numbers(ctx, config, o, at[1], at[2]));
        for (uint32_t p = 0; p < s.nparam; p++) {
            uint8_t *tile = out + ((size_t)(o / config->out) * ntile + k * s.nparam + p) *
                                      config->batch * nrow * 4;
            for (uint32_t b = 0; b < config->batch; b++)
                put_word(tile + (b * nrow + (size_t)(o % config->out)) * 4, at[p]);
        }
    }
    return NULL;
}
