/*
 * Rows of windows of one float type and one instruction set; included by row_kinds.h:
 *
 *     REAL, VECTOR    the element, and vectors of it
 *     MULTIPLY_ADD    a function on vectors: (a, b, c) to a * b + c
 *     NAME(stem)      names of this type's own
 */
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))

/* The first `n` elements of a vector; a literal LANES makes it one instruction. */
static inline __attribute__((always_inline)) VECTOR NAME(load)(const REAL *from,
                                                               int64_t n)
{
    VECTOR v = { 0 };
    memcpy(&v, from, (size_t)n * sizeof(REAL));
    return v;
}

static inline __attribute__((always_inline)) void NAME(store)(REAL *to, VECTOR v,
                                                              int64_t n)
{
    memcpy(to, &v, (size_t)n * sizeof(REAL));
}

static inline VECTOR NAME(greater)(VECTOR a, VECTOR b)
{
    typedef __typeof__(a > b) mask;
    const mask takes_a = (a > b) | (a != a);
    return (VECTOR)(((mask)a & takes_a) | ((mask)b & ~takes_a));
}

/* ---- some pixels, as many channels as a vector has: SUM(i) and TAP(i) of pixel i ---- */

#define EACH_1(X) X(0)
#define EACH_2(X) X(0) X(1)
#define EACH_4(X) EACH_2(X) X(2) X(3)
#define EACH_8(X) EACH_4(X) X(4) X(5) X(6) X(7)

#define PIXELS(kind, npixel)                                                 \
    static inline __attribute__((always_inline)) void NAME(kind##_##npixel)( \
        REAL * out, const REAL *in, const REAL *with, const int64_t *n,      \
        int64_t channels)                                                    \
    {                                                                        \
        const int64_t out_x = n[CPU_ROW_OUT_X], in_x = n[CPU_ROW_IN_X];      \
        EACH_##npixel(BEGIN_##kind);                                         \
        for (int64_t r = 0; r < n[CPU_ROW_ROWS]; r++) {                      \
            const REAL *tap = in + r * n[CPU_ROW_IN_ROW];                    \
            for (int64_t q = 0; q < n[CPU_ROW_COLUMNS]; q++) {               \
                WEIGHT_##kind;                                               \
                EACH_##npixel(TAP_##kind);                                   \
                tap += n[CPU_ROW_IN_COLUMN];                                 \
            }                                                                \
        }                                                                    \
        EACH_##npixel(END_##kind);                                           \
    }
#define IN_TAP(i) NAME(load)(tap + i * in_x, channels)

#define BEGIN_depthwise(i) \
    VECTOR s##i = { 0 };   \
    if (n[CPU_ROW_START])  \
        s##i = NAME(load)(out + i * out_x, channels);
#define WEIGHT_depthwise \
    const VECTOR w =     \
        NAME(load)(with + r * n[CPU_ROW_W_ROW] + q * n[CPU_ROW_W_COLUMN], channels);
#define TAP_depthwise(i) s##i = MULTIPLY_ADD(IN_TAP(i), w, s##i);
#define END_depthwise(i) NAME(store)(out + i * out_x, s##i, channels);

#define BEGIN_max(i)     VECTOR s##i = NAME(load)(in + i * in_x, channels);
#define WEIGHT_max       (void)with
#define TAP_max(i)       s##i = NAME(greater)(IN_TAP(i), s##i);
#define END_max(i)       NAME(store)(out + i * out_x, s##i, channels);

#define BEGIN_sum(i)     VECTOR s##i = { 0 };
#define WEIGHT_sum
#define TAP_sum(i) s##i += IN_TAP(i);
#define END_sum(i) NAME(store)(out + i * out_x, s##i * *with, channels);

/* All pixels of some channels, by eights, fours, twos and one. */
#define ROW(kind)                                                                 \
    PIXELS(kind, 1)                                                               \
    PIXELS(kind, 2)                                                               \
    PIXELS(kind, 4)                                                               \
    PIXELS(kind, 8)                                                               \
    static void NAME(kind##_vector)(REAL * out, const REAL *in, const REAL *with, \
                                    const int64_t *n)                             \
    {                                                                             \
        int64_t x = 0;                                                            \
        const int64_t width = n[CPU_ROW_WIDTH];                                   \
        const int64_t out_x = n[CPU_ROW_OUT_X], in_x = n[CPU_ROW_IN_X];           \
        for (; width - x >= 8; x += 8)                                            \
            NAME(kind##_8)(out + x * out_x, in + x * in_x, with, n, LANES);       \
        if (width - x >= 4) {                                                     \
            NAME(kind##_4)(out + x * out_x, in + x * in_x, with, n, LANES);       \
            x += 4;                                                               \
        }                                                                         \
        if (width - x >= 2) {                                                     \
            NAME(kind##_2)(out + x * out_x, in + x * in_x, with, n, LANES);       \
            x += 2;                                                               \
        }                                                                         \
        if (width - x >= 1)                                                       \
            NAME(kind##_1)(out + x * out_x, in + x * in_x, with, n, LANES);       \
    }                                                                             \
    static int32_t NAME(kind)(void *const *p, const int64_t *n)                   \
    {                                                                             \
        REAL *out = p[CPU_ROW_OUT];                                               \
        const REAL *in = p[CPU_ROW_IN], *with = p[CPU_ROW_WITH];                  \
        int64_t c = 0;                                                            \
        for (; n[CPU_ROW_CHANNELS] - c >= LANES; c += LANES)                      \
            NAME(kind##_vector)(out + c, in + c, WITH_##kind(with, c), n);        \
        for (int64_t x = 0; c < n[CPU_ROW_CHANNELS] && x < n[CPU_ROW_WIDTH]; x++) \
            NAME(kind##_1)                                                        \
        (out + x * n[CPU_ROW_OUT_X] + c, in + x * n[CPU_ROW_IN_X] + c,            \
         WITH_##kind(with, c), n, n[CPU_ROW_CHANNELS] - c);                       \
        return 0;                                                                 \
    }
#define WITH_depthwise(with, c) with + c
#define WITH_max(with, c)       with
#define WITH_sum(with, c)       with
ROW(depthwise)
ROW(max)
ROW(sum)

#undef LANES
#undef EACH_1
#undef EACH_2
#undef EACH_4
#undef EACH_8
#undef PIXELS
#undef IN_TAP
#undef BEGIN_depthwise
#undef WEIGHT_depthwise
#undef TAP_depthwise
#undef END_depthwise
#undef BEGIN_max
#undef WEIGHT_max
#undef TAP_max
#undef END_max
#undef BEGIN_sum
#undef WEIGHT_sum
#undef TAP_sum
#undef END_sum
#undef ROW
#undef WITH_depthwise
#undef WITH_max
#undef WITH_sum
#undef REAL
#undef VECTOR
#undef MULTIPLY_ADD
#undef NAME
