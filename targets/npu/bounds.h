/*
 * Whether an instruction stays within its memories, whatever memory holds: fields, the bytes of
 * its buffer, tiles by the extremes of its affine indices. What verifies a stream and what runs
 * it ask the same question, so nothing that runs relies on who called it.
 */
#ifndef NPU_BOUNDS_H
#define NPU_BOUNDS_H

#include "stream.h"

/* The memory of micro-ops, which its only user, the compute queue, fills in stream order. */
struct npu_uops {
    struct npu_uop *at;
    uint8_t *is_loaded;
};

/* errors  BT_ERR_VERIFY */
bt_status npu_bounds(bt_ctx *, const struct npu_config *, const struct npu_buffers *,
                     const struct npu_uops *, const struct npu_stream *,
                     uint32_t i) BT_MUST_USE;
/* Memory of micro-ops without any; 0: no memory. */
int npu_uops_init(bt_arena *, const struct npu_config *, struct npu_uops *out);
/* What a LOAD within bounds puts into memory of micro-ops; of other instructions nothing. */
void npu_uops_load(const struct npu_buffers *, const struct npu_instruction *,
                   struct npu_uops *);

/* Bytes of a row of a LOAD or STORE in main memory. */
uint64_t npu_row_nbytes(const struct npu_config *, const struct npu_instruction *);
/* The scratch memory of a LOAD or STORE. */
uint32_t npu_scratch(const struct npu_instruction *);
/* Tiles that a LOAD fills, padding included, or a STORE reads: one behind the other. */
uint64_t npu_ntile(const struct npu_instruction *);

/* Which indices of micro-ops an instruction uses. */
int npu_has_src(const struct npu_instruction *);
/* Tiles from `wgt` on that are read; 0: the index is not used. */
uint32_t npu_nwgt(const struct npu_config *, const struct npu_instruction *);

#endif
