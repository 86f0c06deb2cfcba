/* Which tiles there are, and those that any machine runs. */
#include "tile.h"
#include "vectors.h"

#define TILE_ISA          CPU_ISA_PORTABLE
#define TILE_TABLE        cpu_tiles_portable
#define TILE_CALLEES      cpu_tile_rows_portable
#define TILE_PAIRS        cpu_pairs_portable
#define TILE_SUFFIX       "portable"
#define TILE_MR           6
#define TILE_EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "tile_rows.h"

static const struct cpu_tile *const tables[CPU_ISA_COUNT] = {
#define CPU_ISA(UPPER, lower, flags) cpu_tiles_##lower,
#include "isa.def"
};

const struct cpu_tile *cpu_tile_find(enum cpu_isa isa, bt_dtype a, bt_dtype b, bt_dtype c)
{
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_tile *t = tables[i]; t->block; t++) {
            if (!t->pairs && t->a == a && t->b == b && t->c == c)
                return t;
        }
    }
    return NULL;
}

const struct cpu_tile *cpu_tile_of_pairs(enum cpu_isa isa, bt_dtype c, int has_halves)
{
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_tile *t = tables[i]; t->block; t++) {
            if (t->nterm == 2 && t->c == c && t->has_halves == has_halves)
                return t;
        }
    }
    return NULL;
}

const struct cpu_tile *cpu_tile_of_quads(enum cpu_isa isa, int is_a_signed)
{
    for (int i = (int)isa; i >= 0; i--) {
        if (!cpu_isa_multiplies_quads((enum cpu_isa)i))
            continue;
        for (const struct cpu_tile *t = tables[i]; t->block; t++) {
            if (t->nterm == 4 && t->is_a_signed == is_a_signed)
                return t;
        }
    }
    return NULL;
}
