/*
 * Contraction tiles: the innermost block of every matrix product and convolution.
 *
 *     C[m, n] = (start of C[m, n], or 0) + sum_k A[m, k] * B[k, n],  m <= MR, n <= NR
 *
 * k runs over three extents, K2 outermost and K innermost, with strides of their own: the
 * channels and taps of a convolution that reads its input where it lies. One accumulator
 * per element takes its terms in the order of k, in the type of C: the result is the same
 * bit for bit however m, n and k are cut into calls and wherever the data lie. Another
 * instruction set may round differently (FMA). Integers wrap.
 *
 * A lies as its strides say: unpacked, or packed [k][MR] (a_row 1, a_k MR). B's elements
 * along n are neighbours; packed in panels [k][NR] padded with zeros, or rows of anything
 * with stride b_k. Nothing outside m, n, k is read or written, but that of a padded B
 * whole rows of NR are.
 */
#ifndef CPU_TILE_H
#define CPU_TILE_H

#include "callee.h"

/* Their places in p and n; strides count elements. */
enum { CPU_TILE_C, CPU_TILE_A, CPU_TILE_B, CPU_TILE_NPOINTER };
/* ... of an epilogue, behind those: */
enum {
    CPU_TILE_BIAS = CPU_TILE_NPOINTER,
    CPU_TILE_LOW_AT,
    CPU_TILE_HIGH_AT,
    CPU_TILE_NEXT,
    CPU_TILE_SUMS,
    CPU_TILE_RESIDUAL
};
enum {
    CPU_TILE_M,     /* 1 ... MR */
    CPU_TILE_N,     /* 1 ... NR; of an epilogue any */
    CPU_TILE_K,     /* >= 0, as K1 and K2 */
    CPU_TILE_A_ROW, /* stride of A along m */
    CPU_TILE_A_K,   /* ... along k */
    CPU_TILE_B_K,   /* stride of B along k */
    CPU_TILE_C_ROW, /* stride of C along m */
    CPU_TILE_FLAGS,
    CPU_TILE_K1, /* times K, with strides from one to the next; 1: a plain k */
    CPU_TILE_A_K1,
    CPU_TILE_B_K1,
    CPU_TILE_K2, /* times K1 */
    CPU_TILE_A_K2,
    CPU_TILE_B_K2,
    CPU_TILE_NINT,
    CPU_TILE_LOW = CPU_TILE_NINT, /* of an epilogue: bits of a float, or double */
    CPU_TILE_HIGH,
    CPU_TILE_NEXT_K,   /* how far NEXT goes on along k; 0: nothing is told of it */
    CPU_TILE_B_N,      /* from NR columns of B, and of NEXT, to the next ones */
    CPU_TILE_SUMS_ROW, /* stride of SUMS along m */
    CPU_TILE_EPILOGUE_NINT
};
enum {
    CPU_TILE_START = 1,  /* C holds a start value */
    CPU_TILE_PADDED = 2, /* B's rows may be read to NR */
    CPU_LINE_FINITE =
        4, /* of a line: all of B is, so that products with zeros are zeros */
    /* of an epilogue: */
    CPU_TILE_ROW_BIAS = 8,
    CPU_TILE_COLUMN_BIAS = 16,
    CPU_TILE_ADD_RESIDUAL = 32,
    CPU_TILE_AT_LEAST = 64,
    CPU_TILE_AT_MOST = 128,
    CPU_TILE_LOW_IS_AT =
        256, /* at an address; else an integer has the bits of the bound */
    CPU_TILE_HIGH_IS_AT = 512,
    CPU_TILE_TURNED = 1024,
    CPU_TILE_ONCE = 2048 /* no element of C is written by two calls of a program */
};

/*
 * Tiles with an epilogue: what is made of the sums while they are in registers or near.
 *
 *     C[m, n] = min(max(sum + BIAS[m] + RESIDUAL[m, n], low), high)
 *
 * of which each step is done if its flag is set, and BIAS[n] with another. RESIDUAL lies as C, and
 * may be C where each element is written once. A start value is SUMS[m, n], whose rows may be read as
 * those of B; it may be C if that is not turned. By AMX it is C, and there is no RESIDUAL beside it.
 * A turned one writes, and reads its residual, at C[n, m]: C_ROW is the stride along n, and m has
 * neighbours; its bias is that of columns.
 * NEXT is what calls to come read: while term k is computed, element k * NEXT_K of it and that half a
 * row of B further are fetched into the caches. They are not read, and change no result.
 */

