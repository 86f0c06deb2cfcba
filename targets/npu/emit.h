/* The stream of a layer by tiles, without tokens. */
#ifndef NPU_EMIT_H
#define NPU_EMIT_H

#include "tile.h"
#include "tokens.h"

/* A list of micro-ops that instructions name: of ALU tile by tile, or with a window. */
struct npu_variant {
    uint32_t has_window;
    uint32_t dst, src, wgt;   /* bases */
    uint32_t nout, nin, taps; /* of the chunk; 1 without window */
    uint32_t begins;
    uint32_t at, n; /* where it stands among all micro-ops */
    uint32_t place; /* in their memory */
};

#define NPU_NO_VARIANT UINT32_MAX

struct npu_line {
    struct npu_instruction in;
    struct npu_touch touch;
    uint32_t variant; /* of GEMM and ALU, and of a LOAD of a micro-op once more */
    uint64_t cycles;  /* those of npu_cycles */
};

/* A stream under construction, before it has tokens. */
struct npu_draft {
    bt_arena *arena;
    bt_vec(struct npu_line) lines;
    bt_vec(struct npu_variant) variants;
    bt_vec(struct npu_uop) uops;
    uint32_t failed;  /* memory */
    uint32_t is_long; /* it has more lines than there may be: is_over too */
    uint32_t is_over; /* it does not fit: lines, micro-ops, fields of instructions */
};

enum { NPU_MAX_LINES = 1 << 18 };

/* Lines for `out`, which is zero but its arena; micro-ops get their places in memory, and are
 * loaded: once, or where others are needed. */
void npu_emit(const struct npu_config *, const struct npu_shape *,
              const struct npu_tile *, struct npu_draft *out);

/* ---- of emit_uops.c ---- */

uint32_t npu_emit_variant(const struct npu_config *, const struct npu_shape *,
                          const struct npu_tile *, const struct npu_variant *,
                          struct npu_draft *);
void npu_emit_uop_loads(const struct npu_config *, struct npu_draft *);
void npu_emit_line(struct npu_draft *, const struct npu_line *);

#endif
