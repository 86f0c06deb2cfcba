/*
 * Sums of products of windows, in codes, for rows of places; included by channels_rows.h once for what
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

SUMS_TARGET LITERAL void NAME(sum_row)(const struct sums *s,
                                       const struct window_rows *all, int64_t row,
                                       const int64_t *n, const int nread, const int nout,
                                       const int nplace)
{
    enum { MOST = 4 };
    const struct window_rows rows = *all;
    const struct finish finish = s->finish;
    const int64_t width = n[CPU_CHANNELS_WIDTH], step = n[CPU_CHANNELS_STEP_X];
    const int64_t x_column = n[CPU_CHANNELS_X_COLUMN], ncolumn = n[CPU_CHANNELS_COLUMNS];
    const int64_t y_row = n[CPU_CHANNELS_Y_ROW], y_column = n[CPU_CHANNELS_Y_COLUMN];
    const int64_t ntap = n[CPU_CHANNELS_TAPS_X],
                  left = least(n[CPU_CHANNELS_ROWS] - row, nout);
    const int_vector flip = s->flip;
    uint8_t *y = s->y + row * y_row + s->channel;
    for (int64_t c = 0; c < ncolumn; c += nplace, y += nplace * y_column) {
        const uint8_t *w = s->w;
        int_vector sums[4 * MOST_OUT];
        UNROLL
        for (int k = 0; k < 4 * nout; k++)
            sums[k] = s->bias[k % 4];
        for (int64_t j = 0; j < ntap; j++) {
            int64_t offsets[MOST];
            int is_inside[MOST];
            UNROLL
            for (int i = 0; i < nplace; i++) {
                const int64_t column = n[CPU_CHANNELS_LEFT] + step * (c + i) + j;
                is_inside[i] = (uint64_t)column < (uint64_t)width;
                offsets[i] = column * x_column;
            }
            UNROLL
            for (int q = 0; q < (nread + 3) / 4; q++) {
                int_vector v[4], quads[4];
                UNROLL
                for (int k = 0; k < 4; k++) {
                    const uint8_t *from[MOST];
                    v[k] = (int_vector){ 0 };
                    if (4 * q + k >= nread)
                        continue;
                    UNROLL
                    for (int i = 0; i < nplace; i++)
                        from[i] = is_inside[i] ? rows.at[4 * q + k] +
                                                     (offsets[i] & rows.stays[4 * q + k])
                                               : s->fill;
                    v[k] = load_places(from, nplace) ^ flip;
                }
                make_quads(quads, v);
                NAME(add_products)(sums, quads, w, nout);
                w += 4 * DOT_WIDTH * nout * VECTOR_NBYTES;
            }
        }
        UNROLL
        for (int o = 0; o < nout; o++) {
            int_vector rounded[4];
            if (o >= left)
                break;
            UNROLL
            for (int k = 0; k < 4; k++)
                rounded[k] = round_within(
                    &finish, __builtin_convertvector(sums[4 * o + k], float_vector) *
                                 s->factor[k]);
            store_places(y + o * y_row, y_column, ncolumn - c,
                         make_bytes(rounded, finish.zero, finish.flip), nplace);
        }
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
    (void)nplace;
    if (n[CPU_CHANNELS_STEP_Y] == 1)
        return n[CPU_CHANNELS_TAPS_Y] == 3 ? (SUM_ROW_OF(4, 2)) : (SUM_ROW_OF(6, 2));
    return n[CPU_CHANNELS_TAPS_Y] == 3 ? (SUM_ROW_OF(3, 1)) : (SUM_ROW_OF(5, 1));
}

#undef DOT_WIDTH
#undef SUM_ROW
#undef SUM_ROWS
#undef SUM_ROW_OF
