/* Winograd's transforms of tiles of SIZE x SIZE; included by winograd_rows.h, which says SIZE and
 * NAME(stem), names of this size's own. */
#define SIDE     (SIZE + TAPS - 1)
#define PER_UNIT (UNIT / SIZE)

/* One side of a tile: B' d, G g and A' m, of vectors `step` apart. */
#if SIZE == 2
static const struct inverse NAME(inverse) = { SIDE, 1, 1 };

static inline void NAME(input)(float_vector *v, const float_vector *d, int64_t step)
{
    v[0] = d[0] - d[2 * step];
    v[1] = d[step] + d[2 * step];
    v[2] = d[2 * step] - d[step];
    v[3] = d[step] - d[3 * step];
}

static inline void NAME(weights)(float_vector *u, const float_vector *g, int64_t step)
{
    const float_vector ends = g[0] + g[2 * step];
    u[0] = g[0];
    u[1] = (ends + g[step]) * 0.5F;
    u[2] = (ends - g[step]) * 0.5F;
    u[3] = g[2 * step];
}

static inline void NAME(output)(float_vector *y, const float_vector *m, int64_t step)
{
    y[0] = m[0] + m[step] + m[2 * step];
    y[1] = m[step] - m[2 * step] - m[3 * step];
}
#else
static const struct inverse NAME(inverse) = { SIDE, 4, -3 };

static inline float_vector NAME(times)(float factor, float_vector v, float_vector more)
{
    return float_multiply_add(factor - (float_vector){ 0 }, v, more);
}

static inline void NAME(input)(float_vector *v, const float_vector *d, int64_t step)
{
    const float_vector even = NAME(times)(-4, d[2 * step], d[4 * step]);
    const float_vector odd = NAME(times)(-4, d[step], d[3 * step]);
    const float_vector even_2 = d[4 * step] - d[2 * step];
    const float_vector odd_2 = d[3 * step] - d[step];
    v[0] = NAME(times)(4, d[0], NAME(times)(-5, d[2 * step], d[4 * step]));
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = NAME(times)(2, odd_2, even_2);
    v[4] = NAME(times)(-2, odd_2, even_2);
    v[5] = NAME(times)(4, d[step], NAME(times)(-5, d[3 * step], d[5 * step]));
}

static inline void NAME(weights)(float_vector *u, const float_vector *g, int64_t step)
{
    const float_vector ends = (g[0] + g[2 * step]) * (-1 / 6.F);
    const float_vector middle = g[step] * (1 / 6.F);
    const float_vector ends_2 = g[0] * (1 / 24.F) + g[2 * step] * (1 / 6.F);
    const float_vector middle_2 = g[step] * (1 / 12.F);
    u[0] = g[0] * 0.25F;
    u[1] = ends - middle;
    u[2] = ends + middle;
    u[3] = ends_2 + middle_2;
    u[4] = ends_2 - middle_2;
    u[5] = g[2 * step];
}

static inline void NAME(output)(float_vector *y, const float_vector *m, int64_t step)
{
    const float_vector sum = m[step] + m[2 * step], sum_2 = m[3 * step] + m[4 * step];
    const float_vector less = m[step] - m[2 * step], less_2 = m[3 * step] - m[4 * step];
    y[0] = m[0] + sum + sum_2;
    y[1] = NAME(times)(2, less_2, less);
    y[2] = NAME(times)(4, sum_2, sum);
    y[3] = NAME(times)(8, less_2, less) + m[5 * step];
}
#endif

/* ---- weights ---- */

/* LANES channels of the result and one of the input. */
static void NAME(transform_weights)(float *u, const float *w, int64_t count,
                                    const int64_t *n)
{
    float taps[TAPS * TAPS][VECTOR_NBYTES / sizeof(float)] = { { 0 } };
    float_vector g[TAPS * TAPS], half[TAPS][SIDE], all[SIDE], bad = { 0 };
    for (int64_t o = 0; o < count; o++) {
        for (int64_t i = 0; i < TAPS * TAPS; i++)
            taps[i][o] = w[o * n[CPU_WEIGHTS_W_O] + i / TAPS * n[CPU_WEIGHTS_W_Y] +
                           i % TAPS * n[CPU_WEIGHTS_W_X]];
    }
    memcpy(g, taps, sizeof(g));
    UNROLL
    for (int j = 0; j < TAPS; j++)
        NAME(weights)(half[j], g + j, TAPS);
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        NAME(weights)(all, &half[0][i], SIDE);
        UNROLL
        for (int j = 0; j < SIDE; j++)
            store(u + (i * SIDE + j) * n[CPU_WEIGHTS_U_PLACE], all[j]);
        UNROLL
        for (int j = 0; j < SIDE; j++)
            bad = float_multiply_add(all[j], (float_vector){ 0 }, bad);
    }
    store(u + SIDE * SIDE * n[CPU_WEIGHTS_U_PLACE], (float_vector)signs_of(g));
    for (int64_t o = 0; o < count && !float_is_zero(bad); o++) {
        if (bad[o] != 0)
            keep_taps(u + o, n[CPU_WEIGHTS_U_PLACE], &taps[0][o]);
    }
}

