/*
 * Packing: copies of operands as contraction tiles read them best.
 *
 *     to[k, j] = from[k * K_STRIDE + j * N_STRIDE] for j < N, zero bits for N <= j < WIDTH
 *
 * `to` is dense, [K][WIDTH]: a panel of B with WIDTH = NR, rows of A with WIDTH = MR and
 * its strides. Strides count elements and may be 0 or negative; the blocks are apart.
 */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "primitive.h"

enum { CPU_PACK_TO, CPU_PACK_FROM, CPU_PACK_NPOINTER };
enum {
    CPU_PACK_K,
    CPU_PACK_N, /* 0 ... WIDTH */
    CPU_PACK_WIDTH,
    CPU_PACK_K_STRIDE,
    CPU_PACK_N_STRIDE,
    CPU_PACK_NINT
};

/* By the bytes of an element. */
cpu_primitive cpu_pack_1, cpu_pack_2, cpu_pack_4, cpu_pack_8;

#endif
