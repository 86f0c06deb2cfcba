/*
 * Rows of windows: each row of each table that this machine runs, bit for bit against sums
 * in the order of the taps, in memory that ends where the operands do.
 */
#include "primitives/row.h"
#include "guard.h"

#include <math.h>

static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

/* ---- elements of either type ---- */

static double get(bt_dtype t, const unsigned char *p, int64_t i)
{
    return t == BT_FLOAT32 ? ((const float *)(const void *)p)[i]
                           : ((const double *)(const void *)p)[i];
}

static void put(bt_dtype t, unsigned char *p, int64_t i, double x)
{
    if (t == BT_FLOAT32)
        ((float *)(void *)p)[i] = (float)x;
    else
        ((double *)(void *)p)[i] = x;
}

static double multiply_add(const struct cpu_row *row, double x, double y, double sum)
{
    if (row->type == BT_FLOAT32) {
        const float product = (float)x * (float)y;
        return row->isa == CPU_ISA_PORTABLE ? (float)sum + product
                                            : fmaf((float)x, (float)y, (float)sum);
    }
    const double product = x * y;
    return row->isa == CPU_ISA_PORTABLE ? sum + product : fma(x, y, sum);
}

static double plus(bt_dtype t, double a, double b)
{
    return t == BT_FLOAT32 ? (float)a + (float)b : a + b;
}

/* ---- one call, checked ---- */

enum kind { DEPTHWISE, MAX, SUM };
enum { MOST = 40000 };

struct room {
    struct guarded in, with, out;
    unsigned char *expected;
};

static unsigned char *place(const struct cpu_row *row, const struct guarded *g,
                            int64_t nelem, uint32_t *seed)
{
    const int64_t nbytes = BT_DTYPE_BITS(row->type) / 8;
    assert_in_range(nelem, 0, MOST);
    unsigned char *at = g->end - nelem * nbytes;
    for (int64_t i = 0; i < nelem; i++)
        put(row->type, at, i, draw(seed, 1u << 24) / 16777216.0 - 0.5);
    return at;
}

static double expect(const struct cpu_row *row, enum kind kind, const unsigned char *in,
                     const unsigned char *with, double start, const int64_t *n, int64_t c)
{
    double sum = kind == DEPTHWISE && n[CPU_ROW_START] ? start : 0;
    if (kind == MAX)
        sum = get(row->type, in, 0);
    for (int64_t r = 0; r < n[CPU_ROW_ROWS]; r++) {
        for (int64_t q = 0; q < n[CPU_ROW_COLUMNS]; q++) {
            const double x =
                get(row->type, in, r * n[CPU_ROW_IN_ROW] + q * n[CPU_ROW_IN_COLUMN]);
            if (kind == DEPTHWISE)
                sum =
                    multiply_add(row, x,
                                 get(row->type, with,
                                     r * n[CPU_ROW_W_ROW] + q * n[CPU_ROW_W_COLUMN] + c),
                                 sum);
            else if (kind == MAX)
                sum = x > sum || x != x ? x : sum;
            else
                sum = plus(row->type, sum, x);
        }
    }
    // A product of floats is exact in double: rounded once when it is stored.
    return kind == SUM ? sum * get(row->type, with, 0) : sum;
}

