/*
 * The machine in time. Instructions are done in order of their begin (queues.h): a stream that
 * npu_check passes leaves what npu_run leaves.
 */
#ifndef NPU_SIMULATE_H
#define NPU_SIMULATE_H

#include "machine.h"
#include "queues.h"

/* errors  those of npu_run */
bt_status npu_simulate(bt_ctx *, struct npu_machine *, const struct npu_buffers *,
                       const struct npu_stream *, struct npu_times *out) BT_MUST_USE;

#endif
