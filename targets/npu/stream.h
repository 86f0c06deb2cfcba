/*
 * Instructions of the machine, and streams of them: 32 bytes each, fields of whole bytes, least
 * byte first (README.md has the table). A stream says nothing of addresses: it names buffers by
 * number, and bytes within.
 */
#ifndef NPU_STREAM_H
#define NPU_STREAM_H

#include "config.h"

#define NPU_NBYTES 32

enum { NPU_LOAD = 1, NPU_STORE, NPU_GEMM, NPU_ALU, NPU_FINISH, NPU_OP_END };
/* Memories of LOAD and STORE beyond scratch's own: acc from int8, int8 of acc. */
enum { NPU_ACC_OF_INT8 = 4, NPU_INT8_OF_ACC = 5 };
enum { NPU_POP_PREV = 1, NPU_POP_NEXT = 2, NPU_PUSH_PREV = 4, NPU_PUSH_NEXT = 8 };
enum { NPU_MIN, NPU_MAX, NPU_ADD, NPU_SHR, NPU_MUL, NPU_REQ, NPU_NSUB };
enum { NPU_IMMEDIATE = 1, NPU_EVEN = 2 }; /* flags of ALU */

struct npu_instruction {
    uint8_t op, tokens;
#define NPU_FIELD(ops, at, type, member) type member;
#include "fields.def"
};

struct npu_stream {
    uint32_t n;
    const struct npu_instruction *at;
};

/* What GEMM and ALU do in one iteration: indices of tiles to which those of the loops are added. */
struct npu_uop {
    uint16_t dst, src, wgt;
    uint16_t flags; /* bit 0, of GEMM: a sum begins */
};
#define NPU_UOP_BEGINS 1

/* A block of main memory. */
struct npu_buffer {
    uint8_t *at;
    size_t nbytes;
    uint32_t is_constant; /* no STORE goes there, so micro-ops may be read from it */
};
struct npu_buffers {
    uint32_t n; /* at most 256 */
    const struct npu_buffer *at;
};

/* ---- queues and channels ---- */

/* LOAD of wgt, inp and acc; GEMM, ALU, FINISH and LOAD of uop; STORE. */
enum { NPU_QUEUE_LOAD, NPU_QUEUE_COMPUTE, NPU_QUEUE_STORE, NPU_NQUEUE };
uint32_t npu_queue(const struct npu_instruction *);
extern const char *const npu_queue_names[NPU_NQUEUE];

/* Tokens go from each queue to its neighbours: load to compute and back, compute to store and
 * back. `token`: one bit. NPU_NCHANNEL: there is no such neighbour. */
enum { NPU_NCHANNEL = 4 };
uint32_t npu_channel(uint32_t queue, uint32_t token);

/* ---- bytes and text ---- */

void npu_encode(const struct npu_instruction *, uint8_t out[NPU_NBYTES]);
/* The instructions of `nbytes` bytes, in the arena. What they ask for is not looked at.
 * errors  BT_ERR_FORMAT: no whole instruction, an unknown one, a byte that must be zero */
bt_status npu_decode(bt_ctx *, bt_arena *, const uint8_t *bytes, size_t nbytes,
                     struct npu_stream *out) BT_MUST_USE;
struct npu_uop npu_uop_decode(const uint8_t bytes[8]);
void npu_uop_encode(struct npu_uop, uint8_t out[8]);
/* A line for each instruction, in columns; a field that is zero everywhere has none. */
void npu_stream_print(const struct npu_stream *, bt_text *out);
/* "load", "gemm". */
const char *npu_op_name(const struct npu_instruction *);

/* "npu: instruction 3 (gemm), field outer: ..." */
bt_status npu_fail(bt_ctx *, uint32_t code, const struct npu_stream *, uint32_t i,
                   const char *field, const char *format, ...) BT_FAILURE BT_PRINTF(6, 7);

#endif
