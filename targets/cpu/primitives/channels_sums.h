/*
 * Sums of products of windows, or codes of them, for rows of places; included by channels_rows.h once for what
 * multiplies quads: NAME, SUMS_TARGET, QUAD_DOT if it is one instruction.
 */

/* Sums of two vectors of pairs, or of quads, as W is packed. */
#if defined(QUAD_DOT)
#define DOT_WIDTH 1
SUMS_TARGET LITERAL void NAME(add_products)(int_vector *sums, const int_vector *quads,
                                            const uint8_t *w, const int nout)
{
    UNROLL
    for (int k = 0; k < 4 * nout; k++)
        sums[k] = (int_vector)QUAD_DOT((INT_REGISTER)sums[k], (INT_REGISTER)quads[k % 4],
                                       (INT_REGISTER)int_load(w + k * VECTOR_NBYTES));
}
#else
#define DOT_WIDTH 2
SUMS_TARGET LITERAL void NAME(add_products)(int_vector *sums, const int_vector *quads,
                                            const uint8_t *w, const int nout)
{
    UNROLL
    for (int k = 0; k < 4 * nout; k++) {
        const bits_vector low = 0x00ff00ff - (bits_vector){ 0 };
        const bits_vector even = (bits_vector)quads[k % 4] & low;
        const bits_vector odd = (bits_vector)quads[k % 4] >> 8 & low;
        const uint8_t *pairs = w + 2 * k * VECTOR_NBYTES;
        sums[k] = int_multiply_add_pairs(sums[k], (int_vector)even, int_load(pairs));
        sums[k] = int_multiply_add_pairs(sums[k], (int_vector)odd,
                                         int_load(pairs + VECTOR_NBYTES));
    }
}
#endif

/* Quads of rows 4 * q ... 4 * q + 3, of places in columns from `column` on, `step` apart. */
SUMS_TARGET LITERAL void NAME(read_quads)(int_vector *quads, const struct sums *s,
                                          const struct window_rows *rows, int64_t column,
                                          int64_t step, const int64_t *n, const int q,
                                          const int nread, const int nplace)
{
    enum { MOST = 4 };
    const uint8_t *from[MOST];
    int_vector v[4];
    UNROLL
    for (int k = 0; k < 4; k++) {
        v[k] = (int_vector){ 0 };
        if (4 * q + k >= nread)
            continue;
        UNROLL
        for (int i = 0; i < nplace; i++) {
            const int64_t at = column + i * step, offset = at * n[CPU_CHANNELS_X_COLUMN];
            from[i] = (uint64_t)at < (uint64_t)n[CPU_CHANNELS_WIDTH]
                          ? rows->at[4 * q + k] + (offset & rows->stays[4 * q + k])
                          : s->fill;
        }
        v[k] = load_places(from, nplace) ^ s->flip;
    }
    make_quads(quads, v);
}

/* The sums of rows of the result, of so many places that are left, or codes of them. */
SUMS_TARGET LITERAL void NAME(store_rows)(uint8_t *y, const struct sums *s,
                                          const int_vector *sums, int64_t rows,
                                          int64_t places, const int nout,
                                          const int nplace)
{
    UNROLL
    for (int o = 0; o < nout; o++) {
        int_vector rounded[4];
        uint8_t *to = y + o * s->y_row;
        if (o >= rows)
            break;
        if (s->nbyte != 1) {
            store_sums(to, s->y_column, places, sums + 4 * o, nplace);
            continue;
        }
        UNROLL
        for (int k = 0; k < 4; k++)
            rounded[k] = round_numbers(
                &s->finish,
                __builtin_convertvector(sums[4 * o + k], float_vector) * s->factor[k]);
        store_places(to, s->y_column, places, make_bytes(&s->finish, rounded), nplace);
    }
}

SUMS_TARGET LITERAL void NAME(begin_sums)(int_vector *sums, const struct sums *s,
                                          const int nout)
{
    UNROLL
    for (int k = 0; k < 4 * nout; k++)
        sums[k] = s->bias[k % 4];
}

SUMS_TARGET LITERAL void NAME(sum_row)(const struct sums *all,
                                       const struct window_rows *all_rows, int64_t row,
                                       const int64_t *all_n, const int nread,
                                       const int nout, const int nplace)
{
    const struct sums s = *all;
    const struct window_rows rows = *all_rows;
    int64_t n[CPU_CHANNELS_NINT];
    memcpy(n, all_n, sizeof(n));
    const int64_t step = n[CPU_CHANNELS_STEP_X], left = n[CPU_CHANNELS_ROWS] - row;
    const int64_t ntap = n[CPU_CHANNELS_TAPS_X], ncolumn = n[CPU_CHANNELS_COLUMNS];
    uint8_t *y = s.y + row * s.y_row + s.channel * s.nbyte;
    for (int64_t c = 0; c < ncolumn; c += nplace) {
        const uint8_t *w = s.w;
        int_vector sums[4 * MAX_OUT], quads[4];
        NAME(begin_sums)(sums, &s, nout);
        for (int64_t j = 0; j < ntap; j++) {
            UNROLL
            for (int q = 0; q < (nread + 3) / 4; q++) {
                NAME(read_quads)
                (quads, &s, &rows, n[CPU_CHANNELS_LEFT] + step * c + j, step, n, q, nread,
                 nplace);
                NAME(add_products)(sums, quads, w, nout);
                w += 4 * DOT_WIDTH * nout * VECTOR_NBYTES;
            }
        }
        NAME(store_rows)(y, &s, sums, left, ncolumn - c, nout, nplace);
        y += nplace * s.y_column;
    }
}

