/*
 * Strips of windows: each element takes what lies around a place of its own, so many neighbours
 * of so many rows, one after the other.
 *
 *     out[i] = R(out[i], a[i * n[1] + r * n[5] + s * n[3]])    i < n[0], r < n[4], s < n[2]
 *
 * or what is chosen of it, by its number n[6] + r * n[8] + s * n[7]:
 *
 *     window_first        the least number of a place where a is b[i], or not a number
 *     window_sum_where    sums of those a whose number is at their place of b
 *
 * Vectors of elements stay in registers meanwhile, as wide ones as the strip is long.
 */
#include "every_second.h"
#include "strip_best.h"
#include "strip_loops.h"
#include "vectors.h"

/* ---- vectors of so many bytes, V ---- */

#define LITERAL static inline __attribute__((always_inline))
#define VECTORS(type, W, V)                                                       \
    LITERAL type##_##V type##_load_##V(const type##_at *from, const int64_t step) \
    {                                                                             \
        type##_##V x;                                                             \
        if (step == 2)                                                            \
            return (type##_##V)pick_##W##_##V(from);                              \
        memcpy(&x, from, V);                                                      \
        return x;                                                                 \
    }
#define ALL_VECTORS(V)     \
    VECTORS(float32, 4, V) \
    VECTORS(float64, 8, V)
#if defined(__AVX512F__)
ALL_VECTORS(64)
#endif
#if defined(__AVX2__)
ALL_VECTORS(32)
#endif
ALL_VECTORS(16)

enum { MAX_AT_ONCE = 4 };

typedef int32_t int32_16 __attribute__((vector_size(16)));
typedef int32_t int32_32 __attribute__((vector_size(32)));
typedef int32_t int32_64 __attribute__((vector_size(64)));

/* ---- operators ---- */

/* y takes x, whose place is `place`, for lane `lane`. */
#define SUM(type, V, y, x, place, lane) (y) + (x)
#define MAX(type, V, y, x, place, lane) max_##type##_##V(y, x)
#define MIN(type, V, y, x, place, lane) min_##type##_##V(y, x)
#define FIRST(type, V, y, x, place, lane) \
    first_##V(y, x, float32_load_##V((const float32_at *)b + (lane), 1), number)
#define WHERE(type, V, y, x, place, lane) \
    sum_where_##V(y, x, int32_load_##V((const int32_at *)b + (place), step), number)
#define NO_NUMBER 0
#define NUMBER    n[6] + r *n[8] + s *n[7]

#define CHOICES(V)                                                                \
    LITERAL int32_##V int32_load_##V(const int32_at *from, const int64_t step)    \
    {                                                                             \
        return (int32_##V)float32_load_##V((const float32_at *)from, step);       \
    }                                                                             \
    LITERAL int32_##V first_##V(int32_##V y, float32_##V x, float32_##V extreme,  \
                                int64_t number)                                   \
    {                                                                             \
        const int32_##V k = (int32_##V){ 0 } + (int32_t)number;                   \
        const int32_##V is = ((x == extreme) | (x != x)) & (k < y);               \
        return (k & is) | (y & ~is);                                              \
    }                                                                             \
    LITERAL float32_##V sum_where_##V(float32_##V y, float32_##V x, int32_##V at, \
                                      int64_t number)                             \
    {                                                                             \
        const int32_##V is = at == (int32_t)number;                               \
        return (float32_##V)(((int32_##V)(y + x) & is) | ((int32_##V)y & ~is));   \
    }
#if defined(__AVX512F__)
CHOICES(64)
#endif
#if defined(__AVX2__)
CHOICES(32)
#endif
CHOICES(16)

/* ---- strips ---- */

/* Windows of so many vectors of elements at once, as each operator waits for the one before it;
 * the last one begins at `last`. `count` and `step` are literals. */
#define BY_VECTORS(name, OP, to, type, V, NUMBER)                                            \
    LITERAL void name##_##type##_at_once_##V(                                                \
        to##_at *out, const type##_at *a, const void *b, const int64_t *n,                   \
        int64_t first, int64_t last, const int count, const int64_t step)                    \
    {                                                                                        \
        const int64_t size = V / sizeof(*out);                                               \
        to##_##V y[MAX_AT_ONCE];                                                             \
        UNROLL                                                                               \
        for (int v = 0; v < count; v++)                                                      \
            y[v] = to##_load_##V(out + (v < count - 1 ? first + v * size : last), 1);        \
        for (int64_t r = 0; r < n[4]; r++) {                                                 \
            for (int64_t s = 0; s < n[2]; s++) {                                             \
                const int64_t from = r * n[5] + s * n[3], number = NUMBER;                   \
                (void)number;                                                                \
                UNROLL                                                                       \
                for (int v = 0; v < count; v++) {                                            \
                    const int64_t at = v < count - 1 ? first + v * size : last;              \
                    const int64_t place = from + at * step;                                  \
                    const type##_##V x = type##_load_##V(a + place, step);                   \
                    y[v] = OP(type, V, y[v], x, place, at);                                  \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        UNROLL                                                                               \
        for (int v = 0; v < count; v++)                                                      \
            memcpy(out + (v < count - 1 ? first + v * size : last), &y[v], V);               \
        (void)b;                                                                             \
    }                                                                                        \
    /* 0: the strip has less than a vector. Else its last one overlaps the one before it. */ \
    LITERAL int name##_##type##_by_##V(to##_at *out, const type##_at *a, const void *b,      \
                                       const int64_t *n, const int64_t step)                 \
    {                                                                                        \
        const int64_t size = V / sizeof(*out), nvector = (n[0] + size - 1) / size;           \
        int64_t i = 0;                                                                       \
        if (n[0] < size)                                                                     \
            return 0;                                                                        \
        for (; nvector - i > MAX_AT_ONCE; i += 3)                                            \
            name##_##type##_at_once_##V(out, a, b, n, i *size, (i + 2) * size, 3, step);     \
        const int64_t first = i * size, last = n[0] - size;                                  \
        if (nvector - i == 1)                                                                \
            name##_##type##_at_once_##V(out, a, b, n, first, last, 1, step);                 \
        else if (nvector - i == 2)                                                           \
            name##_##type##_at_once_##V(out, a, b, n, first, last, 2, step);                 \
        else if (nvector - i == 3)                                                           \
            name##_##type##_at_once_##V(out, a, b, n, first, last, 3, step);                 \
        else                                                                                 \
            name##_##type##_at_once_##V(out, a, b, n, first, last, 4, step);                 \
        return 1;                                                                            \
    }
#if defined(__AVX512F__)
#define BY_ALL(name, OP, to, type, NUMBER)     \
    BY_VECTORS(name, OP, to, type, 64, NUMBER) \
    BY_VECTORS(name, OP, to, type, 32, NUMBER) \
    BY_VECTORS(name, OP, to, type, 16, NUMBER)
#define BY_ANY(name, b, step)                                                \
    (name##_by_64(out, a, b, n, step) || name##_by_32(out, a, b, n, step) || \
     name##_by_16(out, a, b, n, step))
#elif defined(__AVX2__)
#define BY_ALL(name, OP, to, type, NUMBER)     \
    BY_VECTORS(name, OP, to, type, 32, NUMBER) \
    BY_VECTORS(name, OP, to, type, 16, NUMBER)
#define BY_ANY(name, b, step) \
    (name##_by_32(out, a, b, n, step) || name##_by_16(out, a, b, n, step))
#else
#define BY_ALL(name, OP, to, type, NUMBER) BY_VECTORS(name, OP, to, type, 16, NUMBER)
#define BY_ANY(name, b, step)              name##_by_16(out, a, b, n, step)
#endif

#define WINDOW(name, OP, type)                                                   \
    BY_ALL(name, OP, type, type, NO_NUMBER)                                      \
    STRIP(name##_##type)                                                         \
    {                                                                            \
        type##_at *out = p[0];                                                   \
        const type##_at *a = p[1];                                               \
        if ((n[1] == 1 && BY_ANY(name##_##type, NULL, 1)) ||                     \
            (n[1] == 2 && BY_ANY(name##_##type, NULL, 2)))                       \
            return 0;                                                            \
        for (int64_t i = 0; i < n[0]; i++) {                                     \
            type##_16 y = { out[i] }; /* a scalar would be compared by a jump */ \
            for (int64_t r = 0; r < n[4]; r++) {                                 \
                for (int64_t s = 0; s < n[2]; s++) {                             \
                    const type##_16 x = { a[i * n[1] + r * n[5] + s * n[3]] };   \
                    y = OP(type, 16, y, x, 0, 0);                                \
                }                                                                \
            }                                                                    \
            out[i] = y[0];                                                       \
        }                                                                        \
        return 0;                                                                \
    }
#define WINDOWS(type)      \
    WINDOW(sum, SUM, type) \
    WINDOW(max, MAX, type) \
    WINDOW(min, MIN, type)
WINDOWS(float32)
WINDOWS(float64)

/* Element by element where vectors do not fit: `at` and `k` are a place and its number. */
#define CHOICE(name, OP, to, one)                                            \
    BY_ALL(name, OP, to, float32, NUMBER)                                    \
    STRIP(name)                                                              \
    {                                                                        \
        to##_at *out = p[0];                                                 \
        const float32_at *a = p[1];                                          \
        if ((n[1] == 1 && BY_ANY(name##_float32, p[2], 1)) ||                \
            (n[1] == 2 && BY_ANY(name##_float32, p[2], 2)))                  \
            return 0;                                                        \
        for (int64_t i = 0; i < n[0]; i++) {                                 \
            for (int64_t r = 0; r < n[4]; r++) {                             \
                for (int64_t s = 0; s < n[2]; s++) {                         \
                    const int64_t at = i * n[1] + r * n[5] + s * n[3];       \
                    const int32_t k = (int32_t)(n[6] + r * n[8] + s * n[7]); \
                    if (one)                                                 \
                        out[i] = (to##_at)ONE_##OP;                          \
                }                                                            \
            }                                                                \
        }                                                                    \
        return 0;                                                            \
    }
#define ONE_FIRST k
#define ONE_WHERE (out[i] + a[at])
CHOICE(first, FIRST, int32,
       k < out[i] && (a[at] == ((const float32_at *)p[2])[i] || a[at] != a[at]))
CHOICE(sum_where, WHERE, float32, k == ((const int32_at *)p[2])[at])

/* ---- the table ---- */

#define ROW(name, TYPE, type) \
    { "window_" #name "." #type, name##_##type, CPU_WINDOW, TYPE, TYPE, PS(60, type) },
#define ROWS(TYPE, type) \
    ROW(sum, TYPE, type) \
    ROW(max, TYPE, type) \
    ROW(min, TYPE, type)
// clang-format off
STRIPS_TABLE(window){
    ROWS(BT_FLOAT32, float32) ROWS(BT_FLOAT64, float64)
    { "window_first.float32", first, CPU_WINDOW_FIRST, BT_INT32, BT_FLOAT32, 100 },
    { "window_sum_where.float32", sum_where, CPU_WINDOW_WHERE, BT_FLOAT32, BT_FLOAT32, 100 },
    { 0 },
};
// clang-format on
