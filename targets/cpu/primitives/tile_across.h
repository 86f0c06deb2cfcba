/* Few rows by columns that lie across (tile.h), of the type and set that tile_float.h, which
 * includes this, is for. */
typedef VECTOR NAME(sums)[CPU_ACROSS_MR];

enum { NAME(RUN) = TURN_SIDE(sizeof(REAL)), NAME(MAX_RUNS) = VECTOR_NBYTES / 16 };

/* Adds to LANES columns of each row the products of neighbours along k, from element k on:
 * `nrun` runs of 16 bytes of each column, which is a literal. */
static inline __attribute__((always_inline)) void
NAME(add_runs)(VECTOR *sums, const REAL *a, const REAL *const *columns, int64_t k,
               const int nrun, const int64_t *n)
{
    enum { RUN = NAME(RUN) };
    int_vector b[NAME(MAX_RUNS)][RUN];
    UNROLL
    for (int j = 0; j < RUN; j++) {
        UNROLL
        for (int r = 0; r < nrun; r++)
            b[r][j] = LOAD_RUNS(columns + j, k + r * RUN);
    }
    UNROLL
    for (int r = 0; r < nrun; r++)
        TURN(b[r]);
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        const REAL *row = a + i * n[CPU_TILE_A_ROW] + k * n[CPU_TILE_A_K];
        VECTOR sum = sums[i];
        UNROLL
        for (int q = 0; q < nrun * RUN; q++)
            sum = MULTIPLY_ADD(row[q * n[CPU_TILE_A_K]] - (VECTOR){ 0 },
                               (VECTOR)b[q / RUN][q % RUN], sum);
        sums[i] = sum;
    }
}

/* The same of one neighbour. */
static void NAME(add_element)(VECTOR *sums, const REAL *a, const REAL *const *columns,
                              int64_t k, const int64_t *n)
{
    REAL b[LANES];
    for (int64_t j = 0; j < LANES; j++)
        b[j] = columns[j][k];
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++)
        sums[i] =
            MULTIPLY_ADD(a[i * n[CPU_TILE_A_ROW] + k * n[CPU_TILE_A_K]] - (VECTOR){ 0 },
                         NAME(load)(b), sums[i]);
}

static void NAME(add_across)(NAME(sums) * sums, const REAL *a, const REAL *const *columns,
                             const int64_t *n)
{
    int64_t k = 0;
    for (; n[CPU_TILE_K] - k >= LANES; k += LANES) {
        for (int i = 0; i < ACROSS_NSUM; i++)
            NAME(add_runs)(sums[i], a, columns + i * LANES, k, NAME(MAX_RUNS), n);
    }
    for (; n[CPU_TILE_K] - k >= NAME(RUN); k += NAME(RUN)) {
        for (int i = 0; i < ACROSS_NSUM; i++)
            NAME(add_runs)(sums[i], a, columns + i * LANES, k, 1, n);
    }
    for (; k < n[CPU_TILE_K]; k++) {
        for (int i = 0; i < ACROSS_NSUM; i++)
            NAME(add_element)(sums[i], a, columns + i * LANES, k, n);
    }
}

/* A row's sums, of which at most `ncolumn` are there: from C, or to it. */
static void NAME(move_sums)(NAME(sums) * sums, int64_t row, REAL *c, int64_t ncolumn,
                            int is_start)
{
    for (int64_t i = 0; i < ACROSS_NSUM && i * LANES < ncolumn; i++) {
        const int64_t left = ncolumn - i * LANES, n = left < LANES ? left : LANES;
        if (is_start)
            sums[i][row] = LOAD_PART(c + i * LANES, n);
        else
            STORE_PART(c + i * LANES, sums[i][row], n);
    }
}

/* Behind the last column stands that one again. */
static int32_t NAME(run_across)(void *const *p, const int64_t *n)
{
    enum { WIDTH = ACROSS_NSUM * LANES };
    const int has_start = (n[CPU_TILE_FLAGS] & CPU_TILE_START) != 0;
    if (n[CPU_TILE_K] == 0 || n[CPU_TILE_K1] == 0 || n[CPU_TILE_K2] == 0)
        return NAME(run_empty)(p[CPU_TILE_C], n);
    for (int64_t at = 0; at < n[CPU_TILE_N]; at += WIDTH) {
        const int64_t left = n[CPU_TILE_N] - at;
        REAL *c = (REAL *)p[CPU_TILE_C] + at;
        NAME(sums) sums[ACROSS_NSUM];
        memset(sums, 0, sizeof(sums));
        for (int64_t i = 0; has_start && i < n[CPU_TILE_M]; i++)
            NAME(move_sums)(sums, i, c + i * n[CPU_TILE_C_ROW], left, 1);
        for (int64_t i = 0; i < n[CPU_TILE_K1] * n[CPU_TILE_K2]; i++) {
            const int64_t k1 = i % n[CPU_TILE_K1], k2 = i / n[CPU_TILE_K1];
            const REAL *a = p[CPU_TILE_A], *b = p[CPU_TILE_B], *columns[WIDTH];
            a += k1 * n[CPU_TILE_A_K1] + k2 * n[CPU_TILE_A_K2];
            b += k1 * n[CPU_TILE_B_K1] + k2 * n[CPU_TILE_B_K2];
            for (int64_t j = 0; j < WIDTH; j++)
                columns[j] =
                    b + (at + (j < left ? j : left - 1)) * n[CPU_ACROSS_B_COLUMN];
            NAME(add_across)(sums, a, columns, n);
        }
        for (int64_t i = 0; i < n[CPU_TILE_M]; i++)
            NAME(move_sums)(sums, i, c + i * n[CPU_TILE_C_ROW], left, 0);
    }
    return 0;
}
