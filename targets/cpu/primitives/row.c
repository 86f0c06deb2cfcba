/* Which rows of windows there are, and those that any machine runs. */
#include "row.h"

#define ROW_ISA    CPU_ISA_PORTABLE
#define ROW_TABLE  cpu_rows_portable
#define ROW_SUFFIX "portable"
#include "row_kinds.h"

const struct cpu_row *cpu_row_find(enum cpu_isa isa, bt_dtype type)
{
    static const struct cpu_row *const tables[CPU_ISA_COUNT] = {
        cpu_rows_portable,
        cpu_rows_avx2,
        cpu_rows_avx512,
    };
    for (int i = (int)isa; i >= 0; i--) {
        for (const struct cpu_row *r = tables[i]; r->name; r++) {
            if (r->type == type)
                return r;
        }
    }
    return NULL;
}