static int32_t NAME(run_weights)(void *const *p, const int64_t *n)
{
    for (int64_t c = 0; c < n[CPU_WEIGHTS_C]; c++) {
        for (int64_t o = 0; o < NR; o += LANES) {
            const int64_t left = n[CPU_WEIGHTS_COUNT] - o;
            NAME(transform_weights)
            ((float *)p[CPU_WEIGHTS_U] + c * NR + o,
             (const float *)p[CPU_WEIGHTS_W] + c * n[CPU_WEIGHTS_W_C] +
                 o * n[CPU_WEIGHTS_W_O],
             left < LANES ? left : LANES, n);
        }
    }
    return 0;
}

/* ---- input ---- */

/* One side for each tile of LANES units, of one row of x. */
static inline void NAME(transform_row)(float_vector *to, const float_vector *d)
{
    UNROLL
    for (int i = 0; i < PER_UNIT; i++)
        NAME(input)(to + i * SIDE, d + i * SIZE, 1);
}

/* The other side, for `count` units from number `at` on of n[ROWS] * n[UNITS]. */
static inline void NAME(transform_columns)(float *v,
                                           float_vector half[SIDE][PER_UNIT * SIDE],
                                           int64_t at, int64_t count, const int64_t *n)
{
    const int64_t nunit = n[CPU_INPUT_ROWS] * n[CPU_INPUT_UNITS];
    for (int64_t j = 0; j < PER_UNIT * SIDE; j++) {
        float *to = v + j % SIDE * n[CPU_INPUT_V_PLACE] + j / SIDE * nunit + at;
        float_vector all[SIDE];
        NAME(input)(all, &half[0][j], PER_UNIT * SIDE);
        UNROLL
        for (int i = 0; i < SIDE; i++)
            store_some(to + i * SIDE * n[CPU_INPUT_V_PLACE], all[i], count);
    }
}

/* A row of tiles of a channel, LANES units at a time. Planes may be far from each other, and from
 * the caches: the same of the next one is fetched. */
static void NAME(transform_wide)(float *v, const float *x, int64_t row, const int64_t *n)
{
    const int64_t units = n[CPU_INPUT_UNITS], width = n[CPU_INPUT_WIDTH];
    const int64_t top = n[CPU_INPUT_TOP] + row * SIZE;
    for (int64_t k = 0; k * LANES < units; k++) {
        const int64_t u = first_of(k, units);
        const struct columns columns = columns_of(n[CPU_INPUT_LEFT] + u * UNIT, width);
        float_vector half[SIDE][PER_UNIT * SIDE], d[UNIT_READS];
        for (int64_t i = 0; i < SIDE; i++) {
            const int is_there = top + i >= 0 && top + i < n[CPU_INPUT_HEIGHT];
            fetch_units(x + n[CPU_INPUT_X_C] + (top + i) * width, &columns);
            read_units(d, is_there ? x + (top + i) * width : NULL, &columns);
            NAME(transform_row)(half[i], d);
        }
        NAME(transform_columns)(v, half, row * units + u, units - u, n);
    }
}

/* Rows of tiles of a channel, which are much narrower than vectors: units of one row after the
 * other, from a copy with zeros around. */
static void NAME(transform_narrow)(float *v, const float *x, int64_t first, int64_t rows,
                                   const int64_t *n)
{
    const int64_t units = n[CPU_INPUT_UNITS], pitch = (units + 1) * UNIT;
    struct plane plane;
    copy_plane(&plane, x, n[CPU_INPUT_TOP] + first * SIZE, rows * SIZE + TAPS - 1, pitch,
               n);
    for (int64_t k = 0; k * LANES < rows * units; k++) {
        const int64_t at = first_of(k, rows * units);
        const float *runs[VECTOR_NBYTES / sizeof(float)];
        float_vector half[SIDE][PER_UNIT * SIDE], d[2 * UNIT];
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t unit = at + i < rows * units ? at + i : at;
            runs[i] = plane.at + unit / units * SIZE * pitch + unit % units * UNIT;
        }
        for (int64_t i = 0; i < SIDE; i++) {
            read_runs(d, runs, i * pitch);
            read_runs(d + UNIT, runs, i * pitch + UNIT);
            NAME(transform_row)(half[i], d);
        }
        NAME(transform_columns)(v, half, first * units + at, rows * units - at, n);
    }
}

