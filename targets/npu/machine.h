/*
 * The machine's memories, and what instructions do to them. An instruction is done at once;
 * simulate.h says when.
 */
#ifndef NPU_MACHINE_H
#define NPU_MACHINE_H

#include "bounds.h"

struct npu_machine {
    bt_arena *arena;
    struct npu_config config;
    struct npu_uops uops;
    /* Widened when they are loaded: of pairs of int16 processors make sums of int32. */
    int16_t *inp, *wgt;
    int32_t *acc;
    uint8_t *is_written[NPU_NMEMORY]; /* by tile; NPU_UOP: none, uops tells */
    const uint32_t *stop;             /* of npu_machine_begin */
};

/* Scratch holds nothing. */
bt_status npu_machine_create(bt_ctx *, const struct npu_config *,
                             struct npu_machine **out) BT_MUST_USE;
void npu_machine_destroy(struct npu_machine *); /* accepts NULL */

/* For another stream: scratch holds nothing. Where *stop is not 0, or the context is cancelled,
 * instructions stop soon; NULL: the context alone. */
void npu_machine_begin(struct npu_machine *, const uint32_t *stop);

/* Instruction `i` of a stream. Tokens are the caller's: any order goes.
 * errors  BT_ERR_VERIFY: out of a memory's bounds; BT_ERR_RUNTIME: reads a tile that nothing
 *         has written, stores a number that int8 does not hold; BT_ERR_ARGUMENT: a buffer that has
 *         no memory; BT_ERR_CANCELLED */
bt_status npu_execute(bt_ctx *, struct npu_machine *, const struct npu_buffers *,
                      const struct npu_stream *, uint32_t i) BT_MUST_USE;
/* Verifies a stream, and does its instructions in its order. errors  also those of npu_verify */
bt_status npu_run(bt_ctx *, struct npu_machine *, const struct npu_buffers *,
                  const struct npu_stream *) BT_MUST_USE;

#endif
