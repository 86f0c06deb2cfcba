/*
 * The tiles of one instruction set, in the source compiled for it, which says first:
 *
 *     TILE_ISA, TILE_SUFFIX             its place, the end of names
 *     TILE_TABLE, TILE_CALLEES          its tiles, their rows
 *     TILE_PAIRS                        who makes pairs of int16 for them (pairs.h)
 *     TILE_MR, TILE_EACH_ROWS(X)           rows of a tile: X(1) ... X(MR)
 *
 * A tile is two vectors wide: MR * 2 sums, the two vectors of B and a factor fill the
 * registers. Sizes are literals: one that is a variable keeps the sums in memory.
 */
#include "pairs.h"
#include "tile_block.h"
#include "tile_codes.h"

#define TILE_INTEGER_MR 8
#define TILE_INTEGER_NR 32

#define MULTIPLY_ADD    float_multiply_add
#define SPREAD(at)      (*(at) - (float_vector){ 0 })
#define IS_ZERO(at)     (*(at) == 0)
#define NAME(stem)      stem##_f32
#include "tile_float32.h"

#define REAL         double
#define VECTOR       double_vector
#define MULTIPLY_ADD double_multiply_add
#define SPREAD(at)   (*(at) - (double_vector){ 0 })
#define IS_ZERO(at)  (*(at) == 0)
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

#define MULTIPLY_ADD bits_multiply_add_pairs
#define NAME(stem)   stem##_pairs_two
#include "tile_int16.h"

/* The same by the instruction that adds both products at once (tile_pairs.h), and those of quads, for
 * which there is one wherever there is that: these without are for programs from another machine. */
#if defined(PAIR_SET)
#define TILE_HAS_NO_LINES
#define MULTIPLY_ADD(a, b, c) bits_multiply_add_quads(a, b, c)
#define NAME(stem)            stem##_quads_us_two
#include "tile_int16.h"
#define MULTIPLY_ADD(a, b, c) bits_multiply_add_quads(b, a, c)
#define NAME(stem)            stem##_quads_su_two
#include "tile_int16.h"
#undef TILE_HAS_NO_LINES
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(PAIR_SET))), apply_to = function)
#elif defined(__AVX512F__)
#pragma GCC push_options
#pragma GCC target("avx512vnni")
#else
#pragma GCC push_options
#pragma GCC target("avxvnni")
#endif
static inline bits_vector bits_add_pairs_at_once(bits_vector a, bits_vector b,
                                                 bits_vector c)
{
    return (bits_vector)PAIR_DOT((INT_REGISTER)c, (INT_REGISTER)a, (INT_REGISTER)b);
}
#define MULTIPLY_ADD bits_add_pairs_at_once
#define NAME(stem)   stem##_pairs_one
#include "tile_int16.h"

#define TILE_HAS_NO_LINES
#define ADD_QUADS(c, u, s) \
    ((bits_vector)QUAD_DOT((INT_REGISTER)(c), (INT_REGISTER)(u), (INT_REGISTER)(s)))
#define MULTIPLY_ADD(a, b, c) ADD_QUADS(c, a, b)
#define NAME(stem)            stem##_quads_us_one
#include "tile_int16.h"
#define MULTIPLY_ADD(a, b, c) ADD_QUADS(c, b, a)
#define NAME(stem)            stem##_quads_su_one
#include "tile_int16.h"
#undef TILE_HAS_NO_LINES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#define RUN_PAIRS(stem)                                                   \
    static int32_t stem##_pairs_i16(void *const *p, const int64_t *n)     \
    {                                                                     \
        return __builtin_cpu_supports(PAIR_SET) ? stem##_pairs_one(p, n)  \
                                                : stem##_pairs_two(p, n); \
    }
#else
#define RUN_PAIRS(stem)                                               \
    static int32_t stem##_pairs_i16(void *const *p, const int64_t *n) \
    {                                                                 \
        return stem##_pairs_two(p, n);                                \
    }
#endif
RUN_PAIRS(run)
RUN_PAIRS(run_line)
RUN_PAIRS(run_epilogue)

#if defined(PAIR_SET)
#define RUN_QUADS(stem, signs)                                                      \
    static int32_t stem##_quads_##signs(void *const *p, const int64_t *n)           \
    {                                                                               \
        return __builtin_cpu_supports(PAIR_SET) ? stem##_quads_##signs##_one(p, n)  \
                                                : stem##_quads_##signs##_two(p, n); \
    }
RUN_QUADS(run, us)
RUN_QUADS(run, su)
RUN_QUADS(run_epilogue, us)
RUN_QUADS(run_epilogue, su)
#endif

