/*
 * What tiles make of their sums (tile.h, tiles with an epilogue) once these are in memory, in rows of
 * NR; included by who says that, LANES, load, and what tile_float.h wants.
 */
struct NAME(epilogue) {
    int64_t flags;
    const REAL *bias, *residual;
    VECTOR low, high;
};

static REAL NAME(bound_of)(const REAL *at, int64_t bits, int64_t is_at)
{
    REAL bound;
    memcpy(&bound, is_at ? (const void *)at : &bits, sizeof(bound));
    return bound;
}

static struct NAME(epilogue) NAME(epilogue_of)(void *const *p, const int64_t *n)
{
    const int64_t flags = n[CPU_TILE_FLAGS];
    const REAL low =
        NAME(bound_of)(p[CPU_TILE_LOW_AT], n[CPU_TILE_LOW], flags & CPU_TILE_LOW_IS_AT);
    const REAL high = NAME(bound_of)(p[CPU_TILE_HIGH_AT], n[CPU_TILE_HIGH],
                                     flags & CPU_TILE_HIGH_IS_AT);
    return (struct NAME(epilogue)){
        .flags = flags,
        .bias = p[CPU_TILE_BIAS],
        .residual = p[CPU_TILE_RESIDUAL],
        .low = low - (VECTOR){ 0 },
        .high = high - (VECTOR){ 0 },
    };
}

/* What is made of sums with this bias, `count` of which are stored `at` elements behind C. */
static inline __attribute__((always_inline)) void
NAME(finish)(const struct NAME(epilogue) * e, REAL *c, int64_t at, VECTOR sums,
             VECTOR bias, int64_t count)
{
    if (e->flags & (CPU_TILE_ROW_BIAS | CPU_TILE_COLUMN_BIAS))
        sums += bias;
    if (e->flags & CPU_TILE_ADD_RESIDUAL)
        sums += LOAD_PART(e->residual + at, count);
    if (e->flags & CPU_TILE_AT_LEAST)
        sums = AT_LEAST(sums, e->low);
    if (e->flags & CPU_TILE_AT_MOST)
        sums = AT_MOST(sums, e->high);
    STORE_PART(c + at, sums, count);
}

static int64_t NAME(least)(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void NAME(finish_rows)(const struct NAME(epilogue) * e, REAL *c, const REAL *sums,
                              int64_t width, const int64_t *n)
{
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        VECTOR bias = { 0 };
        if (e->flags & CPU_TILE_ROW_BIAS)
            bias = e->bias[i] - (VECTOR){ 0 };
        for (int64_t j = 0; j < width; j += LANES) {
            const int64_t count = NAME(least)(width - j, LANES);
            if (e->flags & CPU_TILE_COLUMN_BIAS)
                bias = LOAD_PART(e->bias + j, count);
            NAME(finish)
            (e, c, i * n[CPU_TILE_C_ROW] + j, NAME(load)(sums + i * NR + j), bias, count);
        }
    }
}

/* A bound that is NaN makes all that. */
static int NAME(is_bound_nan)(const struct NAME(epilogue) * e)
{
    return (e->flags & CPU_TILE_AT_LEAST && e->low[0] != e->low[0]) ||
           (e->flags & CPU_TILE_AT_MOST && e->high[0] != e->high[0]);
}

static void NAME(fill_bound)(const struct NAME(epilogue) * e, REAL *c, const int64_t *n)
{
    const int is_turned = (n[CPU_TILE_FLAGS] & CPU_TILE_TURNED) != 0;
    const int64_t row = is_turned ? 1 : n[CPU_TILE_C_ROW];
    const int64_t column = is_turned ? n[CPU_TILE_C_ROW] : 1;
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        for (int64_t j = 0; j < n[CPU_TILE_N]; j++)
            c[i * row + j * column] = e->low[0] + e->high[0];
    }
}
