/*
 * Windows over images whose channels are neighbours: primitives give what loops give and touch nothing
 * outside of their operands; schedules of them compute what the evaluator does.
 */
#include "primitives/channels.h"

#include "schedule/channels.h"
#include "schedule/schedule.h"

#include "contraction.h"
#include "guard.h"
#include "strip_run.h"

#include <math.h>

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

static int64_t code_at(const uint8_t *at, int64_t i, int is_signed)
{
    return is_signed ? (int8_t)at[i] : at[i];
}

/* ---- primitives ---- */

enum { MAX_SIDE = 19, MAX_CHANNELS = 200, APART = 3, MARK = 77 };

struct image {
    struct guarded y, x, w, packed, bias, factor;
    int64_t n[CPU_CHANNELS_NINT], pack[CPU_CHANNELS_PACK_NINT];
    int x_is_signed, w_is_signed;
    int64_t nbyte; /* of an element of Y */
    float low, high;
};

/* Elements behind each other at the end of memory. */
static uint8_t *fill(const struct guarded *g, int64_t nbytes, uint32_t *seed)
{
    uint8_t *at = g->end - nbytes;
    for (int64_t i = 0; i < nbytes; i++)
        at[i] = (uint8_t)draw(seed, 256);
    return at;
}

static void draw_sizes(struct image *m, uint32_t *seed)
{
    const int64_t channels = 1 + draw(seed, draw(seed, 3) ? 70 : MAX_CHANNELS);
    const int64_t height = draw(seed, MAX_SIDE), width = draw(seed, MAX_SIDE);
    const int64_t top = 2 - (int64_t)draw(seed, 6), left = 2 - (int64_t)draw(seed, 6);
    const int64_t step_y = 1 + draw(seed, 3), step_x = 1 + draw(seed, 3);
    const int64_t columns = (width + 4) / step_x;
    int64_t *n = m->n;
    n[CPU_CHANNELS_CHANNELS] = channels;
    n[CPU_CHANNELS_ROWS] = (height + 4) / step_y;
    n[CPU_CHANNELS_COLUMNS] = columns;
    n[CPU_CHANNELS_X_COLUMN] = channels + draw(seed, 2) * APART;
    n[CPU_CHANNELS_X_ROW] = n[CPU_CHANNELS_X_COLUMN] * width + draw(seed, 2) * APART;
    n[CPU_CHANNELS_Y_COLUMN] = channels + draw(seed, 2) * APART;
    n[CPU_CHANNELS_Y_ROW] = n[CPU_CHANNELS_Y_COLUMN] * columns + draw(seed, 2) * APART;
    n[CPU_CHANNELS_HEIGHT] = height;
    n[CPU_CHANNELS_WIDTH] = width;
    n[CPU_CHANNELS_TOP] = top;
    n[CPU_CHANNELS_LEFT] = left;
    n[CPU_CHANNELS_STEP_Y] = step_y;
    n[CPU_CHANNELS_STEP_X] = step_x;
}

/* Elements from the first to the last. */
static int64_t span(int64_t rows, int64_t row, int64_t columns, int64_t column,
                    int64_t channels)
{
    return rows > 0 && columns > 0 ? (rows - 1) * row + (columns - 1) * column + channels
                                   : 0;
}

static int64_t nbytes_of_x(const int64_t *n)
{
    return span(n[CPU_CHANNELS_HEIGHT], n[CPU_CHANNELS_X_ROW], n[CPU_CHANNELS_WIDTH],
                n[CPU_CHANNELS_X_COLUMN], n[CPU_CHANNELS_CHANNELS]);
}

static int64_t nelem_of_y(const int64_t *n)
{
    return span(n[CPU_CHANNELS_ROWS], n[CPU_CHANNELS_Y_ROW], n[CPU_CHANNELS_COLUMNS],
                n[CPU_CHANNELS_Y_COLUMN], n[CPU_CHANNELS_CHANNELS]);
}

typedef int32_t expected_element(const struct image *, const void *const *p, int64_t row,
                                 int64_t column, int64_t channel);

