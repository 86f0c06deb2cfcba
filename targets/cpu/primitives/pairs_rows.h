/*
 * Pairs of int16, and quads (pairs.h), for the set that a source is compiled for, which says first
 *
 *     PAIRS_TABLE, PAIRS_SUFFIX    its rows, the end of names
 */
#include "pairs.h"

#include "shorts.h"

enum { LANES = VECTOR_NBYTES / sizeof(int32_t), PAIRS_PS = 60, QUADS_PS = 80 };

/* { first[0], second[0] }, { first[1], second[1] } ... */
static inline void put_pairs(int32_t *to, short_vector first, short_vector second)
{
    const int_vector low = int_pairs_low((int16_t *)&first, (int16_t *)&second);
    const int_vector high = int_pairs_high((int16_t *)&first, (int16_t *)&second);
    int_store(to, int_pairs_first(low, high));
    int_store(to + LANES, int_pairs_second(low, high));
}

static inline uint32_t pair_of(int32_t first, int32_t second)
{
    return (uint32_t)(uint16_t)first | (uint32_t)second << 16;
}

#define PAIRS_OF(name, ELEMENT)                                                         \
    /* Of one column, pairs are what is side by side. */                                \
    static void name##_column(int32_t *to, const ELEMENT *from, const int64_t *n)       \
    {                                                                                   \
        const int32_t zero = (int32_t)n[CPU_PAIRS_ZERO];                                \
        const short_vector zeros = short_spread(zero);                                  \
        const int64_t npair = n[CPU_PAIRS_K] / 2;                                       \
        int64_t i = 0;                                                                  \
        for (; i + LANES <= npair; i += LANES)                                          \
            int_store(to + i, (int_vector)name##_load(from + 2 * i, zeros));            \
        for (; i < npair; i++)                                                          \
            to[i] = (int32_t)pair_of(from[2 * i] - zero, from[2 * i + 1] - zero);       \
        if (n[CPU_PAIRS_K] % 2)                                                         \
            to[i++] = (int32_t)pair_of(from[2 * npair] - zero, 0);                      \
        for (; i < n[CPU_PAIRS_DEPTH]; i++)                                             \
            to[i] = 0;                                                                  \
    }                                                                                   \
                                                                                        \
    /* A row of pairs; of the last term alone (left is 1) seconds are 0. */             \
    static void name##_row(int32_t *to, const ELEMENT *from, int64_t left,              \
                           const int64_t *n)                                            \
    {                                                                                   \
        const int64_t stride = n[CPU_PAIRS_N_STRIDE], count = n[CPU_PAIRS_N];           \
        const int32_t zero = (int32_t)n[CPU_PAIRS_ZERO];                                \
        const short_vector zeros = short_spread(zero);                                  \
        const ELEMENT *second = from + n[CPU_PAIRS_K_STRIDE];                           \
        int64_t j = 0;                                                                  \
        for (; stride == 1 && j + 2 * LANES <= count; j += 2 * LANES)                   \
            put_pairs(to + j, name##_load(from + j, zeros),                             \
                      left > 1 ? name##_load(second + j, zeros) : (short_vector){ 0 }); \
        for (; j < count; j++)                                                          \
            to[j] = (int32_t)pair_of(from[j * stride] - zero,                           \
                                     left > 1 ? second[j * stride] - zero : 0);         \
        for (; j < n[CPU_PAIRS_WIDTH]; j++)                                             \
            to[j] = 0;                                                                  \
    }                                                                                   \
                                                                                        \
    static int32_t run_##name(void *const *p, const int64_t *n)                         \
    {                                                                                   \
        const int64_t k = n[CPU_PAIRS_K], width = n[CPU_PAIRS_WIDTH];                   \
        const ELEMENT *from = p[CPU_PAIRS_FROM];                                        \
        int32_t *to = p[CPU_PAIRS_TO];                                                  \
        int64_t i = 0;                                                                  \
        if (n[CPU_PAIRS_TURNED]) {                                                      \
            for (; i < n[CPU_PAIRS_N]; i++)                                             \
                name##_column(to + i * n[CPU_PAIRS_DEPTH],                              \
                              from + i * n[CPU_PAIRS_N_STRIDE], n);                     \
            return 0;                                                                   \
        }                                                                               \
        for (; 2 * i < k; i++)                                                          \
            name##_row(to + i * width, from + 2 * i * n[CPU_PAIRS_K_STRIDE], k - 2 * i, \
                       n);                                                              \
        for (int64_t at = i * width; at < n[CPU_PAIRS_DEPTH] * width; at++)             \
            to[at] = 0;                                                                 \
        return 0;                                                                       \
    }

PAIRS_OF(i16, int16_t)
PAIRS_OF(u8, uint8_t)
PAIRS_OF(s8, int8_t)

#include "quads_rows.h"

#define PAIRS_ROW(name, TYPE)                                                    \
    {                                                                            \
        "pairs_" #name "_" PAIRS_SUFFIX, run_##name, CPU_PAIRS, BT_UINT32, TYPE, \
            PAIRS_PS                                                             \
    }
const struct cpu_callee PAIRS_TABLE[] = {
    [CPU_PAIRS_OF_INT16] = PAIRS_ROW(i16, BT_INT16),
    [CPU_PAIRS_OF_UINT8] = PAIRS_ROW(u8, BT_UINT8),
    [CPU_PAIRS_OF_INT8] = PAIRS_ROW(s8, BT_INT8),
    [CPU_QUADS] = { "quads_" PAIRS_SUFFIX, run_quads, CPU_PAIRS, BT_UINT32, BT_UINT8,
                    QUADS_PS },
    { 0 },
};
