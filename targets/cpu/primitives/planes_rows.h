/* Windows over planes (planes.h) for one instruction set, STRIP_ISA. */
#include "planes.h"
#include "strip_best.h"
#include "strip_loops.h"
#include "vectors.h"

#define LITERAL static inline __attribute__((always_inline))
enum { LANES = VECTOR_NBYTES / sizeof(float), MAX_SIDE = 3 };

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int within(int64_t x, int64_t high)
{
    return (int)(x < 0 ? 0 : x > high ? high : x);
}

/* ---- reducers ---- */

/* The third is the second where all is finite, and takes less time. */
enum { SUM, MAX, MAX_OF_FINITE };

#if defined(__AVX512F__)
#define MAX_BY(y, x) max_float32_64(y, x)
#elif defined(__AVX2__)
#define MAX_BY(y, x) max_float32_32(y, x)
#else
#define MAX_BY(y, x) max_float32_16(y, x)
#endif

LITERAL float_vector join(float_vector y, float_vector x, const int reducer)
{
#if defined(__AVX512F__)
    if (reducer == MAX_OF_FINITE)
        return _mm512_max_ps(x, y);
#elif defined(__AVX2__)
    if (reducer == MAX_OF_FINITE)
        return _mm256_max_ps(x, y);
#elif defined(__SSE2__)
    if (reducer == MAX_OF_FINITE)
        return _mm_max_ps(x, y);
#endif
    return reducer == SUM ? y + x : MAX_BY(y, x);
}

/* ---- columns ---- */

/* Every second element of two vectors, in an order in which none leaves its 16 bytes: SORT puts
 * them right. */
