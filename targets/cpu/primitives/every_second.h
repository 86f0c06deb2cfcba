/*
 * Every second element of a run, as neighbours: what a step of 2 goes along.
 *
 *     every_second_W(to, from, count)    to[i] = from[2 * i]
 *     pick_W_V(from)                     the same as a vector of V bytes
 *
 * W are the bytes of an element. Nothing behind the last one is read; the runs are apart.
 */
#ifndef CPU_EVERY_SECOND_H
#define CPU_EVERY_SECOND_H

#include <stdint.h>
#include <string.h>

/* Of two vectors, of which the second begins with the last element of the first. */
#define PICKS_2  0, 3
#define PICKS_4  0, 2, 5, 7
#define PICKS_8  0, 2, 4, 6, 9, 11, 13, 15
#define PICKS_16 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31
#if defined(__clang__)
#define PICK(vector, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(vector, ...) __builtin_shuffle(a, b, (vector){ __VA_ARGS__ })
#endif

/* every_second_W_by_V: 0: the run has less than a vector. The last one overlaps the one before
 * it. */
#define EVERY_SECOND_BY(W, V, bits, picks)                                  \
    typedef bits picked_##W##_##V __attribute__((vector_size(V)));          \
    static inline picked_##W##_##V pick_##W##_##V(const void *from)         \
    {                                                                       \
        picked_##W##_##V a, b;                                              \
        memcpy(&a, from, V);                                                \
        memcpy(&b, (const char *)from + V - W, V);                          \
        return PICK(picked_##W##_##V, picks);                               \
    }                                                                       \
    static inline int every_second_##W##_by_##V(char *to, const char *from, \
                                                int64_t count)              \
    {                                                                       \
        enum { LANES = V / W };                                             \
        if (count < LANES)                                                  \
            return 0;                                                       \
        picked_##W##_##V v;                                                 \
        for (int64_t i = 0; i < count - LANES; i += LANES) {                \
            v = pick_##W##_##V(from + 2 * i * W);                           \
            memcpy(to + i * W, &v, V);                                      \
        }                                                                   \
        v = pick_##W##_##V(from + 2 * (count - LANES) * W);                 \
        memcpy(to + (count - LANES) * W, &v, V);                            \
        return 1;                                                           \
    }
#define EVERY_SECOND(W, by)                                                        \
    static inline void every_second_##W(void *to, const void *from, int64_t count) \
    {                                                                              \
        if (by)                                                                    \
            return;                                                                \
        for (int64_t i = 0; i < count; i++)                                        \
            memcpy((char *)to + i * W, (const char *)from + 2 * i * W, W);         \
    }
#define BY(W, V) every_second_##W##_by_##V(to, from, count)
EVERY_SECOND_BY(1, 16, uint8_t, PICKS_16)
EVERY_SECOND_BY(2, 16, uint16_t, PICKS_8)
EVERY_SECOND_BY(4, 16, uint32_t, PICKS_4)
EVERY_SECOND_BY(8, 16, uint64_t, PICKS_2)
EVERY_SECOND(1, BY(1, 16))
EVERY_SECOND(2, BY(2, 16))
#if defined(__AVX2__)
EVERY_SECOND_BY(4, 32, uint32_t, PICKS_8)
EVERY_SECOND_BY(8, 32, uint64_t, PICKS_4)
#endif
#if defined(__AVX512F__)
EVERY_SECOND_BY(4, 64, uint32_t, PICKS_16)
EVERY_SECOND_BY(8, 64, uint64_t, PICKS_8)
EVERY_SECOND(4, BY(4, 64) || BY(4, 32) || BY(4, 16))
EVERY_SECOND(8, BY(8, 64) || BY(8, 32) || BY(8, 16))
#elif defined(__AVX2__)
EVERY_SECOND(4, BY(4, 32) || BY(4, 16))
EVERY_SECOND(8, BY(8, 32) || BY(8, 16))
#else
EVERY_SECOND(4, BY(4, 16))
EVERY_SECOND(8, BY(8, 16))
#endif
#undef BY

#endif
