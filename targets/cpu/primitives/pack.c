/* Copies into panels. Bits only: a float moves as an integer of its size. */
#include "pack.h"

#include "pack_threes.h"
#include "vectors.h"

// Steps of k done together where neighbours along k are neighbours in memory: a block of
// the panel stays in the nearest cache while lines of the source are used up.
enum { DEPTH = 16 };

/* Rows of at most 16 bytes times `npiece`, of more than one piece less; the last 16 bytes of a row may be
 * copied twice. Told the number of pieces, the compiler has no loop and no call for a row. */
static inline void copy_pieces(char *to, int64_t row, const char *from, int64_t stride,
                               int64_t count, int64_t nbytes, int64_t npiece)
{
    for (int64_t k = 0; k < count; k++, to += row, from += stride) {
        for (int64_t i = 0; i + 1 < npiece; i++)
            memcpy(to + 16 * i, from + 16 * i, 16);
        memcpy(to + nbytes - 16, from + nbytes - 16, 16);
    }
}

/* `count` rows of a panel: too few bytes each for a call of memcpy to pay. All sizes are in bytes. */
static void copy_rows(char *to, int64_t row, const char *from, int64_t stride,
                      int64_t count, int64_t nbytes)
{
    const int64_t npiece = nbytes < 16 ? 0 : (nbytes + 15) / 16;
    switch (npiece) {
    case 0:
        for (int64_t k = 0; k < count; k++) {
            for (int64_t i = 0; i < nbytes; i++)
                to[k * row + i] = from[k * stride + i];
        }
        break;
    case 1: copy_pieces(to, row, from, stride, count, nbytes, 1); break;
    case 2: copy_pieces(to, row, from, stride, count, nbytes, 2); break;
    case 3: copy_pieces(to, row, from, stride, count, nbytes, 3); break;
    case 4: copy_pieces(to, row, from, stride, count, nbytes, 4); break;
    default: copy_pieces(to, row, from, stride, count, nbytes, npiece); break;
    }
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
        const int64_t row = n[CPU_PACK_ROW], count = n[CPU_PACK_K];                      \
        const int64_t stride = n[CPU_PACK_K_STRIDE], size = (int64_t)sizeof(ELEMENT);    \
        ELEMENT *to = p[CPU_PACK_TO];                                                    \
        const ELEMENT *from = p[CPU_PACK_FROM];                                          \
        if (nbytes == 1 && columns == 3 && width == 3 && row == 3 && stride == 1 &&      \
            PACK_HAS_THREES()) {                                                         \
            pack_threes(p[CPU_PACK_TO], p[CPU_PACK_FROM], count, n[CPU_PACK_N_STRIDE]);  \
            return 0;                                                                    \
        }                                                                                \
        if (n[CPU_PACK_N_STRIDE] == 1)                                                   \
            copy_rows((char *)to, row *size, (const char *)from, stride *size, count,    \
                      columns *size);                                                    \
        else                                                                             \
            for (int64_t k = 0; k < count; k += DEPTH)                                   \
                copy_##nbytes(to + k * row, from + k * stride,                           \
                              count - k < DEPTH ? count - k : DEPTH, n);                 \
        for (int64_t k = 0; columns < width && k < count; k++) {                         \
            for (int64_t j = columns; j < width; j++)                                    \
                to[k * row + j] = 0;                                                     \
        }                                                                                \
        return 0;                                                                        \
    }

PACK(1, uint8_t)
PACK(2, uint16_t)
PACK(4, uint32_t)
PACK(8, uint64_t)
