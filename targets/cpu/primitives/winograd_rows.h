/*
 * Winograd's transforms for one instruction set, in the source compiled for it, which says
 * first:
 *
 *     WINOGRAD_TABLE, WINOGRAD_CALLEES, WINOGRAD_SUFFIX    its tables, the end of names
 */
#include <float.h>
#include <math.h>
#include <string.h>

#define LANES ((int64_t)(VECTOR_NBYTES / sizeof(float)))
#define NR    (2 * LANES)
#define UNIT  CPU_WINOGRAD_UNIT
#define TAPS  3

static inline float_vector load(const float *from)
{
    return (float_vector)int_load(from);
}

static inline void store(float *to, float_vector v)
{
    int_store(to, (int_vector)v);
}

static inline void store_some(float *to, float_vector v, int64_t n)
{
    if (n >= LANES)
        store(to, v);
    else
        float_store_part(to, v, n);
}

/* Where vector number i of `count` elements begins: the last one has some once more, if there are
 * enough, so that it is stored as a whole. */
static inline int64_t first_of(int64_t i, int64_t count)
{
    const int64_t first = i * LANES;
    return first + LANES <= count || count < LANES ? first : count - LANES;
}

/* Columns of as many units as a vector has lanes, with those that the last tile has besides: which
 * of them there are in a row of `width` elements, from column `first` on. */
enum { UNIT_READS = UNIT + TAPS - 1, LAST = UNIT * (VECTOR_NBYTES / sizeof(float)) };
struct columns {
    int64_t first, width;
    float_lanes lanes[UNIT];
};

static int between(int64_t low, int64_t x, int64_t high)
{
    return (int)(x < low ? low : x > high ? high : x);
}

static struct columns columns_of(int64_t first, int64_t width)
{
    struct columns c = { .first = first, .width = width };
    for (int i = 0; i < UNIT; i++) {
        const int64_t at = first + i * LANES;
        c.lanes[i] =
            float_lanes_of(between(0, -at, LANES), between(0, width - at, LANES));
    }
    return c;
}

static float element_of(const float *row, int64_t at, int64_t width)
{
    return at >= 0 && at < width ? row[at] : 0;
}

/* Column k of each unit is in d[k], so far as tiles of a unit read; zeros where there is none, as
 * anywhere without a row. */
static inline void read_units(float_vector *d, const float *row, const struct columns *c)
{
    float last[UNIT_READS - UNIT];
    UNROLL
    for (int i = 0; i < UNIT; i++)
        d[i] = row ? float_load_lanes(row + c->first + i * LANES, c->lanes[i])
                   : (float_vector){ 0 };
    for (int i = 0; i < UNIT_READS - UNIT; i++)
        last[i] = row ? element_of(row, c->first + LAST + i, c->width) : 0;
    float_deinterleave_4(d);
    d[4] = float_shift(d[0], last[0]);
    d[5] = float_shift(d[1], last[1]);
}

static inline void fetch_units(const float *row, const struct columns *c)
{
    UNROLL
    for (int i = 0; i < UNIT; i++)
        __builtin_prefetch(row + c->first + i * LANES);
}

/* Rows of tiles with no more units than these go several at a time, from a plane of their data:
 * so many rows, each with a unit more than the tiles have, as reads are of whole units. */
enum {
    NARROW = VECTOR_NBYTES == 64 ? 8 : VECTOR_NBYTES / sizeof(float) - 1,
    PLANE_TILES = 8
};
struct plane {
    float at[(PLANE_TILES * UNIT + TAPS) * (NARROW + 1) * UNIT +
             VECTOR_NBYTES / sizeof(float)];
};

