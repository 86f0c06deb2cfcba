/*
 * The tiles of one instruction set, in the source compiled for it, which says first:
 *
 *     TILE_ISA, TILE_SUFFIX             its place, the end of names
 *     TILE_TABLE, TILE_CALLEES          its tiles, their rows
 *     TILE_MR, TILE_EACH_ROWS(X)           rows of a tile: X(1) ... X(MR)
 *
 * A tile is two vectors wide: MR * 2 sums, the two vectors of B and a factor fill the
 * registers. Sizes are literals: one that is a variable keeps the sums in memory.
 */
#include <string.h>

#define TILE_PIECE      64 /* rows of B copied at a time */
#define TILE_INTEGER_MR 8
#define TILE_INTEGER_NR 32
#define TILE_AHEAD      8192 /* bytes of a panel that are fetched before they are read */
#define ACROSS_NSUM     (VECTOR_NBYTES == 64 ? 1 : 2) /* vectors of a row side by side */

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
    const void *epilogue;                   /* of the type; NULL: C are the sums */
    const void *next;                       /* what is fetched, each time so much further */
    int64_t next_k;                         /* 0: nothing is told of it */
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

#define REAL         float
#define VECTOR       float_vector
#define MULTIPLY_ADD float_multiply_add
#define LOAD_PART    float_load_part
#define STORE_PART   float_store_part
#define AT_LEAST     float_at_least
#define AT_MOST      float_at_most
#define TURN         turn_square_4
#define LOAD_RUNS    load_runs_4
#define LOAD_APART   load_runs_apart_4
#define NAME(stem)   stem##_f32
#include "tile_float.h"

#define REAL         double
#define VECTOR       double_vector
#define MULTIPLY_ADD double_multiply_add
#define LOAD_PART    double_load_part
#define STORE_PART   double_store_part
#define AT_LEAST     double_at_least
#define AT_MOST      double_at_most
#define TURN         turn_square_8
#define LOAD_RUNS    load_runs_8
#define LOAD_APART   load_runs_apart_8
#define NAME(stem)   stem##_f64
#include "tile_float.h"

#include "tile_pairs.h"

#include "tile_integer.h"

#define FLOAT_NR(vector, element) ((int32_t)(2 * sizeof(vector) / sizeof(element)))

/* A tile has its operands near; a line meets each element of B once, and waits for it. */
enum { TILE_PS = 8, LINE_PS = 40, ACROSS_PS = 120 };
#define TILE_ROW_OF(FORM, name, run, TYPE, ps)            \
    {                                                     \
        name TILE_SUFFIX, run, CPU_##FORM, TYPE, TYPE, ps \
    }
#define TILE_ROW(name, run, TYPE, ps)     TILE_ROW_OF(TILE, name, run, TYPE, ps)
#define EPILOGUE_ROW(name, run, TYPE, ps) TILE_ROW_OF(TILE_EPILOGUE, name, run, TYPE, ps)
const struct cpu_callee TILE_CALLEES[] = {
    TILE_ROW("tile_f32_", run_f32, BT_FLOAT32, TILE_PS),
    TILE_ROW("line_f32_", run_line_f32, BT_FLOAT32, LINE_PS),
    TILE_ROW("across_f32_", run_across_f32, BT_FLOAT32, ACROSS_PS),
    EPILOGUE_ROW("epilogue_f32_", run_epilogue_f32, BT_FLOAT32, TILE_PS),
    TILE_ROW("tile_f64_", run_f64, BT_FLOAT64, TILE_PS),
    TILE_ROW("line_f64_", run_line_f64, BT_FLOAT64, LINE_PS),
    TILE_ROW("across_f64_", run_across_f64, BT_FLOAT64, ACROSS_PS),
    EPILOGUE_ROW("epilogue_f64_", run_epilogue_f64, BT_FLOAT64, TILE_PS),
    TILE_ROW("tile_i16_", run_i16, BT_INT32, TILE_PS),
    TILE_ROW("tile_i32_", run_i32, BT_INT32, TILE_PS),
    { 0 },
};

// clang-format off
const struct cpu_tile TILE_TABLE[] = {
    { &TILE_CALLEES[0], &TILE_CALLEES[1], &TILE_CALLEES[2], &TILE_CALLEES[3],
      BT_FLOAT32, BT_FLOAT32, BT_FLOAT32,
      TILE_MR, FLOAT_NR(float_vector, float), TILE_ISA },
    { &TILE_CALLEES[4], &TILE_CALLEES[5], &TILE_CALLEES[6], &TILE_CALLEES[7],
      BT_FLOAT64, BT_FLOAT64, BT_FLOAT64,
      TILE_MR, FLOAT_NR(double_vector, double), TILE_ISA },
    { &TILE_CALLEES[8], NULL, NULL, NULL, BT_INT16, BT_INT16, BT_INT32,
      TILE_MR, PAIR_NR, TILE_ISA },
    { &TILE_CALLEES[9], NULL, NULL, NULL, BT_INT32, BT_INT32, BT_INT32,
      TILE_INTEGER_MR, TILE_INTEGER_NR, TILE_ISA },
    { 0 },
};
// clang-format on
