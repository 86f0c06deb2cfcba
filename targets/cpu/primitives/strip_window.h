/*
 * Strips of windows: each element takes what lies around a place of its own, so many neighbours
 * of so many rows, one after the other.
 *
 *     out[i] = R(out[i], a[i * n[1] + r * n[5] + s * n[3]])    i < n[0], r < n[4], s < n[2]
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

enum { MOST_AT_ONCE = 4 };

/* ---- operators ---- */

#define SUM(type, V, y, x) (y) + (x)
#define MAX(type, V, y, x) max_##type##_##V(y, x)
#define MIN(type, V, y, x) min_##type##_##V(y, x)

/* ---- strips ---- */

/* Windows of so many vectors of elements at once, as each operator waits for the one before it;
 * the last one begins at `last`. `count` and `step` are literals. */
#define BY_VECTORS(name, OP, type, V)                                                        \
    LITERAL void name##_##type##_at_once_##V(                                                \
        type##_at *out, const type##_at *a, const int64_t *n, int64_t first,                 \
        int64_t last, const int count, const int64_t step)                                   \
    {                                                                                        \
        const int64_t size = V / sizeof(*out);                                               \
        type##_##V y[MOST_AT_ONCE];                                                          \
        UNROLL                                                                               \
        for (int v = 0; v < count; v++)                                                      \
            y[v] = type##_load_##V(out + (v < count - 1 ? first + v * size : last), 1);      \
        for (int64_t r = 0; r < n[4]; r++) {                                                 \
            for (int64_t s = 0; s < n[2]; s++) {                                             \
                const type##_at *from = a + r * n[5] + s * n[3];                             \
                UNROLL                                                                       \
                for (int v = 0; v < count; v++) {                                            \
                    const int64_t at = v < count - 1 ? first + v * size : last;              \
                    const type##_##V x = type##_load_##V(from + at * step, step);            \
                    y[v] = OP(type, V, y[v], x);                                             \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        UNROLL                                                                               \
        for (int v = 0; v < count; v++)                                                      \
            memcpy(out + (v < count - 1 ? first + v * size : last), &y[v], V);               \
    }                                                                                        \
    /* 0: the strip has less than a vector. Else its last one overlaps the one before it. */ \
    LITERAL int name##_##type##_by_##V(type##_at *out, const type##_at *a,                   \
                                       const int64_t *n, const int64_t step)                 \
    {                                                                                        \
        const int64_t size = V / sizeof(*out), nvector = (n[0] + size - 1) / size;           \
        int64_t i = 0;                                                                       \
        if (n[0] < size)                                                                     \
            return 0;                                                                        \
        for (; nvector - i > MOST_AT_ONCE; i += 3)                                           \
            name##_##type##_at_once_##V(out, a, n, i *size, (i + 2) * size, 3, step);        \
        const int64_t first = i * size, last = n[0] - size;                                  \
        if (nvector - i == 1)                                                                \
            name##_##type##_at_once_##V(out, a, n, first, last, 1, step);                    \
        else if (nvector - i == 2)                                                           \
            name##_##type##_at_once_##V(out, a, n, first, last, 2, step);                    \
        else if (nvector - i == 3)                                                           \
            name##_##type##_at_once_##V(out, a, n, first, last, 3, step);                    \
        else                                                                                 \
            name##_##type##_at_once_##V(out, a, n, first, last, 4, step);                    \
        return 1;                                                                            \
    }
#if defined(__AVX512F__)
#define BY_ALL(name, OP, type)     \
    BY_VECTORS(name, OP, type, 64) \
    BY_VECTORS(name, OP, type, 32) \
    BY_VECTORS(name, OP, type, 16)
#define BY_ANY(name, step)                                             \
    (name##_by_64(out, a, n, step) || name##_by_32(out, a, n, step) || \
     name##_by_16(out, a, n, step))
#elif defined(__AVX2__)
#define BY_ALL(name, OP, type)     \
    BY_VECTORS(name, OP, type, 32) \
    BY_VECTORS(name, OP, type, 16)
#define BY_ANY(name, step) \
    (name##_by_32(out, a, n, step) || name##_by_16(out, a, n, step))
#else
#define BY_ALL(name, OP, type) BY_VECTORS(name, OP, type, 16)
#define BY_ANY(name, step)     name##_by_16(out, a, n, step)
#endif

#define WINDOW(name, OP, type)                                                   \
    BY_ALL(name, OP, type)                                                       \
    STRIP(name##_##type)                                                         \
    {                                                                            \
        type##_at *out = p[0];                                                   \
        const type##_at *a = p[1];                                               \
        if ((n[1] == 1 && BY_ANY(name##_##type, 1)) ||                           \
            (n[1] == 2 && BY_ANY(name##_##type, 2)))                             \
            return 0;                                                            \
        for (int64_t i = 0; i < n[0]; i++) {                                     \
            type##_16 y = { out[i] }; /* a scalar would be compared by a jump */ \
            for (int64_t r = 0; r < n[4]; r++) {                                 \
                for (int64_t s = 0; s < n[2]; s++) {                             \
                    const type##_16 x = { a[i * n[1] + r * n[5] + s * n[3]] };   \
                    y = OP(type, 16, y, x);                                      \
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

/* ---- the table ---- */

#define ROW(name, TYPE, type) \
    { "window_" #name "." #type, name##_##type, CPU_WINDOW, TYPE, TYPE, PS(60, type) },
#define ROWS(TYPE, type) \
    ROW(sum, TYPE, type) \
    ROW(max, TYPE, type) \
    ROW(min, TYPE, type)
STRIPS_TABLE(window){ ROWS(BT_FLOAT32, float32) ROWS(BT_FLOAT64, float64){ 0 } };
