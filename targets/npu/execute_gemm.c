/* Products of tiles, where simulation spends its time: written once, and compiled for the sizes of
 * the built-in machines, so that the loops become vectors. */
#include "execute.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* gcc makes sums of pairs of a loop, but not of its sixteen terms written out. */
#if defined(__GNUC__) && !defined(__clang__)
#define KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define KEEP_LOOP
#endif

/* Sums of at most 64 products stay below 2^21. */
INLINE void product(int32_t *acc, const int16_t *inp, const int16_t *wgt, int begins,
                    uint32_t batch, uint32_t nin, uint32_t nout)
{
    const uint32_t kept = begins ? 0 : UINT32_MAX;
    for (uint32_t b = 0; b < batch; b++) {
        for (uint32_t o = 0; o < nout; o++) {
            int32_t sum = 0;
            KEEP_LOOP
            for (uint32_t k = 0; k < nin; k++)
                sum += inp[b * nin + k] * wgt[o * nin + k];
            int32_t *at = &acc[b * nout + o];
            *at = (int32_t)(((uint32_t)*at & kept) + (uint32_t)sum);
        }
    }
}

static int unwritten(const struct npu_machine *m, uint32_t s, uint32_t w, uint32_t d,
                     struct npu_unwritten *out)
{
    *out = !m->is_written[NPU_INP][s]   ? (struct npu_unwritten){ NPU_INP, s }
           : !m->is_written[NPU_WGT][w] ? (struct npu_unwritten){ NPU_WGT, w }
                                        : (struct npu_unwritten){ NPU_ACC, d };
    return 0;
}

INLINE int gemm(struct npu_machine *m, const struct npu_instruction *in, uint32_t outer,
                struct npu_unwritten *out, uint32_t batch, uint32_t nin, uint32_t nout)
{
    const struct npu_uop *uops = m->uops.at + in->first;
    for (uint32_t j = 0; j < in->inner; j++) {
        for (uint32_t k = 0; k < in->nuop; k++) {
            const struct npu_uop u = uops[k];
            const uint32_t d = u.dst + outer * in->dst_outer + j * in->dst_inner,
                           s = u.src + outer * in->src_outer + j * in->src_inner,
                           w = u.wgt + outer * in->wgt_outer + j * in->wgt_inner;
            const int begins = u.flags & NPU_UOP_BEGINS;
            if (!(m->is_written[NPU_INP][s] & m->is_written[NPU_WGT][w] &
                  (m->is_written[NPU_ACC][d] | begins)))
                return unwritten(m, s, w, d, out);
            product(m->acc + (size_t)d * batch * nout, m->inp + (size_t)s * batch * nin,
                    m->wgt + (size_t)w * nout * nin, begins, batch, nin, nout);
            m->is_written[NPU_ACC][d] = 1;
        }
    }
    return 1;
}

int npu_gemm(struct npu_machine *m, const struct npu_instruction *in, uint32_t outer,
             struct npu_unwritten *out)
{
    const struct npu_config *c = &m->config;
    if (c->batch == 1 && c->in == 16 && c->out == 16)
        return gemm(m, in, outer, out, 1, 16, 16);
    if (c->batch == 4 && c->in == 8 && c->out == 8)
        return gemm(m, in, outer, out, 4, 8, 8);
    return gemm(m, in, outer, out, c->batch, c->in, c->out);
}
