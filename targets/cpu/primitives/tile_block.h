/* What tiles of all sets and types are written with: rows as a list, and what a call asks for. */
#ifndef CPU_TILE_BLOCK_H
#define CPU_TILE_BLOCK_H

#include <string.h>

#include "tile.h"

#define TILE_PIECE  64   /* rows of B copied at a time */
#define TILE_AHEAD  8192 /* bytes of a panel that are fetched before they are read */
#define LINE_AHEAD  2048 /* ... of lines, which wait for nothing else */
#define LINE_NBYTES 64   /* that the caches move together */
#define ACROSS_NSUM (VECTOR_NBYTES == 64 ? 1 : 2) /* vectors of a row side by side */

/* Rows of a tile, X(row, three that it is among, row of these), and these threes. */
// clang-format off
#define TILE_ROWS_1(X) X(0, 0, 0)
#define TILE_ROWS_2(X) TILE_ROWS_1(X) X(1, 0, 1)
#define TILE_ROWS_3(X) TILE_ROWS_2(X) X(2, 0, 2)
#define TILE_ROWS_4(X) TILE_ROWS_3(X) X(3, 1, 0)
#define TILE_ROWS_5(X) TILE_ROWS_4(X) X(4, 1, 1)
#define TILE_ROWS_6(X) TILE_ROWS_5(X) X(5, 1, 2)
#define TILE_ROWS_7(X) TILE_ROWS_6(X) X(6, 2, 0)
#define TILE_ROWS_8(X) TILE_ROWS_7(X) X(7, 2, 1)
#define TILE_ROWS_9(X) TILE_ROWS_8(X) X(8, 2, 2)
#define TILE_ROWS_10(X) TILE_ROWS_9(X) X(9, 3, 0)
#define TILE_ROWS_11(X) TILE_ROWS_10(X) X(10, 3, 1)
#define TILE_ROWS_12(X) TILE_ROWS_11(X) X(11, 3, 2)
#define TILE_ROWS_13(X) TILE_ROWS_12(X) X(12, 4, 0)
#define TILE_ROWS_14(X) TILE_ROWS_13(X) X(13, 4, 1)
#define TILE_BASES_1(X) X(0)
#define TILE_BASES_2(X) X(0)
#define TILE_BASES_3(X) X(0)
#define TILE_BASES_4(X) X(0) X(1)
#define TILE_BASES_5(X) X(0) X(1)
#define TILE_BASES_6(X) X(0) X(1)
#define TILE_BASES_7(X) X(0) X(1) X(2)
#define TILE_BASES_8(X) X(0) X(1) X(2)
#define TILE_BASES_9(X) X(0) X(1) X(2)
#define TILE_BASES_10(X) X(0) X(1) X(2) X(3)
#define TILE_BASES_11(X) X(0) X(1) X(2) X(3)
#define TILE_BASES_12(X) X(0) X(1) X(2) X(3)
#define TILE_BASES_13(X) X(0) X(1) X(2) X(3) X(4)
#define TILE_BASES_14(X) X(0) X(1) X(2) X(3) X(4)
// clang-format on

struct tile_block {
    int64_t k, a_row, a_k, b_k, c_row;
    int64_t start;                          /* C holds a start value */
    int64_t k1, a_k1, b_k1, k2, a_k2, b_k2; /* strides from where the level below ends */
    const void *epilogue;                   /* of the type, where there is one */
    const void *next; /* what is fetched, each time so much further */
    int64_t next_k;   /* 0: nothing is told of it */
    const void *sums; /* start values of what an epilogue is made of; NULL: zeros */
    int64_t sums_row;
};

static struct tile_block block_of(const int64_t *n)
{
    return (struct tile_block){
        .k = n[CPU_TILE_K],
        .a_row = n[CPU_TILE_A_ROW],
        .a_k = n[CPU_TILE_A_K],
        .b_k = n[CPU_TILE_B_K],
        .c_row = n[CPU_TILE_C_ROW],
        .start = n[CPU_TILE_FLAGS] & CPU_TILE_START,
        .k1 = n[CPU_TILE_K1],
        .a_k1 = n[CPU_TILE_A_K1] - n[CPU_TILE_K] * n[CPU_TILE_A_K],
        .b_k1 = n[CPU_TILE_B_K1] - n[CPU_TILE_K] * n[CPU_TILE_B_K],
        .k2 = n[CPU_TILE_K2],
        .a_k2 = n[CPU_TILE_A_K2] - n[CPU_TILE_K1] * n[CPU_TILE_A_K1],
        .b_k2 = n[CPU_TILE_B_K2] - n[CPU_TILE_K1] * n[CPU_TILE_B_K1],
    };
}

#endif
