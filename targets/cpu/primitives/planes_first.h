/* The adjoint of maxima over planes (planes.h), for planes_rows.h: whose lanes, columns and loads these
 * are. Windows of 2 or 3 places that move by 2 go by vectors. */
#ifndef CPU_PLANES_FIRST_H
#define CPU_PLANES_FIRST_H

/* ---- lanes of a place ---- */

/* In which the place is the one. */
#if defined(__AVX512F__)
typedef __mmask16 place_lanes;
LITERAL place_lanes place_lanes_of(int first, int end)
{
    return float_lanes_of(first, end);
}

LITERAL place_lanes is_not_number(float_vector x)
{
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}

/* has_nan: whether an extreme may be none; else what is no number is found with what is equal. */
LITERAL place_lanes is_extreme(place_lanes among, float_vector x, float_vector y,
                               const int has_nan)
{
    if (!has_nan)
        return _mm512_mask_cmp_ps_mask(among, x, y, _CMP_EQ_UQ);
    return (place_lanes)(among &
                         (_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ) | is_not_number(x)));
}

LITERAL float_vector in_lanes(place_lanes lanes, float_vector v)
{
    return _mm512_maskz_mov_ps(lanes, v);
}

#else
typedef int32_t place_lanes __attribute__((vector_size(VECTOR_NBYTES)));
LITERAL place_lanes place_lanes_of(int first, int end)
{
#if VECTOR_NBYTES == 32
    const place_lanes number = { 0, 1, 2, 3, 4, 5, 6, 7 };
#else
    const place_lanes number = { 0, 1, 2, 3 };
#endif
    return (number >= first) & (number < end);
}

LITERAL place_lanes is_extreme(place_lanes among, float_vector x, float_vector y,
                               const int has_nan)
{
    (void)has_nan;
    return among & ((x == y) | (x != x));
}

LITERAL float_vector in_lanes(place_lanes lanes, float_vector v)
{
    return (float_vector)((place_lanes)v & lanes);
}
#endif

/* ---- planes ---- */

struct first_plane {
    float *g;
    const float *x, *y, *d, *end; /* the last: of what may be read of X */
    int64_t rows, columns, g_row, x_row, y_row, height, width, top, left;
};

/* Any window, place by place. */
static void find_any_first(const struct first_plane *p, const int64_t *n, int is_apart)
{
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = 0; c < p->columns; c++) {
            const float y = p->y[r * p->y_row + c], d = p->d[r * p->y_row + c];
            const int64_t row = p->top + r * n[CPU_FIRST_STEP_Y];
            const int64_t column = p->left + c * n[CPU_FIRST_STEP_X];
            const int64_t end_y = least(row + n[CPU_FIRST_SIDE_Y], p->height);
            const int64_t end_x = least(column + n[CPU_FIRST_SIDE_X], p->width);
            int is_found = 0;
            for (int64_t i = row < 0 ? 0 : row; i < end_y && !is_found; i++) {
                for (int64_t j = column < 0 ? 0 : column; j < end_x && !is_found; j++) {
                    const float x = p->x[i * p->x_row + j];
                    float *g = &p->g[i * p->g_row + j];
                    if (x == y || x != x) {
                        *g = is_apart ? d : *g + d;
                        is_found = 1;
                    }
                }
            }
        }
    }
}

/* To the columns that there are, of those of load `i`. */
LITERAL void put(float *to, float_vector v, const struct columns *c, const int i,
                 const int is_whole)
{
    if (is_whole) {
        memcpy(to, &v, sizeof(v));
        return;
    }
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, c->lanes[i], v);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(to, c->lanes[i], v);
#else
    const place_lanes lanes = (place_lanes)c->lanes[i];
    for (int k = 0; k < LANES; k++) {
        if (lanes[k])
            to[k] = v[k];
    }
#endif
}

#if VECTOR_NBYTES == 64
#define ALL_EVEN  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ALL_ODD   1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define IN_TURN_0 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define IN_TURN_1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR_NBYTES == 32
#define ALL_EVEN  0, 2, 4, 6, 8, 10, 12, 14
#define ALL_ODD   1, 3, 5, 7, 9, 11, 13, 15
#define IN_TURN_0 0, 8, 1, 9, 2, 10, 3, 11
#define IN_TURN_1 4, 12, 5, 13, 6, 14, 7, 15
#else
#define ALL_EVEN  0, 2, 4, 6
#define ALL_ODD   1, 3, 5, 7
#define IN_TURN_0 0, 4, 1, 5
#define IN_TURN_1 2, 6, 3, 7
#endif

