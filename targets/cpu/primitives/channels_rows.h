/*
 * Windows over channels for one instruction set, in the source compiled for it, which says first:
 *
 *     CHANNELS_CALLEES, CHANNELS_SUFFIX, CHANNELS_SUM_PS    its rows, the end of names, a cost
 */
#include <float.h>
#include <string.h>

#include "code_bytes.h"
#include "vectors.h"

#define LITERAL static inline __attribute__((always_inline))
/* Of places of the image, a block of few channels has several side by side in a vector. */
enum { LANES = VECTOR_NBYTES / sizeof(int32_t), MAX_PLACES = VECTOR_NBYTES / 16 };
typedef uint8_t byte_vector __attribute__((vector_size(VECTOR_NBYTES)));

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- bytes ---- */

/* One vector of what lies at each of so many addresses. */
LITERAL int_vector load_places(const uint8_t *const *from, const int nplace)
{
#if defined(__AVX512F__)
    if (nplace == 4) {
        __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from[0]));
        v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)from[1]), 1);
        v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)from[2]), 2);
        return (int_vector)_mm512_inserti32x4(v, _mm_loadu_si128((const void *)from[3]),
                                              3);
    }
    if (nplace == 2)
        return (int_vector)_mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from[0])),
            _mm256_loadu_si256((const void *)from[1]), 1);
#elif defined(__AVX2__)
    if (nplace == 2)
        return (int_vector)_mm256_loadu2_m128i((const void *)from[1],
                                               (const void *)from[0]);
#endif
    (void)nplace;
    return int_load(from[0]);
}

/* To the first of so many places, `stride` bytes apart. */
LITERAL void store_places(uint8_t *to, int64_t stride, int64_t count, int_vector v,
                          const int nplace)
{
    uint8_t bytes[VECTOR_NBYTES];
    if (nplace == 1) {
        int_store(to, v);
        return;
    }
    int_store(bytes, v);
    UNROLL
    for (int i = 0; i < nplace; i++) {
        if (i < count)
            memcpy(to + i * stride, bytes + i * (VECTOR_NBYTES / nplace),
                   VECTOR_NBYTES / (size_t)nplace);
    }
}

/* Sums of four vectors in the order of channels, to the first of so many places. */
LITERAL void store_sums(uint8_t *to, int64_t stride, int64_t count,
                        const int_vector *sums, const int nplace)
{
    enum { QUARTER = 16 };
    const int width = VECTOR_NBYTES / nplace;
    UNROLL
    for (int i = 0; i < VECTOR_NBYTES; i += QUARTER) {
        if (i / width >= count)
            break;
        UNROLL
        for (int k = 0; k < 4; k++)
            memcpy(to + i / width * stride + 4 * (i % width) + k * QUARTER,
                   (const uint8_t *)&sums[k] + i, QUARTER);
    }
}

/* Of four vectors of bytes, quads: those of number 16 * i + 4 * k ... 16 * i + 4 * k + 3 are in vector
 * k from lane 4 * i on. */
static inline void make_quads(int_vector *quads, const int_vector *v)
{
#if defined(INT_REGISTER)
    const int_vector first = INTERLEAVE(lo, 8, v[0], v[1]);
    const int_vector second = INTERLEAVE(hi, 8, v[0], v[1]);
    const int_vector third = INTERLEAVE(lo, 8, v[2], v[3]);
    const int_vector fourth = INTERLEAVE(hi, 8, v[2], v[3]);
    quads[0] = INTERLEAVE(lo, 16, first, third);
    quads[1] = INTERLEAVE(hi, 16, first, third);
    quads[2] = INTERLEAVE(lo, 16, second, fourth);
    quads[3] = INTERLEAVE(hi, 16, second, fourth);
#else
    uint8_t bytes[4][VECTOR_NBYTES], made[VECTOR_NBYTES][4];
    memcpy(bytes, v, sizeof(bytes));
    for (int i = 0; i < VECTOR_NBYTES; i++) {
        for (int k = 0; k < 4; k++)
            made[i][k] = bytes[k][i];
    }
    memcpy(quads, made, sizeof(made));
#endif
}

/* Which of the channels of a block element `lane` of vector k is then: `width` are the channels. */
static inline int64_t channel_of(int k, int lane, int64_t width)
{
    return (lane / 4 * 16 + 4 * k + lane % 4) % width;
}

/* ---- codes ---- */

