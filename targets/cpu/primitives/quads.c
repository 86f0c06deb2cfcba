/* Sums of quads, once for each constant. */
#include "quads.h"

static int32_t run_sums(void *const *p, const int64_t *n)
{
    const int64_t step = 4 * n[CPU_QUAD_SUMS_K];
    int32_t *to = p[CPU_QUAD_SUMS_TO];
    for (int64_t i = 0; i < n[CPU_QUAD_SUMS_ROWS]; i++) {
        const int8_t *from = p[CPU_QUAD_SUMS_FROM];
        from += 4 * i * n[CPU_QUAD_SUMS_ROW];
        uint32_t sum = 0; // wraps, as the sums do to which it is added
        for (int64_t k = 0; k < n[CPU_QUAD_SUMS_DEPTH]; k++, from += step)
            sum += (uint32_t)(from[0] + from[1] + from[2] + from[3]);
        to[i] = (int32_t)(sum * (uint32_t)n[CPU_QUAD_SUMS_FACTOR]);
    }
    return 0;
}

enum { SUMS_PS = 1000 };
const struct cpu_callee cpu_quad_sums[] = {
    { "quad_sums", run_sums, CPU_QUAD_SUMS, BT_INT32, BT_UINT32, SUMS_PS },
    { 0 },
};
