/*
 * Halos: a plane of an image with zeros around it, or codes that stand for zero, or every few
 * elements of one, as convolutions read it best.
 *
 *     to[r, x] = from[(r - TOP) * FROM_ROW + (x - LEFT) * FROM_X]
 *                for TOP <= r < TOP + HEIGHT, LEFT <= x < LEFT + COUNT, else the bits FILL
 *
 * `to` is dense, [ROWS][WIDTH]. Strides count elements and may be 0 or negative; the
 * blocks are apart.
 */
#ifndef CPU_HALO_H
#define CPU_HALO_H

#include "primitive.h"

enum { CPU_HALO_TO, CPU_HALO_FROM, CPU_HALO_NPOINTER };
enum {
    CPU_HALO_ROWS,
    CPU_HALO_WIDTH,
    CPU_HALO_TOP,    /* 0 ... ROWS */
    CPU_HALO_HEIGHT, /* 0 ... ROWS - TOP */
    CPU_HALO_LEFT,
    CPU_HALO_COUNT,
    CPU_HALO_FROM_ROW,
    CPU_HALO_FROM_X,
    CPU_HALO_FILL,
    CPU_HALO_NINT
};

/* By the bytes of an element. */
cpu_primitive cpu_halo_1, cpu_halo_2, cpu_halo_4, cpu_halo_8;

#endif
