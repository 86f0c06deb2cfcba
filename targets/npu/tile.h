/*
 * A tile: a part of a layer that is computed at once. Tiles go over places of the result, blocks of outputs
 * and chunks of what is summed (blocks of inputs, or rows of the window); each memory is cut into
 * slots, so that a tile's operands are loaded while the one before is computed.
 *
 *     inp  [slot][block][row][column]      acc  [slot][block of outputs][row][column]
 *     wgt  [slot][output][block][tap]           parameters, operands, x of sums without products
 *
 * Micro-ops are of all that is summed, times a group of outputs: blocks, rows, columns. A sum's
 * accumulator returns when the group has passed; so groups of `distance` make no iteration wait.
 */
#ifndef NPU_TILE_H
#define NPU_TILE_H

#include "shape.h"

struct npu_tile {
    uint32_t rows, columns; /* of the result */
    uint32_t nout, nin;     /* blocks */
    uint32_t taps;          /* rows of the window; all of them unless nin is 1 */
    uint32_t nslot;         /* 2, or 1 where memories are too small */
    uint32_t keeps_weights; /* all places of some outputs are computed before the next */
    /* Computed: */
    uint32_t nout_slot; /* of results: one more where LOAD writes into them too */
    uint32_t group_rows, group_columns;     /* in micro-ops */
    uint32_t nrow, ncolumn, nblock, nchunk; /* how many there are */
    uint32_t area_rows, pitch;              /* of what is read of a block of x */
    uint32_t nplace;                        /* rows * columns */
    uint32_t filled[2]; /* rows - 1 and columns - 1 of a fill: npu_load_fill */
    /* Bases in tiles, and from slot to slot: */
    uint32_t inp_slot, wgt_slot, out_slot, params, params_slot, x, x_slot;
    uint32_t operands,
        operand_slot; /* of operand i: operands + i * nslot * operand_slot */
};

/* Fills in what is computed; 0: it does not fit the memories. */
int npu_tile_fit(const struct npu_config *, const struct npu_shape *, struct npu_tile *);

/* Cycles of a layer, about: which of two queues takes longer, and what the first and last tile wait
 * for. */
uint64_t npu_tile_cycles(const struct npu_config *, const struct npu_shape *,
                         const struct npu_tile *);

/* Chunk `i` of what is summed: blocks [in, in + nin), rows of the window [tap, tap + taps). */
struct npu_chunk {
    uint32_t in, nin, tap, taps;
};
struct npu_chunk npu_tile_chunk(const struct npu_shape *, const struct npu_tile *,
                                uint32_t i);

/* Places of x that so many results read by so many taps. */
static inline uint64_t npu_span(const struct npu_window *e, uint64_t out, uint64_t taps)
{
    return (out - 1) * (uint64_t)e->stride + (taps - 1) * (uint64_t)e->dilation + 1;
}

#endif