/* Rows from `top` on; those that are outside are zeros. */
static void copy_plane(struct plane *to, const float *x, int64_t top, int64_t nrow,
                       int64_t pitch, const int64_t *n)
{
    const int64_t width = n[CPU_INPUT_WIDTH];
    const struct columns columns = columns_of(n[CPU_INPUT_LEFT], width);
    for (int64_t i = 0; i < nrow; i++) {
        const int is_there = top + i >= 0 && top + i < n[CPU_INPUT_HEIGHT];
        const float *row = x + (top + i) * width + columns.first;
        for (int64_t j = 0; j * LANES < pitch; j++)
            store(to->at + i * pitch + j * LANES,
                  is_there ? float_load_lanes(row + j * LANES, columns.lanes[j])
                           : (float_vector){ 0 });
    }
}

/* Element k of each run is in d[k]. */
static inline void read_runs(float_vector *d, const float *const *runs, int64_t at)
{
    int_vector turned[UNIT];
    UNROLL
    for (int i = 0; i < UNIT; i++)
        turned[i] = load_runs_4(runs + i, at);
    turn_square_4(turned);
    UNROLL
    for (int i = 0; i < UNIT; i++)
        d[i] = (float_vector)turned[i];
}

/* Four vectors of NR channels' neighbours, to rows of the result `stride` apart, so far as there
 * are channels and columns. */
static inline void store_turned(float *to, int64_t stride, const float_vector *v,
                                int64_t nchannel, int64_t ncolumn)
{
    int_vector turned[UNIT];
    UNROLL
    for (int i = 0; i < UNIT; i++)
        turned[i] = (int_vector)v[i];
    turn_square_4(turned);
    float runs[UNIT][VECTOR_NBYTES / sizeof(float)];
    if (nchannel >= LANES && ncolumn >= UNIT) {
        UNROLL
        for (int i = 0; i < UNIT; i++)
            int_store_runs(to + i * stride, UNIT * stride, turned[i]);
        return;
    }
    memcpy(runs, turned, sizeof(runs));
    for (int64_t o = 0; o < LANES && o < nchannel; o++)
        memcpy(to + o * stride, &runs[o % UNIT][o / UNIT * UNIT],
               (size_t)(ncolumn < UNIT ? ncolumn : UNIT) * sizeof(float));
}

/* ---- weights again ---- */

/* How taps follow from U along one side, which is transformed at points 0, 1, -1, ..., infinity:
 * the first is `first` times that at 0, the next `middle` times the difference of those at 1 and
 * -1, the last is that at infinity. */
struct inverse {
    int side;
    float first, middle;
};

/* Bits of a tap. */
enum { IS_ZERO = 1, IS_NEGATIVE = 2, NBIT = 2 };

static int_vector signs_of(const float_vector *taps)
{
    const float_vector zero = { 0 };
    int_vector signs = { 0 };
    for (int t = 0; t < TAPS * TAPS; t++)
        signs |= (((taps[t] == zero) & IS_ZERO) | ((taps[t] < zero) & IS_NEGATIVE))
                 << NBIT * t;
    return signs;
}

/* In the place of a U that is not finite; taps of different channels stand side by side. */
static void keep_taps(float *u, int64_t place, const float *taps)
{
    *u = NAN;
    for (int t = 0; t < TAPS * TAPS; t++)
        u[(1 + t) * place] = taps[t * LANES];
}

static float recover(const float *u, int64_t step, int tap, const struct inverse *by)
{
    return tap == 0   ? u[0] * by->first
           : tap == 1 ? (u[step] - u[2 * step]) * by->middle
                      : u[(by->side - 1) * step];
}

/* The taps of one channel of the input and of the result. */
static void recover_taps(float *taps, const float *u, int64_t place,
                         const struct inverse *by)
{
    float half[CPU_WINOGRAD_UNIT + TAPS - 1][TAPS];
    uint32_t signs;
    memcpy(&signs, u + by->side * by->side * place, sizeof(signs));
    for (int i = 0; i < by->side; i++) {
        for (int t = 0; t < TAPS; t++)
            half[i][t] = recover(u + i * by->side * place, place, t, by);
    }
    for (int t = 0; t < TAPS * TAPS; t++) {
        const uint32_t sign = signs >> NBIT * t;
        const float size = fabsf(recover(&half[0][t % TAPS], TAPS, t / TAPS, by));
        const float tap = sign & IS_ZERO ? 0 : size < FLT_MIN ? FLT_MIN : size;
        taps[t] = isnan(*u) ? u[(1 + t) * place] : sign & IS_NEGATIVE ? -tap : tap;
    }
}

