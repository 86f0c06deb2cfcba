/* The tile of int32; included by tile_rows.h. Sums wrap. */
#define NR TILE_INTEGER_NR

/* One row of C. `columns` is a literal where this is inlined in place of NR. */
static inline __attribute__((always_inline)) void
row_i32(int64_t columns, int32_t *c, const int32_t *a, const int32_t *b, const int64_t *n)
{
    uint32_t sums[NR] = { 0 };
    for (int64_t j = 0; (n[CPU_TILE_FLAGS] & CPU_TILE_START) && j < columns; j++)
        sums[j] = (uint32_t)c[j];
    for (int64_t i = 0; i < n[CPU_TILE_K1] * n[CPU_TILE_K2]; i++) {
        const int64_t k1 = i % n[CPU_TILE_K1], k2 = i / n[CPU_TILE_K1];
        const int32_t *from = a + k1 * n[CPU_TILE_A_K1] + k2 * n[CPU_TILE_A_K2];
        const int32_t *row = b + k1 * n[CPU_TILE_B_K1] + k2 * n[CPU_TILE_B_K2];
        for (int64_t k = 0; k < n[CPU_TILE_K]; k++) {
            const uint32_t factor = (uint32_t)from[k * n[CPU_TILE_A_K]];
            for (int64_t j = 0; j < columns; j++)
                sums[j] += factor * (uint32_t)row[j];
            row += n[CPU_TILE_B_K];
        }
    }
    for (int64_t j = 0; j < columns; j++)
        c[j] = (int32_t)sums[j];
}

static int32_t run_i32(void *const *p, const int64_t *n)
{
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        int32_t *c = (int32_t *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
        const int32_t *a = (const int32_t *)p[CPU_TILE_A] + i * n[CPU_TILE_A_ROW];
        if (n[CPU_TILE_N] == NR)
            row_i32(NR, c, a, p[CPU_TILE_B], n);
        else
            row_i32(n[CPU_TILE_N], c, a, p[CPU_TILE_B], n);
    }
    return 0;
}

#undef NR
