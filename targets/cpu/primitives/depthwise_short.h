/*
 * Depthwise convolutions of integers that int16 holds, with sums in int32, which wrap; included by
 * depthwise_rows.h. Rows of X are made int16 once, without the zero point and with zeros around.
 * Taps that are neighbours are a pair, of which one instruction adds both products:
 *
 *     step 1    { x[c], x[c + 1] }, { x[c + 1], x[c + 2] } ...    from two loads
 *     step 2    { x[2c], x[2c + 1] }, { x[2c + 2], x[2c + 3] } ...  as they lie
 */
#include "shorts.h"

enum {
    SHORT_PAIRS = (MOST_TAPS + 1) / 2, /* of a row of taps */
    SHORT_ROWS = 8,                    /* of X that are kept; no fewer than taps */
    SHORT_LANES = VECTOR_NBYTES / sizeof(int16_t),
    // what vectors read on, and what the last one of zeros is behind that
    SHORT_ROW = 2 * PANEL + MOST_TAPS + 4 * SHORT_LANES
};

struct short_taps {
    uint32_t pairs[MOST_TAPS][SHORT_PAIRS], bias;
};

/* A row of the result; ntap and step are literals. */
static inline __attribute__((always_inline)) void
sum_short_row(int32_t *y, const int16_t *const *rows, const struct short_taps *t,
              int64_t count, const int ntap, const int step)
{
    for (int64_t c = 0; c < count; c += SHORT_LANES) {
        bits_vector low = t->bias - (bits_vector){ 0 }, high = low;
        UNROLL
        for (int i = 0; i < ntap; i++) {
            UNROLL
            for (int q = 0; q < (ntap + 1) / 2; q++) {
                const int16_t *x = rows[i] + step * c + 2 * q;
                const bits_vector taps = t->pairs[i][q] - (bits_vector){ 0 };
                const int_vector first =
                    step == 1 ? int_pairs_low(x, x + 1) : int_load(x);
                const int_vector second =
                    step == 1 ? int_pairs_high(x, x + 1) : int_load(x + SHORT_LANES);
                low = bits_multiply_add_pairs((bits_vector)first, taps, low);
                high = bits_multiply_add_pairs((bits_vector)second, taps, high);
            }
        }
        int_vector sums[2] = { (int_vector)low, (int_vector)high };
        if (step == 1) {
            sums[0] = int_pairs_first((int_vector)low, (int_vector)high);
            sums[1] = int_pairs_second((int_vector)low, (int_vector)high);
        }
        if (count - c >= SHORT_LANES)
            memcpy(y + c, sums, sizeof(sums));
        else
            memcpy(y + c, sums, (size_t)(count - c) * sizeof(*y));
    }
}

static void sum_short_3_1(int32_t *y, const int16_t *const *rows,
                          const struct short_taps *t, int64_t count)
{
    sum_short_row(y, rows, t, count, 3, 1);
}

static void sum_short_3_2(int32_t *y, const int16_t *const *rows,
                          const struct short_taps *t, int64_t count)
{
    sum_short_row(y, rows, t, count, 3, 2);
}

static void sum_short_5_1(int32_t *y, const int16_t *const *rows,
                          const struct short_taps *t, int64_t count)
{
    sum_short_row(y, rows, t, count, 5, 1);
}

static void sum_short_5_2(int32_t *y, const int16_t *const *rows,
                          const struct short_taps *t, int64_t count)
{
    sum_short_row(y, rows, t, count, 5, 2);
}

static struct short_taps short_taps_of(const int16_t *w, const int32_t *bias,
                                       const int64_t *n)
{
    struct short_taps t = { .bias = 0 };
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_ADD_BIAS)
        t.bias = (uint32_t)*bias;
    for (int64_t i = 0; i < n[CPU_DEPTHWISE_TAPS]; i++) {
        for (int64_t j = 0; j < n[CPU_DEPTHWISE_TAPS]; j++)
            t.pairs[i][j / 2] |=
                (uint32_t)(uint16_t)w[i * n[CPU_DEPTHWISE_W_Y] + j * n[CPU_DEPTHWISE_W_X]]
                << j % 2 * 16;
    }
    return t;
}

