/*
 * Depthwise convolutions of integers that int16 holds, with sums in int32, which wrap; included by
 * depthwise_rows.h. Some rows of a plane are made pairs of int16 first, without the zero point and
 * with zeros around, such that a tap of each lies behind the other's and one instruction adds both
 * products:
 *
 *     step 1    { x[r, c], x[r + 1, c] }, { x[r, c + 1], x[r + 1, c + 1] } ...
 *     step 2    { x[r, 2c], x[r, 2c + 1] }, { x[r, 2c + 2], x[r, 2c + 3] } ...
 *
 * A result takes pairs at the same distances from its own place, whichever row it is in. So with a
 * step of 1 the rows are one run, which fills vectors also where a row does not.
 */
enum {
    SHORT_TERMS = MAX_TAPS * (MAX_TAPS + 1) / 2, /* pairs of taps */
    SHORT_LANES = VECTOR_NBYTES / sizeof(int32_t),
    SHORT_FILLED = 8, /* pairs that are made at a time, and what that may write on */
    // of pairs, and of sums, so that both stay in the nearest cache
    SHORT_ROOM = 4096,
    SHORT_BEYOND = 2 * SHORT_LANES + SHORT_FILLED + MAX_TAPS
};

/* Pairs of taps, and how far from a result's place their pairs of X are. */
struct short_taps {
    uint32_t bias, pairs[SHORT_TERMS];
    int64_t at[SHORT_TERMS];
    int64_t pitch; /* pairs from row to row */
};

static uint32_t short_pair(const int16_t *w, const int64_t *n, int64_t i, int64_t j,
                           int64_t next_i, int64_t next_j)
{
    const int64_t ntap = n[CPU_DEPTHWISE_TAPS];
    const int has_next = next_i < ntap && next_j < ntap;
    const int64_t y = n[CPU_DEPTHWISE_W_Y], x = n[CPU_DEPTHWISE_W_X];
    return (uint16_t)w[i * y + j * x] |
           (has_next ? (uint32_t)(uint16_t)w[next_i * y + next_j * x] << 16 : 0);
}

/* Where pairs are, of every plane, and those of one. */
static void place_short_taps(struct short_taps *t, const int64_t *n)
{
    const int64_t ntap = n[CPU_DEPTHWISE_TAPS], is_down = n[CPU_DEPTHWISE_STEP] == 1;
    int k = 0;
    for (int64_t i = 0; i < ntap; i += 1 + is_down) {
        for (int64_t j = 0; j < ntap; j += 2 - is_down)
            t->at[k++] = i * t->pitch + (is_down ? j : j / 2);
    }
}

static void set_short_taps(struct short_taps *t, const int16_t *w, const int32_t *bias,
                           const int64_t *n)
{
    const int64_t ntap = n[CPU_DEPTHWISE_TAPS], is_down = n[CPU_DEPTHWISE_STEP] == 1;
    int k = 0;
    t->bias = n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_ADD_BIAS ? (uint32_t)*bias : 0;
    for (int64_t i = 0; i < ntap; i += 1 + is_down) {
        for (int64_t j = 0; j < ntap; j += 2 - is_down)
            t->pairs[k++] = short_pair(w, n, i, j, i + is_down, j + 1 - is_down);
    }
}

/* The sums of a run; nterm is a literal. */
static inline __attribute__((always_inline)) void
sum_short_run(int32_t *to, const uint32_t *from, const struct short_taps *t,
              int64_t count, const int nterm)
{
    const bits_vector bias = t->bias - (bits_vector){ 0 };
    const uint32_t *pairs[SHORT_TERMS];
    bits_vector taps[SHORT_TERMS];
    UNROLL
    for (int k = 0; k < nterm; k++) {
        pairs[k] = from + t->at[k];
        taps[k] = t->pairs[k] - (bits_vector){ 0 };
    }
    for (int64_t c = 0; c < count; c += SHORT_LANES) {
        bits_vector sum = bias;
        UNROLL
        for (int k = 0; k < nterm; k++)
            sum = bits_multiply_add_pairs((bits_vector)int_load(pairs[k] + c), taps[k],
                                          sum);
        int_store(to + c, (int_vector)sum);
    }
}

