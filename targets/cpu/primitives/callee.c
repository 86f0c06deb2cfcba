/* The list of all primitives: tables of strips and of tiles for each set, and copies. */
#include "callee.h"

#include <string.h>

#include "channels.h"
#include "depthwise.h"
#include "fixed.h"
#include "halo.h"
#include "nibbles.h"
#include "pack.h"
#include "pairs.h"
#include "planes.h"
#include "quads.h"
#include "tile.h"
#include "winograd.h"

/* ---- forms ---- */

static const int8_t work_count[] = { 0, -1 };
static const int8_t work_rows[] = { 0, 1, -1 };
static const int8_t work_window[] = { 0, 2, 4, -1 };
static const int8_t work_planes[] = { CPU_PLANES_PLANES, CPU_PLANES_ROWS,
                                      CPU_PLANES_COLUMNS, CPU_PLANES_SIDE, -1 };
static const int8_t work_planes_first[] = { CPU_FIRST_PLANES, CPU_FIRST_ROWS,
                                            CPU_FIRST_COLUMNS, CPU_FIRST_SIDE_Y, -1 };
static const int8_t work_nibbles[] = { CPU_NIBBLES_ROWS, CPU_NIBBLES_COLUMNS,
                                       CPU_NIBBLES_DEPTH, -1 };
static const int8_t work_tile[] = { CPU_TILE_M,  CPU_TILE_N,  CPU_TILE_K,
                                    CPU_TILE_K1, CPU_TILE_K2, -1 };
static const int8_t work_sums_codes[] = { CPU_TILE_M, CPU_TILE_N, -1 };
static const int8_t work_pack[] = { CPU_PACK_K, CPU_PACK_WIDTH, -1 };
static const int8_t work_pairs[] = { CPU_PAIRS_DEPTH, CPU_PAIRS_WIDTH, -1 };
static const int8_t work_quad_sums[] = { CPU_QUAD_SUMS_ROWS, CPU_QUAD_SUMS_DEPTH, -1 };
static const int8_t work_halo[] = { CPU_HALO_ROWS, CPU_HALO_WIDTH, -1 };
static const int8_t work_weights[] = { CPU_WEIGHTS_C, -1 };
static const int8_t work_input[] = { CPU_INPUT_C, CPU_INPUT_ROWS, CPU_INPUT_UNITS, -1 };
static const int8_t work_output[] = { CPU_OUTPUT_COUNT, CPU_OUTPUT_ROWS, CPU_OUTPUT_UNITS,
                                      -1 };
static const int8_t work_depthwise[] = { CPU_DEPTHWISE_PLANES, CPU_DEPTHWISE_ROWS,
                                         CPU_DEPTHWISE_COLUMNS, CPU_DEPTHWISE_TAPS, -1 };
static const int8_t work_channels[] = { CPU_CHANNELS_ROWS, CPU_CHANNELS_COLUMNS,
                                        CPU_CHANNELS_CHANNELS, CPU_CHANNELS_TAPS_Y, -1 };
static const int8_t work_channels_max[] = { CPU_CHANNELS_ROWS,     CPU_CHANNELS_COLUMNS,
                                            CPU_CHANNELS_CHANNELS, CPU_CHANNELS_TAPS_Y,
                                            CPU_CHANNELS_TAPS_X,   -1 };
static const int8_t work_channels_pack[] = { CPU_CHANNELS_PACK_CHANNELS,
                                             CPU_CHANNELS_PACK_TAPS_Y,
                                             CPU_CHANNELS_PACK_TAPS_X, -1 };

#define COUNT(...) (sizeof((const uint8_t[][2]){ __VA_ARGS__ }) / 2)
const struct cpu_form cpu_forms[CPU_NFORM] = {
#define CPU_FORM(name, ninteger, nwritten, work, ...)                        \
    [CPU_##name] = {                                                         \
        COUNT(__VA_ARGS__), ninteger, nwritten, work_##work, { __VA_ARGS__ } \
    },
#include "forms.def"
};

/* ---- tables ---- */

