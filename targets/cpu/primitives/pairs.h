/*
 * Pairs of bfloat16: two terms' factors side by side, rounded to the nearest, as tiles of these
 * read them (tile.avx512bf16.c):
 *
 *     to[k, j] = { from[2 * k * K_STRIDE + j * N_STRIDE], the one K_STRIDE behind }
 *                for 2 * k < K and j < N, zero bits for k < DEPTH and j < WIDTH besides
 *
 * of which the first is the low half; the second is 0 where K is odd and the pair the last. `to` is
 * dense, [DEPTH][WIDTH]. Strides count elements and may be 0 or negative; the blocks are apart.
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

enum { CPU_PAIRS_TO, CPU_PAIRS_FROM, CPU_PAIRS_NPOINTER };
enum {
    CPU_PAIRS_K,     /* 0 ... 2 * DEPTH, or of halves DEPTH */
    CPU_PAIRS_N,     /* 0 ... WIDTH */
    CPU_PAIRS_DEPTH, /* rows of pairs */
    CPU_PAIRS_WIDTH,
    CPU_PAIRS_K_STRIDE,
    CPU_PAIRS_N_STRIDE,
    CPU_PAIRS_NINT
};

/* Pairs, then halves; empty where the program was not compiled for it. */
extern const struct cpu_callee cpu_pairs_avx512bf16[];

#endif
