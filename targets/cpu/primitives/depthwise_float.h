/*
 * Depthwise convolutions of one float type and one instruction set; included by depthwise_rows.h,
 * which says what that needs:
 *
 *     REAL, VECTOR    the element, and vectors of it
 *     PART_OF_VECTOR, PART_LANES, LOAD_LANES    some lanes, and loads of these (vectors.h)
 *     STORE_PART, MULTIPLY_ADD    as in tile_float.h
 *     AT_LEAST, AT_MOST    as in tile_float.h
 *     PICK    (EVEN or ODD, a, b): every second element of two vectors, (SORT, v, v): in order
 *     NAME(stem)      names of this type's own
 */
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))

/* What planes have in common. */
struct NAME(image) {
    int64_t height, width, top, left, flags;
    int64_t next; /* from an element that is read to one that is fetched */
    REAL low, high;
};

struct NAME(plane) {
    REAL *y;
    const REAL *x, *w;
    REAL bias;
};

static inline struct NAME(plane)
    NAME(plane_of)(void *const *p, const int64_t *n, int64_t k)
{
    return (struct NAME(plane)){
        .y = (REAL *)p[CPU_DEPTHWISE_Y] + k * n[CPU_DEPTHWISE_Y_PLANE],
        .x = (const REAL *)p[CPU_DEPTHWISE_X] + k * n[CPU_DEPTHWISE_X_PLANE],
        .w = (const REAL *)p[CPU_DEPTHWISE_W] + k * n[CPU_DEPTHWISE_W_PLANE],
        .bias =
            n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_ADD_BIAS
                ? ((const REAL *)p[CPU_DEPTHWISE_BIAS])[k * n[CPU_DEPTHWISE_BIAS_PLANE]]
                : -(REAL)0, // which changes no sum
    };
}

static inline VECTOR NAME(all)(REAL x)
{
    return x - (VECTOR){ 0 };
}

static inline VECTOR NAME(finish)(VECTOR sum, REAL bias, const struct NAME(image) * m)
{
    return AT_MOST(AT_LEAST(sum + NAME(all)(bias), NAME(all)(m->low)),
                   NAME(all)(m->high));
}

/* The first `count` lanes. */
static inline void NAME(store)(REAL *y, VECTOR v, int64_t count)
{
    if (VECTOR_NBYTES < 64 && count == LANES) // partial ones are slow
        memcpy(y, &v, sizeof(v));
    else
        STORE_PART(y, v, count);
}

static inline PART_OF_VECTOR NAME(inside)(int64_t at, int64_t width)
{
    return PART_LANES(within(-at, LANES), within(width - at, LANES));
}

/* `count` columns of the result from `first` on, and what they read of a row: loads that begin `at`
 * elements behind where a row of rows[] does, and which lanes of each there are. For a step of 1
 * there is a load for each tap, for a step of 2 there are two for every two taps. */
struct NAME(columns) {
    int64_t first, at, count;
    PART_OF_VECTOR lanes[MOST_TAPS + 1];
};

/* Where load i begins. */
static inline int64_t NAME(load_at)(int i, int step)
{
    return step == 1 ? i : i / 2 * 2 + i % 2 * LANES;
}

/* Rows outside are read from here. */
static const REAL NAME(zeros)[2 * PANEL + 2 * LANES + MOST_TAPS + 1];

static inline VECTOR NAME(take)(const REAL *row, const struct NAME(columns) * c, int i,
                                int step)
{
    return LOAD_LANES(row + c->at + NAME(load_at)(i, step), c->lanes[i]);
}

/* What each tap multiplies. All integers are literals. */
static inline __attribute__((always_inline)) void
NAME(take_row)(VECTOR *taken, const REAL *row, const struct NAME(columns) * c, int ntap,
               int step)
{
    UNROLL
    for (int j = 0; j < ntap; j += step) {
        const VECTOR a = NAME(take)(row, c, j, step);
        if (step == 1) {
            taken[j] = a;
            continue;
        }
        const VECTOR b = NAME(take)(row, c, j + 1, step);
        taken[j] = PICK(EVEN, a, b);
        if (j + 1 < ntap)
            taken[j + 1] = PICK(ODD, a, b);
    }
}

/* Rows of sums at once: each row of X is read once for all of them that it is in. nrow, ntap
 * and step are literals. Lines of caches are met far apart so, and the processor does not guess
 * which are next. */
