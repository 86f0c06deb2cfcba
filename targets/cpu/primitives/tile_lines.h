/* Lines (tile.h), of the type and set that tile_float.h, which includes this, is for. */
typedef void NAME(lines)(REAL *c, const REAL *a, const REAL *b,
                         const struct tile_block *block, int64_t rest);

enum { NAME(MAX_LINES) = 4, NAME(MAX_VECTORS) = 4 };

/* Vectors side by side of lines that are summed at once, as each addition to a sum waits for the
 * one before it. Of the last vector, `rest` lanes count: of B more may be read if is_padded. Lines
 * are near where each begins NR behind the one before it, as the panels of parts that are read
 * together do: then B is read from one place on to the next, and fetched ahead. nline, nvector,
 * is_padded and is_near are literals. k, k1, k2 >= 1 */
static inline __attribute__((always_inline)) void
NAME(sum_lines)(REAL *c, const REAL *a, const REAL *b, const struct tile_block *block,
                int64_t rest, const int nline, const int nvector, const int is_padded,
                const int is_near)
{
    const int64_t b_row = is_near ? NR : block->a_row /* CPU_LINE_B_ROW */;
    const int64_t ahead = LINE_AHEAD / sizeof(REAL),
                  per_line = LINE_NBYTES / sizeof(REAL);
    const int64_t last = nvector - 1;
    VECTOR sums[NAME(MAX_LINES)][NAME(MAX_VECTORS)];
    UNROLL
    for (int i = 0; i < nline; i++) {
        REAL *to = c + i * block->c_row;
        UNROLL
        for (int v = 0; v < last; v++)
            sums[i][v] = block->start ? NAME(load)(to + v * LANES) : (VECTOR){ 0 };
        sums[i][last] = block->start ? LOAD_PART(to + last * LANES, rest) : (VECTOR){ 0 };
    }
    for (int64_t k2 = block->k2; k2 > 0; k2--) {
        for (int64_t k1 = block->k1; k1 > 0; k1--) {
            for (int64_t k = block->k; k > 0; k--) {
                const VECTOR factor = SPREAD(a);
                UNROLL
                for (int i = 0; i < nline; i++) {
                    const REAL *from = b + i * b_row;
                    UNROLL
                    for (int v = 0; v < nvector; v++) {
                        if (is_near && (i * NR + v * LANES) % per_line == 0)
                            __builtin_prefetch(from + v * LANES + ahead);
                        sums[i][v] = MULTIPLY_ADD(factor,
                                                  v < last || is_padded
                                                      ? NAME(load)(from + v * LANES)
                                                      : LOAD_PART(from + v * LANES, rest),
                                                  sums[i][v]);
                    }
                }
                a += block->a_k;
                b += block->b_k;
            }
            a += block->a_k1;
            b += block->b_k1;
        }
        a += block->a_k2;
        b += block->b_k2;
    }
    UNROLL
    for (int i = 0; i < nline; i++) {
        REAL *to = c + i * block->c_row;
        UNROLL
        for (int v = 0; v < last; v++)
            NAME(store)(to + v * LANES, sums[i][v]);
        STORE_PART(to + last * LANES, sums[i][last], rest);
    }
}

/* Terms of a window: so many lines of B below each other, and as many places in each. */
enum { NAME(SIDE) = 3 };

/* One vector of lines at once, or `rest` lanes of it, where windows go down along the lines: each
 * line of B is read once for all windows that it is in. nline and is_whole are literals. */