static void sum_short_3(int32_t *to, const uint32_t *from, const struct short_taps *t,
                        int64_t count)
{
    sum_short_run(to, from, t, count, 6);
}

static void sum_short_5(int32_t *to, const uint32_t *from, const struct short_taps *t,
                        int64_t count)
{
    sum_short_run(to, from, t, count, 15);
}

/* A row of sums to its place, behind which `room` elements are written later. */
static void store_short_row(int32_t *y, const int32_t *from, int64_t count, int64_t room)
{
    for (int64_t c = 0; c < count; c += SHORT_LANES) {
        const int_vector v = int_load(from + c);
        if (count + room - c >= SHORT_LANES)
            int_store(y + c, v);
        else
            bits_store_part((uint32_t *)y + c, (bits_vector)v, count - c);
    }
}

/* What makes codes of the sums of a plane. */
struct short_codes {
    struct codes codes;
    float factor;
};

/* As store_short_row, of codes. */
static void put_short_codes(uint8_t *y, const int32_t *from, const struct short_codes *of,
                            int64_t count, int64_t room)
{
    const float_vector factor = of->factor - (float_vector){ 0 };
    for (int64_t c = 0; c < count; c += SHORT_LANES) {
        uint8_t all[SHORT_LANES];
        codes_store(all,
                    codes_of(&of->codes, int_load(from + c), (int_vector){ 0 }, factor));
        if (count + room - c >= SHORT_LANES)
            memcpy(y + c, all, SHORT_LANES);
        else
            memcpy(y + c, all, (size_t)(count - c));
    }
}

/* `codes` NULL: the sums are the result. */
static void sum_short_rows(void *y, const uint32_t *pairs, int32_t *sums,
                           const struct short_taps *t, const struct short_codes *codes,
                           int64_t rows, int64_t count, const int64_t *n)
{
    void (*sum)(int32_t *, const uint32_t *, const struct short_taps *, int64_t) =
        n[CPU_DEPTHWISE_TAPS] == 3 ? sum_short_3 : sum_short_5;
    const int64_t y_row = n[CPU_DEPTHWISE_Y_ROW], is_run = n[CPU_DEPTHWISE_STEP] == 1;
    if (is_run)
        sum(sums, pairs, t, (rows - 1) * t->pitch + count);
    for (int64_t r = 0; r < rows; r++) {
        const int32_t *from = is_run ? sums + r * t->pitch : sums;
        const int64_t room = y_row == count ? (rows - 1 - r) * y_row : 0;
        if (!is_run)
            sum(sums, pairs + 2 * r * t->pitch, t, count);
        if (codes)
            put_short_codes((uint8_t *)y + r * y_row, from, codes, count, room);
        else
            store_short_row((int32_t *)y + r * y_row, from, count, room);
    }
}

/* SHORT_FILLED pairs of elements at `a` and `b`. */
static inline __m256i u8_pairs(const uint8_t *a, const uint8_t *b)
{
    return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(_mm_loadl_epi64((const void *)a),
                                                  _mm_loadl_epi64((const void *)b)));
}

static inline __m256i s8_pairs(const int8_t *a, const int8_t *b)
{
    return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(_mm_loadl_epi64((const void *)a),
                                                  _mm_loadl_epi64((const void *)b)));
}

static inline __m256i i16_pairs(const int16_t *a, const int16_t *b)
{
    const __m128i x = _mm_loadu_si128((const void *)a);
    const __m128i y = _mm_loadu_si128((const void *)b);
    return _mm256_set_m128i(_mm_unpackhi_epi16(x, y), _mm_unpacklo_epi16(x, y));
}

static inline __m256i u8_as_they_lie(const uint8_t *a)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)a));
}

static inline __m256i s8_as_they_lie(const int8_t *a)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)a));
}

