#include "cycles.h"

int npu_timer_init(bt_arena *arena, const struct npu_config *config,
                   struct npu_timer *out)
{
    *out = (struct npu_timer){ .config = config };
    return (out->ready = BT_NEWS(arena, uint64_t, config->ntile[NPU_ACC])) != NULL;
}

/* Inner iterations of an outer one from cycle `t` on; the cycle behind them. */
static uint64_t iterations(struct npu_timer *timer, const struct npu_uop *uops,
                           const struct npu_instruction *in, uint32_t i, uint64_t t)
{
    const uint32_t nparam =
        in->op == NPU_ALU ? npu_nwgt(timer->config, in) : 0; // of acc, as dst is
    const int has_src = in->op == NPU_ALU && npu_has_src(in),
              is_gemm = in->op == NPU_GEMM;
    const uint32_t distance = timer->config->distance;
    uint64_t *ready = timer->ready;
    for (uint32_t j = 0; j < in->inner; j++) {
        for (uint32_t k = 0; k < in->nuop; k++) {
            const struct npu_uop u = uops[k];
            const uint32_t d = u.dst + i * in->dst_outer + j * in->dst_inner;
            const uint32_t s = u.src + i * in->src_outer + j * in->src_inner;
            const uint32_t w = u.wgt + i * in->wgt_outer + j * in->wgt_inner;
            if (!is_gemm || !(u.flags & NPU_UOP_BEGINS))
                t = npu_most(t, ready[d]);
            if (has_src)
                t = npu_most(t, ready[s]);
            for (uint32_t p = 0; p < nparam; p++)
                t = npu_most(t, ready[w + p]);
            ready[d] = t++ + distance;
        }
    }
    return t;
}

uint64_t npu_cycles(struct npu_timer *timer, const struct npu_uops *uops,
                    const struct npu_instruction *in)
{
    const struct npu_config *c = timer->config;
    if (in->op == NPU_FINISH)
        return 0;
    if (in->op == NPU_LOAD || in->op == NPU_STORE)
        return npu_transfer_cycles(c, in->rows, npu_row_nbytes(c, in));
    const uint64_t begin = timer->now;
    uint64_t t = begin;
    for (uint32_t i = 0; i < in->outer; i++)
        t = iterations(timer, uops->at + in->first, in, i, t);
    // results are usable at the end (npu_config: distance <= fill), so no instruction waits
    // for a tile of the one before
    timer->now = t + (in->op == NPU_GEMM ? c->gemm_fill : c->alu_fill);
    return timer->now - begin;
}