/* What windows give to the places of one of their rows, as far as it has not been given: lanes of those
 * before, which reach into these. */
struct given {
    float_vector before[MAX_SIDE];
};

/* Each lane of what comes one lane before. */
LITERAL float_vector one_on(float_vector before, float_vector v)
{
#if VECTOR_NBYTES == 64
    return PICK(before, v, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                30);
#elif VECTOR_NBYTES == 32
    return PICK(before, v, 7, 8, 9, 10, 11, 12, 13, 14);
#else
    return PICK(before, v, 3, 4, 5, 6);
#endif
}

/* To a row of G what windows give in its places, from those of the window before to those of the last
 * one: the order of sums. */
LITERAL void give_row(float *g, const float_vector *at, struct given *given,
                      const struct columns *c, const int is_whole, const int side,
                      const int step)
{
    const float_vector zero = { 0 };
    const int is_apart = step >= side;
    float_vector to[2] = { PICK(at[0], at[1], IN_TURN_0), PICK(at[0], at[1], IN_TURN_1) };
    if (!is_apart) {
        const float_vector last = one_on(given->before[2], at[2]);
        const float_vector first[2] = { PICK(last, zero, IN_TURN_0),
                                        PICK(last, zero, IN_TURN_1) };
        UNROLL
        for (int i = 0; i < 2; i++)
            to[i] = take(g + load_at(i, step), c, i, is_whole) + first[i] + to[i];
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        put(g + load_at(i, step), to[i], c, i, is_whole);
    UNROLL
    for (int i = 1; i < side && !is_apart; i++)
        given->before[i] = at[i];
}

/* A row of X in the windows of some columns: `left` are those that have found none so far. */
LITERAL place_lanes find_in_row(const float *x, float_vector y, float_vector d,
                                const struct columns *c, const place_lanes *there,
                                place_lanes left, float_vector *at, const int is_whole,
                                const int has_nan, const int side, const int step)
{
    const int nload = load_count(side, step);
    float_vector loads[MAX_SIDE + 1];
    UNROLL
    for (int i = 0; i < nload; i++)
        loads[i] = take(x + load_at(i, step), c, i, is_whole);
    UNROLL
    for (int i = 0; i < side; i++) {
        const float_vector place = i % 2 == 0 ? PICK(loads[i], loads[i + 1], ALL_EVEN)
                                              : PICK(loads[i - 1], loads[i], ALL_ODD);
        const place_lanes is =
            is_extreme((place_lanes)(left & there[i]), place, y, has_nan);
        at[i] = in_lanes(is, d);
        left = (place_lanes)(left & ~is);
    }
    return left;
}

LITERAL void find_in_rows(const struct first_plane *p, int64_t row, int64_t column,
                          float_vector y, float_vector d, const struct columns *c,
                          const place_lanes *there, place_lanes left, struct given *given,
                          const int is_whole, const int has_nan, const int side,
                          const int step)
{
    UNROLL
    for (int i = 0; i < side; i++) {
        float_vector at[MAX_SIDE];
        if (row + i < 0 || row + i >= p->height)
            continue;
        left = find_in_row(p->x + (row + i) * p->x_row + column, y, d, c, there, left, at,
                           is_whole, has_nan, side, step);
        give_row(p->g + (row + i) * p->g_row + column, at, &given[i], c, is_whole, side,
                 step);
    }
}

/* The columns from `first` on that a vector holds, in one row of windows. There may be none, for what
 * those before give. */
LITERAL void find_by_vector(const struct first_plane *p, int64_t r, int64_t first,
                            struct given *given, const int side, const int step)
{
    const int64_t at = p->left + first * step, row = p->top + r * step;
    const int64_t count = first < p->columns ? least(p->columns - first, LANES) : 0;
    const int64_t from = r * p->y_row + first;
    const int is_whole =
        at >= 0 && at + load_at(load_count(side, step) - 1, step) + LANES <= p->width;
    const place_lanes left = place_lanes_of(0, (int)count);
    struct columns c = { .first = first, .count = count, .begin = p->x, .end = p->end };
    float_vector y = { 0 }, d = { 0 };
    place_lanes there[MAX_SIDE];
    if (count) {
        y = float_load_part(p->y + from, count);
        d = float_load_part(p->d + from, count);
    }
    UNROLL
    for (int i = 0; i < MAX_SIDE + 1 && !is_whole; i++) {
        const int64_t load = at + load_at(i, step);
        c.lanes[i] =
            column_lanes_of(within(-load, LANES), within(p->width - load, LANES));
    }
    UNROLL
    for (int i = 0; i < side; i++)
        there[i] =
            is_whole
                ? left
                : place_lanes_of(within((step - 1 - at - i) / step, LANES),
                                 within((p->width - at - i + step - 1) / step, LANES));
#if defined(__AVX512F__)
    if (is_not_number(y))
        find_in_rows(p, row, at, y, d, &c, there, left, given, is_whole, 1, side, step);
    else
#endif
        if (is_whole)
        find_in_rows(p, row, at, y, d, &c, there, left, given, 1, 0, side, step);
    else
        find_in_rows(p, row, at, y, d, &c, there, left, given, 0, 0, side, step);
}

LITERAL void find_first_of(const struct first_plane *p, const int side, const int step)
{
    for (int64_t r = 0; r < p->rows; r++) {
        struct given given[MAX_SIDE] = { { { { 0 } } } };
        int64_t c = 0, count = 0;
        for (; c < p->columns; c += LANES) {
            find_by_vector(p, r, c, given, side, step);
            count = least(p->columns - c, LANES);
        }
        if (count + (side - 1) / step > LANES)
            find_by_vector(p, r, c, given, side, step);
    }
}

STRIP(max_first)
{
    const int64_t height = n[CPU_FIRST_HEIGHT], width = n[CPU_FIRST_WIDTH];
    const int64_t side = n[CPU_FIRST_SIDE_Y], step = n[CPU_FIRST_STEP_Y];
    const int is_square = side == n[CPU_FIRST_SIDE_X] && step == n[CPU_FIRST_STEP_X];
    const int is_apart = step >= side && n[CPU_FIRST_STEP_X] >= n[CPU_FIRST_SIDE_X];
    for (int64_t k = 0; k < n[CPU_FIRST_PLANES]; k++) {
        const struct first_plane plane = {
            .g = (float *)p[CPU_FIRST_G] + k * n[CPU_FIRST_G_PLANE],
            .x = (const float *)p[CPU_FIRST_X] + k * n[CPU_FIRST_X_PLANE],
            .y = (const float *)p[CPU_FIRST_Y] + k * n[CPU_FIRST_Y_PLANE],
            .d = (const float *)p[CPU_FIRST_D] + k * n[CPU_FIRST_Y_PLANE],
            .end = (const float *)p[CPU_FIRST_X] + k * n[CPU_FIRST_X_PLANE] +
                   (height && width ? (height - 1) * n[CPU_FIRST_X_ROW] + width : 0),
            .rows = n[CPU_FIRST_ROWS],
            .columns = n[CPU_FIRST_COLUMNS],
            .g_row = n[CPU_FIRST_G_ROW],
            .x_row = n[CPU_FIRST_X_ROW],
            .y_row = n[CPU_FIRST_Y_ROW],
            .height = height,
            .width = width,
            .top = n[CPU_FIRST_TOP],
            .left = n[CPU_FIRST_LEFT],
        };
        const int goes_by_vectors = is_square && step == 2 && (side == 2 || side == 3);
        // vectors of windows that are apart write all of their places
        const int is_covered = goes_by_vectors && side == 2 && plane.top <= 0 &&
                               plane.left <= 0 && plane.top + plane.rows * 2 >= height &&
                               plane.left + plane.columns * 2 >= width;
        for (int64_t r = 0; r < height && !is_covered; r++)
            memset(plane.g + r * plane.g_row, 0, (size_t)width * sizeof(float));
        if (!goes_by_vectors)
            find_any_first(&plane, n, is_apart);
        else if (side == 2)
            find_first_of(&plane, 2, 2);
        else
            find_first_of(&plane, 3, 2);
    }
    return 0;
}

#endif