/* Where the tap lies in X; -1: outside. */
static int64_t place_of_tap(const int64_t *n, int64_t row, int64_t column, int64_t i,
                            int64_t j)
{
    const int64_t y = n[CPU_CHANNELS_TOP] + row * n[CPU_CHANNELS_STEP_Y] + i;
    const int64_t x = n[CPU_CHANNELS_LEFT] + column * n[CPU_CHANNELS_STEP_X] + j;
    return y < 0 || y >= n[CPU_CHANNELS_HEIGHT] || x < 0 || x >= n[CPU_CHANNELS_WIDTH]
               ? -1
               : y * n[CPU_CHANNELS_X_ROW] + x * n[CPU_CHANNELS_X_COLUMN];
}

/* Each element, and what lies between them, which keeps its mark. */
static void compare(const struct image *m, const char *name, const uint8_t *y,
                    const void *const *p, expected_element *expected)
{
    const int64_t *n = m->n, nelem = nelem_of_y(n), nbytes = nelem * m->nbyte;
    uint8_t *is = malloc((size_t)nbytes + 1);
    assert_non_null(is);
    memset(is, MARK, (size_t)nbytes);
    for (int64_t r = 0; nelem && r < n[CPU_CHANNELS_ROWS]; r++) {
        for (int64_t c = 0; c < n[CPU_CHANNELS_COLUMNS]; c++) {
            for (int64_t k = 0; k < n[CPU_CHANNELS_CHANNELS]; k++) {
                const int64_t at =
                    r * n[CPU_CHANNELS_Y_ROW] + c * n[CPU_CHANNELS_Y_COLUMN] + k;
                const int32_t element = expected(m, p, r, c, k);
                memcpy(is + at * m->nbyte, &element, (size_t)m->nbyte);
            }
        }
    }
    for (int64_t i = 0; i < nbytes; i++) {
        if (y[i] != is[i])
            fail_msg("%s: %lld channels, %lld x %lld taps, steps %lld and %lld, %lld x "
                     "%lld from %lld x %lld: byte %lld is %d, not %d",
                     name, (long long)n[CPU_CHANNELS_CHANNELS],
                     (long long)n[CPU_CHANNELS_TAPS_Y], (long long)n[CPU_CHANNELS_TAPS_X],
                     (long long)n[CPU_CHANNELS_STEP_Y], (long long)n[CPU_CHANNELS_STEP_X],
                     (long long)n[CPU_CHANNELS_ROWS], (long long)n[CPU_CHANNELS_COLUMNS],
                     (long long)n[CPU_CHANNELS_HEIGHT], (long long)n[CPU_CHANNELS_WIDTH],
                     (long long)i, y[i], is[i]);
    }
    free(is);
}

static int32_t most_of_taps(const struct image *m, const void *const *p, int64_t row,
                            int64_t column, int64_t channel)
{
    int64_t most = m->x_is_signed ? INT8_MIN : 0;
    for (int64_t k = 0; k < m->n[CPU_CHANNELS_TAPS_Y] * m->n[CPU_CHANNELS_TAPS_X]; k++) {
        const int64_t at = place_of_tap(m->n, row, column, k / m->n[CPU_CHANNELS_TAPS_X],
                                        k % m->n[CPU_CHANNELS_TAPS_X]);
        const int64_t code =
            at < 0 ? most : code_at(p[CPU_CHANNELS_X], at + channel, m->x_is_signed);
        most = code > most ? code : most;
    }
    return (int32_t)most;
}

static void check_maximum(struct image *m, enum cpu_isa isa, uint32_t *seed)
{
    const int64_t ny = (draw_sizes(m, seed), nelem_of_y(m->n));
    m->nbyte = 1;
    m->x_is_signed = (int)draw(seed, 2);
    m->n[CPU_CHANNELS_TAPS_Y] = 1 + draw(seed, 8);
    m->n[CPU_CHANNELS_TAPS_X] = 1 + draw(seed, 8);
    const struct cpu_callee *row =
        cpu_callee_find(isa, m->x_is_signed ? "channels_max.int8" : "channels_max.uint8");
    void *p[] = { m->y.end - ny, fill(&m->x, nbytes_of_x(m->n), seed) };
    assert_non_null(row);
    memset(p[0], MARK, (size_t)ny);
    assert_int_equal(row->run(p, m->n), 0);
    compare(m, row->name, p[0], (const void *const *)p, most_of_taps);
}

