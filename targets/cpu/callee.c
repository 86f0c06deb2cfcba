/* Primitives by name. */
#include "callee.h"

#include <string.h>

#include "pack.h"
#include "row.h"
#include "strips.h"

static int find_tile(enum cpu_isa isa, const char *name, struct cpu_callee *out)
{
    static const struct cpu_tile *const tables[CPU_ISA_COUNT] = {
        cpu_tiles_portable,
        cpu_tiles_avx2,
        cpu_tiles_avx512,
    };
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_tile *t = tables[i]; t->name; t++) {
            if (strcmp(t->name, name) == 0) {
                *out = (struct cpu_callee){ t->run, CPU_TILE_NPOINTER, CPU_TILE_NINT };
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
                *out = (struct cpu_callee){ run, CPU_ROW_NPOINTER, CPU_ROW_NINT };
                return 1;
            }
        }
    }
    return 0;
}

static int find_pack(const char *name, struct cpu_callee *out)
{
    static const struct {
        const char *name;
        cpu_primitive *run;
    } all[] = {
        { "pack.1", cpu_pack_1 },
        { "pack.2", cpu_pack_2 },
        { "pack.4", cpu_pack_4 },
        { "pack.8", cpu_pack_8 },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        if (strcmp(all[i].name, name) == 0) {
            *out = (struct cpu_callee){ all[i].run, CPU_PACK_NPOINTER, CPU_PACK_NINT };
            return 1;
        }
    }
    return 0;
}

int cpu_callee_find(enum cpu_isa isa, const char *name, struct cpu_callee *out)
{
    const bt_strip *strip = bt_cpu_strip_find_for(name, isa);
    if (strip) {
        *out = (struct cpu_callee){ strip->fn, strip->naddress, strip->ninteger };
        return 1;
    }
    return find_tile(isa, name, out) || find_row(isa, name, out) || find_pack(name, out);
}
