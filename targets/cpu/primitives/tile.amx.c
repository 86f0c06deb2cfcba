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
#define AMX_DOT(c, a, b) \
    __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#include "tile_amx.h"

/* For each term of the sums. */
enum { PAIRS_PS = 1, HALVES_PS = 2 };
const struct cpu_callee cpu_tile_rows_amx[] = {
    { "tile_bf16_amx", run_pairs_amx, CPU_TILE, BT_FLOAT32, BT_FLOAT32, PAIRS_PS },
    { "epilogue_bf16_amx", run_pairs_epilogue_amx, CPU_TILE_EPILOGUE, BT_FLOAT32,
      BT_FLOAT32, PAIRS_PS },
    { "tile_halves_amx", run_halves_amx, CPU_TILE, BT_FLOAT32, BT_FLOAT32, HALVES_PS },
    { "epilogue_halves_amx", run_halves_epilogue_amx, CPU_TILE_EPILOGUE, BT_FLOAT32,
      BT_FLOAT32, HALVES_PS },
    { 0 },
};

#define TILE(number)                                                        \
    .block = &cpu_tile_rows_amx[2 * (number)],                              \
    .epilogue = &cpu_tile_rows_amx[2 * (number) + 1],                       \
    .pairs = &cpu_pairs_avx512bf16[number], .a = BT_UINT32, .b = BT_UINT32, \
    .c = BT_FLOAT32, .mr = AMX_WIDTH, .nr = AMX_WIDTH, .isa = CPU_ISA_AMX,  \
    .depth = AMX_SIDE * ((number) + 1), .has_halves = (number), .takes_columns = 1
const struct cpu_tile cpu_tiles_amx[] = { { TILE(0) }, { TILE(1) }, { 0 } };

#else

const struct cpu_tile cpu_tiles_amx[] = { { 0 } };
const struct cpu_callee cpu_tile_rows_amx[] = { { 0 } };

#endif