static int32_t sum_of_taps(const struct image *m, const void *const *p, int64_t row,
                           int64_t column, int64_t channel)
{
    const int64_t *n = m->n, *pack = m->pack;
    uint32_t sum = ((const uint32_t *)p[CPU_CHANNELS_BIAS])[channel];
    for (int64_t k = 0; k < n[CPU_CHANNELS_TAPS_Y] * n[CPU_CHANNELS_TAPS_X]; k++) {
        const int64_t i = k / n[CPU_CHANNELS_TAPS_X], j = k % n[CPU_CHANNELS_TAPS_X];
        const int64_t at = place_of_tap(n, row, column, i, j);
        const int64_t w =
            code_at(p[CPU_CHANNELS_W],
                    channel * pack[CPU_CHANNELS_PACK_W_CHANNEL] +
                        i * pack[CPU_CHANNELS_PACK_W_Y] + j * pack[CPU_CHANNELS_PACK_W_X],
                    m->w_is_signed) -
            pack[CPU_CHANNELS_PACK_W_ZERO];
        if (at >= 0)
            sum +=
                (uint32_t)(w * (code_at(p[CPU_CHANNELS_X], at + channel, m->x_is_signed) -
                                n[CPU_CHANNELS_ZERO]));
    }
    return (int32_t)sum;
}

static int32_t code_of_sum(const struct image *m, const void *const *p, int64_t row,
                           int64_t column, int64_t channel)
{
    const float product = (float)sum_of_taps(m, p, row, column, channel) *
                          ((const float *)p[CPU_CHANNELS_FACTOR])[channel];
    const float code = isnan(product) ? 0 : nearbyintf(product);
    return (int32_t)((int64_t)(code < m->low    ? m->low
                               : code > m->high ? m->high
                                                : code) +
                     m->n[CPU_CHANNELS_CODE_ZERO]);
}

static void draw_numbers(struct image *m, int32_t *bias, float *factor, uint32_t *seed)
{
    static const float special[] = { INFINITY, -INFINITY, NAN, 3e38F, 0, -0.0F };
    const int is_signed = (int)draw(seed, 2);
    const int64_t least = is_signed ? INT8_MIN : 0, zero = least + draw(seed, 256);
    for (int64_t c = 0; c < m->n[CPU_CHANNELS_CHANNELS]; c++) {
        const uint32_t kind = draw(seed, 60);
        bias[c] = draw(seed, 40) ? (int32_t)draw(seed, 20001) - 10000 : INT32_MAX;
        factor[c] = kind < BT_COUNT(special)
                        ? special[kind]
                        : (float)ldexp((double)draw(seed, 2001) - 300, -20);
    }
    // half of them bounded below as by relu
    m->low = draw(seed, 2) ? (float)(least - zero) : 0;
    m->high = (float)(least + 255 - zero);
    m->n[CPU_CHANNELS_CODE_ZERO] = zero;
    m->n[CPU_CHANNELS_LOW] = m->n[CPU_CHANNELS_HIGH] = 0;
    memcpy(&m->n[CPU_CHANNELS_LOW], &m->low, sizeof(float));
    memcpy(&m->n[CPU_CHANNELS_HIGH], &m->high, sizeof(float));
}

