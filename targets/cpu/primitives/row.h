/*
 * Rows of windows: depthwise convolution and pooling where channels are neighbours.
 *
 *     depthwise  out[x, c] = (start of out[x, c], or 0) + sum_{r, q} in[x, r, q, c] * w[r, q, c]
 *     max        out[x, c] = max_{r, q} in[x, r, q, c]; NaN if any is
 *     sum        out[x, c] = scale * sum_{r, q} in[x, r, q, c]
 *
 * for x < WIDTH, c < CHANNELS, taps r < ROWS, q < COLUMNS in this order; in[x, r, q, c] is
 * in[x * IN_X + r * IN_ROW + q * IN_COLUMN + c], so that strides and dilations are the
 * caller's. Where a window hangs over the border, the caller gives the taps inside. Each
 * element has its own sum: cuts change no bit. Nothing outside is read or written.
 */
#ifndef CPU_ROW_H
#define CPU_ROW_H

#include "isa.h"
#include "primitive.h"

#include <baton/value.h>

enum {
    CPU_ROW_OUT,
    CPU_ROW_IN,
    CPU_ROW_WITH, /* depthwise: the weights; sum: the scale, one element; max: unused */
    CPU_ROW_NPOINTER
};
enum {
    CPU_ROW_WIDTH,
    CPU_ROW_CHANNELS,
    CPU_ROW_ROWS,    /* >= 1 */
    CPU_ROW_COLUMNS, /* >= 1 */
    CPU_ROW_OUT_X,   /* strides, in elements */
    CPU_ROW_IN_X,
    CPU_ROW_IN_ROW,
    CPU_ROW_IN_COLUMN,
    CPU_ROW_W_ROW,
    CPU_ROW_W_COLUMN,
    CPU_ROW_START, /* depthwise: out holds start values */
    CPU_ROW_NINT
};

struct cpu_row {
    const char *name; /* of the functions, without what they do */
    bt_dtype type;
    enum cpu_isa isa;
    cpu_primitive *depthwise, *max, *sum;
};

/* Rows of one set, ended by a zero name; empty where the program was not compiled for it. */
extern const struct cpu_row cpu_rows_portable[];
extern const struct cpu_row cpu_rows_avx2[];
extern const struct cpu_row cpu_rows_avx512[];

/* The best for the type that `isa` can run; NULL: none. */
const struct cpu_row *cpu_row_find(enum cpu_isa isa, bt_dtype type);

#endif
