/* Calls of tiles by AMX whose sums are of this type; included by tile_amx.h, which says what tile_finish.h
 * wants but for what is of all types. */
#define LANES ((int64_t)(VECTOR_NBYTES / sizeof(REAL)))
#define NR    AMX_WIDTH

static inline VECTOR NAME(load)(const REAL *from)
{
    return (VECTOR)int_load(from);
}

#include "tile_finish.h"

/* Columns by columns, B's `step` apart: the last ones are another shape. */
AMX_INLINE int32_t NAME(run)(void *const *p, const int64_t *n, int64_t step,
                             struct NAME(epilogue) e, const enum amx_kind kind)
{
    const uint32_t *a = p[CPU_TILE_A], *b = p[CPU_TILE_B];
    REAL *c = p[CPU_TILE_C];
    union {
        uint32_t bits[AMX_WIDTH * AMX_WIDTH];
        float floats[AMX_WIDTH * AMX_WIDTH];
        REAL reals[AMX_WIDTH * AMX_WIDTH];
    } sums;
    const struct tile_block block = block_of(n);
    struct amx_shape shape = { n[CPU_TILE_M], 0 };
    for (int64_t left = n[CPU_TILE_N]; left > 0; left -= AMX_WIDTH, b += step) {
        const int64_t columns = NAME(least)(left, AMX_WIDTH);
        if (columns != shape.columns) {
            shape.columns = columns;
            amx_configure(&shape);
        }
        amx_sum_shape(sums.bits, a, b, &block, &shape, kind);
        if (kind == AMX_HALVES && !amx_is_finite(sums.floats, &shape))
            amx_make_right(sums.floats, a, b, &block, &shape);
        NAME(finish_rows)(&e, c, sums.reals, columns, n);
        c += AMX_WIDTH;
        if (e.flags & CPU_TILE_ADD_RESIDUAL)
            e.residual += AMX_WIDTH;
        if (e.flags & CPU_TILE_COLUMN_BIAS)
            e.bias += AMX_WIDTH;
    }
    if (shape.columns)
        AMX_RELEASE();
    return 0;
}

/* A start value is added like what stands there before. */
AMX_INLINE int32_t NAME(run_block)(void *const *p, const int64_t *n,
                                   const enum amx_kind kind)
{
    struct NAME(epilogue) e = { .flags = 0 };
    if (n[CPU_TILE_FLAGS] & CPU_TILE_START) {
        e.flags = CPU_TILE_ADD_RESIDUAL;
        e.residual = p[CPU_TILE_C];
    }
    return NAME(run)(p, n, AMX_WIDTH, e, kind);
}

AMX_INLINE int32_t NAME(run_epilogue)(void *const *p, const int64_t *n,
                                      const enum amx_kind kind)
{
    struct NAME(epilogue) e = NAME(epilogue_of)(p, n);
    if (n[CPU_TILE_FLAGS] & CPU_TILE_START) {
        e.flags |= CPU_TILE_ADD_RESIDUAL;
        e.residual = p[CPU_TILE_SUMS];
    }
    if (NAME(is_bound_nan)(&e)) {
        NAME(fill_bound)(&e, p[CPU_TILE_C], n);
        return 0;
    }
    return NAME(run)(p, n, n[CPU_TILE_B_N], e, kind);
}

#undef LANES
#undef NR
#undef REAL
#undef VECTOR
#undef LOAD_PART
#undef STORE_PART
#undef AT_LEAST
#undef AT_MOST
#undef NAME