static inline __m256i i16_as_they_lie(const int16_t *a)
{
    return _mm256_loadu_si256((const void *)a);
}

/* As many zeros, and what a vector has more. */
static inline void zero_shorts(int16_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += 2 * SHORT_FILLED)
        _mm256_storeu_si256((void *)(to + i), _mm256_setzero_si256());
}

/* Rows of X to be made pairs: from row `top`, column `left` on, which may be outside. Behind the plane
 * `beyond` elements may be read. */
struct short_rows {
    int64_t top, left, rows, pitch, beyond;
};
typedef void make_shorts(uint32_t *to, const void *plane, const struct short_rows *,
                         const int64_t *n);

/* Vectors of pairs, of which the last one of a row goes on: there the next row is written. */
#define MAKE_SHORTS(name, ELEMENT)                                                       \
    static inline __attribute__((always_inline)) void make_rows_##name(                  \
        uint32_t *to, const ELEMENT *x, const struct short_rows *of, const int64_t *n,   \
        const int is_down)                                                               \
    {                                                                                    \
        const int64_t width = n[CPU_DEPTHWISE_WIDTH], height = n[CPU_DEPTHWISE_HEIGHT];  \
        const int64_t each = 1 + is_down, all = of->pitch * 2 / each;                    \
        const int64_t lead = within(-of->left, all);                                     \
        const int64_t count = within(width - of->left - lead, all - lead);               \
        const int64_t step = 2 * SHORT_FILLED / each, end = of->top + of->rows;          \
        const __m256i zero = _mm256_set1_epi16((int16_t)n[CPU_DEPTHWISE_ZERO]);          \
        ELEMENT rest[2][2 * SHORT_FILLED];                                               \
        for (int64_t r = of->top; r < end; r++, to += of->pitch) {                       \
            const int64_t first = r < 0 ? 0 : r, last = least(r + is_down, height - 1);  \
            const ELEMENT *a = x + first * width + of->left + lead;                      \
            const ELEMENT *b = x + last * width + of->left + lead;                       \
            const int64_t room = (height - last) * width - of->left - lead + of->beyond; \
            int16_t *at = (int16_t *)to;                                                 \
            if (count <= 0 || first > last) {                                            \
                zero_shorts(at, 2 * of->pitch);                                          \
                continue;                                                                \
            }                                                                            \
            const __m256i is =                                                           \
                _mm256_set1_epi32((int32_t)((first == r ? 0xffffU : 0) |                 \
                                            (last == r + is_down ? 0xffff0000U : 0)));   \
            zero_shorts(at, lead *each);                                                 \
            at += lead * each;                                                           \
            for (int64_t c = 0; c < count; c += step, at += 2 * SHORT_FILLED) {          \
                const ELEMENT *from[2] = { a + c, b + c };                               \
                if (c + step > room) {                                                   \
                    memset(rest, 0, sizeof(rest));                                       \
                    memcpy(rest[0], a + c, (size_t)(count - c) * sizeof(*a));            \
                    memcpy(rest[1], b + c, (size_t)(count - c) * sizeof(*b));            \
                    from[0] = rest[0];                                                   \
                    from[1] = rest[1];                                                   \
                }                                                                        \
                const __m256i v = is_down ? name##_pairs(from[0], from[1])               \
                                          : name##_as_they_lie(from[0]);                 \
                _mm256_storeu_si256((void *)at,                                          \
                                    _mm256_and_si256(_mm256_sub_epi16(v, zero), is));    \
            }                                                                            \
            zero_shorts((int16_t *)to + (lead + count) * each,                           \
                        (all - lead - count) * each);                                    \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    static void make_##name(uint32_t *to, const void *plane,                             \
                            const struct short_rows *of, const int64_t *n)               \
    {                                                                                    \
        if (n[CPU_DEPTHWISE_STEP] == 1)                                                  \
            make_rows_##name(to, plane, of, n, 1);                                       \
        else                                                                             \
            make_rows_##name(to, plane, of, n, 0);                                       \
    }
MAKE_SHORTS(i16, int16_t)
MAKE_SHORTS(u8, uint8_t)
MAKE_SHORTS(s8, int8_t)

/* Elements of X have nbytes; is_codes: those of Y are codes. */
static int32_t run_short(void *const *p, const int64_t *n, make_shorts *make,
                         int64_t nbytes, int is_codes)
{
    const int64_t ntap = n[CPU_DEPTHWISE_TAPS], step = n[CPU_DEPTHWISE_STEP];
    const int64_t before = ntap - step; // rows of X that a block has besides
    const int64_t y_nbytes = is_codes ? 1 : sizeof(int32_t);
    uint32_t pairs[SHORT_ROOM + SHORT_BEYOND];
    int32_t sums[SHORT_ROOM + SHORT_BEYOND];
    struct short_taps taps;
    struct short_codes codes;
    if (is_codes)
        codes.codes = codes_by(n[CPU_DEPTHWISE_LOW], n[CPU_DEPTHWISE_HIGH],
                               n[CPU_DEPTHWISE_OF_NAN], n[CPU_DEPTHWISE_CODE_ZERO]);
    for (int64_t c = 0; c < n[CPU_DEPTHWISE_COLUMNS]; c += PANEL) {
        const int64_t count = least(n[CPU_DEPTHWISE_COLUMNS] - c, PANEL);
        taps.pitch = count - 1 + (step == 1 ? ntap : (ntap + 1) / 2);
        place_short_taps(&taps, n);
        const int64_t block = (SHORT_ROOM / taps.pitch - before) / step;
        for (int64_t k = 0; k < n[CPU_DEPTHWISE_PLANES]; k++) {
            const char *x =
                (const char *)p[CPU_DEPTHWISE_X] + k * n[CPU_DEPTHWISE_X_PLANE] * nbytes;
            char *y = (char *)p[CPU_DEPTHWISE_Y] +
                      (k * n[CPU_DEPTHWISE_Y_PLANE] + c) * y_nbytes;
            set_short_taps(
                &taps, (const int16_t *)p[CPU_DEPTHWISE_W] + k * n[CPU_DEPTHWISE_W_PLANE],
                (const int32_t *)p[CPU_DEPTHWISE_BIAS] + k * n[CPU_DEPTHWISE_BIAS_PLANE],
                n);
            if (is_codes)
                codes.factor =
                    ((const float *)
                         p[CPU_DEPTHWISE_FACTOR])[k * n[CPU_DEPTHWISE_FACTOR_PLANE]];
            for (int64_t r = 0; r < n[CPU_DEPTHWISE_ROWS]; r += block) {
                const int64_t rows = least(n[CPU_DEPTHWISE_ROWS] - r, block);
                make(pairs, x,
                     &(struct short_rows){
                         .top = n[CPU_DEPTHWISE_TOP] + step * r,
                         .left = n[CPU_DEPTHWISE_LEFT] + step * c,
                         .rows = step * rows + before,
                         .pitch = taps.pitch,
                         .beyond =
                             (n[CPU_DEPTHWISE_PLANES] - 1 - k) * n[CPU_DEPTHWISE_X_PLANE],
                     },
                     n);
                sum_short_rows(y + r * n[CPU_DEPTHWISE_Y_ROW] * y_nbytes, pairs, sums,
                               &taps, is_codes ? &codes : NULL, rows, count, n);
            }
        }
    }
    return 0;
}

#define RUN_SHORT(name, ELEMENT)                                      \
    static int32_t run_##name(void *const *p, const int64_t *n)       \
    {                                                                 \
        return run_short(p, n, make_##name, sizeof(ELEMENT), 0);      \
    }                                                                 \
                                                                      \
    static int32_t run_codes_##name(void *const *p, const int64_t *n) \
    {                                                                 \
        return run_short(p, n, make_##name, sizeof(ELEMENT), 1);      \
    }
RUN_SHORT(i16, int16_t)
RUN_SHORT(u8, uint8_t)
RUN_SHORT(s8, int8_t)