#define DEPTHWISE_SHORT(name, ELEMENT)                                                   \
    /* `count` elements of row `at` from column `left` on. */                            \
    static void make_row_##name(int16_t *to, const ELEMENT *x, int64_t at, int64_t left, \
                                int64_t count, const int64_t *n)                         \
    {                                                                                    \
        const int64_t width = n[CPU_DEPTHWISE_WIDTH], zero = n[CPU_DEPTHWISE_ZERO];      \
        const int is_row = at >= 0 && at < n[CPU_DEPTHWISE_HEIGHT];                      \
        int64_t lead = left < 0 ? -left : 0, end = is_row ? width - left : 0;            \
        lead = lead < count ? lead : count;                                              \
        end = end > count ? count : end < lead ? lead : end;                             \
        const ELEMENT *from = is_row ? x + at * width + left : x;                        \
        const int64_t room = (n[CPU_DEPTHWISE_HEIGHT] - at) * width - left;              \
        const short_vector none = short_spread(0);                                       \
        int64_t i = lead;                                                                \
        for (int64_t k = 0; k < lead; k += SHORT_LANES)                                  \
            memcpy(to + k, &none, sizeof(none));                                         \
        /* a vector may go on with the next row */                                       \
        for (; i < end && i + SHORT_LANES <= room; i += SHORT_LANES) {                   \
            const short_vector v = name##_load(from + i, short_spread(zero));            \
            memcpy(to + i, &v, sizeof(v));                                               \
        }                                                                                \
        for (; i < end; i++)                                                             \
            to[i] = (int16_t)(from[i] - zero);                                           \
        /* what vectors read on */                                                       \
        for (int64_t k = end; k < count + 3 * SHORT_LANES; k += SHORT_LANES)             \
            memcpy(to + k, &none, sizeof(none));                                         \
    }                                                                                    \
                                                                                         \
    static int32_t run_##name(void *const *p, const int64_t *n)                          \
    {                                                                                    \
        const int64_t ntap = n[CPU_DEPTHWISE_TAPS], step = n[CPU_DEPTHWISE_STEP];        \
        void (*sum)(int32_t *, const int16_t *const *, const struct short_taps *,        \
                    int64_t) = ntap == 3 ? (step == 1 ? sum_short_3_1 : sum_short_3_2)   \
                                         : (step == 1 ? sum_short_5_1 : sum_short_5_2);  \
        int16_t kept[SHORT_ROWS][SHORT_ROW];                                             \
        for (int64_t k = 0; k < n[CPU_DEPTHWISE_PLANES]; k++) {                          \
            const ELEMENT *x =                                                           \
                (const ELEMENT *)p[CPU_DEPTHWISE_X] + k * n[CPU_DEPTHWISE_X_PLANE];      \
            int32_t *y = (int32_t *)p[CPU_DEPTHWISE_Y] + k * n[CPU_DEPTHWISE_Y_PLANE];   \
            const struct short_taps taps = short_taps_of(                                \
                (const int16_t *)p[CPU_DEPTHWISE_W] + k * n[CPU_DEPTHWISE_W_PLANE],      \
                (const int32_t *)p[CPU_DEPTHWISE_BIAS] +                                 \
                    k * n[CPU_DEPTHWISE_BIAS_PLANE],                                     \
                n);                                                                      \
            for (int64_t c = 0; c < n[CPU_DEPTHWISE_COLUMNS]; c += PANEL) {              \
                const int64_t left = n[CPU_DEPTHWISE_COLUMNS] - c;                       \
                const int64_t count = left < PANEL ? left : PANEL;                       \
                int64_t made = n[CPU_DEPTHWISE_TOP];                                     \
                for (int64_t r = 0; r < n[CPU_DEPTHWISE_ROWS]; r++) {                    \
                    const int64_t first = n[CPU_DEPTHWISE_TOP] + step * r;               \
                    const int16_t *rows[MOST_TAPS];                                      \
                    for (; made < first + ntap; made++)                                  \
                        make_row_##name(kept[made & (SHORT_ROWS - 1)], x, made,          \
                                        n[CPU_DEPTHWISE_LEFT] + step * c,                \
                                        step * (count - 1) + ntap, n);                   \
                    for (int64_t i = 0; i < ntap; i++)                                   \
                        rows[i] = kept[(first + i) & (SHORT_ROWS - 1)];                  \
                    sum(y + r * n[CPU_DEPTHWISE_Y_ROW] + c, rows, &taps, count);         \
                }                                                                        \
            }                                                                            \
        }                                                                                \
        return 0;                                                                        \
    }
DEPTHWISE_SHORT(i16, int16_t)
DEPTHWISE_SHORT(u8, uint8_t)
DEPTHWISE_SHORT(s8, int8_t)
