/*
 * What must hold of a stream before it runs, whatever its bytes are, and of its order.
 *
 * npu_verify   each instruction within its memories; micro-ops loaded before they are used; in
 *              each prefix no fewer pushes than pops of each channel, and never more open than
 *              it holds; FINISH last, which leaves none. The order of the stream is then legal,
 *              so whatever the queues do, the first instruction that has not run can: no deadlock.
 * npu_check    of a verified stream: queues, and the i-th push before the i-th pop, order every
 *              two accesses to a tile or byte of which one writes. All legal orders then give the
 *              same bits.
 *
 * Constant buffers must hold what they will hold: micro-ops are read from them. Others need no
 * memory yet, only a size.
 */
#ifndef NPU_VERIFY_H
#define NPU_VERIFY_H

#include "stream.h"

/* errors  BT_ERR_VERIFY: names the instruction and its field */
bt_status npu_verify(bt_ctx *, const struct npu_config *, const struct npu_buffers *,
                     const struct npu_stream *) BT_MUST_USE;
/* errors  BT_ERR_VERIFY: a race, names both instructions and the missing token */
bt_status npu_check(bt_ctx *, const struct npu_config *, const struct npu_buffers *,
                    const struct npu_stream *) BT_MUST_USE;

#endif
