/*
 * Pairs of bfloat16 or int16: two terms' factors side by side, floats rounded to the nearest, as
 * tiles of these read them (tile.avx512bf16.c, tile_rows.h):
 *
 *     to[k, j] = { from[2 * k * K_STRIDE + j * N_STRIDE] - ZERO, the one K_STRIDE behind - ZERO }
 *                for 2 * k < K and j < N, zero bits for k < DEPTH and j < WIDTH besides
 *
 * where ZERO is the zero point of integers, and such that int16 holds the differences,
 * of which the first is the low half; the second is 0 where K is odd and the pair the last. `to` is
 * dense, [DEPTH][WIDTH], or of integers, if it is TURNED, [WIDTH][DEPTH]. Strides count elements and may be 0 or negative; the blocks are apart.
 */
#ifndef CPU_PAIRS_H
#define CPU_PAIRS_H

#include "callee.h"

/*
 * Halves: each factor as the sum of two bfloat16, the high one as above but never infinite where the
 * factor is not, and what is left, rounded. Pairs of 16 high ones are followed by those of the 16 low
 * ones, so that `to` has rows of twice as many pairs:
 *
 *     to[32 * i + k, j] = high of pair 16 * i + k of the above,  to[32 * i + 16 + k, j] = low
 *
 * and DEPTH is a multiple of 32. Of what is not finite, the low half is 0.
 */
enum { CPU_PAIRS_OF_HALVES = 16 };

/*
 * Quads: four terms of 8 bits with or without a sign, the first in the lowest byte:
 *
 *     to[k, j] = { from[(4 * k + t) * K_STRIDE + j * N_STRIDE] - ZERO for t < 4 }
 *
 * of which each wraps, and of terms from K on the bytes are 0. So codes with a sign become such without
 * one, with ZERO = -128, which is then added to their zero point, too.
 */
enum { CPU_PAIRS_TO, CPU_PAIRS_FROM, CPU_PAIRS_NPOINTER };
enum {
    CPU_PAIRS_K,     /* 0 ... 2 * DEPTH, or of halves DEPTH */
    CPU_PAIRS_N,     /* 0 ... WIDTH */
    CPU_PAIRS_DEPTH, /* rows of pairs */
    CPU_PAIRS_WIDTH,
    CPU_PAIRS_K_STRIDE,
    CPU_PAIRS_N_STRIDE,
    CPU_PAIRS_ZERO,   /* of integers */
    CPU_PAIRS_TURNED, /* 1: column by column; K_STRIDE is 1 then */
    CPU_PAIRS_NINT
};

/* Pairs, then halves; empty where the program was not compiled for it. */
extern const struct cpu_callee cpu_pairs_avx512bf16[];

/* Pairs of int16, of what is int16, uint8 or int8; quads. */
enum { CPU_PAIRS_OF_INT16, CPU_PAIRS_OF_UINT8, CPU_PAIRS_OF_INT8, CPU_QUADS };
extern const struct cpu_callee cpu_pairs_portable[], cpu_pairs_avx2[], cpu_pairs_avx512[];

#endif
