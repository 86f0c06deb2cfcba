/*
 * How long an instruction takes, for the simulator and whoever estimates a stream:
 *
 *     LOAD, STORE   dma_latency, and of each row dma_row + ceil(its bytes / bus)
 *     GEMM, ALU     gemm_fill or alu_fill, and a cycle for each iteration; one that reads an
 *                   accumulator tile waits until `distance` cycles behind the one that wrote it
 *     FINISH        nothing
 */
#ifndef NPU_CYCLES_H
#define NPU_CYCLES_H

#include "bounds.h"

struct npu_timer {
    const struct npu_config *config;
    uint64_t now;    /* of a clock that all instructions share */
    uint64_t *ready; /* by tile of acc: when it can be read */
};

/* Of a LOAD or STORE. */
static inline uint64_t npu_transfer_cycles(const struct npu_config *c, uint64_t nrow,
                                           uint64_t row_nbytes)
{
    return c->dma_latency + nrow * (c->dma_row + npu_ceildiv(row_nbytes, c->bus));
}

/* 0: no memory. */
int npu_timer_init(bt_arena *, const struct npu_config *, struct npu_timer *out);
/* Cycles of an instruction within bounds, with the micro-ops that it meets. */
uint64_t npu_cycles(struct npu_timer *, const struct npu_uops *,
                    const struct npu_instruction *);

#endif
