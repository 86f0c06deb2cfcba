/* Tiles by AMX, the instructions. */
#include "tile.h"
#include "pairs.h"
#include "vectors.h"

// clang before 15 writes the name of the macro otherwise
#if defined(__AVX512BF16__) && (defined(__AMX_TILE__) || defined(__AMXTILE__))

#include "tile_block.h"

/* By the assembler, as what compilers have for these does not say what memory they read. */
#define AMX_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" : : "m"(*(config)))
#define AMX_RELEASE()         __asm__ volatile("tilerelease")
#define AMX_ZERO(t)           __asm__ volatile("tilezero %%tmm" #t : :)
#define AMX_LOAD(t, at, stride)                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t   \
                     :                                 \
                     : "r"(at), "r"((int64_t)(stride)) \
                     : "memory")
#define AMX_STORE(t, at, stride)                         \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" \
                     :                                   \
                     : "r"(at), "r"((int64_t)(stride))   \
                     : "memory")
#define AMX_PRODUCT(name, c, a, b) \
    __asm__ volatile(name " %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#define AMX_DOT(c, a, b)    AMX_PRODUCT("tdpbf16ps", c, a, b)
#define AMX_DOT_US(c, a, b) AMX_PRODUCT("tdpbusd", c, a, b)
#define AMX_DOT_SU(c, a, b) AMX_PRODUCT("tdpbsud", c, a, b)
#include "tile_amx.h"

#include "tile_codes.h"

static int32_t run_codes_us_amx(void *const *p, const int64_t *n)
{
    return run_codes(run_quads_us_epilogue_amx, AMX_WIDTH, p, n);
}

static int32_t run_codes_su_amx(void *const *p, const int64_t *n)
{
    return run_codes(run_quads_su_epilogue_amx, AMX_WIDTH, p, n);
}

/* For each term of the sums. */
enum { PAIRS_PS = 1, HALVES_PS = 2, QUADS_PS = 1, SUMS_CODES_PS = 120 };
const struct cpu_callee cpu_tile_rows_amx[] = {
    { "tile_bf16_amx", run_pairs_amx, CPU_TILE, BT_FLOAT32, BT_FLOAT32, PAIRS_PS },
    { "epilogue_bf16_amx", run_pairs_epilogue_amx, CPU_TILE_EPILOGUE, BT_FLOAT32,
      BT_FLOAT32, PAIRS_PS },
    { "tile_halves_amx", run_halves_amx, CPU_TILE, BT_FLOAT32, BT_FLOAT32, HALVES_PS },
    { "epilogue_halves_amx", run_halves_epilogue_amx, CPU_TILE_EPILOGUE, BT_FLOAT32,
      BT_FLOAT32, HALVES_PS },
    { "tile_quads_us_amx", run_quads_us_amx, CPU_TILE, BT_INT32, BT_INT32, QUADS_PS },
    { "epilogue_quads_us_amx", run_quads_us_epilogue_amx, CPU_TILE_EPILOGUE, BT_INT32,
      BT_INT32, QUADS_PS },
    { "tile_quads_su_amx", run_quads_su_amx, CPU_TILE, BT_INT32, BT_INT32, QUADS_PS },
    { "epilogue_quads_su_amx", run_quads_su_epilogue_amx, CPU_TILE_EPILOGUE, BT_INT32,
      BT_INT32, QUADS_PS },
    { "codes_quads_us_amx", run_codes_us_amx, CPU_TILE_CODES, BT_INT32, BT_INT32,
      QUADS_PS },
    { "codes_quads_su_amx", run_codes_su_amx, CPU_TILE_CODES, BT_INT32, BT_INT32,
      QUADS_PS },
    { "sums_codes_amx", run_sums_codes, CPU_SUMS_CODES, BT_INT32, BT_INT32,
      SUMS_CODES_PS },
    { 0 },
};

#define TILE(number, type)                                                            \
    .block = &cpu_tile_rows_amx[2 * (number)],                                        \
    .epilogue = &cpu_tile_rows_amx[2 * (number) + 1], .a = BT_UINT32, .b = BT_UINT32, \
    .c = type, .mr = AMX_WIDTH, .nr = AMX_WIDTH, .isa = CPU_ISA_AMX, .takes_columns = 1
#define TILE_OF_PAIRS(number)                                         \
    TILE(number, BT_FLOAT32), .pairs = &cpu_pairs_avx512bf16[number], \
                              .depth = AMX_SIDE * ((number) + 1),     \
                              .has_halves = (number), .nterm = 2
#define TILE_OF_QUADS(number, signs)                                                  \
    TILE(number, BT_INT32), .pairs = &cpu_pairs_avx512[CPU_QUADS], .depth = AMX_SIDE, \
                            .nterm = 4, .is_a_signed = (signs),                       \
                            .codes = &cpu_tile_rows_amx[8 + (signs)],                 \
                            .sums_codes = &cpu_tile_rows_amx[10]
const struct cpu_tile cpu_tiles_amx[] = {
    { TILE_OF_PAIRS(0) },
    { TILE_OF_PAIRS(1) },
    { TILE_OF_QUADS(2, 0) },
    { TILE_OF_QUADS(3, 1) },
    { 0 },
};

#else

const struct cpu_tile cpu_tiles_amx[] = { { 0 } };
const struct cpu_callee cpu_tile_rows_amx[] = { { 0 } };

#endif
