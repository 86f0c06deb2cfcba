/*
 * Tokens of a stream of which it is known what each instruction touches: every two accesses to a
 * resource, one of them a write, become ordered, and where queues and tokens order them already
 * none is added. Between a STORE and a LOAD of one resource there is a compute instruction.
 */
#ifndef NPU_TOKENS_H
#define NPU_TOKENS_H

#include "stream.h"

struct npu_touch {
    uint32_t reads, writes; /* resources are bits */
    uint32_t tile;
};

/* What each channel may hold is the machine's `tokens`: a stream that would need more waits for
 * the ends of tiles instead of instructions where `by_tile`.
 * has_room  0: it needs more all the same */
bt_status npu_place_tokens(bt_arena *, const struct npu_config *,
                           const struct npu_touch *touched, int by_tile, uint32_t n,
                           struct npu_instruction *list, int *has_room) BT_MUST_USE;

#endif