/* A factor by which all sums come to the same codes, and that makes no NaN: of that the code is that
 * of 0. */
static inline float finite_factor(float factor)
{
    return factor != factor    ? 0
           : factor > FLT_MAX  ? FLT_MAX
           : factor < -FLT_MAX ? -FLT_MAX
                               : factor;
}

/* ---- sums ---- */

enum { MAX_ROWS = 6, MAX_OUT = 2, MAX_TAPS_X = 5 };
/* Bytes of pairs of a block: of two quads for each of two rows of the result. */
enum { MAX_WIDE = 2 * MAX_TAPS_X * 2 * MAX_OUT * 4 * VECTOR_NBYTES };

struct sums {
    const uint8_t *x;
    uint8_t *y;
    int64_t nbyte, y_row, y_column; /* of Y, in bytes: 1 of a code, else of a sum */
    int64_t channel, width;         /* of the block */
    const uint8_t *w;
    int_vector bias[4];
    float_vector factor[4];
    struct finish finish;
    int_vector flip;             /* what takes the sign off bytes of X */
    uint8_t fill[VECTOR_NBYTES]; /* what stands for X outside */
};

/* The rows of X that a row of windows goes along; those outside are the fill, and stay there. */
struct window_rows {
    const uint8_t *at[MAX_ROWS];
    int64_t stays[MAX_ROWS]; /* 0: it does, else all bits */
};

static struct window_rows rows_of_windows(const struct sums *s, int64_t row, int nrow,
                                          const int64_t *n)
{
    const int64_t first = n[CPU_CHANNELS_TOP] + n[CPU_CHANNELS_STEP_Y] * row;
    struct window_rows rows = { .at = { NULL } };
    for (int i = 0; i < nrow; i++) {
        const int is = first + i >= 0 && first + i < n[CPU_CHANNELS_HEIGHT];
        rows.at[i] =
            is ? s->x + (first + i) * n[CPU_CHANNELS_X_ROW] + s->channel : s->fill;
        rows.stays[i] = -is;
    }
    return rows;
}

/* Where each is, of windows and rows of the result. */
typedef void sum_row(const struct sums *, const struct window_rows *, int64_t row,
                     const int64_t *n);

#define NAME(stem) stem##_plain
#define SUMS_TARGET
#include "channels_sums.h"
#undef NAME
#undef SUMS_TARGET

/* The same in one instruction, where the machine has it, and the compiler has a name for that. */
#if defined(__AVX512F__)
#define SUMS_SET "avx512vnni"
#define QUAD_DOT _mm512_dpbusd_epi32
#elif defined(__AVX2__) && !defined(__clang__) && __GNUC__ >= 12
#define SUMS_SET "avxvnni"
#define QUAD_DOT _mm256_dpbusd_avx_epi32
#endif
#if defined(SUMS_SET)
#define NAME(stem)  stem##_vnni
#define SUMS_TARGET __attribute__((target(SUMS_SET)))
#include "channels_sums.h"
#undef NAME
#undef SUMS_TARGET
#endif

/* Of a block for rows by the instruction, for machines that have it; where it was packed so, and is
 * met on another one, pairs are made of it. */
static int multiplies_quads(void)
{
#if defined(SUMS_SET)
    return __builtin_cpu_supports(SUMS_SET);
#else
    return 0;
#endif
}

static sum_row *find_sum_row(int64_t nplace, const int64_t *n)
{
#if defined(SUMS_SET)
    if (n[CPU_CHANNELS_IS_NARROW] && multiplies_quads())
        return row_of_shape_vnni(nplace, n);
#endif
    return row_of_shape_plain(nplace, n);
}

/* Pairs of quads: of taps 0 and 2, and 1 and 3. */
static void widen_quads(uint8_t *to, const uint8_t *from, int64_t nbytes)
{
    for (int64_t i = 0; i < nbytes; i += VECTOR_NBYTES, to += 2 * VECTOR_NBYTES) {
        for (int k = 0; k < VECTOR_NBYTES; k++) {
            const int16_t tap = (int8_t)from[i + k];
            memcpy(to + k % 2 * VECTOR_NBYTES + k / 4 * 4 + k % 4 / 2 * 2, &tap,
                   sizeof(tap));
        }
    }
}