#if defined(__clang__)
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t picks __attribute__((vector_size(VECTOR_NBYTES)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (picks){ __VA_ARGS__ })
#endif
#if VECTOR_NBYTES == 64
#define EVEN 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define ODD  1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define SORT 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
#elif VECTOR_NBYTES == 32
#define EVEN 0, 2, 8, 10, 4, 6, 12, 14
#define ODD  1, 3, 9, 11, 5, 7, 13, 15
#define SORT 0, 1, 4, 5, 2, 3, 6, 7
#else
#define EVEN 0, 2, 4, 6
#define ODD  1, 3, 5, 7
#define SORT 0, 1, 2, 3
#endif

/* Lanes of a vector: masks, where loads have none. */
#if VECTOR_NBYTES == 16
typedef int32_t column_lanes __attribute__((vector_size(VECTOR_NBYTES)));
static inline column_lanes column_lanes_of(int first, int end)
{
    const column_lanes number = { 0, 1, 2, 3 };
    return (number >= first) & (number < end);
}
#else
typedef float_lanes column_lanes;
#define column_lanes_of float_lanes_of
#endif

/* `count` columns of the result from `first` on: loads of what they read of a row, and which lanes
 * of each there are. For a step of 1 there is a load for each place, for a step of 2 there are two
 * for every two. */
struct columns {
    int64_t first, count;
    column_lanes lanes[MAX_SIDE + 1];
    const float *begin, *end; /* of what may be read */
};

LITERAL int load_count(const int side, const int step)
{
    return step == 1 ? side : (side + 1) / 2 * 2;
}

LITERAL int load_at(const int i, const int step)
{
    return step == 1 ? i : i / 2 * 2 + i % 2 * LANES;
}

/* A compiler that knows where it is from reads it again for each use. */
#if defined(__SSE2__)
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#else
#define IN_REGISTER(v)
#endif

/* What there is, others 0. */
LITERAL float_vector take(const float *from, const struct columns *c, const int i,
                          const int is_whole)
{
    float_vector v;
#if VECTOR_NBYTES == 16
    if (!is_whole && (from < c->begin || from + LANES > c->end)) {
        for (int k = 0; k < LANES; k++)
            v[k] = c->lanes[i][k] ? from[k] : 0;
        return v;
    }
#else
    if (!is_whole)
        return float_load_lanes(from, c->lanes[i]);
#endif
    memcpy(&v, from, sizeof(v));
    IN_REGISTER(v);
#if VECTOR_NBYTES == 16
    if (!is_whole)
        v = (float_vector)((column_lanes)v & c->lanes[i]);
#endif
    return v;
}

/* Others -inf. */
LITERAL float_vector fill(float_vector v, column_lanes lanes)
{
    const float_vector least = (float_vector){ 0 } - INFINITY;
#if defined(__AVX512F__)
    return _mm512_mask_mov_ps(least, lanes, v);
#elif defined(__AVX2__)
    return _mm256_blendv_ps(least, v, _mm256_castsi256_ps(lanes));
#else
    return (float_vector)(((column_lanes)v & lanes) | ((column_lanes)least & ~lanes));
#endif
}

/* A row of X, reduced for each column of the result. zeros: become NaN by what is not finite, two
 * that each wait for themselves. */
LITERAL float_vector reduce_row(const float *row, const struct columns *c,
                                float_vector *zeros, const int is_whole,
                                const int reducer, const int side, const int step)
{
    float_vector x[MAX_SIDE + 1], y;
    const int nload = load_count(side, step);
    UNROLL
    for (int i = 0; i < nload; i++) {
        x[i] = take(row + load_at(i, step), c, i, is_whole);
        if (reducer == MAX_OF_FINITE)
            zeros[i % 2] = float_multiply_add(x[i], (float_vector){ 0 }, zeros[i % 2]);
        if (reducer != SUM && !is_whole)
            x[i] = fill(x[i], c->lanes[i]);
    }
    if (step == 1) {
        y = x[0];
        UNROLL
        for (int i = 1; i < side; i++)
            y = join(y, x[i], reducer);
        return y;
    }
    y = join(PICK(x[0], x[1], EVEN), PICK(x[0], x[1], ODD), reducer);
    return side == 2 ? y : join(y, PICK(x[2], x[3], EVEN), reducer);
}

/* ---- planes ---- */

/* `x` is where the first window begins, which may be outside. */
struct plane {
    float *y;
    const float *x, *d;
    int64_t rows, y_row, x_row, d_row, height, top;
};

LITERAL void store(float *y, float_vector v, int64_t count)
{
    if (count == LANES)
        memcpy(y, &v, sizeof(v));
    else
        float_store_part(y, v, count);
}

/* From the first row to the last. 0: not all was finite, and maxima are none. */
LITERAL int reduce_columns(const struct plane *p, const struct columns *c,
                           const int is_whole, const int reducer, const int side,
                           const int step)
{
    const float_vector none = (float_vector){ 0 } - (reducer == SUM ? 0 : INFINITY);
    const int nkept = side > step ? side - step : 0; // rows that the next window has too
    const struct plane plane = *p;
    const struct columns columns = *c;
    const float *x = plane.x + c->first * step, *d = plane.d + c->first;
    float *y = plane.y + c->first;
    int64_t row = plane.top;
    float_vector rows[MAX_SIDE], zeros[MAX_SIDE][2] = { { { 0 } } };
    UNROLL
    for (int i = 0; i < nkept; i++, x += plane.x_row, row++) {
        rows[step + i] = none;
        if ((uint64_t)row < (uint64_t)plane.height)
            rows[step + i] =
                reduce_row(x, &columns, zeros[i], is_whole, reducer, side, step);
    }
    for (int64_t r = 0; r < plane.rows; r++) {
        UNROLL
        for (int i = 0; i < nkept; i++)
            rows[i] = rows[i + step];
        UNROLL
        for (int i = nkept; i < side; i++, x += plane.x_row, row++) {
            rows[i] = none;
            if ((uint64_t)row < (uint64_t)plane.height)
                rows[i] =
                    reduce_row(x, &columns, zeros[i], is_whole, reducer, side, step);
        }
        float_vector v = rows[0];
        UNROLL
        for (int i = 1; i < side; i++)
            v = join(v, rows[i], reducer);
        v = step == 2 ? PICK(v, v, SORT) : v;
        if (plane.d_row)
            v /= float_load_part(d + r * plane.d_row, columns.count);
        store(y, v, columns.count);
        y += plane.y_row;
    }
    UNROLL
    for (int i = 1; i < side; i++)
        zeros[0][0] += zeros[i][0] + zeros[i][1];
    return reducer != MAX_OF_FINITE || float_is_zero(zeros[0][0] + zeros[0][1]);
}

LITERAL void reduce_vector(const struct plane *p, const struct columns *c,
                           const int is_whole, const int reducer, const int side,
                           const int step)
{
    if (reducer == SUM)
        reduce_columns(p, c, is_whole, SUM, side, step);
    else if (!reduce_columns(p, c, is_whole, MAX_OF_FINITE, side, step))
        reduce_columns(p, c, 0, MAX, side, step);
}

/* Of columns of the result, vectors; the last one, if there are enough, has some once more. */
LITERAL void reduce_planes(void *const *p, const int64_t *n, const int reducer,
                           const int side, const int step)
{
    const int64_t ncolumn = n[CPU_PLANES_COLUMNS], width = n[CPU_PLANES_WIDTH];
    const int64_t size =
        width ? (n[CPU_PLANES_HEIGHT] - 1) * n[CPU_PLANES_X_ROW] + width : 0;
    for (int64_t k = 0; k < n[CPU_PLANES_PLANES]; k++) {
        const float *x = (const float *)p[CPU_PLANES_X] + k * n[CPU_PLANES_X_PLANE];
        const struct plane plane = {
            .y = (float *)p[CPU_PLANES_Y] + k * n[CPU_PLANES_Y_PLANE],
            .x = x + n[CPU_PLANES_TOP] * n[CPU_PLANES_X_ROW] + n[CPU_PLANES_LEFT],
            .d = p[CPU_PLANES_D],
            .rows = n[CPU_PLANES_ROWS],
            .y_row = n[CPU_PLANES_Y_ROW],
            .x_row = n[CPU_PLANES_X_ROW],
            .d_row = n[CPU_PLANES_D_ROW],
            .height = n[CPU_PLANES_HEIGHT],
            .top = n[CPU_PLANES_TOP],
        };
        for (int64_t j = 0; j < ncolumn; j += LANES) {
            struct columns c = { .first = ncolumn < LANES ? 0 : least(j, ncolumn - LANES),
                                 .count = least(ncolumn, LANES),
                                 .begin = x,
                                 .end = x + size };
            const int64_t at = n[CPU_PLANES_LEFT] + c.first * step;
            const int is_whole =
                c.count == LANES && at >= 0 &&
                at + load_at(load_count(side, step) - 1, step) + LANES <= width;
            UNROLL
            for (int i = 0; i < MAX_SIDE + 1; i++) {
                const int64_t from = at + load_at(i, step);
                c.lanes[i] =
                    column_lanes_of(within(-from, LANES), within(width - from, LANES));
            }
            if (is_whole)
                reduce_vector(&plane, &c, 1, reducer, side, step);
            else
                reduce_vector(&plane, &c, 0, reducer, side, step);
        }
    }
}

#define REDUCE(name, reducer, side, step)                                   \
    static int32_t name##_##side##_##step(void *const *p, const int64_t *n) \
    {                                                                       \
        reduce_planes(p, n, reducer, side, step);                           \
        return 0;                                                           \
    }
#define REDUCE_ALL(name, reducer)                                             \
    REDUCE(name, reducer, 2, 1)                                               \
    REDUCE(name, reducer, 2, 2)                                               \
    REDUCE(name, reducer, 3, 1)                                               \
    REDUCE(name, reducer, 3, 2)                                               \
    STRIP(name)                                                               \
    {                                                                         \
        if (n[CPU_PLANES_STEP] == 1)                                          \
            return (n[CPU_PLANES_SIDE] == 2 ? name##_2_1 : name##_3_1)(p, n); \
        return (n[CPU_PLANES_SIDE] == 2 ? name##_2_2 : name##_3_2)(p, n);     \
    }
REDUCE_ALL(sum, SUM)
REDUCE_ALL(max, MAX)

/* ---- the adjoint of maxima ---- */

#include "planes_first.h"

/* ---- the table ---- */

/* For each element that a window has of a row. */
enum { PLANES_PS = 40 };
STRIPS_TABLE(planes){
    { "planes_sum.float32", sum, CPU_PLANES, BT_FLOAT32, BT_FLOAT32, PLANES_PS },
    { "planes_max.float32", max, CPU_PLANES, BT_FLOAT32, BT_FLOAT32, PLANES_PS },
    { "planes_first.float32", max_first, CPU_PLANES_FIRST, BT_FLOAT32, BT_FLOAT32,
      PLANES_PS },
    { 0 },
};