static void draw_packing(struct image *m, enum cpu_isa isa, uint32_t *seed)
{
    const int64_t taps = m->n[CPU_CHANNELS_TAPS_Y] = draw(seed, 2) ? 3 : 5;
    const int64_t taps_x = m->n[CPU_CHANNELS_TAPS_X] =
        draw(seed, 2) ? taps : 1 + draw(seed, 5);
    const int is_last = (int)draw(seed, 2); // channels of W
    m->x_is_signed = (int)draw(seed, 2);
    m->w_is_signed = (int)draw(seed, 3) > 0;
    m->n[CPU_CHANNELS_ZERO] = draw(seed, 256) - (m->x_is_signed ? 128 : 0);
    m->n[CPU_CHANNELS_IS_NARROW] =
        m->w_is_signed && draw(seed, 2) &&
        (isa == CPU_ISA_PORTABLE || cpu_isa_multiplies_quads(isa) || draw(seed, 2));
    memcpy(m->pack,
           (int64_t[CPU_CHANNELS_PACK_NINT]){
               [CPU_CHANNELS_PACK_CHANNELS] = m->n[CPU_CHANNELS_CHANNELS],
               [CPU_CHANNELS_PACK_TAPS_Y] = taps,
               [CPU_CHANNELS_PACK_TAPS_X] = taps_x,
               [CPU_CHANNELS_PACK_STEP_Y] = m->n[CPU_CHANNELS_STEP_Y],
               [CPU_CHANNELS_PACK_W_CHANNEL] = is_last ? 1 : taps * taps_x,
               [CPU_CHANNELS_PACK_W_X] = is_last ? m->n[CPU_CHANNELS_CHANNELS] : 1,
               [CPU_CHANNELS_PACK_W_Y] =
                   is_last ? m->n[CPU_CHANNELS_CHANNELS] * taps_x : taps_x,
               [CPU_CHANNELS_PACK_W_ZERO] =
                   m->n[CPU_CHANNELS_IS_NARROW]
                       ? 0
                       : draw(seed, 256) - (m->w_is_signed ? 128 : 0),
               [CPU_CHANNELS_PACK_ZERO] = m->n[CPU_CHANNELS_ZERO],
               [CPU_CHANNELS_PACK_IS_SIGNED] = m->x_is_signed,
               [CPU_CHANNELS_PACK_IS_NARROW] = m->n[CPU_CHANNELS_IS_NARROW],
           },
           sizeof(m->pack));
}

static void check_sums(struct image *m, enum cpu_isa isa, uint32_t *seed)
{
    draw_sizes(m, seed);
    m->nbyte = draw(seed, 3) ? 1 : sizeof(int32_t);
    const int64_t c = m->n[CPU_CHANNELS_CHANNELS], ny = m->nbyte * nelem_of_y(m->n);
    if (c < CPU_CHANNELS_LEAST)
        return;
    draw_packing(m, isa, seed);
    const int64_t nw =
        c * m->pack[CPU_CHANNELS_PACK_TAPS_Y] * m->pack[CPU_CHANNELS_PACK_TAPS_X];
    const int64_t npacked =
        cpu_channels_nbytes(isa, c, m->n[CPU_CHANNELS_TAPS_Y], m->n[CPU_CHANNELS_TAPS_X],
                            m->n[CPU_CHANNELS_STEP_Y], (int)m->n[CPU_CHANNELS_IS_NARROW]);
    const struct cpu_callee *pack =
        cpu_channels_pack_find(isa, m->w_is_signed ? BT_INT8 : BT_UINT8);
    const struct cpu_callee *row =
        cpu_channels_find(isa, m->x_is_signed ? BT_INT8 : BT_UINT8, m->nbyte != 1);
    void *p[CPU_CHANNELS_NPOINTER] = {
        [CPU_CHANNELS_Y] = m->y.end - ny,
        [CPU_CHANNELS_X] = fill(&m->x, nbytes_of_x(m->n), seed),
        [CPU_CHANNELS_W] = m->packed.end - npacked,
        [CPU_CHANNELS_BIAS] = m->bias.end - c * 4,
        [CPU_CHANNELS_FACTOR] = m->factor.end - c * 4,
    };
    void *packing[] = { p[CPU_CHANNELS_W], fill(&m->w, nw, seed) };
    draw_numbers(m, p[CPU_CHANNELS_BIAS], p[CPU_CHANNELS_FACTOR], seed);
    assert_non_null(pack);
    assert_non_null(row);
    assert_int_equal(pack->run(packing, m->pack), 0);
    memset(p[CPU_CHANNELS_Y], MARK, (size_t)ny);
    assert_int_equal(row->run(p, m->n), 0);
    p[CPU_CHANNELS_W] = packing[1];
    compare(m, row->name, p[CPU_CHANNELS_Y], (const void *const *)p,
            m->nbyte == 1 ? code_of_sum : sum_of_taps);
}

