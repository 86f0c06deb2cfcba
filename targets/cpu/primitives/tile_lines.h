/* Lines (tile.h), of the type and set that tile_float.h, which includes this, is for. */
typedef void NAME(lines)(REAL *c, const REAL *a, const REAL *b,
                         const struct tile_block *block, int64_t rest);

enum { NAME(MOST_LINES) = 4, NAME(MOST_VECTORS) = 4 };

/* Vectors side by side of lines that are summed at once, as each addition to a sum waits for the
 * one before it. Of the last vector, `rest` lanes. nline and nvector are literals. k, k1, k2 >= 1 */
static inline __attribute__((always_inline)) void
NAME(sum_lines)(REAL *c, const REAL *a, const REAL *b, const struct tile_block *block,
                int64_t rest, const int nline, const int nvector)
{
    const int64_t b_row = block->a_row /* CPU_LINE_B_ROW */, last = nvector - 1;
    VECTOR sums[NAME(MOST_LINES)][NAME(MOST_VECTORS)];
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
                    for (int v = 0; v < last; v++)
                        sums[i][v] = MULTIPLY_ADD(factor, NAME(load)(from + v * LANES),
                                                  sums[i][v]);
                    sums[i][last] = MULTIPLY_ADD(
                        factor, LOAD_PART(from + last * LANES, rest), sums[i][last]);
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
    VECTOR sums[NAME(MOST_LINES)];
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

#define LINES(n, vectors)                                                           \
    static void NAME(lines_##n##_##vectors)(REAL * c, const REAL *a, const REAL *b, \
                                            const struct tile_block *block,         \
                                            int64_t rest)                           \
    {                                                                               \
        NAME(sum_lines)(c, a, b, block, rest, n, vectors);                          \
    }
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
static NAME(lines) *const NAME(line_sums)[][NAME(MOST_VECTORS)] = {
    { NAME(lines_1_1), NAME(lines_1_2), NAME(lines_1_3), NAME(lines_1_4) },
    { NAME(lines_2_1), NAME(lines_2_2), NAME(lines_2_3), NAME(lines_2_4) },
    { NAME(lines_4_1), NAME(lines_4_2) },
};
static NAME(lines) *const NAME(windows)[] = { NAME(windows_1), NAME(windows_2),
                                              NAME(windows_3), NAME(windows_4) };

// A line of B in a panel, of so many columns as that has.
#define PANEL_START(i)                                                      \
    const REAL *b##i = b + i * b_row;                                       \
    VECTOR s##i = block->start ? NAME(load)(c + i * c_row) : (VECTOR){ 0 }; \
    VECTOR t##i = block->start ? NAME(load)(c + i * c_row + LANES) : (VECTOR){ 0 };
#define PANEL_STEP(i)                                            \
    s##i = MULTIPLY_ADD(factor, NAME(load)(b##i), s##i);         \
    t##i = MULTIPLY_ADD(factor, NAME(load)(b##i + LANES), t##i); \
    b##i += block->b_k;
#define PANEL_NEXT_1(i) b##i += block->b_k1;
#define PANEL_NEXT_2(i) b##i += block->b_k2;
#define PANEL_STOP(i)                 \
    NAME(store)(c + i * c_row, s##i); \
    NAME(store)(c + i * c_row + LANES, t##i);
#define PANELS_2(X) X(0) X(1)
#define PANELS_3(X) PANELS_2(X) X(2)
#define PANELS_4(X) PANELS_3(X) X(3)
/* Lines of NR columns at once: each addition to a sum waits for the one before it, so two sums
 * would leave the multipliers idle most of the time. k, k1, k2 >= 1 */
#define PANEL_LINES(n)                                                                 \
    static void NAME(panel_lines_##n)(REAL * c, const REAL *a, const REAL *b,          \
                                      const struct tile_block *block)                  \
    {                                                                                  \
        const int64_t b_row = block->a_row /* CPU_LINE_B_ROW */, c_row = block->c_row; \
        PANELS_##n(PANEL_START);                                                       \
        for (int64_t k2 = block->k2; k2 > 0; k2--) {                                   \
            for (int64_t k1 = block->k1; k1 > 0; k1--) {                               \
                for (int64_t k = block->k; k > 0; k--) {                               \
                    const VECTOR factor = SPREAD(a);                                   \
                    PANELS_##n(PANEL_STEP);                                            \
                    a += block->a_k;                                                   \
                }                                                                      \
                a += block->a_k1;                                                      \
                PANELS_##n(PANEL_NEXT_1);                                              \
            }                                                                          \
            a += block->a_k2;                                                          \
            PANELS_##n(PANEL_NEXT_2);                                                  \
        }                                                                              \
        PANELS_##n(PANEL_STOP);                                                        \
    }
PANEL_LINES(2)
PANEL_LINES(3)
PANEL_LINES(4)

static NAME(tile) *const NAME(panel_lines)[] = { NAME(panel_lines_2), NAME(panel_lines_3),
                                                 NAME(panel_lines_4) };

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
    for (int64_t i = 0; i < nline; i += NAME(MOST_LINES)) {
        const int64_t now = NAME(least)(nline - i, NAME(MOST_LINES));
        NAME(windows)
        [now - 1](c + i * block->c_row, a, b + i * block->a_row, block, columns);
    }
}

static void NAME(run_lines)(REAL *c, const REAL *a, const REAL *b, int64_t nline,
                            int64_t columns, const struct tile_block *block)
{
    for (int64_t j = 0; j < columns; j += NAME(MOST_VECTORS) * LANES) {
        const int64_t left = NAME(least)(columns - j, NAME(MOST_VECTORS) * LANES);
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
    int64_t i = 0;
    if (!NAME(has_terms)(p[CPU_TILE_A], n))
        return NAME(run_empty)(p[CPU_TILE_C], n);
    while (columns == NR && n[CPU_TILE_M] - i > 1) {
        const int64_t nline = NAME(lines_at_once)(n[CPU_TILE_M] - i);
        REAL *c = (REAL *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
        const REAL *b = (const REAL *)p[CPU_TILE_B] + i * n[CPU_LINE_B_ROW];
        NAME(panel_lines)[nline - 2](c, p[CPU_TILE_A], b, &block);
        i += nline;
    }
    REAL *c = (REAL *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
    const REAL *b = (const REAL *)p[CPU_TILE_B] + i * n[CPU_LINE_B_ROW];
    if (n[CPU_TILE_K] == NAME(SIDE) && n[CPU_TILE_K1] == NAME(SIDE) &&
        n[CPU_TILE_K2] == 1 && n[CPU_TILE_B_K1] == n[CPU_LINE_B_ROW])
        NAME(run_windows)(c, p[CPU_TILE_A], b, n[CPU_TILE_M] - i, columns, &block);
    else
        NAME(run_lines)(c, p[CPU_TILE_A], b, n[CPU_TILE_M] - i, columns, &block);
    return 0;
}

#undef PANEL_START
#undef PANEL_STEP
#undef PANEL_NEXT_1
#undef PANEL_NEXT_2
#undef PANEL_STOP
#undef PANELS_2
#undef PANELS_3
#undef PANELS_4
#undef PANEL_LINES
#undef LINES
#undef WINDOWS
