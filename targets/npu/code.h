/*
 * The code of kernels: what artifacts keep. A kernel is a stream, which the machine runs, or what
 * the host does around it (moves.h).
 *
 *     "BNPU"  version  CRC-32C of what follows        words, least byte first
 *     kind; how many buffers a call has, and how many of them are read; bytes of each
 *     what the kind has
 *
 * Bytes may come from anywhere: reading checks every number, and that what the kernel does stays
 * within buffers of the stated bytes; a stream passes npu_check.
 */
#ifndef NPU_CODE_H
#define NPU_CODE_H

#include "moves.h"

enum { NPU_CODE_STREAM, NPU_CODE_MOVE, NPU_CODE_WEIGHT, NPU_CODE_PARAMETERS, NPU_NCODE };
enum { NPU_MAX_BUFFERS = 32 };

struct npu_code {
    uint32_t kind;
    uint32_t nbuffer, nin; /* those that are read come first, one that is written last */
    uint64_t nbytes[NPU_MAX_BUFFERS];
    /* A stream: for each of its buffers that of the call; nbuffer: it has none, the micro-ops. */
    uint32_t map[NPU_NBUFFER];
    uint64_t nstream, nuop; /* bytes */
    const uint8_t *stream, *uops;
    uint64_t cycles, ideal; /* as of the plan */
    struct npu_move move;
    struct npu_layer layer; /* of a weight, of parameters */
    struct npu_weight weight;
    struct npu_parameters parameters;
};

/* errors  BT_ERR_MEMORY */
bt_status npu_code_write(const struct npu_code *, bt_text *out) BT_MUST_USE;
/* Stream and micro-ops stay in the bytes.
 * errors  BT_ERR_FORMAT, BT_ERR_VERIFY; of npu_layer_nbytes */
bt_status npu_code_read(bt_ctx *, const struct npu_config *, const uint8_t *bytes,
                        size_t nbytes, struct npu_code *out) BT_MUST_USE;

#endif