static void test_windows_are_those_of_loops(void **state)
{
    (void)state;
    enum { NELEM = (MAX_SIDE + 5) * (MAX_SIDE + 5) * (MAX_CHANNELS + APART) };
    struct image m = { .y = guarded_create(NELEM * sizeof(int32_t)),
                       .x = guarded_create(NELEM),
                       .w = guarded_create(MAX_CHANNELS * 25),
                       .packed = guarded_create(1 << 20),
                       .bias = guarded_create(MAX_CHANNELS * 4),
                       .factor = guarded_create(MAX_CHANNELS * 4) };
    uint32_t seed = 3;
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (int k = 0; k < 600; k++) {
            check_sums(&m, isa, &seed);
            check_maximum(&m, isa, &seed);
        }
    }
    guarded_destroy(&m.y);
    guarded_destroy(&m.x);
    guarded_destroy(&m.w);
    guarded_destroy(&m.packed);
    guarded_destroy(&m.bias);
    guarded_destroy(&m.factor);
}

/* ---- schedules ---- */

struct network {
    int64_t n, h, w, c, taps, step, before, after;
    uint32_t is_called; /* by windows over channels, sums by two calls */
    bt_dtype x, k;
    const char *text; /* y[n, p, q, c] = ... */
};

/* The window stands for W, its codes for V. */
static void make_text(const struct network *c, char *text, size_t nbytes)
{
    const long long rows = (c->h + c->before + c->after - c->taps) / c->step + 1;
    const long long columns = (c->w + c->before + c->after - c->taps) / c->step + 1;
    size_t at = (size_t)snprintf(text, nbytes, "y: %s[n, p in %lld, q in %lld, c] = ",
                                 strncmp(c->text, "int32(", 6) == 0 ? "int32"
                                 : c->x == BT_UINT8                 ? "uint8"
                                                                    : "int8",
                                 rows, columns);
    for (const char *from = c->text; *from; from++) {
        char part[128] = { *from, 0 };
        if (*from == 'W')
            snprintf(part, sizeof(part), "r in %d, s in %d", (int)c->taps, (int)c->taps);
        if (*from == 'V')
            snprintf(part, sizeof(part), "x[n, %d * p + r - %d, %d * q + s - %d, c]",
                     (int)c->step, (int)c->before, (int)c->step, (int)c->before);
        at += (size_t)snprintf(text + at, nbytes - at, "%s", part);
    }
}

static bt_tensor *codes_random(struct world *w, bt_dtype dtype, uint32_t rank,
                               const int64_t *dims)
{
    bt_tensor *t = tensor_new(w, dtype, rank, dims);
    uint32_t seed = (uint32_t)t->nelem;
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i,
                      dtype == BT_INT32     ? draw(&seed, 401) - 200.0
                      : dtype == BT_FLOAT32 ? draw(&seed, 100) / 8192.0
                      : dtype == BT_INT8    ? draw(&seed, 256) - 128.0
                                            : draw(&seed, 256));
    return t;
}