/* What belongs to a block of channels; its bias has what is added for the zero of X. */
static void begin_block(struct sums *s, void *const *p)
{
    const int32_t *bias = (const int32_t *)p[CPU_CHANNELS_BIAS] + s->channel;
    const float *factor = (const float *)p[CPU_CHANNELS_FACTOR] + s->channel;
    for (int k = 0; k < 4; k++) {
        int32_t biases[LANES];
        float factors[LANES];
        for (int i = 0; i < LANES; i++) {
            const int64_t c = channel_of(k, i, s->width);
            biases[i] = bias[c];
            factors[i] = s->nbyte == 1 ? finite_factor(factor[c]) : 0;
        }
        s->bias[k] = int_add(int_load(biases), int_load(s->w + k * VECTOR_NBYTES));
        memcpy(&s->factor[k], factors, sizeof(factors));
    }
    s->w += 4 * VECTOR_NBYTES;
}

static int32_t run_sums(void *const *p, const int64_t *n, int is_signed, int64_t nbyte)
{
    const int64_t channels = n[CPU_CHANNELS_CHANNELS], nrow = n[CPU_CHANNELS_ROWS];
    const int64_t nout = n[CPU_CHANNELS_STEP_Y] == 1 ? MAX_OUT : 1;
    const int nread =
        (int)cpu_channels_rows(n[CPU_CHANNELS_TAPS_Y], n[CPU_CHANNELS_STEP_Y]);
    const int64_t block_nbytes = cpu_channels_block_nbytes(
        VECTOR_NBYTES, n[CPU_CHANNELS_TAPS_Y], n[CPU_CHANNELS_TAPS_X],
        n[CPU_CHANNELS_STEP_Y], (int)n[CPU_CHANNELS_IS_NARROW]);
    const int is_widened = n[CPU_CHANNELS_IS_NARROW] && !multiplies_quads();
    struct sums s = { .x = p[CPU_CHANNELS_X],
                      .y = p[CPU_CHANNELS_Y],
                      .nbyte = nbyte,
                      .y_row = nbyte * n[CPU_CHANNELS_Y_ROW],
                      .y_column = nbyte * n[CPU_CHANNELS_Y_COLUMN],
                      .finish = finish_by(n[CPU_CHANNELS_LOW], n[CPU_CHANNELS_HIGH],
                                          n[CPU_CHANNELS_CODE_ZERO]) };
    const uint8_t *w = p[CPU_CHANNELS_W];
    uint8_t wide[MAX_WIDE];
    s.flip = (int_vector)((is_signed ? 0x80808080U : 0) - (bits_vector){ 0 });
    memset(s.fill, (uint8_t)n[CPU_CHANNELS_ZERO], sizeof(s.fill));
    for (int64_t c = 0; c < channels; c += s.width, w += block_nbytes) {
        s.width = cpu_channels_block(VECTOR_NBYTES, channels - c);
        s.channel = least(c, channels - s.width);
        s.w = w;
        begin_block(&s, p);
        if (is_widened) {
            widen_quads(wide, s.w, block_nbytes - 4 * VECTOR_NBYTES);
            s.w = wide;
        }
        sum_row *sum = find_sum_row(VECTOR_NBYTES / s.width, n);
        for (int64_t r = 0; r < nrow; r += nout) {
            const struct window_rows rows = rows_of_windows(&s, r, nread, n);
            sum(&s, &rows, r, n);
        }
    }
    return 0;
}

static int32_t run_u8(void *const *p, const int64_t *n)
{
    return run_sums(p, n, 0, 1);
}

static int32_t run_s8(void *const *p, const int64_t *n)
{
    return run_sums(p, n, 1, 1);
}

static int32_t run_u8_i32(void *const *p, const int64_t *n)
{
    return run_sums(p, n, 0, sizeof(int32_t));
}

static int32_t run_s8_i32(void *const *p, const int64_t *n)
{
    return run_sums(p, n, 1, sizeof(int32_t));
}

/* ---- packing ---- */

/* W without its zero; 0 for taps that there are not. */
static int16_t tap_at(const uint8_t *w, int is_signed, int64_t c, int64_t i, int64_t j,
                      const int64_t *n)
{
    const int64_t at = c * n[CPU_CHANNELS_PACK_W_CHANNEL] + i * n[CPU_CHANNELS_PACK_W_Y] +
                       j * n[CPU_CHANNELS_PACK_W_X];
    if (i < 0 || i >= n[CPU_CHANNELS_PACK_TAPS_Y])
        return 0;
    return (int16_t)((is_signed ? (int8_t)w[at] : w[at]) - n[CPU_CHANNELS_PACK_W_ZERO]);
}