/* An element of the result of one channel of the input. */
static float sum_taps(float sum, const float *x, const float *taps, int64_t y,
                      int64_t column, const int64_t *n)
{
    for (int64_t t = 0; t < TAPS * TAPS; t++) {
        const int64_t row = y + t / TAPS, at = column + t % TAPS;
        const int is_inside =
            row >= 0 && row < n[CPU_OUTPUT_HEIGHT] && at >= 0 && at < n[CPU_OUTPUT_WIDTH];
        sum += (is_inside ? x[row * n[CPU_OUTPUT_WIDTH] + at] : 0) * taps[t];
    }
    return sum;
}

/* Rows `first` to `end` of the result, which are there, term by term. */
static void compute_rows(void *const *p, int64_t first, int64_t end,
                         const struct inverse *by, const int64_t *n)
{
    for (int64_t i = 0; i < n[CPU_OUTPUT_COUNT] * n[CPU_OUTPUT_C]; i++) {
        const int64_t o = i / n[CPU_OUTPUT_C], c = i % n[CPU_OUTPUT_C];
        const float *x = (const float *)p[CPU_OUTPUT_X] + c * n[CPU_OUTPUT_X_C];
        float *y = (float *)p[CPU_OUTPUT_Y] + o * n[CPU_OUTPUT_Y_O], taps[TAPS * TAPS];
        recover_taps(taps, (const float *)p[CPU_OUTPUT_U] + c * NR + o,
                     n[CPU_OUTPUT_U_PLACE], by);
        for (int64_t row = first; row < end; row++) {
            float *to = y + row * n[CPU_OUTPUT_Y_ROW];
            for (int64_t k = 0; k < n[CPU_OUTPUT_Y_WIDTH]; k++)
                to[k] = sum_taps(c > 0 ? to[k] : 0, x, taps, n[CPU_OUTPUT_TOP] + row,
                                 n[CPU_OUTPUT_LEFT] + k, n);
        }
    }
}

#define SIZE       2
#define NAME(stem) stem##_2
#include "winograd_size.h"

#define SIZE       4
#define NAME(stem) stem##_4
#include "winograd_size.h"

/* For each channel and unit of input, tap and channel of weights, channel and unit of output. */
enum { WEIGHTS_PS = 3000, INPUT_PS = 5000, OUTPUT_PS = 1800 };
#define ROW(name, run, form, ps)                                    \
    {                                                               \
        name WINOGRAD_SUFFIX, run, form, BT_FLOAT32, BT_FLOAT32, ps \
    }
const struct cpu_callee WINOGRAD_CALLEES[] = {
    ROW("winograd_2_weights_", run_weights_2, CPU_WINOGRAD_WEIGHTS, WEIGHTS_PS),
    ROW("winograd_2_input_", run_input_2, CPU_WINOGRAD_INPUT, INPUT_PS),
    ROW("winograd_2_output_", run_output_2, CPU_WINOGRAD_OUTPUT, OUTPUT_PS),
    ROW("winograd_4_weights_", run_weights_4, CPU_WINOGRAD_WEIGHTS, WEIGHTS_PS),
    ROW("winograd_4_input_", run_input_4, CPU_WINOGRAD_INPUT, INPUT_PS),
    ROW("winograd_4_output_", run_output_4, CPU_WINOGRAD_OUTPUT, OUTPUT_PS),
    { 0 },
};

const struct cpu_winograd WINOGRAD_TABLE[] = {
    { &WINOGRAD_CALLEES[0], &WINOGRAD_CALLEES[1], &WINOGRAD_CALLEES[2], 2 },
    { &WINOGRAD_CALLEES[3], &WINOGRAD_CALLEES[4], &WINOGRAD_CALLEES[5], 4 },
    { 0 },
};
