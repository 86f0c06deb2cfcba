/* What ALU does to each element of a tile. Sums and products wrap in int32; shifts and what REQ
 * computes are exact in int64 before they are made int32. */
#include "execute.h"

#include "round.h"

static int32_t wrap(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static int32_t clamp(int64_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : (int32_t)x;
}

static int32_t apply(const struct npu_instruction *in, int32_t x, int32_t y)
{
    switch (in->sub) {
    case NPU_MIN: return x < y ? x : y;
    case NPU_MAX: return x > y ? x : y;
    case NPU_ADD: return wrap((int64_t)x + y);
    case NPU_MUL: return wrap((int64_t)x * y);
    default: return wrap(npu_shift(x, clamp(y, -31, 31), (in->flags & NPU_EVEN) != 0));
    }
}

/* acc[w], [w + 1], [w + 2]: what is added, the shift, the factor, by output; their first row. */
static void requantize(struct npu_machine *m, const struct npu_instruction *in,
                       uint32_t d, uint32_t w)
{
    const struct npu_config *c = &m->config;
    const uint32_t nout = c->out, n = c->batch * nout;
    const int is_even = (in->flags & NPU_EVEN) != 0;
    int32_t params[3][NPU_MAX_EXTENT]; // a copy: `d` may be one of these tiles
    for (uint32_t o = 0; o < nout; o++) {
        for (uint32_t k = 0; k < 3; k++)
            params[k][o] =
                k < 2 || c->has_multiplier ? m->acc[(size_t)(w + k) * n + o] : 1;
        params[1][o] =
            c->has_multiplier ? clamp(params[1][o], 0, 62) : clamp(params[1][o], -31, 31);
    }
    for (uint32_t i = 0; i < n; i++) {
        int32_t *at = &m->acc[(size_t)d * n + i];
        const uint32_t o = i % nout;
        const int64_t x = (int64_t)wrap((int64_t)*at + params[0][o]) * params[2][o];
        *at = clamp(npu_shift(x, params[1][o], is_even), in->low, in->high);
    }
}

static void iterate(struct npu_machine *m, const struct npu_instruction *in, uint32_t d,
                    uint32_t s, uint32_t w)
{
    const uint32_t n = m->config.batch * m->config.out;
    int32_t *to = m->acc + (size_t)d * n;
    const int32_t *from = m->acc + (size_t)s * n;
    if (in->sub == NPU_REQ) {
        requantize(m, in, d, w);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = apply(in, to[i], in->flags & NPU_IMMEDIATE ? in->low : from[i]);
}

int npu_alu(struct npu_machine *m, const struct npu_instruction *in, uint32_t outer,
            struct npu_unwritten *out)
{
    const uint8_t *is_written = m->is_written[NPU_ACC];
    const uint32_t nwgt = npu_nwgt(&m->config, in);
    const int has_src = npu_has_src(in);
    for (uint32_t j = 0; j < in->inner; j++) {
        for (uint32_t k = 0; k < in->nuop; k++) {
            const struct npu_uop u = m->uops.at[in->first + k];
            const uint32_t d = u.dst + outer * in->dst_outer + j * in->dst_inner;
            // an index that is not used may be anything
            const uint32_t s =
                has_src ? u.src + outer * in->src_outer + j * in->src_inner : d;
            const uint32_t w =
                nwgt ? u.wgt + outer * in->wgt_outer + j * in->wgt_inner : d;
            uint32_t missing = !is_written[d] ? d : s;
            for (uint32_t t = 0; is_written[missing] && t < nwgt; t++)
                missing = w + t;
            if (!is_written[missing]) {
                *out = (struct npu_unwritten){ NPU_ACC, missing };
                return 0;
            }
            iterate(m, in, d, s, w);
        }
    }
    return 1;
}
