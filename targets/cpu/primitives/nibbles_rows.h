/* Weights of 4 bits (nibbles.h) for one instruction set, STRIP_ISA. */
#include "nibbles.h"
#include "strip_loops.h"
#include "vectors.h"

#define LITERAL static inline __attribute__((always_inline))
enum {
    LANES = VECTOR_NBYTES / sizeof(float),
    VECTORS = CPU_NIBBLES_WIDTH / LANES, /* of a panel */
    PANELS = LANES == 16  ? 4            /* at a time: as many sums as hide an addition */
             : LANES == 8 ? 2
                          : 1,
    SUMS = PANELS * VECTORS
};

/* ---- terms ---- */

/* Words of as many columns as a vector has lanes. */
struct words {
#if defined(__AVX512F__)
    __m512i all;
#elif defined(__AVX2__)
    __m256i even, odd; /* terms: bytes with a sign */
#else
    int_vector all;
#endif
};

#define CODES 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 /* of 4 bits */

LITERAL struct words words_of(const uint32_t *from)
{
    struct words w;
#if defined(__AVX512F__)
    w.all = _mm512_loadu_si512(from);
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i codes = _mm256_broadcastsi128_si256(_mm_setr_epi8(CODES));
    const __m256i all = _mm256_loadu_si256((const void *)from);
    w.even = _mm256_shuffle_epi8(codes, _mm256_and_si256(all, low));
    w.odd = _mm256_shuffle_epi8(codes, _mm256_and_si256(_mm256_srli_epi16(all, 4), low));
#else
    w.all = int_load(from);
#endif
    return w;
}

/* The codes of term `j`, a literal, times CPU_NIBBLES_MORE. */
LITERAL float_vector term_of(const struct words *w, const int j)
{
#if defined(__AVX512F__)
    // of an index only 4 bits count
    const __m512 numbers =
        _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)(int_vector){ CODES }),
                      _mm512_set1_ps(CPU_NIBBLES_MORE));
    return _mm512_permutexvar_ps(_mm512_srli_epi32(w->all, 4 * j), numbers);
#elif defined(__AVX2__)
    const char b = (char)(j / 2), none = -1;
    const __m256i highest = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(none, none, none, b, none, none, none, (char)(4 + b), none, none,
                      none, (char)(8 + b), none, none, none, (char)(12 + b)));
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(j % 2 ? w->odd : w->even, highest));
#else
    const int_vector code = (int_vector)((bits_vector)w->all << (28 - 4 * j)) >> 28;
    return __builtin_convertvector(code, float_vector) * CPU_NIBBLES_MORE;
#endif
}

/* ---- one rounding ---- */

#if !defined(__AVX2__)
#if defined(FP_FAST_FMAF)
#define add_product fmaf
#else
/* The product has few enough digits for a double. Of the two doubles around an exact sum that is none
 * the odd one rounds to a float as that does. Source: Boldo and Melquiond 2008. */
static inline float add_product(float x, float y, float s)
{
    const double product = (double)x * (double)y, sum = product + (double)s;
    const double back = sum - product;
    const double rest = (product - (sum - back)) + ((double)s - back);
    uint64_t bits;
    double odd;
    memcpy(&bits, &sum, sizeof(bits));
    if ((rest < 0 || rest > 0) && !(bits & 1))
        bits += (rest > 0) == (sum > 0) ? 1 : UINT64_MAX;
    memcpy(&odd, &bits, sizeof(odd));
    return (float)odd;
}
#endif
#endif

LITERAL float_vector add_products(float x, float_vector y, float_vector s)
{
#if defined(__AVX2__)
    return float_multiply_add(x - (float_vector){ 0 }, y, s);
#else
    for (int i = 0; i < LANES; i++)
        s[i] = add_product(x, y[i], s[i]);
    return s;
#endif
}

/* ---- panels ---- */

struct panels {
    const float *x, *s, *z;
    const uint32_t *q;
    int64_t depth, block, q_panel, s_panel;
};

LITERAL const float *of_vector(const float *at, const int v, int64_t panel)
{
    return at + v / VECTORS * panel + v % VECTORS * LANES;
}