/*
 * Tiles of int32 sums that make codes of 8 bits of them:
 *
 *     C[m, n] = ZERO + round(min(max(float(sum + BIAS[r]) * FACTOR[r], LOW), HIGH))     r: m, or n
 *
 * to the nearest, of two as near the even one, where NaN is OF_NAN, and the low byte is stored. Bounds
 * are whole numbers below 2^21. What BIAS and FACTOR have is one for each row by flag CPU_TILE_ROW_BIAS,
 * else for each column, and whole vectors of it may be read. N is any; its columns are groups, of which the
 * first WIDTH are stored:
 *
 *     column g * GROUP + i of row m is C[m * C_ROW + g * C_GROUP + i]    for i < WIDTH
 */
enum { CPU_CODES_VECTOR = 16 }; /* elements of the longest vector */
enum { CPU_CODES_FACTOR = CPU_TILE_BIAS + 1, CPU_CODES_NEXT, CPU_CODES_NPOINTER };
enum {
    CPU_CODES_B_N = CPU_TILE_NINT, /* as CPU_TILE_B_N */
    CPU_CODES_NEXT_K,              /* as CPU_TILE_NEXT_K */
    CPU_CODES_LOW,                 /* bits of a float, as HIGH and OF_NAN */
    CPU_CODES_HIGH,
    CPU_CODES_OF_NAN,
    CPU_CODES_ZERO,
    CPU_CODES_GROUP,
    CPU_CODES_WIDTH,
    CPU_CODES_C_GROUP,
    CPU_CODES_NINT
};

/*
 * The same of sums that are there: row m of them begins at SUMS + m * SUMS_ROW, of which whole vectors
 * may be read. M and N are any.
 */
enum {
    CPU_SUMS_CODES_C,
    CPU_SUMS_CODES_SUMS,
    CPU_SUMS_CODES_BIAS,
    CPU_SUMS_CODES_FACTOR,
    CPU_SUMS_CODES_NPOINTER
};
enum {
    CPU_SUMS_CODES_ROW = CPU_TILE_A_ROW
}; /* SUMS_ROW; M, N, C_ROW and flags are those of a tile */

/*
 * Lines: what is left of a tile where all rows of C share one row of A, as they do in
 * depthwise convolution. N is any, M counts lines of B and of C:
 *
 *     C[m, n] = (start of C[m, n], or 0) + sum_k A[k] * B[k, m * B_ROW + n]
 *
 * All else is as above, but that of a padded B more is read only of lines of at most NR columns. The
 * panels of a packed B are such lines too, of NR columns each: so a matrix of one row is multiplied.
 */
enum { CPU_LINE_B_ROW = CPU_TILE_A_ROW };

/*
 * Across: few rows by a B that lies column by column, so that neighbours are so along k, as of
 * a matrix that is given turned. N is any:
 *
 *     C[m, n] = (start of C[m, n], or 0) + sum_k A[m, k] * B[n * B_COLUMN + k]
 */
enum { CPU_ACROSS_MR = 4, CPU_ACROSS_B_COLUMN = CPU_TILE_B_K };

struct cpu_tile {
    /* NULL: it has none */
    const struct cpu_callee *block, *line, *across, *epilogue, *codes, *sums_codes;
    bt_dtype a, b, c;
    int32_t mr, nr;
    enum cpu_isa isa;
    /* makes what it reads of factors (pairs.h), for pairs of int16 a row for each type of these;
     * NULL: it reads them as they are */
    const struct cpu_callee *pairs;
    int32_t nterm; /* whose factors are an element: 1; of pairs 2, of quads 4 */
    int32_t depth; /* of pairs: K is a multiple of it, if it is not 0, and A_K is 1 */
    int32_t has_halves;    /* 1: pairs of high halves, then of low ones */
    int32_t takes_columns; /* 1: N is any */
    int32_t is_a_signed; /* of quads: A's factors have a sign, B's none; 0: the reverse */
};

/* Tiles of one set, the best of equal types first, ended by one without a block, and their
 * rows; empty where the program was not compiled for it. */
extern const struct cpu_tile cpu_tiles_portable[], cpu_tiles_avx2[], cpu_tiles_avx512[],
    cpu_tiles_avx512bf16[], cpu_tiles_amx[];
extern const struct cpu_callee cpu_tile_rows_portable[], cpu_tile_rows_avx2[],
    cpu_tile_rows_avx512[], cpu_tile_rows_avx512bf16[], cpu_tile_rows_amx[];

/* The best row for these types that `isa` can run; NULL: none. */
const struct cpu_tile *cpu_tile_find(enum cpu_isa isa, bt_dtype a, bt_dtype b,
                                     bt_dtype c);
/* The best one of pairs: of floats rounded to bfloat16, or to two halves of that; with sums in int32,
 * of int16. NULL: none. */
const struct cpu_tile *cpu_tile_of_pairs(enum cpu_isa isa, bt_dtype c, int has_halves);
/* The best one of quads, that this machine multiplies in one instruction; NULL: none. A program with
 * one gives the same elsewhere, where it takes longer than one of pairs. */
const struct cpu_tile *cpu_tile_of_quads(enum cpu_isa isa, int is_a_signed);

#endif