static inline __attribute__((always_inline)) void
NAME(sum_rows)(REAL *y, int64_t y_row, const REAL *const *rows, REAL bias,
               const struct NAME(image) * m, const VECTOR *factors,
               const struct NAME(columns) * c, const int nrow, const int ntap,
               const int step)
{
    VECTOR sums[ROWS_AT_ONCE], taken[MOST_TAPS];
    UNROLL
    for (int i = 0; i < nrow * step; i++) {
        __builtin_prefetch(rows[i] + c->at + m->next);
        if (step == 2)
            __builtin_prefetch(rows[i] + c->at + LANES + m->next);
    }
    UNROLL
    for (int r = 0; r < nrow; r++)
        sums[r] = (VECTOR){ 0 };
    UNROLL
    for (int i = 0; i < (nrow - 1) * step + ntap; i++) {
        NAME(take_row)(taken, rows[i], c, ntap, step);
        UNROLL
        for (int j = 0; j < ntap; j++) {
            IN_REGISTER(taken[j]);
            UNROLL
            for (int r = 0; r < nrow; r++) {
                const int tap = i - r * step;
                if (tap >= 0 && tap < ntap)
                    sums[r] = MULTIPLY_ADD(factors[tap * ntap + j], taken[j], sums[r]);
            }
        }
    }
    if (m->flags) {
        UNROLL
        for (int r = 0; r < nrow; r++)
            sums[r] = NAME(finish)(sums[r], bias, m);
    }
    UNROLL
    for (int r = 0; r < nrow; r++, y += y_row)
        NAME(store)(y, step == 1 ? sums[r] : PICK(SORT, sums[r], sums[r]), c->count);
}

/* So many rows: of the last ones, if there are enough, some once more. */
static inline __attribute__((always_inline)) void
NAME(sum_columns)(REAL *y, int64_t y_row, int64_t nrow, const REAL *const *rows,
                  REAL bias, const struct NAME(image) * m, const VECTOR *factors,
                  const struct NAME(columns) * c, const int ntap, const int step)
{
    y += c->first;
    if (nrow < ROWS_AT_ONCE) {
        for (int64_t r = 0; r < nrow; r++)
            NAME(sum_rows)
        (y + r * y_row, y_row, rows + r * step, bias, m, factors, c, 1, ntap, step);
        return;
    }
    for (int64_t r = 0; r < nrow; r += ROWS_AT_ONCE) {
        const int64_t first = least(r, nrow - ROWS_AT_ONCE);
        NAME(sum_rows)
        (y + first * y_row, y_row, rows + first * step, bias, m, factors, c, ROWS_AT_ONCE,
         ntap, step);
    }
}

/* Where rows of X begin, from number `top` on. */
static inline void NAME(find_rows)(const REAL **rows, int64_t nrow, const REAL *x,
                                   int64_t top, int64_t left,
                                   const struct NAME(image) * m)
{
    const REAL *from = x + top * m->width + left;
    int64_t i = 0;
    for (; i < nrow && top + i < 0; i++, from += m->width) {
        rows[i] = NAME(zeros);
        KEEP_LOOP;
    }
    for (const int64_t end = least(nrow, m->height - top); i < end;
         i++, from += m->width) {
        rows[i] = from;
        KEEP_LOOP;
    }
    for (; i < nrow; i++) {
        rows[i] = NAME(zeros);
        KEEP_LOOP;
    }
}

/* Of columns of the result, vectors; the last one, if there are enough, has some once more. */
static inline __attribute__((always_inline)) int
NAME(find_columns)(struct NAME(columns) * all, int64_t ncolumn, int64_t left,
                   const struct NAME(image) * m, const int ntap, const int step)
{
    const int nload = step == 1 ? ntap : (ntap + 1) / 2 * 2;
    int n = 0;
    for (int64_t j = 0; j < ncolumn; j += LANES) {
        struct NAME(columns) *c = &all[n++];
        c->first = ncolumn < LANES ? 0 : least(j, ncolumn - LANES);
        c->at = c->first * step;
        c->count = least(ncolumn, LANES);
        UNROLL
        for (int i = 0; i < nload; i++)
            c->lanes[i] = NAME(inside)(left + c->at + NAME(load_at)(i, step), m->width);
    }
    return n;
}

