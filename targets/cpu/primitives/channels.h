/*
 * Windows around places of an image whose channels are neighbours, of codes of 8 bits. For each of
 * ROWS by COLUMNS, of each of CHANNELS:
 *
 *     Y[r, c] = R(i in TAPS_Y, j in TAPS_X: X[TOP + STEP_Y * r + i, LEFT + STEP_X * c + j])
 *
 * where R takes what is inside of X. It is the maximum, which of nothing is the least code; or a sum
 * of products, which is stored as it is, or of which codes are made (codes.h), a NaN being 0 before the
 * zero is added:
 *
 *     W[i, j] * (X[...] - ZERO), BIAS by channel;  of codes: FACTOR by channel, LOW, HIGH, CODE_ZERO
 *
 * Sums are of int32, which wraps. Their W is packed first, for blocks of channels, in quads of taps one
 * below the other; of a step of 1, for two rows of the result: which block of X they meet is one.
 */
#ifndef CPU_CHANNELS_H
#define CPU_CHANNELS_H

#include "callee.h"

enum {
    CPU_CHANNELS_Y,
    CPU_CHANNELS_X,
    CPU_CHANNELS_MAX_NPOINTER,
    CPU_CHANNELS_W = CPU_CHANNELS_MAX_NPOINTER, /* packed */
    CPU_CHANNELS_BIAS,
    CPU_CHANNELS_FACTOR,
    CPU_CHANNELS_NPOINTER
};
enum {
    CPU_CHANNELS_ROWS, /* of the result */
    CPU_CHANNELS_COLUMNS,
    CPU_CHANNELS_CHANNELS,
    CPU_CHANNELS_TAPS_Y, /* of sums 3 or 5, of maxima at most 8, */
    CPU_CHANNELS_TAPS_X, /* ... 1 to 5, at most 8 */
    CPU_CHANNELS_Y_ROW,  /* strides count elements */
    CPU_CHANNELS_Y_COLUMN,
    CPU_CHANNELS_X_ROW,
    CPU_CHANNELS_X_COLUMN,
    CPU_CHANNELS_HEIGHT, /* of X */
    CPU_CHANNELS_WIDTH,
    CPU_CHANNELS_TOP, /* may be outside, as LEFT */
    CPU_CHANNELS_LEFT,
    CPU_CHANNELS_STEP_Y,
    CPU_CHANNELS_STEP_X,
    CPU_CHANNELS_MAX_NINT,
    CPU_CHANNELS_ZERO = CPU_CHANNELS_MAX_NINT, /* a code, as elements of X are */
    CPU_CHANNELS_LOW, /* bits of a float, as HIGH; int16 holds them, ... */
    CPU_CHANNELS_HIGH,
    CPU_CHANNELS_CODE_ZERO, /* ... and this; below 0 where the bounds are those of int8 */
    CPU_CHANNELS_IS_NARROW, /* of W, as when it was packed */
    CPU_CHANNELS_NINT
};

/* Packing: `to`, then W. */
enum { CPU_CHANNELS_PACK_TO, CPU_CHANNELS_PACK_W, CPU_CHANNELS_PACK_NPOINTER };
enum {
    CPU_CHANNELS_PACK_CHANNELS,
    CPU_CHANNELS_PACK_TAPS_Y,
    CPU_CHANNELS_PACK_TAPS_X,
    CPU_CHANNELS_PACK_STEP_Y,
    CPU_CHANNELS_PACK_W_CHANNEL, /* strides */
    CPU_CHANNELS_PACK_W_Y,
    CPU_CHANNELS_PACK_W_X,
    CPU_CHANNELS_PACK_W_ZERO,    /* what is subtracted of W: a code */
    CPU_CHANNELS_PACK_ZERO,      /* of X, and whether that has a sign */
    CPU_CHANNELS_PACK_IS_SIGNED, /* ... */
    CPU_CHANNELS_PACK_IS_NARROW, /* 1: int8 holds W without its zero */
    CPU_CHANNELS_PACK_NINT
};

/* As many channels as the narrowest block has; images of fewer have no sums here. */
enum { CPU_CHANNELS_LEAST = 16 };

/* Codes of sums, or sums themselves, of X in uint8 or int8, and the packing of W in either; NULL: there
 * is none. */
const struct cpu_callee *cpu_channels_find(enum cpu_isa isa, bt_dtype x, int is_sums);
const struct cpu_callee *cpu_channels_pack_find(enum cpu_isa isa, bt_dtype w);
/* Bytes of a packed W. */
int64_t cpu_channels_nbytes(enum cpu_isa isa, int64_t channels, int64_t taps_y,
                            int64_t taps_x, int64_t step_y, int is_narrow);

extern const struct cpu_callee cpu_channels_portable[], cpu_channels_avx2[],
    cpu_channels_avx512[];

/* ---- blocks ---- */

/* Of so many channels that are left, how many the next block of vectors of `nbytes` has; if those are
 * more than are left, it has some of the block before once more. */
static inline int64_t cpu_channels_block(int64_t nbytes, int64_t left)
{
    while (nbytes > left && nbytes > CPU_CHANNELS_LEAST)
        nbytes /= 2;
    return nbytes;
}

/* Rows of X that rows of the result which are done together take. */
static inline int64_t cpu_channels_rows(int64_t taps_y, int64_t step_y)
{
    return step_y == 1 ? taps_y + 1 : taps_y;
}

/* Bytes of a block: what is added to sums, then quads, or pairs if it is not narrow. */
static inline int64_t cpu_channels_block_nbytes(int64_t nbytes, int64_t taps_y,
                                                int64_t taps_x, int64_t step_y,
                                                int is_narrow)
{
    const int64_t nquad = (cpu_channels_rows(taps_y, step_y) + 3) / 4;
    return nbytes * 4 *
           (1 + taps_x * nquad * (step_y == 1 ? 2 : 1) * (is_narrow ? 1 : 2));
}

#endif