static void check(const struct cpu_row *row, enum kind kind, struct room *room,
                  const int64_t *n, double special, uint32_t *seed)
{
    const int64_t nbytes = BT_DTYPE_BITS(row->type) / 8;
    const int64_t width = n[CPU_ROW_WIDTH], channels = n[CPU_ROW_CHANNELS];
    const int64_t last_row = n[CPU_ROW_ROWS] - 1, last_column = n[CPU_ROW_COLUMNS] - 1;
    const int64_t nin = (width - 1) * n[CPU_ROW_IN_X] + last_row * n[CPU_ROW_IN_ROW] +
                        last_column * n[CPU_ROW_IN_COLUMN] + channels;
    const int64_t nw =
        last_row * n[CPU_ROW_W_ROW] + last_column * n[CPU_ROW_W_COLUMN] + channels;
    const int64_t nout = (width - 1) * n[CPU_ROW_OUT_X] + channels;
    unsigned char *in = place(row, &room->in, nin, seed);
    unsigned char *with = place(row, &room->with, kind == SUM ? 1 : nw, seed);
    unsigned char *out = place(row, &room->out, nout, seed);
    if (special != 0)
        put(row->type, in, draw(seed, (uint32_t)nin), special);
    memcpy(room->expected, out, (size_t)(nout * nbytes));
    for (int64_t x = 0; x < width; x++) {
        for (int64_t c = 0; c < channels; c++) {
            const int64_t at = x * n[CPU_ROW_OUT_X] + c;
            put(row->type, room->expected, at,
                expect(row, kind, in + (x * n[CPU_ROW_IN_X] + c) * nbytes, with,
                       get(row->type, out, at), n, c));
        }
    }
    void *p[] = { out, in, with };
    assert_int_equal((kind == DEPTHWISE ? row->depthwise
                      : kind == MAX     ? row->max
                                        : row->sum)(p, n),
                     0);
    for (int64_t i = 0; i < nout; i++) {
        const double got = get(row->type, out, i),
                     right = get(row->type, room->expected, i);
        if (memcmp(out + i * nbytes, room->expected + i * nbytes, (size_t)nbytes) &&
            !(isnan(got) && isnan(right)))
            fail_msg("%s, kind %d, width %lld, channels %lld, element %lld: %a for %a",
                     row->name, (int)kind, (long long)width, (long long)channels,
                     (long long)i, got, right);
    }
}

/* Windows of 1 to 3 by 1 to 3 taps, strides and dilations, channels in wider pixels. */
static void check_at_random(const struct cpu_row *row, enum kind kind, struct room *room,
                            double special)
{
    uint32_t seed = 5;
    for (int times = 0; times < 400; times++) {
        const int64_t channels = 1 + draw(&seed, 40), pixel = channels + draw(&seed, 3);
        const int64_t width = 1 + draw(&seed, 19), stride = 1 + draw(&seed, 2);
        const int64_t columns = 1 + draw(&seed, 3), dilation = 1 + draw(&seed, 2);
        const int64_t n[CPU_ROW_NINT] = {
            width,
            channels,
            1 + draw(&seed, 3),
            columns,
            channels + draw(&seed, 3),
            stride * pixel,
            (width * stride + columns * dilation) * pixel,
            dilation * pixel,
            columns * channels,
            channels,
            draw(&seed, 2),
        };
        check(row, kind, room, n, special, &seed);
    }
}

static void each_row(enum kind kind, double special)
{
    static const struct cpu_row *const tables[] = { cpu_rows_portable, cpu_rows_avx2,
                                                    cpu_rows_avx512 };
    struct room room = { guarded_create(MOST * sizeof(double)),
                         guarded_create(MOST * sizeof(double)),
                         guarded_create(MOST * sizeof(double)), NULL };
    static unsigned char expected[MOST * sizeof(double)];
    room.expected = expected;
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (const struct cpu_row *row = tables[isa]; row->name; row++)
            check_at_random(row, kind, &room, special);
    }
    guarded_destroy(&room.in);
    guarded_destroy(&room.with);
    guarded_destroy(&room.out);
}

static void test_depthwise_is_the_sum_in_order(void **state)
{
    (void)state;
    each_row(DEPTHWISE, 0);
}

static void test_max_is_the_greatest(void **state)
{
    (void)state;
    each_row(MAX, 0);
    each_row(MAX, -INFINITY);
}

static void test_max_hands_on_nan(void **state)
{
    (void)state;
    each_row(MAX, NAN);
}

static void test_sum_is_scaled_at_its_end(void **state)
{
    (void)state;
    each_row(SUM, 0);
}

static void test_each_set_finds_its_own_or_a_narrower(void **state)
{
    (void)state;
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        assert_non_null(cpu_row_find(isa, BT_FLOAT32));
        assert_true(cpu_row_find(isa, BT_FLOAT64)->isa <= isa);
    }
    assert_null(cpu_row_find(CPU_ISA_AVX512, BT_INT8));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_depthwise_is_the_sum_in_order),
    cmocka_unit_test(test_max_is_the_greatest),
    cmocka_unit_test(test_max_hands_on_nan),
    cmocka_unit_test(test_sum_is_scaled_at_its_end),
    cmocka_unit_test(test_each_set_finds_its_own_or_a_narrower),
};
TEST_MAIN(tests)
