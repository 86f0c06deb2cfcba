/*
 * Quads (pairs.h), for the set that a source is compiled for; included by pairs_rows.h. Of bytes it is
 * all the same whether they have a sign: what is subtracted wraps.
 */
typedef uint8_t byte_vector __attribute__((vector_size(VECTOR_NBYTES)));

/* As many bytes as a vector has lanes, one in each: what compilers know of such casts they do byte by
 * byte. */
static inline bits_vector quads_load(const uint8_t *from)
{
#if defined(__AVX512F__)
    return (bits_vector)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)from));
#elif defined(__AVX2__)
    return (bits_vector)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)from));
#else
    return (bits_vector){ from[0], from[1], from[2], from[3] };
#endif
}

static inline void quads_store(uint32_t *to, bits_vector quads, byte_vector zeros)
{
    int_store(to, (int_vector)((byte_vector)quads - zeros));
}

enum { MAX_WORDS = 2 * VECTOR_NBYTES }; /* terms that are read faster word by word */

/* Of one column whose terms are neighbours, quads are what is side by side. */
static void quads_column(uint32_t *to, const uint8_t *from, uint8_t zero,
                         const int64_t *n)
{
    const byte_vector zeros = zero - (byte_vector){ 0 };
    const int64_t k = n[CPU_PAIRS_K];
    uint8_t *bytes = (uint8_t *)to;
    int64_t i = 0;
    for (; i + VECTOR_NBYTES <= k; i += VECTOR_NBYTES) {
        byte_vector v;
        memcpy(&v, from + i, sizeof(v));
        v -= zeros;
        memcpy(bytes + i, &v, sizeof(v));
    }
    for (; i < k; i++)
        bytes[i] = (uint8_t)(from[i] - zero);
    memset(bytes + k, 0, (size_t)(4 * n[CPU_PAIRS_DEPTH] - k));
}

/* Columns of few terms, of all but the last one as words that begin where their quads do: what is read
 * beyond a column is of the next one. Gives how many those are. */
static int64_t quads_of_words(uint32_t *to, const uint8_t *from, uint8_t zero,
                              const int64_t *n)
{
    const int64_t stride = n[CPU_PAIRS_N_STRIDE], k = n[CPU_PAIRS_K];
    const int64_t whole = k / 4, last = k % 4, depth = n[CPU_PAIRS_DEPTH];
    const uint32_t sign = 0x80808080U, zeros = zero * 0x01010101U;
    const uint32_t there = last ? (uint32_t)-1 >> (32 - 8 * last) : 0;
    int64_t j = 0;
    for (; j + 1 < n[CPU_PAIRS_N] && stride >= 4 - last; j++) {
        const uint8_t *column = from + j * stride;
        uint32_t *quads = to + j * depth;
        for (int64_t i = 0; i < whole + (last != 0); i++) {
            uint32_t word;
            memcpy(&word, column + 4 * i, sizeof(word));
            // byte by byte, from which nothing is borrowed
            word = ((word | sign) - (zeros & ~sign)) ^ ((word ^ ~zeros) & sign);
            quads[i] = i < whole ? word : word & there;
        }
        for (int64_t i = whole + (last != 0); i < depth; i++)
            quads[i] = 0;
    }
    return j;
}

/* A row of quads, of which the last one has only so many terms left. */
static void quads_row(uint32_t *to, const uint8_t *from, int64_t left, uint8_t zero,
                      const int64_t *n)
{
    const int64_t stride = n[CPU_PAIRS_N_STRIDE], count = n[CPU_PAIRS_N];
    const byte_vector zeros = zero - (byte_vector){ 0 };
    const bits_vector none = zero - (bits_vector){ 0 }; // 0 when it is subtracted
    const uint8_t *rows[4];
    int64_t j = 0;
    for (int64_t t = 0; t < 4; t++)
        rows[t] = from + (t < left ? t : 0) * n[CPU_PAIRS_K_STRIDE];
    for (; stride == 1 && j + LANES <= count; j += LANES) {
        const bits_vector second = left > 1 ? quads_load(rows[1] + j) : none;
        const bits_vector third = left > 2 ? quads_load(rows[2] + j) : none;
        const bits_vector fourth = left > 3 ? quads_load(rows[3] + j) : none;
        quads_store(to + j,
                    quads_load(rows[0] + j) | second << 8 | third << 16 | fourth << 24,
                    zeros);
    }
    for (; j < count; j++) {
        to[j] = 0;
        for (int64_t t = 0; t < 4 && t < left; t++)
            to[j] |= (uint32_t)(uint8_t)(rows[t][j * stride] - zero) << 8 * t;
    }
    for (; j < n[CPU_PAIRS_WIDTH]; j++)
        to[j] = 0;
}

static int32_t run_quads(void *const *p, const int64_t *n)
{
    const int64_t k = n[CPU_PAIRS_K], width = n[CPU_PAIRS_WIDTH];
    const uint8_t *from = p[CPU_PAIRS_FROM], zero = (uint8_t)n[CPU_PAIRS_ZERO];
    uint32_t *to = p[CPU_PAIRS_TO];
    int64_t i = 0;
    if (n[CPU_PAIRS_TURNED]) {
        const int64_t nword = k < MAX_WORDS ? quads_of_words(to, from, zero, n) : 0;
        for (i = nword; i < n[CPU_PAIRS_N]; i++)
            quads_column(to + i * n[CPU_PAIRS_DEPTH], from + i * n[CPU_PAIRS_N_STRIDE],
                         zero, n);
        return 0;
    }
    for (; 4 * i < k; i++)
        quads_row(to + i * width, from + 4 * i * n[CPU_PAIRS_K_STRIDE], k - 4 * i, zero,
                  n);
    memset(to + i * width, 0,
           (size_t)((n[CPU_PAIRS_DEPTH] - i) * width) * sizeof(uint32_t));
    return 0;
}
