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

enum { CPU_PAIRS_TO, CPU_PAIRS_FROM, CPU_PAIRS_NPOINTER };
enum {
    CPU_PAIRS_K,     /* 0 ... 2 * DEPTH */
    CPU_PAIRS_N,     /* 0 ... WIDTH */
    CPU_PAIRS_DEPTH, /* pairs */
    CPU_PAIRS_WIDTH,
    CPU_PAIRS_K_STRIDE,
    CPU_PAIRS_N_STRIDE,
    CPU_PAIRS_NINT
};

/* Empty where the program was not compiled for it. */
extern const struct cpu_callee cpu_pairs_avx512bf16[];

#endif