static int32_t NAME(run_input)(void *const *p, const int64_t *n)
{
    const int64_t rows = n[CPU_INPUT_ROWS];
    const int is_narrow = n[CPU_INPUT_UNITS] <= NARROW;
    for (int64_t c = 0; c < n[CPU_INPUT_C]; c++) {
        float *v = (float *)p[CPU_INPUT_V] + c * n[CPU_INPUT_V_C];
        const float *x = (const float *)p[CPU_INPUT_X] + c * n[CPU_INPUT_X_C];
        for (int64_t row = 0; row < rows && !is_narrow; row++)
            NAME(transform_wide)(v, x, row, n);
        for (int64_t row = 0; row < rows && is_narrow; row += PLANE_TILES)
            NAME(transform_narrow)
        (v, x, row, rows - row < PLANE_TILES ? rows - row : PLANE_TILES, n);
    }
    return 0;
}

/* ---- output ---- */

/* One side of a unit of LANES channels. */
static inline void NAME(join)(float_vector half[PER_UNIT][SIDE][SIZE], const float *m,
                              int64_t m_place, int64_t m_tile)
{
    UNROLL
    for (int k = 0; k < PER_UNIT; k++) {
        UNROLL
        for (int j = 0; j < SIDE; j++) {
            float_vector column[SIDE];
            UNROLL
            for (int i = 0; i < SIDE; i++)
                column[i] = load(m + (i * SIDE + j) * m_place + k * m_tile);
            NAME(output)(half[k][j], column, 1);
        }
    }
}

/* A row of tiles of LANES channels: of each unit the other side, row by row. *bad becomes NaN where
 * one is not finite. */
static void NAME(transform_output)(float *to, const float *m, int64_t nchannel,
                                   int64_t nrow, float_vector *bad, const int64_t *n)
{
    const int64_t units = n[CPU_OUTPUT_UNITS];
    for (int64_t u = 0; u < units; u++) {
        float_vector half[PER_UNIT][SIDE][SIZE], row[UNIT], sum = { 0 };
        NAME(join)
        (half, m + u * NR, n[CPU_OUTPUT_M_PLACE], n[CPU_OUTPUT_ROWS] * units * NR);
        UNROLL
        for (int i = 0; i < SIZE; i++) {
            UNROLL
            for (int k = 0; k < PER_UNIT; k++)
                NAME(output)(row + k * SIZE, &half[k][0][i], SIZE);
            UNROLL
            for (int j = 0; j < UNIT; j++)
                sum += row[j];
            if (i < nrow)
                store_turned(to + i * n[CPU_OUTPUT_Y_ROW] + u * UNIT, n[CPU_OUTPUT_Y_O],
                             row, nchannel, n[CPU_OUTPUT_Y_WIDTH] - u * UNIT);
        }
        *bad = float_multiply_add(sum, (float_vector){ 0 }, *bad);
    }
}

static int32_t NAME(run_output)(void *const *p, const int64_t *n)
{
    for (int64_t row = 0; row < n[CPU_OUTPUT_ROWS]; row++) {
        const int64_t first = row * SIZE, left = n[CPU_OUTPUT_Y_HEIGHT] - first;
        const int64_t nrow = left < SIZE ? left : SIZE;
        const float *m = (const float *)p[CPU_OUTPUT_M] + row * n[CPU_OUTPUT_UNITS] * NR;
        float *y = (float *)p[CPU_OUTPUT_Y] + first * n[CPU_OUTPUT_Y_ROW];
        float_vector bad = { 0 };
        for (int64_t o = 0; o < n[CPU_OUTPUT_COUNT]; o += LANES)
            NAME(transform_output)
        (y + o * n[CPU_OUTPUT_Y_O], m + o, n[CPU_OUTPUT_COUNT] - o, nrow, &bad, n);
        if (!float_is_zero(bad))
            compute_rows(p, first, first + nrow, &NAME(inverse), n);
    }
    return 0;
}

#undef SIDE
#undef PER_UNIT
#undef SIZE
#undef NAME