/* Panels of columns, and of each plane of them bands of rows, so that what rows share is near. ntap
 * and step are literals. */
static inline __attribute__((always_inline)) void
NAME(sum_planes)(void *const *p, const int64_t *n, const struct NAME(image) * m,
                 const int ntap, const int step)
{
    const int64_t ncolumn = n[CPU_DEPTHWISE_COLUMNS], nrow = n[CPU_DEPTHWISE_ROWS];
    const int64_t y_row = n[CPU_DEPTHWISE_Y_ROW];
    const int64_t band = ((BAND - ntap) / step + 1) / ROWS_AT_ONCE * ROWS_AT_ONCE;
    for (int64_t first = 0; first < ncolumn; first += PANEL) {
        const int64_t left = m->left + first * step;
        struct NAME(columns) columns[PANEL / LANES];
        const int nvector = NAME(find_columns)(columns, least(PANEL, ncolumn - first),
                                               left, m, ntap, step);
        for (int64_t k = 0; k < n[CPU_DEPTHWISE_PLANES]; k++) {
            const struct NAME(plane) plane = NAME(plane_of)(p, n, k);
            const REAL *w = plane.w, *rows[BAND];
            VECTOR factors[MOST_TAPS * MOST_TAPS];
            UNROLL
            for (int i = 0; i < ntap; i++) {
                UNROLL
                for (int j = 0; j < ntap; j++)
                    factors[i * ntap + j] = NAME(all)(w[j * n[CPU_DEPTHWISE_W_X]]);
                w += n[CPU_DEPTHWISE_W_Y];
            }
            for (int64_t r = 0; r < nrow; r += band) {
                const int64_t now = least(band, nrow - r);
                REAL *y = plane.y + r * y_row + first;
                NAME(find_rows)
                (rows, (now - 1) * step + ntap, plane.x, m->top + r * step, left, m);
                for (int i = 0; i < nvector; i++)
                    NAME(sum_columns)
                (y, y_row, now, rows, plane.bias, m, factors, &columns[i], ntap, step);
            }
        }
    }
}

static void NAME(sum_3_1)(void *const *p, const int64_t *n, const struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 3, 1);
}

static void NAME(sum_3_2)(void *const *p, const int64_t *n, const struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 3, 2);
}

static void NAME(sum_5_1)(void *const *p, const int64_t *n, const struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 5, 1);
}

static void NAME(sum_5_2)(void *const *p, const int64_t *n, const struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 5, 2);
}

/* ---- calls ---- */

static int32_t NAME(run)(void *const *p, const int64_t *n)
{
    struct NAME(image) image = {
        .height = n[CPU_DEPTHWISE_HEIGHT],
        .width = n[CPU_DEPTHWISE_WIDTH],
        .top = n[CPU_DEPTHWISE_TOP],
        .left = n[CPU_DEPTHWISE_LEFT],
        .flags = n[CPU_DEPTHWISE_FLAGS],
        .low = -(REAL)INFINITY,
        .high = (REAL)INFINITY,
    };
    if (image.flags & CPU_DEPTHWISE_AT_LEAST)
        memcpy(&image.low, &n[CPU_DEPTHWISE_LOW], sizeof(REAL));
    if (image.flags & CPU_DEPTHWISE_AT_MOST)
        memcpy(&image.high, &n[CPU_DEPTHWISE_HIGH], sizeof(REAL));
    // the next plane while the nearest cache has room for two, else the next column of vectors
    image.next = image.height * image.width * (int64_t)sizeof(REAL) <= FETCH_NBYTES
                     ? n[CPU_DEPTHWISE_X_PLANE]
                     : n[CPU_DEPTHWISE_STEP] * LANES;
    const int is_wide = n[CPU_DEPTHWISE_TAPS] == 5;
    if (n[CPU_DEPTHWISE_STEP] == 1)
        (is_wide ? NAME(sum_5_1) : NAME(sum_3_1))(p, n, &image);
    else
        (is_wide ? NAME(sum_5_2) : NAME(sum_3_2))(p, n, &image);
    return 0;
}

#undef LANES
#undef REAL
#undef VECTOR
#undef PART_OF_VECTOR
#undef PART_LANES
#undef LOAD_LANES
#undef STORE_PART
#undef MULTIPLY_ADD
#undef AT_LEAST
#undef AT_MOST
#undef PICK
#undef NAME