/* Of 3 x 3 taps by steps of 1, one place after the other: two of three columns of quads are those of the
 * place before. */
SUMS_TARGET static void NAME(row_sliding)(const struct sums *all,
                                          const struct window_rows *all_rows, int64_t row,
                                          const int64_t *all_n)
{
    enum { NTAP = 3, NREAD = 4 };
    const struct sums s = *all;
    const struct window_rows rows = *all_rows;
    int64_t n[CPU_CHANNELS_NINT];
    memcpy(n, all_n, sizeof(n));
    const int64_t left = n[CPU_CHANNELS_ROWS] - row, ncolumn = n[CPU_CHANNELS_COLUMNS];
    uint8_t *y = s.y + row * s.y_row + s.channel * s.nbyte;
    int_vector quads[NTAP][4];
    UNROLL
    for (int j = 1; j < NTAP; j++)
        NAME(read_quads)
    (quads[j], &s, &rows, n[CPU_CHANNELS_LEFT] + j - 1, 1, n, 0, NREAD, 1);
    for (int64_t c = 0; c < ncolumn; c++, y += s.y_column) {
        int_vector sums[4 * MAX_OUT];
        UNROLL
        for (int k = 0; k < 4 * (NTAP - 1); k++)
            quads[k / 4][k % 4] = quads[k / 4 + 1][k % 4];
        NAME(read_quads)
        (quads[NTAP - 1], &s, &rows, n[CPU_CHANNELS_LEFT] + c + NTAP - 1, 1, n, 0, NREAD,
         1);
        NAME(begin_sums)(sums, &s, MAX_OUT);
        UNROLL
        for (int j = 0; j < NTAP; j++)
            NAME(add_products)
        (sums, quads[j], s.w + j * 4 * DOT_WIDTH * MAX_OUT * VECTOR_NBYTES, MAX_OUT);
        NAME(store_rows)(y, &s, sums, left, 1, MAX_OUT, 1);
    }
}

#define SUM_ROW(nread, nout, nplace)                                       \
    SUMS_TARGET static void NAME(row_##nread##_##nout##_##nplace)(         \
        const struct sums *s, const struct window_rows *rows, int64_t row, \
        const int64_t *n)                                                  \
    {                                                                      \
        NAME(sum_row)(s, rows, row, n, nread, nout, nplace);               \
    }
#if VECTOR_NBYTES == 64
#define SUM_ROWS(nread, nout) \
    SUM_ROW(nread, nout, 1) SUM_ROW(nread, nout, 2) SUM_ROW(nread, nout, 4)
#define SUM_ROW_OF(nread, nout)                    \
    nplace == 1   ? NAME(row_##nread##_##nout##_1) \
    : nplace == 2 ? NAME(row_##nread##_##nout##_2) \
                  : NAME(row_##nread##_##nout##_4)
#elif VECTOR_NBYTES == 32
#define SUM_ROWS(nread, nout) SUM_ROW(nread, nout, 1) SUM_ROW(nread, nout, 2)
#define SUM_ROW_OF(nread, nout) \
    nplace == 1 ? NAME(row_##nread##_##nout##_1) : NAME(row_##nread##_##nout##_2)
#else
#define SUM_ROWS(nread, nout)   SUM_ROW(nread, nout, 1)
#define SUM_ROW_OF(nread, nout) NAME(row_##nread##_##nout##_1)
#endif
SUM_ROWS(4, 2)
SUM_ROWS(3, 1)
SUM_ROWS(6, 2)
SUM_ROWS(5, 1)

static sum_row *NAME(row_of_shape)(int64_t nplace, const int64_t *n)
{
    if (n[CPU_CHANNELS_STEP_Y] == 1 && n[CPU_CHANNELS_STEP_X] == 1 && nplace == 1 &&
        n[CPU_CHANNELS_TAPS_Y] == 3 && n[CPU_CHANNELS_TAPS_X] == 3)
        return NAME(row_sliding);
    if (n[CPU_CHANNELS_STEP_Y] == 1)
        return n[CPU_CHANNELS_TAPS_Y] == 3 ? (SUM_ROW_OF(4, 2)) : (SUM_ROW_OF(6, 2));
    return n[CPU_CHANNELS_TAPS_Y] == 3 ? (SUM_ROW_OF(3, 1)) : (SUM_ROW_OF(5, 1));
}

#undef DOT_WIDTH
#undef SUM_ROW
#undef SUM_ROWS
#undef SUM_ROW_OF
