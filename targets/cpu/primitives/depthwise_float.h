/*
 * Depthwise convolutions of one float type and one instruction set; included by depthwise_rows.h,
 * which says what that needs:
 *
 *     REAL, VECTOR    the element, and vectors of it
 *     PART_OF_VECTOR, PART_LANES, LOAD_LANES, STORE_PART    some lanes (vectors.h)
 *     MULTIPLY_ADD    as in tile_float.h
 *     LIMIT_LOW, LIMIT_HIGH    (vector, bounds)
 *     PICK, PICK_SORT, PICK_PAIR, PICK_BELOW    as depthwise_rows.h says
 *     NAME(stem)      names of this type's own
 */
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))

/* What planes have in common. */
struct NAME(image) {
    int64_t height, width, top, left;
    int has_pairs; /* rows are short */
    int has_sides; /* only outer vectors read what is outside, and that where it is expected */
    REAL low, high;
};

struct NAME(plane) {
    REAL *y;
    const REAL *w;
    REAL bias;
};

static inline struct NAME(plane)
    NAME(plane_of)(void *const *p, const int64_t *n, int64_t k)
{
    return (struct NAME(plane)){
        .y = (REAL *)p[CPU_DEPTHWISE_Y] + k * n[CPU_DEPTHWISE_Y_PLANE],
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

static inline PART_OF_VECTOR NAME(inside)(int64_t at, int64_t width)
{
    return PART_LANES(within(-at, LANES), within(width - at, LANES));
}

/* `count` columns of the result from `first` on, and what they read of a row: loads that begin `at`
 * elements behind where a row of rows[] does, and which lanes of each there are. */
struct NAME(columns) {
    int64_t first, at, count;
    PART_OF_VECTOR lanes[MAX_TAPS + 1];
};

/* Columns of the result in a vector, of whose last lanes PICK leaves some without what they need. */
static inline int64_t NAME(columns_of_vector)(int ntap, int step)
{
    return step == 1 ? LANES : LANES - PICKS_LOSE(ntap);
}

/* How many loads there are, and where load i begins: for a step of 1 one for each tap, for a step of
 * 2 two for every two taps, or two if these have all. */
static inline int NAME(loads)(int ntap, int step)
{
    return step == 1 ? ntap : PICKS_LOSE(ntap) > 0 ? 2 : (ntap + 1) / 2 * 2;
}

static inline int64_t NAME(load_at)(int i, int step)
{
    return step == 1 ? i : i / 2 * 2 + i % 2 * LANES;
}

/* Rows outside are read from here. */
static const REAL NAME(zeros)[2 * PANEL + 2 * LANES + MAX_TAPS + 1];

/* Load i of vector v. */
static inline __attribute__((always_inline)) VECTOR
NAME(take)(const REAL *row, const struct NAME(columns) * c, int i, int v,
           struct depthwise_shape s)
{
    const REAL *from = row + NAME(load_at)(i, s.step);
    VECTOR whole;
    if (s.fill != SIDES || is_at_side(i, v, s))
        return LOAD_LANES(from, c->lanes[i]);
    memcpy(&whole, from, sizeof(whole));
    return whole;
}

/* What a plane is multiplied by, and what is made of its sums. */
struct NAME(constants) {
    VECTOR factors[MAX_TAPS * MAX_TAPS], bias, low, high;
};

/* Read once for all sums that it is for. */
static inline VECTOR NAME(constant)(const VECTOR *at)
{
    VECTOR v = *at;
    IN_REGISTER_FOR_NOW(v);
    return v;
}

static inline void NAME(finish)(VECTOR *sums, int n, const struct NAME(constants) * of)
{
    const VECTOR bias = NAME(constant)(&of->bias), low = NAME(constant)(&of->low),
                 high = NAME(constant)(&of->high);
    UNROLL
    for (int i = 0; i < n; i++)
        sums[i] = LIMIT_HIGH(LIMIT_LOW(sums[i] + bias, low), high);
}

/* Rows of the result in some columns. */
struct NAME(block) {
    REAL *y;
    int64_t y_row, nrow;
    const REAL *const *rows;
    int64_t below; /* of STACKED vectors: from the first row of one to that of the next */
    const struct NAME(columns) * columns;
    struct NAME(constants) * constants;
    int64_t ahead; /* from an element that is read to one that is fetched */
};

/* Where its first and its last vector are: in the result, and in rows of X. */
struct NAME(places) {
    REAL *y[2];
    int64_t x[2], count;
};

static inline const struct NAME(columns) *
    NAME(columns_of)(const struct NAME(block) * b, int v, struct depthwise_shape s)
{
    return &b->columns[s.fill == STACKED ? 0 : v];
}

static inline __attribute__((always_inline)) struct NAME(places)
    NAME(places_of)(const struct NAME(block) * b, struct depthwise_shape s)
{
    struct NAME(places)
        at = { .count = s.fill == SIDES ? NAME(columns_of_vector)(s.ntap, s.step)
                                        : b->columns->count };
    UNROLL
    for (int i = 0; i < 2; i++) {
        const struct NAME(columns) *c = NAME(columns_of)(b, i * (s.nvector - 1), s);
        at.y[i] = b->y + c->first + (s.fill == STACKED ? i * b->below * b->y_row : 0);
        at.x[i] = c->at;
    }
    return at;
}

/* Vectors before the last one lie one behind the other. */
static inline int NAME(is_last)(int v, struct depthwise_shape s)
{
    return v > 0 && v == s.nvector - 1;
}

static inline __attribute__((always_inline)) int64_t
NAME(behind)(int v, struct depthwise_shape s)
{
    return NAME(is_last)(v, s) ? 0 : v * NAME(columns_of_vector)(s.ntap, s.step);
}

/* Row n of the result begins, and row n - AGES + 1 ends, with rows n * step of X and those up to the
 * next one's: sums[a] are those of row n - a, of which ages from `first` to before `end` are there. So
 * each row of X is read once, and no sum waits in memory. Vectors side by side keep the units busy
 * that would wait for one sum. All but n are literals. */
#define AGES(s) (((s).ntap - 1) / (s).step + 1)
static inline __attribute__((always_inline)) void
NAME(sum_row)(VECTOR (*sums)[MAX_VECTORS], const struct NAME(block) * b,
              struct NAME(places) * at, int64_t n, struct depthwise_shape s,
              const int first, const int end)
{
    const int last = AGES(s) - 1;
    struct NAME(constants) *constants = b->constants;
    FROM_MEMORY(*constants);
    UNROLL
    for (int v = 0; v < s.nvector; v++) {
        if (first == 0)
            sums[0][v] = (VECTOR){ 0 };
    }
    UNROLL
    for (int i = 0; i < s.step; i++) {
        VECTOR even[MAX_VECTORS], odd[MAX_VECTORS], taken[MAX_VECTORS];
        if (i + first * s.step >= s.ntap)
            continue;
        UNROLL
        for (int j = 0; j < s.ntap; j++) {
            UNROLL
            for (int v = 0; v < s.nvector; v++) {
                const struct NAME(columns) *c = NAME(columns_of)(b, v, s);
                const int64_t down = s.fill == STACKED ? v * b->below * s.step : 0;
                const REAL *row = b->rows[n * s.step + i + down] +
                                  at->x[NAME(is_last)(v, s)] +
                                  NAME(behind)(v, s) * s.step;
                if (j == 0)
                    __builtin_prefetch(row + b->ahead);
                if (j == 0 && s.step == 2)
                    __builtin_prefetch(row + LANES + b->ahead);
                if (s.step == 2 && (j == 0 || (j % 2 == 0 && PICKS_LOSE(s.ntap) == 0))) {
                    even[v] = NAME(take)(row, c, j, v, s);
                    odd[v] = NAME(take)(row, c, j + 1, v, s);
                    IN_REGISTER(even[v]);
                    IN_REGISTER(odd[v]);
                }
                taken[v] =
                    s.step == 1 ? NAME(take)(row, c, j, v, s) : PICK(j, even[v], odd[v]);
                IN_REGISTER(taken[v]);
            }
            UNROLL
            for (int a = first; a < end; a++) {
                const int tap = i + a * s.step;
                if (tap >= s.ntap)
                    continue;
                const VECTOR factor =
                    NAME(constant)(&constants->factors[tap * s.ntap + j]);
                UNROLL
                for (int v = 0; v < s.nvector; v++)
                    sums[a][v] = MULTIPLY_ADD(factor, taken[v], sums[a][v]);
            }
        }
    }
    if (end > last)
        NAME(finish)(sums[last], s.nvector, constants);
    UNROLL
    for (int v = 0; v < s.nvector; v++) {
        if (end <= last)
            continue;
        STORE_PART(at->y[NAME(is_last)(v, s)] + NAME(behind)(v, s),
                   s.step == 1 ? sums[last][v] : PICK_SORT(sums[last][v]), at->count);
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        at->y[i] += end > last ? b->y_row : 0;
    UNROLL
    for (int a = last; a > first; a--) {
        UNROLL
        for (int v = 0; v < s.nvector; v++)
            sums[a][v] = sums[a - 1][v];
    }
}

/* At least AGES - 1 rows. */
static inline __attribute__((always_inline)) void
NAME(sum_rows)(const struct NAME(block) * b, struct depthwise_shape s)
{
    VECTOR sums[MAX_TAPS][MAX_VECTORS];
    struct NAME(places) at = NAME(places_of)(b, s);
    int64_t n = AGES(s) - 1;
    UNROLL
    for (int a = 0; a < AGES(s) - 1; a++)
        NAME(sum_row)(sums, b, &at, a, s, 0, a + 1);
    for (; n < b->nrow; n++)
        NAME(sum_row)(sums, b, &at, n, s, 0, AGES(s));
    UNROLL
    for (int a = 1; a < AGES(s); a++, n++)
        NAME(sum_row)(sums, b, &at, n, s, a, AGES(s));
}

/* One vector of any number of rows, one after the other. */
static inline __attribute__((always_inline)) void NAME(sum_few)(struct NAME(block) b,
                                                                struct depthwise_shape s)
{
    VECTOR sums[MAX_TAPS][MAX_VECTORS];
    struct NAME(places) at = NAME(places_of)(&b, s);
    for (; b.nrow > 0; b.nrow--, b.rows += s.step) {
        UNROLL
        for (int a = 0; a < AGES(s); a++)
            NAME(sum_row)(sums, &b, &at, a, s, a, a + 1);
    }
}

#if HAS_PAIRS
/* Rows so short that a vector has two: those from row PAIRS on in its second half. */
static inline __attribute__((always_inline)) void
NAME(sum_pairs)(const struct NAME(block) * b, struct depthwise_shape s)
{
    const struct NAME(columns) *c = b->columns;
    VECTOR sums[PAIRS];
    UNROLL
    for (int r = 0; r < PAIRS; r++)
        sums[r] = (VECTOR){ 0 };
    UNROLL
    for (int i = 0; i < (PAIRS - 1) * s.step + s.ntap; i++) {
        const VECTOR upper = NAME(take)(b->rows[i], c, 0, 0, s);
        const VECTOR lower = NAME(take)(b->rows[i + PAIRS * s.step], c, 0, 0, s);
        UNROLL
        for (int j = 0; j < s.ntap; j++) {
            VECTOR taken = PICK_PAIR(j, s.step, upper, lower);
            IN_REGISTER(taken);
            UNROLL
            for (int r = 0; r < PAIRS; r++) {
                const int tap = i - r * s.step;
                if (tap >= 0 && tap < s.ntap)
                    sums[r] = MULTIPLY_ADD(b->constants->factors[tap * s.ntap + j], taken,
                                           sums[r]);
            }
        }
    }
    NAME(finish)(sums, PAIRS, b->constants);
    UNROLL
    for (int r = 0; r < PAIRS; r++) {
        const VECTOR sum = sums[r];
        REAL *y = b->y + r * b->y_row;
        if (r < b->nrow)
            STORE_PART(y, sum, c->count);
        if (r + PAIRS < b->nrow)
            STORE_PART(y + PAIRS * b->y_row, PICK_BELOW(sum), c->count);
    }
}
#endif

/* Rows of a plane: as many vectors side by side as there are, or the upper and the lower half of
 * rows that have one. */
static inline __attribute__((always_inline)) void
NAME(sum_band)(struct NAME(block) b, int nvector, const struct NAME(image) * m,
               const int ntap, const int step)
{
    const struct depthwise_shape one = { 1, ntap, step, EDGES };
    const struct depthwise_shape two = { 2, ntap, step, SIDES };
    const struct depthwise_shape most = { MAX_VECTORS, ntap, step, SIDES };
#if HAS_PAIRS
    if (m->has_pairs) {
        for (; b.nrow > 0; b.nrow -= 2 * PAIRS) {
            NAME(sum_pairs)(&b, one);
            b.rows += 2 * PAIRS * step;
            b.y += 2 * PAIRS * b.y_row;
        }
        return;
    }
#endif
    if (nvector == 1 && b.nrow >= 2 * AGES(one)) {
        const struct depthwise_shape stacked = { 2, ntap, step, STACKED };
        b.below = b.nrow / 2;
        b.nrow -= b.below;
        NAME(sum_rows)(&b, stacked);
        return;
    }
    for (int now; nvector > 0; nvector -= now, b.columns += now) {
        // never one alone at the end: four are two and two
        now = nvector == 3 || (nvector > 4 && HAS_ROOM(ntap, step))
                  ? MAX_VECTORS
                  : (int)least(nvector, 2);
        if (!m->has_sides || b.nrow < AGES(one) - 1)
            now = 1;
        if (now == 1)
            NAME(sum_few)(b, one);
        else if (now == 2)
            NAME(sum_rows)(&b, two);
        else
            NAME(sum_rows)(&b, most);
    }
}

/* Rows of X, and how far it is to the same row of the next plane. */
struct NAME(rows) {
    const REAL *at[BAND];
    int64_t next[BAND];
};

/* Where rows begin, from number `top` on. */
static void NAME(find_rows)(struct NAME(rows) * rows, int64_t nrow, const REAL *x,
                            int64_t plane, int64_t top, const struct NAME(image) * m)
{
    for (int64_t i = 0; i < nrow; i++) {
        const int is_inside = top + i >= 0 && top + i < m->height;
        rows->at[i] = is_inside ? x + (top + i) * m->width : NAME(zeros);
        rows->next[i] = is_inside ? plane : 0;
    }
}

static inline void NAME(next_rows)(struct NAME(rows) * rows, int64_t nrow)
{
    for (int64_t i = 0; i < nrow; i++)
        rows->at[i] += rows->next[i];
}

/* Of columns of the result, vectors; the last one, if there are enough, has some once more. */
static int NAME(find_columns)(struct NAME(columns) * all, int64_t ncolumn, int64_t left,
                              struct NAME(image) * m, int ntap, int step)
{
    const int nload = m->has_pairs ? 1 : NAME(loads)(ntap, step);
    const int64_t each = least(ncolumn, NAME(columns_of_vector)(ntap, step));
    const struct depthwise_shape s = { 2, ntap, step, SIDES };
    int n = 0;
    m->has_sides = 1;
    for (int64_t j = 0; j < ncolumn; j += each) {
        struct NAME(columns) *c = &all[n++];
        c->first = least(j, ncolumn - each);
        c->at = c->first * step;
        c->count = each;
        for (int i = 0; i < nload; i++) {
            const int64_t at = left + c->at + NAME(load_at)(i, step);
            const int is_whole = at >= 0 && at + LANES <= m->width;
            c->lanes[i] = NAME(inside)(at, m->width);
            m->has_sides &= is_whole || (j == 0 && is_at_side(i, 0, s)) ||
                            (j + each >= ncolumn && is_at_side(i, 1, s));
        }
    }
    return n;
}

/* Whether one load has all that two halves of a vector need: what PICK_PAIR finds behind its end are
 * the first lanes of the other load, zeros as what should be there. */
static int NAME(has_pairs)(const int64_t *n)
{
    const int64_t ncolumn = n[CPU_DEPTHWISE_COLUMNS], left = n[CPU_DEPTHWISE_LEFT];
    const int64_t need = (ncolumn - 1) * n[CPU_DEPTHWISE_STEP] + n[CPU_DEPTHWISE_TAPS];
    return HAS_PAIRS && ncolumn <= LANES / 2 &&
           (need <= LANES ||
            (need - LANES <= -left && n[CPU_DEPTHWISE_WIDTH] <= left + LANES));
}

/* Panels of columns and bands of rows, and these of each plane. ntap and step are literals. */
static inline __attribute__((always_inline)) void
NAME(sum_planes)(void *const *p, const int64_t *n, struct NAME(image) * m, const int ntap,
                 const int step)
{
    const int64_t ncolumn = n[CPU_DEPTHWISE_COLUMNS], nrow = n[CPU_DEPTHWISE_ROWS];
    const int64_t y_row = n[CPU_DEPTHWISE_Y_ROW];
    const int64_t block = 2 * PAIRS, band = ((BAND - ntap) / step + 1) / block * block;
    for (int64_t first = 0; first < ncolumn; first += PANEL) {
        const int64_t left = m->left + first * step;
        struct NAME(columns) columns[PANEL / (LANES - PICKS_LOSE(MAX_TAPS)) + 1];
        const int nvector = NAME(find_columns)(columns, least(PANEL, ncolumn - first),
                                               left, m, ntap, step);
        for (int64_t r = 0; r < nrow; r += band) {
            const int64_t now = least(band, nrow - r);
            const int64_t padded = m->has_pairs ? (now + block - 1) / block * block : now;
            const int64_t read = (padded - 1) * step + ntap;
            struct NAME(rows) rows;
            NAME(find_rows)
            (&rows, read, (const REAL *)p[CPU_DEPTHWISE_X] + left,
             n[CPU_DEPTHWISE_X_PLANE], m->top + r * step, m);
            for (int64_t k = 0; k < n[CPU_DEPTHWISE_PLANES]; k++) {
                const struct NAME(plane) plane = NAME(plane_of)(p, n, k);
                const REAL *w = plane.w;
                struct NAME(constants) constants;
                constants.bias = NAME(all)(plane.bias);
                constants.low = NAME(all)(m->low);
                constants.high = NAME(all)(m->high);
                UNROLL
                for (int i = 0; i < ntap; i++) {
                    UNROLL
                    for (int j = 0; j < ntap; j++)
                        constants.factors[i * ntap + j] =
                            NAME(all)(w[j * n[CPU_DEPTHWISE_W_X]]);
                    w += n[CPU_DEPTHWISE_W_Y];
                }
                const struct NAME(block) b = {
                    .y = plane.y + r * y_row + first,
                    .y_row = y_row,
                    .nrow = now,
                    .rows = rows.at,
                    .columns = columns,
                    .constants = &constants,
                    .ahead = ROWS_AHEAD * m->width,
                };
                NAME(sum_band)(b, nvector, m, ntap, step);
                if (k + 1 < n[CPU_DEPTHWISE_PLANES])
                    NAME(next_rows)(&rows, read);
            }
        }
    }
}

static void NAME(sum_3_1)(void *const *p, const int64_t *n, struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 3, 1);
}

static void NAME(sum_3_2)(void *const *p, const int64_t *n, struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 3, 2);
}

static void NAME(sum_5_1)(void *const *p, const int64_t *n, struct NAME(image) * m)
{
    NAME(sum_planes)(p, n, m, 5, 1);
}

static void NAME(sum_5_2)(void *const *p, const int64_t *n, struct NAME(image) * m)
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
        .low = -(REAL)INFINITY,
        .high = (REAL)INFINITY,
        .has_pairs = NAME(has_pairs)(n),
    };
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_AT_LEAST)
        memcpy(&image.low, &n[CPU_DEPTHWISE_LOW], sizeof(REAL));
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_AT_MOST)
        memcpy(&image.high, &n[CPU_DEPTHWISE_HIGH], sizeof(REAL));
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
#undef LIMIT_LOW
#undef LIMIT_HIGH
#undef PICK
#undef PICK_PAIR
#undef PICK_BELOW
#undef PICK_SORT
#undef AGES
#undef NAME
