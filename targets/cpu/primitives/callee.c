/* Primitives by name. */
#include "callee.h"

#include <string.h>

#include "halo.h"
#include "pack.h"
#include "row.h"
#include "strips.h"
#include "tile.h"

static int find_tile(enum cpu_isa isa, const char *name, struct cpu_callee *out)
{
    static const struct cpu_tile *const tables[CPU_ISA_COUNT] = {
        cpu_tiles_portable,
        cpu_tiles_avx2,
        cpu_tiles_avx512,
    };
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_tile *t = tables[i]; t->name; t++) {
            int is_line = t->line_name && strcmp(t->line_name, name) == 0;
            if (is_line || strcmp(t->name, name) == 0) {
                *out = (struct cpu_callee){ is_line ? t->run_line : t->run,
                                            CPU_TILE_NPOINTER, CPU_TILE_NINT, 1 };
                return 1;
            }
        }
    }
    return 0;
}

static cpu_primitive *of_row(const struct cpu_row *row, const char *what)
{
    if (strcmp(what, ".depthwise") == 0)
        return row->depthwise;
    if (strcmp(what, ".max") == 0)
        return row->max;
    return strcmp(what, ".sum") == 0 ? row->sum : NULL;
}

static int find_row(enum cpu_isa isa, const char *name, struct cpu_callee *out)
{
    static const struct cpu_row *const tables[CPU_ISA_COUNT] = {
        cpu_rows_portable,
        cpu_rows_avx2,
        cpu_rows_avx512,
    };
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_row *r = tables[i]; r->name; r++) {
            size_t n = strlen(r->name);
            cpu_primitive *run =
                strncmp(r->name, name, n) == 0 ? of_row(r, name + n) : NULL;
            if (run) {
                *out = (struct cpu_callee){ run, CPU_ROW_NPOINTER, CPU_ROW_NINT, 1 };
                return 1;
            }
        }
    }
    return 0;
}

/* Copies into panels and halos, by the bytes of an element. */
static int find_copy(const char *name, struct cpu_callee *out)
{
    static const struct {
        const char *name;
        struct cpu_callee callee;
    } all[] = {
        { "pack.1", { cpu_pack_1, CPU_PACK_NPOINTER, CPU_PACK_NINT, 1 } },
        { "pack.2", { cpu_pack_2, CPU_PACK_NPOINTER, CPU_PACK_NINT, 1 } },
        { "pack.4", { cpu_pack_4, CPU_PACK_NPOINTER, CPU_PACK_NINT, 1 } },
        { "pack.8", { cpu_pack_8, CPU_PACK_NPOINTER, CPU_PACK_NINT, 1 } },
        { "halo.1", { cpu_halo_1, CPU_HALO_NPOINTER, CPU_HALO_NINT, 1 } },
        { "halo.2", { cpu_halo_2, CPU_HALO_NPOINTER, CPU_HALO_NINT, 1 } },
        { "halo.4", { cpu_halo_4, CPU_HALO_NPOINTER, CPU_HALO_NINT, 1 } },
        { "halo.8", { cpu_halo_8, CPU_HALO_NPOINTER, CPU_HALO_NINT, 1 } },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].callee;
            return 1;
        }
    }
    return 0;
}

int cpu_callee_find(enum cpu_isa isa, const char *name, struct cpu_callee *out)
{
    const bt_strip *strip = bt_cpu_strip_find_for(name, isa);
    if (strip) {
        *out = (struct cpu_callee){ strip->fn, strip->naddress, strip->ninteger,
                                    strip->nwritten };
        return 1;
    }
    return find_tile(isa, name, out) || find_row(isa, name, out) || find_copy(name, out);
}
