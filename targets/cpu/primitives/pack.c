/* Copies into panels. Bits only: a float moves as an integer of its size. */
#include "pack.h"

#include "pack_threes.h"
#include "vectors.h"

// Steps of k done together where neighbours along k are neighbours in memory: a block of
// the panel stays in the nearest cache while lines of the source are used up.
enum { DEPTH = 16 };

/* A row of a panel: too few bytes for a call of memcpy to pay. The last 16 of them may be copied twice. */
static void copy_row(void *to, const void *from, int64_t nbytes)
{
    char *out = to;
    const char *in = from;
    if (nbytes < 16) {
        for (int64_t i = 0; i < nbytes; i++)
            out[i] = in[i];
        return;
    }
    for (int64_t i = 0; i + 16 < nbytes; i += 16)
        memcpy(out + i, in + i, 16);
    memcpy(out + nbytes - 16, in + nbytes - 16, 16);
}

#define PACK(nbytes, ELEMENT)                                                            \
    /* As many columns and steps as 16 bytes have elements; vectors may be wider. */     \
    static void turn_##nbytes(ELEMENT *to, int64_t row, const ELEMENT *from,             \
                              int64_t stride)                                            \
    {                                                                                    \
        int_vector square[TURN_SIDE(nbytes)] = { 0 };                                    \
        UNROLL                                                                           \
        for (int i = 0; i < TURN_SIDE(nbytes); i++)                                      \
            memcpy(&square[i], from + i * stride, 16);                                   \
        turn_square_##nbytes(square);                                                    \
        UNROLL                                                                           \
        for (int i = 0; i < TURN_SIDE(nbytes); i++)                                      \
            memcpy(to + i * row, &square[i], 16);                                        \
    }                                                                                    \
                                                                                         \
    static void copy_##nbytes(ELEMENT *to, const ELEMENT *from, int64_t depth,           \
                              const int64_t *n)                                          \
    {                                                                                    \
        const int64_t row = n[CPU_PACK_ROW], stride = n[CPU_PACK_K_STRIDE];              \
        for (int64_t j = 0, step; j < n[CPU_PACK_N]; j += step) {                        \
            const ELEMENT *column = from + j * n[CPU_PACK_N_STRIDE];                     \
            int64_t k = 0;                                                               \
            step = stride == 1 && n[CPU_PACK_N] - j >= TURN_SIDE(nbytes)                 \
                       ? TURN_SIDE(nbytes)                                               \
                       : 1;                                                              \
            for (; step > 1 && depth - k >= step; k += step)                             \
                turn_##nbytes(to + k * row + j, row, column + k, n[CPU_PACK_N_STRIDE]);  \
            for (; k < depth; k++) {                                                     \
                for (int64_t i = 0; i < step; i++)                                       \
                    to[k * row + j + i] = column[k * stride + i * n[CPU_PACK_N_STRIDE]]; \
            }                                                                            \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    int32_t cpu_pack_##nbytes(void *const *p, const int64_t *n)                          \
    {                                                                                    \
        const int64_t columns = n[CPU_PACK_N], width = n[CPU_PACK_WIDTH];                \
        const int64_t row = n[CPU_PACK_ROW];                                             \
        const int is_row = n[CPU_PACK_N_STRIDE] == 1;                                    \
        const int64_t step = is_row ? 1 : DEPTH;                                         \
        if (nbytes == 1 && columns == 3 && width == 3 && row == 3 &&                     \
            n[CPU_PACK_K_STRIDE] == 1 && PACK_HAS_THREES()) {                            \
            pack_threes(p[CPU_PACK_TO], p[CPU_PACK_FROM], n[CPU_PACK_K],                 \
                        n[CPU_PACK_N_STRIDE]);                                           \
            return 0;                                                                    \
        }                                                                                \
        for (int64_t k = 0; k < n[CPU_PACK_K]; k += step) {                              \
            const int64_t left = n[CPU_PACK_K] - k, depth = left < step ? left : step;   \
            ELEMENT *to = (ELEMENT *)p[CPU_PACK_TO] + k * row;                           \
            const ELEMENT *from =                                                        \
                (const ELEMENT *)p[CPU_PACK_FROM] + k * n[CPU_PACK_K_STRIDE];            \
            if (is_row && columns > 0)                                                   \
                copy_row(to, from, columns * (int64_t)sizeof(ELEMENT));                  \
            else                                                                         \
                copy_##nbytes(to, from, depth, n);                                       \
            for (int64_t i = 0; i < depth; i++) {                                        \
                for (int64_t j = columns; j < width; j++)                                \
                    to[i * row + j] = 0;                                                 \
            }                                                                            \
        }                                                                                \
        return 0;                                                                        \
    }

PACK(1, uint8_t)
PACK(2, uint16_t)
PACK(4, uint32_t)
PACK(8, uint64_t)
