/*
 * When instructions of a stream begin, given how long each takes. They are fetched in order of the
 * stream, one each `dispatch` cycles, into queues of `depth`. The first of a queue begins when the
 * one before it has ended and pushed its tokens, and the tokens that it pops are there; a LOAD or
 * STORE also when the bus is free: first come, first served, load before compute before store.
 * Tokens are pushed at the end; a full channel holds the push.
 */
#ifndef NPU_QUEUES_H
#define NPU_QUEUES_H

#include "stream.h"

struct npu_queue_times {
    uint64_t n; /* instructions */
    /* Cycles in which one of them is done, or must wait, until the last one has ended. */
    uint64_t busy, waiting;
};
struct npu_times {
    uint64_t cycles; /* until all have ended */
    struct npu_queue_times queues[NPU_NQUEUE];
    uint64_t iterations; /* of GEMM: busy cycles of the multipliers */
    uint64_t nbytes;     /* to and from main memory */
};

/* Instruction `i` begins; called in order of time, those of one cycle in order of the queues. */
typedef bt_status (*npu_begin_fn)(void *self, uint32_t i, uint64_t *cycles);

/* Of a stream that npu_verify accepts.
 * errors  those of `begin` */
bt_status npu_schedule(bt_ctx *, const struct npu_config *, const struct npu_stream *,
                       npu_begin_fn begin, void *self, struct npu_times *out) BT_MUST_USE;

#endif
