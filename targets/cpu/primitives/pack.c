/* Copies into panels. Bits only: a float moves as an integer of its size. */
#include "pack.h"

#include <string.h>

// Steps of k done together where neighbours along k are neighbours in memory: a block of
// the panel stays in the nearest cache while lines of the source are used up.
enum { DEPTH = 16 };

#define PACK(nbytes, ELEMENT)                                                          \
    static void copy_##nbytes(ELEMENT *to, const ELEMENT *from, int64_t depth,         \
                              const int64_t *n)                                        \
    {                                                                                  \
        const int64_t width = n[CPU_PACK_WIDTH], stride = n[CPU_PACK_K_STRIDE];        \
        for (int64_t j = 0; j < n[CPU_PACK_N]; j++) {                                  \
            const ELEMENT *column = from + j * n[CPU_PACK_N_STRIDE];                   \
            for (int64_t k = 0; k < depth; k++)                                        \
                to[k * width + j] = column[k * stride];                                \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    int32_t cpu_pack_##nbytes(void *const *p, const int64_t *n)                        \
    {                                                                                  \
        const int64_t columns = n[CPU_PACK_N], width = n[CPU_PACK_WIDTH];              \
        const int is_row = n[CPU_PACK_N_STRIDE] == 1;                                  \
        const int64_t step = is_row ? 1 : DEPTH;                                       \
        for (int64_t k = 0; k < n[CPU_PACK_K]; k += step) {                            \
            const int64_t left = n[CPU_PACK_K] - k, depth = left < step ? left : step; \
            ELEMENT *to = (ELEMENT *)p[CPU_PACK_TO] + k * width;                       \
            const ELEMENT *from =                                                      \
                (const ELEMENT *)p[CPU_PACK_FROM] + k * n[CPU_PACK_K_STRIDE];          \
            if (is_row && columns > 0)                                                 \
                memcpy(to, from, (size_t)columns * sizeof(ELEMENT));                   \
            else                                                                       \
                copy_##nbytes(to, from, depth, n);                                     \
            for (int64_t i = 0; i < depth && columns < width; i++)                     \
                memset(to + i * width + columns, 0,                                    \
                       (size_t)(width - columns) * sizeof(ELEMENT));                   \
        }                                                                              \
        return 0;                                                                      \
    }

PACK(1, uint8_t)
PACK(2, uint16_t)
PACK(4, uint32_t)
PACK(8, uint64_t)
