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

#include <stdint.h>

enum { CPU_PACK_TO, CPU_PACK_FROM, CPU_PACK_NPOINTER };
enum {
    CPU_PACK_K,
    CPU_PACK_N, /* 0 ... WIDTH */
    CPU_PACK_WIDTH,
    CPU_PACK_K_STRIDE,
    CPU_PACK_N_STRIDE,
    CPU_PACK_NINT
};

/* By the bytes of an element. They are primitives of this target: 0. */
int32_t cpu_pack_1(void *const *p, const int64_t *n);
int32_t cpu_pack_2(void *const *p, const int64_t *n);
int32_t cpu_pack_4(void *const *p, const int64_t *n);
int32_t cpu_pack_8(void *const *p, const int64_t *n);

#endif