#define RUN_CODES(name)                                               \
    static int32_t run_codes_##name(void *const *p, const int64_t *n) \
    {                                                                 \
        return run_codes(run_epilogue_##name, PAIR_NR, p, n);         \
    }
RUN_CODES(pairs_i16)
#if defined(PAIR_SET)
RUN_CODES(quads_us)
RUN_CODES(quads_su)
#endif

#include "tile_integer.h"

#define FLOAT_NR(vector, element) ((int32_t)(2 * sizeof(vector) / sizeof(element)))

/* A tile has its operands near; a line meets each element of B once, and waits for it. */
enum { TILE_PS = 8, LINE_PS = 40, ACROSS_PS = 120, SUMS_CODES_PS = 120 };
#define TILE_ROW_OF(FORM, name, run, TYPE, ps)            \
    {                                                     \
        name TILE_SUFFIX, run, CPU_##FORM, TYPE, TYPE, ps \
    }
#define TILE_ROW(name, run, TYPE, ps)     TILE_ROW_OF(TILE, name, run, TYPE, ps)
#define EPILOGUE_ROW(name, run, TYPE, ps) TILE_ROW_OF(TILE_EPILOGUE, name, run, TYPE, ps)
#define CODES_ROW(name, run, TYPE, ps)    TILE_ROW_OF(TILE_CODES, name, run, TYPE, ps)
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
    TILE_ROW("tile_pairs_i16_", run_pairs_i16, BT_INT32, TILE_PS),
    TILE_ROW("line_pairs_i16_", run_line_pairs_i16, BT_INT32, LINE_PS),
    EPILOGUE_ROW("epilogue_pairs_i16_", run_epilogue_pairs_i16, BT_INT32, TILE_PS),
    CODES_ROW("codes_pairs_i16_", run_codes_pairs_i16, BT_INT32, TILE_PS),
    TILE_ROW_OF(SUMS_CODES, "sums_codes_", run_sums_codes, BT_INT32, SUMS_CODES_PS),
#if defined(PAIR_SET)
    TILE_ROW("tile_quads_us_", run_quads_us, BT_INT32, TILE_PS),
    EPILOGUE_ROW("epilogue_quads_us_", run_epilogue_quads_us, BT_INT32, TILE_PS),
    CODES_ROW("codes_quads_us_", run_codes_quads_us, BT_INT32, TILE_PS),
    TILE_ROW("tile_quads_su_", run_quads_su, BT_INT32, TILE_PS),
    EPILOGUE_ROW("epilogue_quads_su_", run_epilogue_quads_su, BT_INT32, TILE_PS),
    CODES_ROW("codes_quads_su_", run_codes_quads_su, BT_INT32, TILE_PS),
#endif
    { 0 },
};

// clang-format off
const struct cpu_tile TILE_TABLE[] = {
    { &TILE_CALLEES[0], &TILE_CALLEES[1], &TILE_CALLEES[2], &TILE_CALLEES[3], NULL, NULL,
      BT_FLOAT32, BT_FLOAT32, BT_FLOAT32,
      TILE_MR, FLOAT_NR(float_vector, float), .isa = TILE_ISA },
    { &TILE_CALLEES[4], &TILE_CALLEES[5], &TILE_CALLEES[6], &TILE_CALLEES[7], NULL, NULL,
      BT_FLOAT64, BT_FLOAT64, BT_FLOAT64,
      TILE_MR, FLOAT_NR(double_vector, double), .isa = TILE_ISA },
    { &TILE_CALLEES[8], NULL, NULL, NULL, NULL, NULL, BT_INT16, BT_INT16, BT_INT32,
      TILE_MR, PAIR_NR, .isa = TILE_ISA },
    { &TILE_CALLEES[9], NULL, NULL, NULL, NULL, NULL, BT_INT32, BT_INT32, BT_INT32,
      TILE_INTEGER_MR, TILE_INTEGER_NR, .isa = TILE_ISA },
    { &TILE_CALLEES[10], &TILE_CALLEES[11], NULL, &TILE_CALLEES[12], &TILE_CALLEES[13], &TILE_CALLEES[14],
      BT_UINT32, BT_UINT32, BT_INT32,
      TILE_MR, PAIR_NR, .isa = TILE_ISA, .pairs = TILE_PAIRS, .nterm = 2 },
#if defined(PAIR_SET)
    { &TILE_CALLEES[15], NULL, NULL, &TILE_CALLEES[16], &TILE_CALLEES[17], &TILE_CALLEES[14],
      BT_UINT32, BT_UINT32, BT_INT32,
      TILE_MR, PAIR_NR, .isa = TILE_ISA, .pairs = &TILE_PAIRS[CPU_QUADS], .nterm = 4 },
    { &TILE_CALLEES[18], NULL, NULL, &TILE_CALLEES[19], &TILE_CALLEES[20], &TILE_CALLEES[14],
      BT_UINT32, BT_UINT32, BT_INT32,
      TILE_MR, PAIR_NR, .isa = TILE_ISA, .pairs = &TILE_PAIRS[CPU_QUADS], .nterm = 4,
      .is_a_signed = 1 },
#endif
    { 0 },
};
// clang-format on