/* Quads of bytes, or in two vectors pairs: of taps 0 and 2, and 1 and 3. */
static void pack_quad(uint8_t *to, const int16_t *taps, int lane, int is_narrow)
{
    const int8_t bytes[4] = { (int8_t)taps[0], (int8_t)taps[1], (int8_t)taps[2],
                              (int8_t)taps[3] };
    const int16_t even[2] = { taps[0], taps[2] }, odd[2] = { taps[1], taps[3] };
    if (is_narrow) {
        memcpy(to + 4 * lane, bytes, 4);
        return;
    }
    memcpy(to + 4 * lane, even, 4);
    memcpy(to + VECTOR_NBYTES + 4 * lane, odd, 4);
}

static void pack_block(uint8_t *to, const uint8_t *w, int64_t first, int64_t width,
                       int is_signed, const int64_t *n)
{
    const int64_t taps_y = n[CPU_CHANNELS_PACK_TAPS_Y];
    const int64_t taps_x = n[CPU_CHANNELS_PACK_TAPS_X];
    const int64_t step = n[CPU_CHANNELS_PACK_STEP_Y], nout = step == 1 ? MAX_OUT : 1;
    const int64_t nquad = (cpu_channels_rows(taps_y, step) + 3) / 4;
    const int is_narrow = (int)n[CPU_CHANNELS_PACK_IS_NARROW];
    const int64_t zero =
        n[CPU_CHANNELS_PACK_ZERO] + (n[CPU_CHANNELS_PACK_IS_SIGNED] ? 128 : 0);
    for (int v = 0; v < 4 * LANES; v++) {
        const int64_t c = first + channel_of(v / LANES, v % LANES, width);
        uint8_t *at =
            to + 4 * VECTOR_NBYTES + v / LANES * VECTOR_NBYTES * (2 - is_narrow);
        int64_t all = 0;
        for (int64_t j = 0; j < taps_x; j++) {
            for (int64_t i = 0; i < taps_y; i++)
                all += tap_at(w, is_signed, c, i, j, n);
            for (int64_t k = 0; k < nquad * nout; k++) {
                int16_t taps[4];
                for (int64_t i = 0; i < 4; i++)
                    taps[i] = tap_at(w, is_signed, c, k / nout * 4 + i - k % nout, j, n);
                pack_quad(at, taps, v % LANES, is_narrow);
                at += 4 * VECTOR_NBYTES * (2 - is_narrow);
            }
        }
        const int32_t added = (int32_t)(-zero * all);
        memcpy(to + 4 * v, &added, sizeof(added));
    }
}

static int32_t pack(void *const *p, const int64_t *n, int is_signed)
{
    const int64_t channels = n[CPU_CHANNELS_PACK_CHANNELS];
    uint8_t *to = p[CPU_CHANNELS_PACK_TO];
    int64_t width;
    for (int64_t c = 0; c < channels; c += width) {
        width = cpu_channels_block(VECTOR_NBYTES, channels - c);
        pack_block(to, p[CPU_CHANNELS_PACK_W], least(c, channels - width), width,
                   is_signed, n);
        to += cpu_channels_block_nbytes(
            VECTOR_NBYTES, n[CPU_CHANNELS_PACK_TAPS_Y], n[CPU_CHANNELS_PACK_TAPS_X],
            n[CPU_CHANNELS_PACK_STEP_Y], (int)n[CPU_CHANNELS_PACK_IS_NARROW]);
    }
    return 0;
}

static int32_t pack_u8(void *const *p, const int64_t *n)
{
    return pack(p, n, 0);
}

static int32_t pack_s8(void *const *p, const int64_t *n)
{
    return pack(p, n, 1);
}

/* ---- maxima ---- */

enum { MAX_TAPS = 64 };

/* The taps of one window that are inside. */
static int find_taps(const uint8_t **taps, const uint8_t *x, int64_t row, int64_t column,
                     const int64_t *n)
{
    const int64_t top = n[CPU_CHANNELS_TOP] + row * n[CPU_CHANNELS_STEP_Y];
    const int64_t left = n[CPU_CHANNELS_LEFT] + column * n[CPU_CHANNELS_STEP_X];
    const int64_t end_y = least(top + n[CPU_CHANNELS_TAPS_Y], n[CPU_CHANNELS_HEIGHT]);
    const int64_t end_x = least(left + n[CPU_CHANNELS_TAPS_X], n[CPU_CHANNELS_WIDTH]);
    int ntap = 0;
    for (int64_t i = top < 0 ? 0 : top; i < end_y; i++) {
        for (int64_t j = left < 0 ? 0 : left; j < end_x; j++)
            taps[ntap++] = x + i * n[CPU_CHANNELS_X_ROW] + j * n[CPU_CHANNELS_X_COLUMN];
    }
    return ntap;
}

