/*
 * What a machine is: sizes of tiles and memories, and how long things take. A JSON file, or one
 * of the two that are built in:
 *
 *     single   a tile of inputs is 1 x 16, sums are shifted
 *     multi    a tile of inputs is 4 x 8, sums are multiplied and shifted
 *
 * Both have 256 multiply-adds a cycle.
 */
#ifndef NPU_CONFIG_H
#define NPU_CONFIG_H

#include <baton/base.h>

/* The memories beside the main one; their numbers are those of instructions. */
enum { NPU_UOP, NPU_WGT, NPU_INP, NPU_ACC, NPU_NMEMORY };
extern const char *const npu_memory_names[NPU_NMEMORY]; /* "uop" */

enum { NPU_MAX_EXTENT = 64 }; /* of batch, in and out */

struct npu_config {
    uint32_t batch, in, out; /* inp = batch x in, wgt = out x in, acc = batch x out */
    uint32_t weight_bits;    /* widths that LOAD unpacks, as bits: 1 << 8 | 1 << 4 */
    uint32_t has_multiplier; /* REQ multiplies before it shifts */
    uint64_t dram_nbytes;
    uint32_t bus; /* bytes of a cycle */
    uint32_t mhz;
    uint32_t nbytes[NPU_NMEMORY]; /* of scratch */
    uint32_t ntile[NPU_NMEMORY];  /* computed: of nbytes and the tiles' sizes */
    uint32_t depth, tokens;       /* of a queue, of a channel: the most it holds */
    /* Cycles: from one instruction fetched to the next; before the first result of a GEMM or
     * ALU; from a sum to the next one of the same tile; before the first byte of a LOAD or
     * STORE; before each row. */
    uint32_t dispatch, gemm_fill, alu_fill, distance, dma_latency, dma_row;
};

/* `name`: single, multi or a file.
 * errors  BT_ERR_FORMAT: a field is missing, unknown or out of range */
bt_status npu_config_read(bt_ctx *, const char *name, struct npu_config *out) BT_MUST_USE;
/* The same of a text; `place` names it in messages. */
bt_status npu_config_parse(bt_ctx *, const char *place, const char *text, size_t nbytes,
                           struct npu_config *out) BT_MUST_USE;

/* What streams of the machine depend on, in a line: two configurations that have one print run the
 * same streams. */
void npu_config_print(const struct npu_config *, bt_text *out);

/* Bytes of one tile in scratch; of NPU_UOP of one micro-op. */
uint32_t npu_tile_nbytes(const struct npu_config *, uint32_t memory);

static inline uint64_t npu_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static inline uint64_t npu_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t npu_ceildiv(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

#endif
