/*
 * The tile of int16 with int32 sums, which wrap; included by tile_rows.h. Two steps of k go
 * together: a factor is a pair of elements of A, and of two rows of B those of one column
 * stand side by side. Who multiplies shorter integers makes them int16.
 */
enum { PAIR_NR = 2 * sizeof(int_vector) / sizeof(int32_t), PAIR_DEPTH = 64 };

/* Rows of B in the order of k: so many pairs of them, strides as in struct tile_block. */
struct pair_steps {
    const int16_t *b;
    int64_t npair, k, b_k, k1, b_k1, b_k2;
};

/* C, or what it holds, and the products; row i of A lies at a + i * a_row. */
typedef void pair_tile(int32_t *c, int64_t c_row, int has_start, const int16_t *a,
                       int64_t a_row, const struct pair_steps *);

#define PAIR_START(i, g, o) int_vector s##i = { 0 }, t##i = { 0 };
#define PAIR_STEP(i, g, o)                         \
    memcpy(&pair, a##g + o * a_row, sizeof(pair)); \
    factor = pair - (int_vector){ 0 };             \
    s##i = PAIR_ADD(s##i, factor, low);            \
    t##i = PAIR_ADD(t##i, factor, high);
#define PAIR_STOP(i, g, o) put_pair_sums(c + i * c_row, has_start, s##i, t##i);
#define PAIR_BASE(g)                         \
    const int16_t *a##g = a + 3 * g * a_row; \
    __asm__("" : "+r"(a##g)); /* as in tile_float.h */
#define PAIR_ADVANCE(g) a##g += 2;
#define PAIR_NEXT_ROW         \
    b += steps->b_k;          \
    if (--k == 0) {           \
        k = steps->k;         \
        b += steps->b_k1;     \
        if (--k1 == 0) {      \
            k1 = steps->k1;   \
            b += steps->b_k2; \
        }                     \
    }
#define PAIR_TILE(rows)                                                                  \
    PAIR_TARGET static void NAME(tile_##rows)(int32_t * c, int64_t c_row, int has_start, \
                                              const int16_t *a, int64_t a_row,           \
                                              const struct pair_steps *steps)            \
    {                                                                                    \
        const int16_t *b = steps->b;                                                     \
        int64_t k = steps->k, k1 = steps->k1;                                            \
        TILE_ROWS_##rows(PAIR_START);                                                    \
        TILE_BASES_##rows(PAIR_BASE);                                                    \
        for (int64_t left = steps->npair; left > 0; left--) {                            \
            const int16_t *first = b;                                                    \
            PAIR_NEXT_ROW                                                                \
            const int_vector low = int_pairs_low(first, b);                              \
            const int_vector high = int_pairs_high(first, b);                            \
            int_vector factor;                                                           \
            int32_t pair;                                                                \
            PAIR_NEXT_ROW                                                                \
            TILE_ROWS_##rows(PAIR_STEP);                                                 \
            TILE_BASES_##rows(PAIR_ADVANCE);                                             \
        }                                                                                \
        TILE_ROWS_##rows(PAIR_STOP);                                                     \
    }
#define PAIR_TILE_ROW(rows) NAME(tile_##rows),

static inline void put_pair_sums(int32_t *c, int has_start, int_vector low,
                                 int_vector high)
{
    int_vector first = int_pairs_first(low, high), second = int_pairs_second(low, high);
    if (has_start) {
        first = int_add(first, int_load(c));
        second = int_add(second, int_load(c + PAIR_NR / 2));
    }
    int_store(c, first);
    int_store(c + PAIR_NR / 2, second);
}

#define NAME(stem) stem##_pairs
#define PAIR_TARGET
#define PAIR_ADD(s, factor, pairs) int_multiply_add_pairs(s, factor, pairs)
TILE_EACH_ROWS(PAIR_TILE)
static pair_tile *const pair_tiles[TILE_MR] = { TILE_EACH_ROWS(PAIR_TILE_ROW) };
#undef NAME
#undef PAIR_TARGET
#undef PAIR_ADD

/* The same in one instruction, where the machine has it, and the compiler has a name for that. */
#if defined(__AVX512F__)
#define PAIR_SET "avx512vnni"
#define PAIR_DOT _mm512_dpwssd_epi32
#define QUAD_DOT _mm512_dpbusd_epi32
#elif defined(__AVX2__) && !defined(__clang__) && __GNUC__ >= 12
#define PAIR_SET "avxvnni"
#define PAIR_DOT _mm256_dpwssd_avx_epi32
#define QUAD_DOT _mm256_dpbusd_avx_epi32
#endif

#if defined(PAIR_SET)
#define NAME(stem)  stem##_vnni
#define PAIR_TARGET __attribute__((target(PAIR_SET)))
#define PAIR_ADD(s, factor, pairs)                                   \
    ((int_vector)PAIR_DOT((INT_REGISTER)(s), (INT_REGISTER)(factor), \
                          (INT_REGISTER)(pairs)))
TILE_EACH_ROWS(PAIR_TILE)
static pair_tile *const pair_tiles_vnni[TILE_MR] = { TILE_EACH_ROWS(PAIR_TILE_ROW) };
#undef NAME
#undef PAIR_TARGET
#undef PAIR_ADD
#endif

static pair_tile *find_pair_tile(int64_t rows)
{
#if defined(PAIR_SET)
    if (__builtin_cpu_supports(PAIR_SET))
        return pair_tiles_vnni[rows - 1];
#endif
    return pair_tiles[rows - 1];
}

/* Elements from a step of k on, by the strides of A or of B. */
static int64_t pair_offset(const int64_t *n, int64_t step, int stride, int stride1,
                           int stride2)
{
    const int64_t whole = step / n[CPU_TILE_K];
    return step % n[CPU_TILE_K] * n[stride] + whole % n[CPU_TILE_K1] * n[stride1] +
           whole / n[CPU_TILE_K1] * n[stride2];
}

/* The steps of k from `step` on, on copies of their elements, with zeros where there are
 * none: of an A whose steps are no neighbours, of a B that may not be read to NR, of a pair
 * that is only half there. */
static void add_copied_pairs(pair_tile *tile, int32_t *c, int64_t c_row, int has_start,
                             void *const *p, const int64_t *n, int64_t step)
{
    const int64_t end = n[CPU_TILE_K] * n[CPU_TILE_K1] * n[CPU_TILE_K2];
    const int is_padded = (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED) != 0;
    const size_t nbytes = (size_t)(is_padded ? PAIR_NR : n[CPU_TILE_N]) * sizeof(int16_t);
    int16_t rows[TILE_MR * PAIR_DEPTH], pieces[PAIR_DEPTH * PAIR_NR];
    for (int64_t depth; step < end; step += depth) {
        depth = end - step < PAIR_DEPTH ? end - step : PAIR_DEPTH;
        const int64_t npair = (depth + 1) / 2;
        memset(pieces, 0, (size_t)(2 * npair * PAIR_NR) * sizeof(*pieces));
        for (int64_t k = 0; k < 2 * npair; k++) {
            const int is_there = k < depth;
            const int16_t *a = p[CPU_TILE_A], *b = p[CPU_TILE_B];
            a += is_there ? pair_offset(n, step + k, CPU_TILE_A_K, CPU_TILE_A_K1,
                                        CPU_TILE_A_K2)
                          : 0;
            for (int64_t i = 0; i < n[CPU_TILE_M]; i++)
                rows[i * PAIR_DEPTH + k] =
                    is_there ? a[i * n[CPU_TILE_A_ROW]] : (int16_t)0;
            if (is_there)
                memcpy(pieces + k * PAIR_NR,
                       b + pair_offset(n, step + k, CPU_TILE_B_K, CPU_TILE_B_K1,
                                       CPU_TILE_B_K2),
                       nbytes);
        }
        const struct pair_steps steps = { pieces, npair, INT64_MAX, PAIR_NR, 1, 0, 0 };
        tile(c, c_row, has_start, rows, PAIR_DEPTH, &steps);
        has_start = 1;
    }
}

/* Into whole rows of C. */
static void run_whole_pairs(int32_t *c, int64_t c_row, int has_start, void *const *p,
                            const int64_t *n)
{
    pair_tile *tile = find_pair_tile(n[CPU_TILE_M]);
    const struct tile_block block = block_of(n);
    const int64_t nstep = block.k * block.k1 * block.k2;
    const int is_whole =
        n[CPU_TILE_N] == PAIR_NR || (n[CPU_TILE_FLAGS] & CPU_TILE_PADDED);
    const int is_dense = block.a_k == 1 &&
                         (block.k1 == 1 || n[CPU_TILE_A_K1] == block.k) &&
                         (block.k2 == 1 || n[CPU_TILE_A_K2] == block.k * block.k1);
    struct pair_steps steps = { p[CPU_TILE_B], nstep / 2,  block.k,   block.b_k,
                                block.k1,      block.b_k1, block.b_k2 };
    if (!is_whole || !is_dense)
        steps.npair = 0;
    if (steps.npair || nstep == 0)
        tile(c, c_row, has_start, p[CPU_TILE_A], block.a_row, &steps);
    add_copied_pairs(tile, c, c_row, has_start || steps.npair, p, n, 2 * steps.npair);
}

static int32_t run_i16(void *const *p, const int64_t *n)
{
    const int has_start = (n[CPU_TILE_FLAGS] & CPU_TILE_START) != 0;
    int32_t sums[TILE_MR * PAIR_NR];
    if (n[CPU_TILE_N] == PAIR_NR) {
        run_whole_pairs(p[CPU_TILE_C], n[CPU_TILE_C_ROW], has_start, p, n);
        return 0;
    }
    run_whole_pairs(sums, PAIR_NR, 0, p, n);
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        int32_t *c = (int32_t *)p[CPU_TILE_C] + i * n[CPU_TILE_C_ROW];
        for (int64_t j = 0; j < n[CPU_TILE_N]; j++)
            c[j] = (int32_t)((has_start ? (uint32_t)c[j] : 0) +
                             (uint32_t)sums[i * PAIR_NR + j]);
    }
    return 0;
}
