/*
 * The tile of int16 with int32 sums, which wrap; included by tile_rows.h. Two steps of k go
 * together: a factor is a pair of elements of A, and of two rows of B those of one column
 * stand side by side. Who multiplies shorter integers makes them int16.
 */
enum { PAIR_NR = 2 * sizeof(int_vector) / sizeof(int32_t), PAIR_DEPTH = 64 };

/* An even number of steps: row i of A at a + i * a_row, step k of B at b[k]. */
typedef void pair_tile(int32_t *sums, const int16_t *a, int64_t a_row,
                       const int16_t *const *b, int64_t depth);

#define PAIR_START(i, g, o)                         \
    int_vector s##i = int_load(sums + i * PAIR_NR), \
               t##i = int_load(sums + i * PAIR_NR + PAIR_NR / 2);
#define PAIR_STEP(i, g, o)                         \
    memcpy(&pair, a##g + o * a_row, sizeof(pair)); \
    factor = pair - (int_vector){ 0 };             \
    s##i = PAIR_ADD(s##i, factor, low);            \
    t##i = PAIR_ADD(t##i, factor, high);
#define PAIR_STOP(i, g, o)               \
    int_store(sums + i * PAIR_NR, s##i); \
    int_store(sums + i * PAIR_NR + PAIR_NR / 2, t##i);
#define PAIR_BASE(g)                         \
    const int16_t *a##g = a + 3 * g * a_row; \
    __asm__("" : "+r"(a##g)); /* as in tile_float.h */
#define PAIR_ADVANCE(g) a##g += 2;
/* Sums stand in the order in which pairs of rows do. */
#define PAIR_TILE(rows)                                                               \
    PAIR_TARGET static void NAME(tile_##rows)(int32_t * sums, const int16_t *a,       \
                                              int64_t a_row, const int16_t *const *b, \
                                              int64_t depth)                          \
    {                                                                                 \
        TILE_ROWS_##rows(PAIR_START);                                                 \
        TILE_BASES_##rows(PAIR_BASE);                                                 \
        for (; depth > 0; depth -= 2) {                                               \
            const int_vector low = int_pairs_low(b[0], b[1]);                         \
            const int_vector high = int_pairs_high(b[0], b[1]);                       \
            int_vector factor;                                                        \
            int32_t pair;                                                             \
            TILE_ROWS_##rows(PAIR_STEP);                                              \
            TILE_BASES_##rows(PAIR_ADVANCE);                                          \
            b += 2;                                                                   \
        }                                                                             \
        TILE_ROWS_##rows(PAIR_STOP);                                                  \
    }
#define PAIR_TILE_ROW(rows) NAME(tile_##rows),

#define NAME(stem)          stem##_pairs
#define PAIR_TARGET
#define PAIR_ADD(s, factor, pairs) int_multiply_add_pairs(s, factor, pairs)
TILE_EACH_ROWS(PAIR_TILE)
static pair_tile *const pair_tiles[TILE_MR] = { TILE_EACH_ROWS(PAIR_TILE_ROW) };
#undef NAME
#undef PAIR_TARGET
#undef PAIR_ADD

#if defined(__AVX512F__)
/* The same in one instruction, where the machine has it. */
#define NAME(stem)  stem##_vnni
#define PAIR_TARGET __attribute__((target("avx512vnni")))
#define PAIR_ADD(s, factor, pairs) \
    ((int_vector)_mm512_dpwssd_epi32((__m512i)(s), (__m512i)(factor), (__m512i)(pairs)))
TILE_EACH_ROWS(PAIR_TILE)
static pair_tile *const pair_tiles_vnni[TILE_MR] = { TILE_EACH_ROWS(PAIR_TILE_ROW) };
#undef NAME
#undef PAIR_TARGET
#undef PAIR_ADD
#endif

static pair_tile *find_pair_tile(int64_t rows)
{
#if defined(__AVX512F__)
    if (__builtin_cpu_supports("avx512vnni"))
        return pair_tiles_vnni[rows - 1];
#endif
    return pair_tiles[rows - 1];
}

/* Steps gathered until there are enough of them. */
struct pair_steps {
    pair_tile *tile;
    const int64_t *n;
    int is_whole; /* rows of B may be read to their end; else they are copied, as ... */
    int is_dense; /* ... those of A where its steps are not neighbours */
    int64_t depth;
    const int16_t *a, *b[PAIR_DEPTH];
    int32_t *sums;
    int16_t rows[TILE_MR * PAIR_DEPTH], pieces[PAIR_DEPTH * PAIR_NR];
};

static void end_steps(struct pair_steps *s)
{
    static const int16_t none[PAIR_NR];
    const int64_t m = s->n[CPU_TILE_M];
    const int is_odd = (int)(s->depth % 2);
    if (is_odd) {
        s->b[s->depth] = none;
        for (int64_t i = 0; i < m && !s->is_dense; i++)
            s->rows[i * PAIR_DEPTH + s->depth] = 0;
    }
    if (!s->is_dense) {
        s->tile(s->sums, s->rows, PAIR_DEPTH, s->b, s->depth + is_odd);
    } else {
        s->tile(s->sums, s->a, s->n[CPU_TILE_A_ROW], s->b, s->depth - is_odd);
        for (int64_t i = 0; i < m && is_odd; i++) { // what is behind A's last is not read
            s->rows[2 * i] = s->a[i * s->n[CPU_TILE_A_ROW] + s->depth - 1];
            s->rows[2 * i + 1] = 0;
        }
        s->tile(s->sums, s->rows, 2, s->b + s->depth - is_odd, 2 * is_odd);
    }
    s->depth = 0;
}

/* A copy of row b as step k. */
static void copy_row(struct pair_steps *s, int64_t k, const int16_t *b)
{
    int16_t *piece = s->pieces + k * PAIR_NR;
    memset(piece, 0, PAIR_NR * sizeof(*piece));
    memcpy(piece, b, (size_t)s->n[CPU_TILE_N] * sizeof(*piece));
    s->b[k] = piece;
}

static void add_steps(struct pair_steps *s, const int16_t *a, const int16_t *b)
{
    const int64_t *n = s->n;
    for (int64_t k = 0, count; k < n[CPU_TILE_K]; k += count) {
        const int64_t left = n[CPU_TILE_K] - k, room = PAIR_DEPTH - s->depth;
        const int16_t *from = b + k * n[CPU_TILE_B_K], *by = a + k * n[CPU_TILE_A_K];
        count = left < room ? left : room;
        s->a = s->depth ? s->a : by;
        for (int64_t i = 0; s->is_whole && i < count; i++)
            s->b[s->depth + i] = from + i * n[CPU_TILE_B_K];
        for (int64_t i = 0; !s->is_whole && i < count; i++)
            copy_row(s, s->depth + i, from + i * n[CPU_TILE_B_K]);
        for (int64_t r = 0; !s->is_dense && r < n[CPU_TILE_M]; r++) {
            for (int64_t i = 0; i < count; i++)
                s->rows[r * PAIR_DEPTH + s->depth + i] =
                    by[r * n[CPU_TILE_A_ROW] + i * n[CPU_TILE_A_K]];
        }
        s->depth += count;
        if (s->depth == PAIR_DEPTH)
            end_steps(s);
    }
}

/* Four columns of sums of a row; `from` is where they stand. */
static void put_sums(int32_t *c, const int32_t *from, int64_t columns, int has_start)
{
    if (columns >= 4 && !has_start) {
        memcpy(c, from, 4 * sizeof(*c));
        return;
    }
    for (int64_t j = 0; j < 4 && j < columns; j++)
        c[j] = (int32_t)((has_start ? (uint32_t)c[j] : 0) + (uint32_t)from[j]);
}

static int32_t run_i16(void *const *p, const int64_t *n)
{
    int32_t sums[TILE_MR * PAIR_NR];
    struct pair_steps s;
    s.tile = find_pair_tile(n[CPU_TILE_M]);
    s.n = n;
    s.is_whole = n[CPU_TILE_N] == PAIR_NR || (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED);
    s.is_dense =
        n[CPU_TILE_A_K] == 1 &&
        (n[CPU_TILE_K1] == 1 || n[CPU_TILE_A_K1] == n[CPU_TILE_K]) &&
        (n[CPU_TILE_K2] == 1 || n[CPU_TILE_A_K2] == n[CPU_TILE_K1] * n[CPU_TILE_K]);
    s.sums = sums;
    s.depth = 0;
    memset(sums, 0, (size_t)(n[CPU_TILE_M] * PAIR_NR) * sizeof(*sums));
    for (int64_t k2 = 0; k2 < n[CPU_TILE_K2]; k2++) {
        for (int64_t k1 = 0; k1 < n[CPU_TILE_K1]; k1++) {
            const int16_t *a = (const int16_t *)p[CPU_TILE_A] + k1 * n[CPU_TILE_A_K1] +
                               k2 * n[CPU_TILE_A_K2];
            const int16_t *b = (const int16_t *)p[CPU_TILE_B] + k1 * n[CPU_TILE_B_K1] +
                               k2 * n[CPU_TILE_B_K2];
            add_steps(&s, a, b);
        }
    }
    if (s.depth)
        end_steps(&s);
    // of eight neighbours, the first half is in the low sums
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        for (int64_t j = 0; j < n[CPU_TILE_N]; j += 4)
            put_sums((int32_t *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW] + j,
                     sums + i * PAIR_NR + j / 8 * 4 + (j % 8 ? PAIR_NR / 2 : 0),
                     n[CPU_TILE_N] - j, n[CPU_TILE_FLAGS] & CPU_TILE_START);
    }
    return 0;
}