static void check(const struct network *c)
{
    struct world w = world_open();
    char text[1024];
    const int64_t x[] = { c->n, c->h, c->w, c->c };
    const int64_t k[] = { c->c, 1, c->taps, c->taps };
    make_text(c, text, sizeof(text));
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "t[n, h, g, c]" },
                                     { .name = "w", .type = "u[c, i, a, b]" },
                                     { .name = "b", .type = "int32[c]" },
                                     { .name = "f", .type = "float32[c]" } } };
    bt_tensor *in[] = { codes_random(&w, c->x, 4, x), codes_random(&w, c->k, 4, k),
                        codes_random(&w, BT_INT32, 1, &c->c),
                        codes_random(&w, BT_FLOAT32, 1, &c->c) };
    bt_op op = formula_op(&f);
    bt_tensor *expected = formula_run(&w, &f, 4, in);
    bt_tensor *got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        static const uint32_t threads[] = { 1, 2, 7 };
        for (size_t i = 0; i < BT_COUNT(threads); i++) {
            const struct cpu_config config = { .isa = isa, .nthread = threads[i] };
            struct strip_run calls = { .ctx = w.ctx, .isa = isa, .counted = "channels_" };
            struct run_options options = { .seed = 7,
                                           .call = strip_call,
                                           .self = &calls };
            void *data[] = { in[0]->data, in[1]->data, in[2]->data, in[3]->data,
                             got->data };
            bt_compute *compute;
            bt_loops *loops;
            assert_ok(w.ctx, formula_make(&w, &f, &op, 4, in, &compute));
            assert_ok(w.ctx, cpu_lower(w.ctx, bt_ctx_scratch(w.ctx), "test",
                                       compute->graph, &loops));
            assert_ok(w.ctx, cpu_schedule_loops(loops, &config));
            memset(got->data, 0x55, (size_t)got->nelem);
            assert_ok(w.ctx, loops_run(w.ctx, loops, data, &options));
            if ((calls.ncounted > 0) != c->is_called)
                fail_msg("%s: %u calls", text, calls.ncounted);
            for (int64_t e = 0; e < got->nelem; e++) {
                if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
                    fail_msg("%s: element %lld is %g, not %g", text, (long long)e,
                             bt_tensor_get(got, e), bt_tensor_get(expected, e));
            }
            bt_compute_destroy(compute);
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (size_t i = 0; i < BT_COUNT(in); i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

#define SUM(zero, w_zero) \
    "sum(W: (int32(V) - " zero ") * (int32(w[c, 0, r, s]) - " w_zero ") else 0)"
#define CODES(sum, type, least, most, zero)                                      \
    type "(int32(min(max(round_even(float32(" sum ") * f[c]), " least "), " most \
         ")) + " zero ")"
#define UNSIGNED(sum)  CODES(sum, "uint8", "-7", "248", "7")
#define SIGNED(sum)    CODES(sum, "int8", "-131", "124", "3")
#define MAXIMUM(least) "max(W: V else " least ")"

static void test_networks(void **state)
{
    (void)state;
    static const struct network all[] = {
        { 1, 14, 14, 32, 3, 1, 1, 1, 1, BT_UINT8, BT_INT8,
          UNSIGNED(SUM("9", "0") " + b[c]") },
        { 1, 14, 11, 40, 3, 2, 1, 1, 1, BT_UINT8, BT_INT8,
          UNSIGNED("b[c] + " SUM("0", "0")) },
        { 2, 9, 7, 144, 5, 1, 2, 2, 1, BT_UINT8, BT_UINT8, UNSIGNED(SUM("255", "130")) },
        { 3, 12, 12, 17, 5, 2, 2, 1, 1, BT_INT8, BT_INT8,
          SIGNED(SUM("-128", "0") " + b[c]") },
        { 1, 9, 8, 200, 3, 3, 0, 0, 1, BT_INT8, BT_INT8,
          SIGNED(SUM("4", "-5") " + b[c]") },
        { 1, 3, 3, 960, 3, 1, 1, 1, 1, BT_UINT8, BT_INT8,
          UNSIGNED(SUM("128", "0") " + b[c]") },
        { 1, 7, 7, 15, 3, 1, 1, 1, 0, BT_UINT8, BT_INT8,
          UNSIGNED(SUM("9", "0") " + b[c]") },
        { 1, 7, 7, 32, 3, 1, 1, 1, 0, BT_UINT8, BT_INT8,
          UNSIGNED(SUM("900", "0") " + b[c]") },
        { 1, 7, 7, 32, 3, 1, 1, 1, 1, BT_UINT8, BT_INT8, UNSIGNED("2 * " SUM("9", "0")) },
        { 2, 23, 7, 32, 3, 1, 1, 1, 1, BT_UINT8, BT_INT8,
          UNSIGNED(SUM("9", "0") " + b[c] + int32(10 * p + q + 100 * n)") },
        { 2, 9, 7, 144, 5, 2, 2, 2, 1, BT_UINT8, BT_UINT8,
          "int32(" SUM("255", "130") " + b[c])" },
        { 1, 14, 11, 40, 3, 1, 1, 1, 1, BT_INT8, BT_INT8, "int32(" SUM("-9", "0") ")" },
        { 3, 19, 30, 96, 3, 1, 1, 1, 1, BT_UINT8, BT_INT8,
          "uint8(min(max(shift_right(int64(" SUM("7",
                                                 "0") " + b[c]) * 1431655765 + "
                                                      "2147483648, 40) + 9, 0), 255))" },
        { 1, 14, 14, 64, 3, 2, 1, 1, 1, BT_UINT8, BT_INT8, MAXIMUM("0") },
        { 2, 9, 8, 3, 2, 2, 0, 0, 1, BT_INT8, BT_INT8, MAXIMUM("-128") },
        { 1, 9, 9, 80, 3, 1, 3, 3, 1, BT_INT8, BT_INT8,
          MAXIMUM("-128") }, // some of nothing
        { 1, 9, 9, 80, 3, 1, 1, 1, 0, BT_INT8, BT_INT8, MAXIMUM("0") },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

/* ---- without memory ---- */

static int schedule_text(bt_registry *registry, bt_ctx *ctx, bt_store *store,
                         const char *of_sums)
{
    const struct network network = { 2, 5, 5, 16,       3,       1,
                                     1, 1, 1, BT_UINT8, BT_INT8, of_sums };
    char text[1024];
    make_text(&network, text, sizeof(text));
    const bt_op_input inputs[] = { { .name = "x", .type = "t[n, h, g, c]" },
                                   { .name = "w", .type = "u[c, i, a, b]" },
                                   { .name = "b", .type = "int32[c]" },
                                   { .name = "f", .type = "float32[c]" },
                                   { 0 } };
    const bt_op op = {
        .name = "test.op", .revision = 1, .inputs = inputs, .formula = text
    };
    const bt_type *args[4] = {
        bt_type_tensor_of(store, BT_UINT8, 4, (const int64_t[]){ 2, 5, 5, 16 }),
        bt_type_tensor_of(store, BT_INT8, 4, (const int64_t[]){ 16, 1, 3, 3 }),
        bt_type_tensor_of(store, BT_INT32, 1, (const int64_t[]){ 16 }),
        bt_type_tensor_of(store, BT_FLOAT32, 1, (const int64_t[]){ 16 }),
    };
    const struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 2 };
    bt_arena *arena = bt_arena_create(registry);
    bt_loops *loops;
    bt_compute *compute = NULL;
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = &op, .narg = 4, .args = args, .result = result };
    bt_status status = !arena || !args[0] || !args[1] || !args[2] || !args[3] || !result
                           ? bt_no_memory()
                           : bt_compute_create(ctx, &call, &compute);
    if (!status)
        status = cpu_lower(ctx, arena, "test", compute->graph, &loops);
    if (!status)
        status = cpu_call_channels(loops, &config);
    if (status && status->code != BT_ERR_MEMORY)
        fail_msg("%s", status->message);
    bt_compute_destroy(compute);
    if (arena)
        bt_arena_destroy(arena);
    return !status;
}

static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_text(registry, ctx, store, UNSIGNED(SUM("9", "0") " + b[c]"));
}

static int schedule_near(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    return schedule_text(registry, ctx, store, UNSIGNED("2 * " SUM("9", "0")));
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
    fail_each_allocation_of(schedule_near);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_windows_are_those_of_loops),
    cmocka_unit_test(test_networks),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