#define COPIES(name, FORM, ps)                                                \
    { #name ".1", cpu_##name##_1, CPU_##FORM, BT_UINT8, BT_UINT8, ps },       \
        { #name ".2", cpu_##name##_2, CPU_##FORM, BT_UINT16, BT_UINT16, ps }, \
        { #name ".4", cpu_##name##_4, CPU_##FORM, BT_UINT32, BT_UINT32, ps }, \
        { #name ".8", cpu_##name##_8, CPU_##FORM, BT_UINT64, BT_UINT64, ps },
static const struct cpu_callee copies[] = { COPIES(pack, PACK, 300)
                                                COPIES(halo, HALO, 100){ 0 } };

/* A table of each source, compiled for each set; of tiles and transforms, a set has those of
 * narrower ones. */
#define TABLE(name) \
    {               \
#name, name \
    }
#define STRIPS(isa)                                                                \
    TABLE(cpu_float_##isa), TABLE(cpu_int_##isa), TABLE(cpu_move_##isa),           \
        TABLE(cpu_reduce_##isa), TABLE(cpu_window_##isa), TABLE(cpu_planes_##isa), \
        TABLE(cpu_nibbles_##isa), TABLE(cpu_channels_##isa), TABLE(cpu_codes_##isa)
#define BLOCKS(isa) \
    TABLE(cpu_tile_rows_##isa), TABLE(cpu_pairs_##isa), TABLE(cpu_winograd_rows_##isa)
#define DEPTHWISE(isa)  TABLE(cpu_depthwise_##isa)
#define PAIRS(isa)      TABLE(cpu_tile_rows_##isa), TABLE(cpu_pairs_##isa)
#define COPIES_AND_SUMS TABLE(copies), TABLE(cpu_quad_sums)
#define DECLARE(isa)                                                                     \
    extern const struct cpu_callee cpu_float_##isa[], cpu_int_##isa[], cpu_move_##isa[], \
        cpu_reduce_##isa[], cpu_window_##isa[], cpu_planes_##isa[], cpu_nibbles_##isa[], \
        cpu_codes_##isa[];
DECLARE(portable)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#else
#define cpu_float_avx2     cpu_float_portable
#define cpu_int_avx2       cpu_int_portable
#define cpu_move_avx2      cpu_move_portable
#define cpu_reduce_avx2    cpu_reduce_portable
#define cpu_window_avx2    cpu_window_portable
#define cpu_planes_avx2    cpu_planes_portable
#define cpu_nibbles_avx2   cpu_nibbles_portable
#define cpu_codes_avx2     cpu_codes_portable
#define cpu_float_avx512   cpu_float_portable
#define cpu_int_avx512     cpu_int_portable
#define cpu_move_avx512    cpu_move_portable
#define cpu_reduce_avx512  cpu_reduce_portable
#define cpu_window_avx512  cpu_window_portable
#define cpu_planes_avx512  cpu_planes_portable
#define cpu_nibbles_avx512 cpu_nibbles_portable
#define cpu_codes_avx512   cpu_codes_portable
#endif
enum { MAX_TABLES = 28 };
static const struct {
    const char *name;
    const struct cpu_callee *rows;
} tables[CPU_ISA_COUNT][MAX_TABLES] = {
    [CPU_ISA_PORTABLE] = { STRIPS(portable), COPIES_AND_SUMS, BLOCKS(portable) },
    [CPU_ISA_AVX2] = { STRIPS(avx2), COPIES_AND_SUMS, BLOCKS(avx2), DEPTHWISE(avx2),
                       BLOCKS(portable) },
    [CPU_ISA_AVX512] = { STRIPS(avx512), COPIES_AND_SUMS, BLOCKS(avx512),
                         DEPTHWISE(avx512), BLOCKS(avx2), BLOCKS(portable) },
    [CPU_ISA_AVX512BF16] = { STRIPS(avx512), COPIES_AND_SUMS, PAIRS(avx512bf16),
                             BLOCKS(avx512), DEPTHWISE(avx512), BLOCKS(avx2),
                             BLOCKS(portable) },
    [CPU_ISA_AMX] = { STRIPS(avx512), COPIES_AND_SUMS, TABLE(cpu_tile_rows_amx),
                      PAIRS(avx512bf16), BLOCKS(avx512), DEPTHWISE(avx512), BLOCKS(avx2),
                      BLOCKS(portable) },
};

#define EACH_ROW(isa, k, row)                                        \
    for (uint32_t k = 0; k < MAX_TABLES && tables[isa][k].rows; k++) \
        for (const struct cpu_callee *row = tables[isa][k].rows; row->name; row++)

const struct cpu_callee *cpu_callee_at(enum cpu_isa isa, uint32_t index)
{
    EACH_ROW(isa, k, row)
    {
        if (index-- == 0)
            return row;
    }
    return NULL;
}

const struct cpu_callee *cpu_callee_find(enum cpu_isa isa, const char *name)
{
    EACH_ROW(isa, k, row)
    {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

const char *cpu_callee_table(enum cpu_isa isa, const struct cpu_callee *callee,
                             uint32_t *index)
{
    EACH_ROW(isa, k, row)
    {
        *index = (uint32_t)(row - tables[isa][k].rows);
        if (row == callee && tables[isa][k].rows != copies)
            return tables[isa][k].name;
    }
    return NULL;
}

int cpu_callee_index(enum cpu_isa isa, bt_map *out)
{
    EACH_ROW(isa, k, row)
    {
        if (!bt_map_put(out, row->name, (void *)(uintptr_t)row))
            return 0;
    }
    return 1;
}
