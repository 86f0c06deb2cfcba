/*
 * Convolutions of 3 x 3 taps and stride 1 by Winograd's minimal filtering (Lavin and Gray 2015,
 * "Fast Algorithms for Convolutional Neural Networks", https://arxiv.org/abs/1509.09308): of
 * SIZE x SIZE elements of the result, each with 9 products for every channel, (SIZE + 2)^2
 * products are left, which are matrix products of tiles by channels:
 *
 *     U[place, c, o] = G w[o, c] G'          weights, once
 *     V[place, c, t] = B' x[c, around t] B   input, around tile t
 *     M[place, t, o] = sum(c: V * U)         by the tiles of tile.h
 *     y[o, in t]     = A' M[t, o] A          output
 *
 * with (SIZE + 2)^2 places. Points are 0, 1, -1, infinity; 2 and -2 more for SIZE 4.
 *
 * Columns of the result go by units of 4, in each of which are 4 / SIZE tiles. Of some rows of tiles,
 * V is [place][c][tile of a unit][row][unit], M is [place][tile of a unit][row][unit][NR] with NR as
 * in tile.h, and U is [place][c][NR] for each NR channels of the result.
 *
 * Rounding: the largest error of a layer is about that of a plain sum for SIZE 2 and ten times
 * that for SIZE 4. What is not finite spreads over a tile, so that rows of tiles with a result
 * that is not are computed once more, term by term, of weights that are computed from U: this is
 * all that is kept of them. A tap that is much smaller than others is lost in U, but infinity times
 * it is not NaN, and has its sign: a last place of U has bits that say for each tap whether it is
 * zero, and whether it is negative. Weights with a U that is not finite stand in it as they are,
 * behind a NaN, which has their results computed term by term.
 */
#ifndef CPU_WINOGRAD_H
#define CPU_WINOGRAD_H

#include "callee.h"

/* Of U, for results of SIZE x SIZE. */
static inline int64_t cpu_winograd_places(int64_t size)
{
    return (size + 2) * (size + 2) + 1;
}

/* U of NR channels of the result: of those that are not there, zeros. */
enum { CPU_WEIGHTS_U, CPU_WEIGHTS_W, CPU_WEIGHTS_NPOINTER };
enum {
    CPU_WEIGHTS_C,       /* channels of the input */
    CPU_WEIGHTS_COUNT,   /* 1 ... NR, channels of the result */
    CPU_WEIGHTS_U_PLACE, /* strides count elements, from place to place ... */
    CPU_WEIGHTS_W_O,     /* ... of w along o, c, rows and columns */
    CPU_WEIGHTS_W_C,
    CPU_WEIGHTS_W_Y,
    CPU_WEIGHTS_W_X,
    CPU_WEIGHTS_NINT
};

/* V of some rows of tiles. x has zeros around. */
enum { CPU_INPUT_V, CPU_INPUT_X, CPU_INPUT_NPOINTER };
enum {
    CPU_INPUT_C,
    CPU_INPUT_ROWS,  /* of tiles */
    CPU_INPUT_UNITS, /* of 4 columns, in a row of tiles */
    CPU_INPUT_V_PLACE,
    CPU_INPUT_V_C,
    CPU_INPUT_X_C,
    CPU_INPUT_HEIGHT, /* of a channel of x, which lies row by row */
    CPU_INPUT_WIDTH,
    CPU_INPUT_TOP, /* where the first tile's rows begin, and columns: below 0 is outside */
    CPU_INPUT_LEFT,
    CPU_INPUT_NINT
};

/* Of some rows of tiles, the result of NR channels or less. */
enum { CPU_OUTPUT_Y, CPU_OUTPUT_M, CPU_OUTPUT_X, CPU_OUTPUT_U, CPU_OUTPUT_NPOINTER };
enum {
    CPU_OUTPUT_COUNT, /* channels of the result */
    CPU_OUTPUT_ROWS,  /* of tiles */
    CPU_OUTPUT_UNITS,
    CPU_OUTPUT_Y_HEIGHT, /* rows of the result, which may end within a tile, as columns */
    CPU_OUTPUT_Y_WIDTH,
    CPU_OUTPUT_Y_O, /* strides of the result along o and rows */
    CPU_OUTPUT_Y_ROW,
    CPU_OUTPUT_M_PLACE,
    CPU_OUTPUT_C, /* what is left is for results that are not finite: as above */
    CPU_OUTPUT_X_C,
    CPU_OUTPUT_HEIGHT,
    CPU_OUTPUT_WIDTH,
    CPU_OUTPUT_TOP,
    CPU_OUTPUT_LEFT,
    CPU_OUTPUT_U_PLACE,
    CPU_OUTPUT_NINT
};

struct cpu_winograd {
    const struct cpu_callee *weights, *input, *output;
    int32_t size; /* 0: none */
};

enum { CPU_WINOGRAD_UNIT = 4 };

/* For tiles of set `isa`; NULL: there is none of this size. */
const struct cpu_winograd *cpu_winograd_find(enum cpu_isa isa, int32_t size);

extern const struct cpu_winograd cpu_winograds_portable[], cpu_winograds_avx2[],
    cpu_winograds_avx512[];
extern const struct cpu_callee cpu_winograd_rows_portable[], cpu_winograd_rows_avx2[],
    cpu_winograd_rows_avx512[];

#endif