static inline __attribute__((always_inline)) void
NAME(sum_windows)(REAL *c, const REAL *b, const struct tile_block *block,
                  const VECTOR *factors, int64_t rest, const int nline,
                  const int is_whole)
{
    enum { SIDE = NAME(SIDE) };
    VECTOR sums[NAME(MAX_LINES)];
    UNROLL
    for (int i = 0; i < nline; i++)
        sums[i] = !block->start ? (VECTOR){ 0 }
                  : is_whole    ? NAME(load)(c + i * block->c_row)
                                : LOAD_PART(c + i * block->c_row, rest);
    UNROLL
    for (int y = 0; y < nline + SIDE - 1; y++) {
        UNROLL
        for (int x = 0; x < SIDE; x++) {
            const REAL *from = b + y * block->a_row /* CPU_LINE_B_ROW */ + x * block->b_k;
            const VECTOR taken = is_whole ? NAME(load)(from) : LOAD_PART(from, rest);
            UNROLL
            for (int i = 0; i < nline; i++) {
                if (y - i >= 0 && y - i < SIDE)
                    sums[i] = MULTIPLY_ADD(factors[(y - i) * SIDE + x], taken, sums[i]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < nline; i++) {
        if (is_whole)
            NAME(store)(c + i * block->c_row, sums[i]);
        else
            STORE_PART(c + i * block->c_row, sums[i], rest);
    }
}

#define LINES_OF(name, n, vectors, is_padded, is_near)                         \
    static void NAME(name)(REAL * c, const REAL *a, const REAL *b,             \
                           const struct tile_block *block, int64_t rest)       \
    {                                                                          \
        NAME(sum_lines)(c, a, b, block, rest, n, vectors, is_padded, is_near); \
    }
#define LINES(n, vectors) LINES_OF(lines_##n##_##vectors, n, vectors, 0, 0)
#define PANELS(n)                             \
    LINES_OF(panels_##n##_1, n, 1, 1, 0)      \
    LINES_OF(panels_##n##_2, n, 2, 1, 0)      \
    LINES_OF(near_panels_##n##_1, n, 1, 1, 1) \
    LINES_OF(near_panels_##n##_2, n, 2, 1, 1)
#define PANELS_ROW(n)                                             \
    {                                                             \
        { NAME(panels_##n##_1), NAME(panels_##n##_2) },           \
        { NAME(near_panels_##n##_1), NAME(near_panels_##n##_2) }, \
    },
LINES(1, 1)
LINES(1, 2)
LINES(1, 3)
LINES(1, 4)
LINES(2, 1)
LINES(2, 2)
LINES(2, 3)
LINES(2, 4)
LINES(4, 1)
LINES(4, 2)
PANELS(2)
PANELS(3)
PANELS(4)
#define WINDOWS(n)                                                                 \
    static void NAME(windows_##n)(REAL * c, const REAL *a, const REAL *b,          \
                                  const struct tile_block *block, int64_t columns) \
    {                                                                              \
        enum { SIDE = NAME(SIDE) };                                                \
        const int64_t a_row = block->a_k1 + SIDE * block->a_k;                     \
        VECTOR factors[SIDE * SIDE];                                               \
        UNROLL                                                                     \
        for (int i = 0; i < SIDE * SIDE; i++)                                      \
            factors[i] = SPREAD(a + i / SIDE * a_row + i % SIDE * block->a_k);     \
        for (; columns >= LANES; columns -= LANES, c += LANES, b += LANES)         \
            NAME(sum_windows)(c, b, block, factors, LANES, n, 1);                  \
        if (columns > 0)                                                           \
            NAME(sum_windows)(c, b, block, factors, columns, n, 0);                \
    }
WINDOWS(1)
WINDOWS(2)
WINDOWS(3)
WINDOWS(4)

/* By lines at once, 1, 2 and 4, and vectors. */
static NAME(lines) *const NAME(line_sums)[][NAME(MAX_VECTORS)] = {
    { NAME(lines_1_1), NAME(lines_1_2), NAME(lines_1_3), NAME(lines_1_4) },
    { NAME(lines_2_1), NAME(lines_2_2), NAME(lines_2_3), NAME(lines_2_4) },
    { NAME(lines_4_1), NAME(lines_4_2) },
};
static NAME(lines) *const NAME(windows)[] = { NAME(windows_1), NAME(windows_2),
                                              NAME(windows_3), NAME(windows_4) };

/* Lines of a padded B, which are no longer than a panel is wide: by lines at once, 2 to 4, by whether
 * they are near, and vectors. Two sums would leave the multipliers idle most of the time. */
static NAME(lines) *const
    NAME(panel_sums)[][2][2] = { PANELS_ROW(2) PANELS_ROW(3) PANELS_ROW(4) };

/* How many of the lines that are left go at once: 5 are 3 and 2, as one is slow. */
static int64_t NAME(lines_at_once)(int64_t left)
{
    return left == 5 ? 3 : left < 4 ? left : 4;
}

/* Whether the sums have terms that count. To a start value those of zeros do: 0 + -0 is 0. */
static int NAME(has_terms)(const REAL *a, const int64_t *n)
{
    int64_t k = 0;
    if (n[CPU_TILE_K] == 0 || n[CPU_TILE_K1] == 0 || n[CPU_TILE_K2] == 0)
        return 0;
    if (!(n[CPU_TILE_FLAGS] & CPU_LINE_FINITE) || n[CPU_TILE_FLAGS] & CPU_TILE_START ||
        n[CPU_TILE_K1] != 1 || n[CPU_TILE_K2] != 1)
        return 1;
    while (k < n[CPU_TILE_K] && IS_ZERO(a + k * n[CPU_TILE_A_K]))
        k++;
    return k < n[CPU_TILE_K];
}

static void NAME(run_windows)(REAL *c, const REAL *a, const REAL *b, int64_t nline,
                              int64_t columns, const struct tile_block *block)
{
    for (int64_t i = 0; i < nline; i += NAME(MAX_LINES)) {
        const int64_t now = NAME(least)(nline - i, NAME(MAX_LINES));
        NAME(windows)
        [now - 1](c + i * block->c_row, a, b + i * block->a_row, block, columns);
    }
}

static void NAME(run_lines)(REAL *c, const REAL *a, const REAL *b, int64_t nline,
                            int64_t columns, const struct tile_block *block)
{
    for (int64_t j = 0; j < columns; j += NAME(MAX_VECTORS) * LANES) {
        const int64_t left = NAME(least)(columns - j, NAME(MAX_VECTORS) * LANES);
        const int64_t before = (left - 1) / LANES;
        for (int64_t i = 0; i < nline;) {
            const int at_once = nline - i >= 4 && before < 2 ? 2 : nline - i >= 2;
            NAME(line_sums)
            [at_once][before](c + i * block->c_row + j, a, b + i * block->a_row + j,
                              block, left - before * LANES);
            i += (int64_t)1 << at_once;
        }
    }
}

static int32_t NAME(run_line)(void *const *p, const int64_t *n)
{
    const int64_t columns = n[CPU_TILE_N];
    const struct tile_block block = block_of(n);
    const int is_window = n[CPU_TILE_K] == NAME(SIDE) && n[CPU_TILE_K1] == NAME(SIDE) &&
                          n[CPU_TILE_K2] == 1 && n[CPU_TILE_B_K1] == n[CPU_LINE_B_ROW];
    const int is_panel = columns == NR || (columns < NR && !is_window &&
                                           n[CPU_TILE_FLAGS] & CPU_TILE_PADDED);
    const int64_t before = columns > LANES; // vectors of a panel, but for the last one
    int64_t i = 0;
    if (!NAME(has_terms)(p[CPU_TILE_A], n))
        return NAME(run_empty)(p[CPU_TILE_C], n);
    while (is_panel && n[CPU_TILE_M] - i > 1) {
        const int64_t nline = NAME(lines_at_once)(n[CPU_TILE_M] - i);
        REAL *c = (REAL *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
        const REAL *b = (const REAL *)p[CPU_TILE_B] + i * n[CPU_LINE_B_ROW];
        NAME(panel_sums)
        [nline - 2][n[CPU_LINE_B_ROW] == NR][before](c, p[CPU_TILE_A], b, &block,
                                                     columns - before * LANES);
        i += nline;
    }
    REAL *c = (REAL *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
    const REAL *b = (const REAL *)p[CPU_TILE_B] + i * n[CPU_LINE_B_ROW];
    if (is_window)
        NAME(run_windows)(c, p[CPU_TILE_A], b, n[CPU_TILE_M] - i, columns, &block);
    else
        NAME(run_lines)(c, p[CPU_TILE_A], b, n[CPU_TILE_M] - i, columns, &block);
    return 0;
}

#undef LINES_OF
#undef LINES
#undef PANELS
#undef PANELS_ROW
#undef WINDOWS
