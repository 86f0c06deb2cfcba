/* Winograd's transforms that any machine runs, and which there are. */
#include "winograd.h"

#include "vectors.h"

#define WINOGRAD_TABLE   cpu_winograds_portable
#define WINOGRAD_CALLEES cpu_winograd_rows_portable
#define WINOGRAD_SUFFIX  "portable"
#include "winograd_rows.h"

const struct cpu_winograd *cpu_winograd_find(enum cpu_isa isa, int32_t size)
{
    static const struct cpu_winograd *const tables[CPU_ISA_COUNT] = {
        cpu_winograds_portable, cpu_winograds_avx2,   cpu_winograds_avx512,
        cpu_winograds_avx512,   cpu_winograds_avx512,
    };
    const struct cpu_winograd *w = tables[isa];
    while (w->size && w->size != size)
        w++;
    return w->size ? w : NULL;
}
