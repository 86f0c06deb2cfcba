/*
 * Every second element of a run, as neighbours: what a step of 2 goes along.
 *
 *     every_second_W(to, from, count)    to[i] = from[2 * i]
 *
 * W are the bytes of an element. Nothing behind the last one is read; the runs are apart.
 */
#ifndef CPU_EVERY_SECOND_H
#define CPU_EVERY_SECOND_H

#include <stdint.h>
#include <string.h>

/* Elements `first`, first + 2, ... of two vectors one behind the other. */
#if defined(__clang__)
#define PICK(...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(...) __builtin_shuffle(a, b, (pick){ __VA_ARGS__ })
#endif
#define PICKED_1(first)                                                         \
    first, first + 2, first + 4, first + 6, first + 8, first + 10, first + 12,  \
        first + 14, first + 16, first + 18, first + 20, first + 22, first + 24, \
        first + 26, first + 28, first + 30
#define PICKED_2(first) \
    first, first + 2, first + 4, first + 6, first + 8, first + 10, first + 12, first + 14
#define PICKED_4(first) first, first + 2, first + 4, first + 6
#define PICKED_8(first) first, first + 2

/* The last vector ends where the run does: it overlaps the one before it, and what it takes are
 * the odd ones of what is read. */
#define EVERY_SECOND(nbytes, ELEMENT)                                                   \
    static inline void every_second_##nbytes(void *to, const void *from, int64_t count) \
    {                                                                                   \
        typedef ELEMENT pick __attribute__((vector_size(16)));                          \
        enum { LANES = 16 / nbytes };                                                   \
        const char *in = from;                                                          \
        char *out = to;                                                                 \
        pick a, b, picked;                                                              \
        for (int64_t i = 0; i + LANES < count; i += LANES) {                            \
            memcpy(&a, in + 2 * i * nbytes, 16);                                        \
            memcpy(&b, in + 2 * i * nbytes + 16, 16);                                   \
            picked = PICK(PICKED_##nbytes(0));                                          \
            memcpy(out + i * nbytes, &picked, 16);                                      \
        }                                                                               \
        if (count > LANES) {                                                            \
            const int64_t i = count - LANES;                                            \
            memcpy(&a, in + (2 * i - 1) * nbytes, 16);                                  \
            memcpy(&b, in + (2 * i - 1) * nbytes + 16, 16);                             \
            picked = PICK(PICKED_##nbytes(1));                                          \
            memcpy(out + i * nbytes, &picked, 16);                                      \
            return;                                                                     \
        }                                                                               \
        for (int64_t i = 0; i < count; i++)                                             \
            memcpy(out + i * nbytes, in + 2 * i * nbytes, nbytes);                      \
    }
EVERY_SECOND(1, uint8_t)
EVERY_SECOND(2, uint16_t)
EVERY_SECOND(4, uint32_t)
EVERY_SECOND(8, uint64_t)

#endif
