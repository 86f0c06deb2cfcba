/*
 * What is added to sums of products with codes whose zero point is not 0, as tiles of quads (pairs.h)
 * multiply the codes as they are: of each row of the other factor, which has a sign,
 *
 *     to[i] = FACTOR * sum(k, t: byte t of from[i * ROW + k * K])     for i < ROWS, k < DEPTH
 */
#ifndef CPU_QUADS_H
#define CPU_QUADS_H

#include "callee.h"

enum { CPU_QUAD_SUMS_TO, CPU_QUAD_SUMS_FROM, CPU_QUAD_SUMS_NPOINTER };
enum {
    CPU_QUAD_SUMS_ROWS,
    CPU_QUAD_SUMS_DEPTH,
    CPU_QUAD_SUMS_ROW, /* strides */
    CPU_QUAD_SUMS_K,
    CPU_QUAD_SUMS_FACTOR,
    CPU_QUAD_SUMS_NINT
};
extern const struct cpu_callee cpu_quad_sums[];

#endif
