/* When something is, for queues that run at once: of each how many of its instructions have ended. */
#ifndef NPU_CLOCK_H
#define NPU_CLOCK_H

#include "stream.h"

struct npu_clock {
    uint32_t n[NPU_NQUEUE];
};

/* The earliest that is not before either. */
static inline void npu_clock_join(struct npu_clock *to, const struct npu_clock *from)
{
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        to->n[q] = (uint32_t)npu_most(to->n[q], from->n[q]);
}

#endif
