/*
 * The machine in time. Instructions are fetched in order of the stream, one each `dispatch`
 * cycles, into queues of `depth`. The first of a queue begins when the one before it has ended and
 * pushed its tokens, and the tokens that it pops are there; a LOAD or STORE also when the bus is
 * free: first come, first served, load before compute before store. Tokens are pushed at the end;
 * a full channel holds the push.
 *
 * Instructions are done in order of their begin: a stream that npu_check passes leaves what npu_run
 * leaves.
 */
#ifndef NPU_SIMULATE_H
#define NPU_SIMULATE_H

#include "machine.h"

struct npu_queue_times {
    uint64_t n; /* instructions */
    /* Cycles in which one of them is done, or must wait, until the last one has ended. */
    uint64_t busy, waiting;
};
struct npu_times {
    uint64_t cycles; /* until all have ended */
    struct npu_queue_times queues[NPU_NQUEUE];
    uint64_t steps;  /* of GEMM: busy cycles of the multipliers */
    uint64_t nbytes; /* to and from main memory */
};

/* errors  those of npu_run */
bt_status npu_simulate(bt_ctx *, struct npu_machine *, const struct npu_buffers *,
                       const struct npu_stream *, struct npu_times *out) BT_MUST_USE;

#endif
