/* The loops of GEMM and ALU over micro-ops, within bounds. */
#ifndef NPU_EXECUTE_H
#define NPU_EXECUTE_H

#include "machine.h"

/* The first tile that is read, and nothing has written. */
struct npu_unwritten {
    uint32_t memory, tile;
};

/* An outer iteration. 0: a tile was not written; the ones before it are computed. */
int npu_gemm(struct npu_machine *, const struct npu_instruction *, uint32_t outer,
             struct npu_unwritten *);
int npu_alu(struct npu_machine *, const struct npu_instruction *, uint32_t outer,
            struct npu_unwritten *);

#endif
