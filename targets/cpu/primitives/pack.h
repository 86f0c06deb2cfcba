/*
 * Packing: copies of operands as contraction tiles read them best.
 *
 *     to[k * ROW + j] = from[k * K_STRIDE + j * N_STRIDE] for j < N, zero bits for N <= j < WIDTH
 *
 * A panel of B has WIDTH = NR, and ROW, too, unless others lie beside it; rows of A have MR and its
 * strides. Strides count elements and those of `from` may be 0 or negative; the blocks are apart.
 */
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "primitive.h"

enum { CPU_PACK_TO, CPU_PACK_FROM, CPU_PACK_NPOINTER };
enum {
    CPU_PACK_K,
    CPU_PACK_N, /* 0 ... WIDTH */
    CPU_PACK_WIDTH,
    CPU_PACK_ROW, /* at least WIDTH */
    CPU_PACK_K_STRIDE,
    CPU_PACK_N_STRIDE,
    CPU_PACK_NINT
};

/* By the bytes of an element. */
cpu_primitive cpu_pack_1, cpu_pack_2, cpu_pack_4, cpu_pack_8;

#endif
