/*
 * Depthwise convolutions: channels of an image, each by taps of its own, read where they lie. Of
 * each of PLANES:
 *
 *     S[r, c] = sum(i in TAPS, j in TAPS: W[i, j] * X[TOP + STEP * r + i, LEFT + STEP * c + j])
 *     Y[r, c] = min(max(S[r, c] + BIAS, low), high)
 *
 * Elements outside of X are zeros, which are multiplied too. One accumulator per element takes
 * its terms in the order of i, then j, as tiles do (tile.h): a result is the same bit for bit
 * however rows and columns are cut into calls. Sums of integers wrap. BIAS is one element of a plane; it is
 * added, and each bound is kept, where its flag is set.
 *
 * Codes of 8 bits of integer sums are, to the nearest, of two as near the even one,
 *
 *     Y[r, c] = CODE_ZERO + round(min(max(float(S[r, c] + BIAS) * FACTOR, LOW), HIGH))
 *
 * of which the low byte is stored; a NaN is OF_NAN, and bounds are whole numbers below 2^21.
 */
#ifndef CPU_DEPTHWISE_H
#define CPU_DEPTHWISE_H

#include "callee.h"

enum {
    CPU_DEPTHWISE_Y,
    CPU_DEPTHWISE_X,
    CPU_DEPTHWISE_W,
    CPU_DEPTHWISE_BIAS,
    CPU_DEPTHWISE_NPOINTER,
    CPU_DEPTHWISE_FACTOR = CPU_DEPTHWISE_NPOINTER, /* of codes alone */
    CPU_DEPTHWISE_CODES_NPOINTER
};
enum {
    CPU_DEPTHWISE_PLANES,
    CPU_DEPTHWISE_ROWS, /* of the result */
    CPU_DEPTHWISE_COLUMNS,
    CPU_DEPTHWISE_TAPS,    /* 3 or 5 along rows, and as many along columns */
    CPU_DEPTHWISE_Y_PLANE, /* strides count elements */
    CPU_DEPTHWISE_X_PLANE,
    CPU_DEPTHWISE_W_PLANE,
    CPU_DEPTHWISE_BIAS_PLANE,
    CPU_DEPTHWISE_Y_ROW,
    CPU_DEPTHWISE_W_Y,
    CPU_DEPTHWISE_W_X,
    CPU_DEPTHWISE_HEIGHT, /* of X, which lies row by row */
    CPU_DEPTHWISE_WIDTH,
    CPU_DEPTHWISE_TOP, /* may be outside, as LEFT */
    CPU_DEPTHWISE_LEFT,
    CPU_DEPTHWISE_STEP, /* 1 or 2, from row to row, and from column to column */
    CPU_DEPTHWISE_FLAGS,
    CPU_DEPTHWISE_LOW, /* bits of a float, or double, that is no NaN */
    CPU_DEPTHWISE_HIGH,
    CPU_DEPTHWISE_ZERO, /* what is subtracted of elements of X within it, if these are integers */
    CPU_DEPTHWISE_NINT,
    CPU_DEPTHWISE_FACTOR_PLANE = CPU_DEPTHWISE_NINT, /* of codes alone, as what follows */
    CPU_DEPTHWISE_OF_NAN,
    CPU_DEPTHWISE_CODE_ZERO,
    CPU_DEPTHWISE_CODES_NINT
};
enum {
    CPU_DEPTHWISE_ADD_BIAS = 1,
    CPU_DEPTHWISE_AT_LEAST = 2,
    CPU_DEPTHWISE_AT_MOST = 4,
};

/* Of set `isa`, by types of X and Y: float32 and float64; or, of X in int16, uint8 or int8 and W in
 * int16, sums in int32, which have no bounds, or codes of them, which are called uint8. NULL: there is
 * none of the types, or set. */
const struct cpu_callee *cpu_depthwise_find(enum cpu_isa isa, bt_dtype x, bt_dtype y);

extern const struct cpu_callee cpu_depthwise_avx2[], cpu_depthwise_avx512[];

#endif
