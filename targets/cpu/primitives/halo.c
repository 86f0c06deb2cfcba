/* Copies of planes with something around. Bits only: a float moves as an integer of its size. */
#include "halo.h"

#include "every_second.h"

enum { SHORT_NBYTES = 256 }; /* rows for which a call costs more than what it does */

/* Of a border's few elements a loop, of which the compiler makes no call. */
enum { FEW = 4 };
#define KEEP_LOOP __asm__ volatile("" ::: "memory")

/* Short rows in pieces that are no calls, the last of which ends where the row does. */
static inline void copy_row(char *to, const char *from, size_t nbytes)
{
    enum { PIECE = 16 };
    if (nbytes < PIECE || nbytes > SHORT_NBYTES) {
        memcpy(to, from, nbytes);
        return;
    }
    for (size_t i = 0; i + PIECE <= nbytes; i += PIECE)
        memcpy(to + i, from + i, PIECE);
    memcpy(to + nbytes - PIECE, from + nbytes - PIECE, PIECE);
}

#define HALO(nbytes, ELEMENT)                                                          \
    static void copy_##nbytes(ELEMENT *to, const ELEMENT *from, int64_t count,         \
                              int64_t stride)                                          \
    {                                                                                  \
        if (stride == 1)                                                               \
            copy_row((char *)to, (const char *)from, (size_t)count * sizeof(ELEMENT)); \
        else if (stride == 2)                                                          \
            every_second_##nbytes(to, from, count);                                    \
        else                                                                           \
            for (int64_t i = 0; i < count; i++)                                        \
                to[i] = from[i * stride];                                              \
    }                                                                                  \
                                                                                       \
    static inline void fill_##nbytes(ELEMENT *to, ELEMENT fill, int64_t count)         \
    {                                                                                  \
        if (count > FEW && fill == 0)                                                  \
            memset(to, 0, (size_t)count * sizeof(ELEMENT));                            \
        else if (count > FEW)                                                          \
            for (int64_t i = 0; i < count; i++)                                        \
                to[i] = fill;                                                          \
        else                                                                           \
            for (int64_t i = 0; i < count; i++) {                                      \
                to[i] = fill;                                                          \
                KEEP_LOOP;                                                             \
            }                                                                          \
    }                                                                                  \
                                                                                       \
    int32_t cpu_halo_##nbytes(void *const *p, const int64_t *n)                        \
    {                                                                                  \
        const int64_t width = n[CPU_HALO_WIDTH], left = n[CPU_HALO_LEFT];              \
        const int64_t count = n[CPU_HALO_COUNT], right = width - left - count;         \
        const int64_t height = count > 0 ? n[CPU_HALO_HEIGHT] : 0;                     \
        const int64_t below = n[CPU_HALO_ROWS] - n[CPU_HALO_TOP] - height;             \
        ELEMENT *to = p[CPU_HALO_TO];                                                  \
        const ELEMENT *from = p[CPU_HALO_FROM];                                        \
        const ELEMENT fill = (ELEMENT)n[CPU_HALO_FILL];                                \
        fill_##nbytes(to, fill, n[CPU_HALO_TOP] * width);                              \
        to += n[CPU_HALO_TOP] * width;                                                 \
        for (int64_t r = 0; r < height; r++, to += width) {                            \
            fill_##nbytes(to, fill, left);                                             \
            copy_##nbytes(to + left, from + r * n[CPU_HALO_FROM_ROW], count,           \
                          n[CPU_HALO_FROM_X]);                                         \
            fill_##nbytes(to + left + count, fill, right);                             \
        }                                                                              \
        fill_##nbytes(to, fill, below *width);                                         \
        return 0;                                                                      \
    }

HALO(1, uint8_t)
HALO(2, uint16_t)
HALO(4, uint32_t)
HALO(8, uint64_t)