/* One row by so many vectors of columns, a literal. */
LITERAL void sum_vectors(const struct panels *p, float_vector *y, const int n,
                         const int has_zeros)
{
    const float *s = p->s, *z = p->z, *x = p->x;
    const uint32_t *q = p->q;
    UNROLL
    for (int v = 0; v < n; v++)
        y[v] = (float_vector){ 0 };
    for (int64_t left = p->depth; left > 0; left -= p->block) {
        const float *end = x + (left < p->block ? left : p->block);
        float_vector sums[SUMS][2], zeros[SUMS];
        UNROLL
        for (int v = 0; v < n; v++) {
            sums[v][0] = sums[v][1] = (float_vector){ 0 };
            if (has_zeros)
                zeros[v] = (float_vector)int_load(of_vector(z, v, p->s_panel)) *
                           CPU_NIBBLES_MORE;
        }
        for (; x < end; x += CPU_NIBBLES_WORD, q += CPU_NIBBLES_WIDTH) {
            UNROLL
            for (int v = 0; v < n; v++) {
                const struct words w =
                    words_of(q + v / VECTORS * p->q_panel + v % VECTORS * LANES);
                UNROLL
                for (int j = 0; j < CPU_NIBBLES_WORD; j++) {
                    float_vector term = term_of(&w, j);
                    if (has_zeros)
                        term -= zeros[v];
                    sums[v][j % 2] = add_products(x[j], term, sums[v][j % 2]);
                }
            }
        }
        UNROLL
        for (int v = 0; v < n; v++)
            y[v] += (sums[v][0] + sums[v][1]) *
                    (float_vector)int_load(of_vector(s, v, p->s_panel));
        s += CPU_NIBBLES_WIDTH;
        z += has_zeros ? CPU_NIBBLES_WIDTH : 0;
    }
}

LITERAL void sum_panels(const struct panels *p, float *y, int64_t columns,
                        const int npanel, const int has_zeros)
{
    float_vector sums[SUMS];
    sum_vectors(p, sums, npanel * VECTORS, has_zeros);
    UNROLL
    for (int v = 0; v < npanel * VECTORS; v++, columns -= LANES) {
        if (columns >= LANES)
            memcpy(y + v * LANES, &sums[v], sizeof(sums[v]));
        else if (columns > 0)
            float_store_part(y + v * LANES, sums[v], columns);
    }
}

/* All rows by each group of panels, which stays in a cache. */
LITERAL void sum_rows(void *const *p, const int64_t *n, const int has_zeros)
{
    const int64_t depth = n[CPU_NIBBLES_DEPTH], block = n[CPU_NIBBLES_BLOCK];
    struct panels panels = {
        .depth = depth,
        .block = block,
        .q_panel = depth / CPU_NIBBLES_WORD * CPU_NIBBLES_WIDTH,
        .s_panel = (depth + block - 1) / block * CPU_NIBBLES_WIDTH,
    };
    int64_t npanel;
    for (int64_t c = 0; c < n[CPU_NIBBLES_COLUMNS]; c += npanel * CPU_NIBBLES_WIDTH) {
        const int64_t left = n[CPU_NIBBLES_COLUMNS] - c, panel = c / CPU_NIBBLES_WIDTH;
        npanel = left > (PANELS - 1) * CPU_NIBBLES_WIDTH ? PANELS : 1;
        panels.q = (const uint32_t *)p[CPU_NIBBLES_Q] + panel * panels.q_panel;
        panels.s = (const float *)p[CPU_NIBBLES_S] + panel * panels.s_panel;
        panels.z = has_zeros ? (const float *)p[CPU_NIBBLES_Z] + panel * panels.s_panel
                             : panels.s;
        for (int64_t r = 0; r < n[CPU_NIBBLES_ROWS]; r++) {
            float *y = (float *)p[CPU_NIBBLES_Y] + r * n[CPU_NIBBLES_Y_ROW] + c;
            panels.x = (const float *)p[CPU_NIBBLES_X] + r * depth;
            if (npanel == PANELS)
                sum_panels(&panels, y, left, PANELS, has_zeros);
            else
                sum_panels(&panels, y, left, 1, has_zeros);
        }
    }
}

STRIP(nibbles)
{
    if (n[CPU_NIBBLES_HAS_ZEROS])
        sum_rows(p, n, 1);
    else
        sum_rows(p, n, 0);
    return 0;
}

/* ---- the table ---- */

/* For each product: two wait for a byte of memory. */
#if defined(__AVX2__) || defined(FP_FAST_FMAF)
enum { NIBBLES_PS = 30 };
#else
enum { NIBBLES_PS = 2500 };
#endif
STRIPS_TABLE(nibbles){
    { "nibbles.float32", nibbles, CPU_NIBBLES, BT_FLOAT32, BT_FLOAT32, NIBBLES_PS },
    { 0 },
};