static inline byte_vector most_bytes(byte_vector a, byte_vector b)
{
#if defined(INT_REGISTER)
    return (byte_vector)INT_CALL(max_epu8)((INT_REGISTER)a, (INT_REGISTER)b);
#else
    const byte_vector is = (byte_vector)(a > b);
    return (a & is) | (b & ~is);
#endif
}

/* `flip`: the bit that a sign is, which is taken off and put back. */
static void most_of_taps(uint8_t *y, const uint8_t *const *taps, int ntap,
                         int64_t channels, uint8_t flip)
{
    const byte_vector flips = flip - (byte_vector){ 0 };
    if (channels < VECTOR_NBYTES) {
        for (int64_t c = 0; c < channels; c++) {
            uint8_t most = 0;
            for (int k = 0; k < ntap; k++)
                most = (taps[k][c] ^ flip) > most ? taps[k][c] ^ flip : most;
            y[c] = most ^ flip;
        }
        return;
    }
    for (int64_t c = 0; c < channels; c += VECTOR_NBYTES) {
        const int64_t at = least(c, channels - VECTOR_NBYTES);
        byte_vector most = { 0 };
        for (int k = 0; k < ntap; k++)
            most = most_bytes(most, (byte_vector)int_load(taps[k] + at) ^ flips);
        int_store(y + at, (int_vector)(most ^ flips));
    }
}

static int32_t run_max(void *const *p, const int64_t *n, uint8_t flip)
{
    const uint8_t *taps[MAX_TAPS];
    for (int64_t r = 0; r < n[CPU_CHANNELS_ROWS]; r++) {
        uint8_t *y = (uint8_t *)p[CPU_CHANNELS_Y] + r * n[CPU_CHANNELS_Y_ROW];
        for (int64_t c = 0; c < n[CPU_CHANNELS_COLUMNS]; c++)
            most_of_taps(y + c * n[CPU_CHANNELS_Y_COLUMN], taps,
                         find_taps(taps, p[CPU_CHANNELS_X], r, c, n),
                         n[CPU_CHANNELS_CHANNELS], flip);
    }
    return 0;
}

static int32_t max_u8(void *const *p, const int64_t *n)
{
    return run_max(p, n, 0);
}

static int32_t max_s8(void *const *p, const int64_t *n)
{
    return run_max(p, n, 0x80);
}

/* ---- the table ---- */

/* Of sums for each row of taps, of maxima for each tap, of W for each. */
enum { MAX_PS = 10, PACK_PS = 3000 };
const struct cpu_callee CHANNELS_CALLEES[] = {
    { "channels_sum_u8_" CHANNELS_SUFFIX, run_u8, CPU_CHANNELS, BT_UINT8, BT_UINT8,
      CHANNELS_SUM_PS },
    { "channels_sum_s8_" CHANNELS_SUFFIX, run_s8, CPU_CHANNELS, BT_UINT8, BT_INT8,
      CHANNELS_SUM_PS },
    { "channels_sum_u8_i32_" CHANNELS_SUFFIX, run_u8_i32, CPU_CHANNELS, BT_INT32,
      BT_UINT8, CHANNELS_SUM_PS },
    { "channels_sum_s8_i32_" CHANNELS_SUFFIX, run_s8_i32, CPU_CHANNELS, BT_INT32, BT_INT8,
      CHANNELS_SUM_PS },
    { "channels_pack_u8_" CHANNELS_SUFFIX, pack_u8, CPU_CHANNELS_PACK, BT_UINT8, BT_UINT8,
      PACK_PS },
    { "channels_pack_s8_" CHANNELS_SUFFIX, pack_s8, CPU_CHANNELS_PACK, BT_UINT8, BT_INT8,
      PACK_PS },
    { "channels_max.uint8", max_u8, CPU_CHANNELS_MAX, BT_UINT8, BT_UINT8, MAX_PS },
    { "channels_max.int8", max_s8, CPU_CHANNELS_MAX, BT_INT8, BT_INT8, MAX_PS },
    { 0 },
};
