/* Copies of planes with zeros around. Bits only: a float moves as an integer of its size. */
#include "halo.h"

#include <string.h>

#define HALO(nbytes, ELEMENT)                                                  \
    static void copy_##nbytes(ELEMENT *to, const ELEMENT *from, int64_t count, \
                              int64_t stride)                                  \
    {                                                                          \
        if (stride == 1)                                                       \
            memcpy(to, from, (size_t)count * sizeof(ELEMENT));                 \
        else                                                                   \
            for (int64_t i = 0; i < count; i++)                                \
                to[i] = from[i * stride];                                      \
    }                                                                          \
                                                                               \
    int32_t cpu_halo_##nbytes(void *const *p, const int64_t *n)                \
    {                                                                          \
        const int64_t width = n[CPU_HALO_WIDTH], count = n[CPU_HALO_COUNT];    \
        const int64_t right = width - n[CPU_HALO_LEFT] - count;                \
        const int64_t height = count > 0 ? n[CPU_HALO_HEIGHT] : 0;             \
        const int64_t below = n[CPU_HALO_ROWS] - n[CPU_HALO_TOP] - height;     \
        ELEMENT *to = p[CPU_HALO_TO];                                          \
        const ELEMENT *from = p[CPU_HALO_FROM];                                \
        memset(to, 0, (size_t)(n[CPU_HALO_TOP] * width) * sizeof(ELEMENT));    \
        to += n[CPU_HALO_TOP] * width;                                         \
        for (int64_t r = 0; r < height; r++) {                                 \
            memset(to, 0, (size_t)n[CPU_HALO_LEFT] * sizeof(ELEMENT));         \
            to += n[CPU_HALO_LEFT];                                            \
            copy_##nbytes(to, from + r * n[CPU_HALO_FROM_ROW], count,          \
                          n[CPU_HALO_FROM_X]);                                 \
            memset(to + count, 0, (size_t)right * sizeof(ELEMENT));            \
            to += count + right;                                               \
        }                                                                      \
        memset(to, 0, (size_t)(below * width) * sizeof(ELEMENT));              \
        return 0;                                                              \
    }

HALO(1, uint8_t)
HALO(2, uint16_t)
HALO(4, uint32_t)
HALO(8, uint64_t)
