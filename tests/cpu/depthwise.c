/*
 * Depthwise convolutions: primitives give the sums of a loop to the bit and touch nothing outside of
 * their operands; schedules of them compute what the evaluator does, in the room that each call has.
 */
#include "formula.h"

#include "contraction.h"
#include "guard.h"

#include <math.h>

/* ---- primitives ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

static double get(const void *at, int64_t i, bt_dtype dtype)
{
    return dtype == BT_FLOAT32   ? (double)((const float *)at)[i]
           : dtype == BT_FLOAT64 ? ((const double *)at)[i]
           : dtype == BT_INT32   ? ((const int32_t *)at)[i]
           : dtype == BT_INT16   ? ((const int16_t *)at)[i]
           : dtype == BT_INT8    ? ((const int8_t *)at)[i]
                                 : ((const uint8_t *)at)[i];
}

static void put(void *at, int64_t i, bt_dtype dtype, double x)
{
    if (dtype == BT_FLOAT32)
        ((float *)at)[i] = (float)x;
    else if (dtype == BT_FLOAT64)
        ((double *)at)[i] = x;
    else if (dtype == BT_INT32)
        ((int32_t *)at)[i] = (int32_t)x;
    else if (dtype == BT_INT16)
        ((int16_t *)at)[i] = (int16_t)x;
    else if (dtype == BT_INT8)
        ((int8_t *)at)[i] = (int8_t)x;
    else
        ((uint8_t *)at)[i] = (uint8_t)x;
}

static double draw_number(bt_dtype dtype, uint32_t *seed)
{
    if (bt_dtype_is_float(dtype))
        return (draw(seed, 2001) - 1000.0) / 37;
    return dtype == BT_UINT8  ? draw(seed, 256)
           : dtype == BT_INT8 ? draw(seed, 256) - 128.0
                              : draw(seed, 511) - 255.0;
}

/* Rows of the result some elements apart, planes of everything too. */
enum { MAX_SIDE = 41, APART = 3, MAX_PLANES = 3 };

struct room {
    struct guarded all[CPU_DEPTHWISE_NPOINTER];
    void *p[CPU_DEPTHWISE_NPOINTER];
};

/* So many elements at the end of memory: of the result marks, of others numbers with fractions. */
static void fill(struct room *room, int which, int64_t nelem, bt_dtype dtype,
                 uint32_t *seed)
{
    struct guarded *g = &room->all[which];
    room->p[which] = g->end - nelem * (int64_t)bt_dtype_nbytes(dtype);
    for (int64_t i = 0; i < nelem; i++)
        put(room->p[which], i, dtype,
            which == CPU_DEPTHWISE_Y ? -77 : draw_number(dtype, seed));
}

/* Sums as fused multiplications give them, in the order of taps. */
static double expected(const struct cpu_callee *of, const struct room *room,
                       const int64_t *n, int64_t plane, int64_t row, int64_t column)
{
    const bt_dtype dtype = of->out, of_x = of->in;
    const bt_dtype of_w = dtype == BT_INT32 ? BT_INT16 : dtype;
    double sum = 0, low, high;
    for (int64_t k = 0; k < n[CPU_DEPTHWISE_TAPS] * n[CPU_DEPTHWISE_TAPS]; k++) {
        const int64_t i = k / n[CPU_DEPTHWISE_TAPS], j = k % n[CPU_DEPTHWISE_TAPS];
        const int64_t y = n[CPU_DEPTHWISE_TOP] + n[CPU_DEPTHWISE_STEP] * row + i;
        const int64_t x = n[CPU_DEPTHWISE_LEFT] + n[CPU_DEPTHWISE_STEP] * column + j;
        const int is_inside =
            y >= 0 && y < n[CPU_DEPTHWISE_HEIGHT] && x >= 0 && x < n[CPU_DEPTHWISE_WIDTH];
        const double a =
            is_inside
                ? get(room->p[CPU_DEPTHWISE_X],
                      plane * n[CPU_DEPTHWISE_X_PLANE] + y * n[CPU_DEPTHWISE_WIDTH] + x,
                      of_x) -
                      (double)n[CPU_DEPTHWISE_ZERO]
                : 0;
        const double w = get(room->p[CPU_DEPTHWISE_W],
                             plane * n[CPU_DEPTHWISE_W_PLANE] + i * n[CPU_DEPTHWISE_W_Y] +
                                 j * n[CPU_DEPTHWISE_W_X],
                             of_w);
        sum = dtype == BT_FLOAT32 ? (double)fmaf((float)w, (float)a, (float)sum)
                                  : fma(w, a, sum);
    }
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_ADD_BIAS) {
        const double bias =
            get(room->p[CPU_DEPTHWISE_BIAS], plane * n[CPU_DEPTHWISE_BIAS_PLANE], dtype);
        sum = dtype == BT_FLOAT32 ? (double)((float)sum + (float)bias) : sum + bias;
    }
    if (dtype == BT_INT32)
        return sum;
    low = get(&n[CPU_DEPTHWISE_LOW], 0, dtype);
    high = get(&n[CPU_DEPTHWISE_HIGH], 0, dtype);
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_AT_LEAST && sum < low)
        sum = low;
    if (n[CPU_DEPTHWISE_FLAGS] & CPU_DEPTHWISE_AT_MOST && sum > high)
        sum = high;
    return sum;
}

static int is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_call(const struct cpu_callee *row, struct room *room, int64_t *n,
                       uint32_t *seed)
{
    const int64_t last = n[CPU_DEPTHWISE_PLANES] - 1, nrow = n[CPU_DEPTHWISE_ROWS];
    const int64_t ncolumn = n[CPU_DEPTHWISE_COLUMNS], y_row = ncolumn + APART;
    const int64_t plane = n[CPU_DEPTHWISE_HEIGHT] * n[CPU_DEPTHWISE_WIDTH];
    const int64_t w_plane = n[CPU_DEPTHWISE_TAPS] * n[CPU_DEPTHWISE_TAPS] + APART;
    n[CPU_DEPTHWISE_Y_ROW] = y_row;
    n[CPU_DEPTHWISE_Y_PLANE] = nrow * y_row + APART;
    n[CPU_DEPTHWISE_X_PLANE] = plane + APART;
    n[CPU_DEPTHWISE_W_PLANE] = w_plane;
    n[CPU_DEPTHWISE_BIAS_PLANE] = APART;
    fill(room, CPU_DEPTHWISE_Y,
         nrow ? last * n[CPU_DEPTHWISE_Y_PLANE] + (nrow - 1) * y_row + ncolumn : 0,
         row->out, seed);
    fill(room, CPU_DEPTHWISE_X, last * n[CPU_DEPTHWISE_X_PLANE] + plane, row->in, seed);
    fill(room, CPU_DEPTHWISE_W, last * w_plane + w_plane - APART,
         row->out == BT_INT32 ? BT_INT16 : row->out, seed);
    fill(room, CPU_DEPTHWISE_BIAS, last * APART + 1, row->out, seed);
    if (row->out != BT_INT32 && plane &&
        draw(seed, 4) == 0) // what is not finite stays where it is
        put(room->p[CPU_DEPTHWISE_X], draw(seed, (uint32_t)plane), row->out,
            draw(seed, 2) ? INFINITY : NAN);
    if (row->out != BT_INT32 && draw(seed, 8) == 0) // also beside zeros
        put(room->p[CPU_DEPTHWISE_W], draw(seed, 9), row->out, INFINITY);
    assert_int_equal(row->run(room->p, n), 0);
    for (int64_t k = 0; k <= last; k++) {
        for (int64_t r = 0; r < nrow; r++) {
            const int64_t at = k * n[CPU_DEPTHWISE_Y_PLANE] + r * y_row;
            const int is_end = k == last && r == nrow - 1;
            for (int64_t c = 0; c < (is_end ? ncolumn : y_row); c++) {
                const double a = get(room->p[CPU_DEPTHWISE_Y], at + c, row->out);
                const double b = c < ncolumn ? expected(row, room, n, k, r, c) : -77;
                if (!is_same(a, b))
                    fail_msg("%s: %lld x %lld from %lld x %lld by %lld, step %lld: %lld "
                             "%lld %lld is %.17g, not %.17g",
                             row->name, (long long)nrow, (long long)ncolumn,
                             (long long)n[CPU_DEPTHWISE_HEIGHT],
                             (long long)n[CPU_DEPTHWISE_WIDTH],
                             (long long)n[CPU_DEPTHWISE_TAPS],
                             (long long)n[CPU_DEPTHWISE_STEP], (long long)k, (long long)r,
                             (long long)c, a, b);
            }
        }
    }
}

static void check_row(const struct cpu_callee *row, struct room *room, uint32_t *seed)
{
    const int64_t taps = draw(seed, 2) ? 3 : 5, step = 1 + draw(seed, 2);
    const int is_wide = draw(seed, 30) == 0; // more than a panel
    const int64_t height = draw(seed, is_wide ? 4 : MAX_SIDE);
    const int64_t width = draw(seed, is_wide ? 900 : MAX_SIDE);
    const int64_t top = -(int64_t)draw(seed, 4), left = -(int64_t)draw(seed, 4);
    const int64_t rows = (height - top + draw(seed, 3)) / step;
    const int64_t columns = (width - left + draw(seed, 3)) / step;
    int64_t n[CPU_DEPTHWISE_NINT] = {
        [CPU_DEPTHWISE_PLANES] = 1 + draw(seed, MAX_PLANES),
        [CPU_DEPTHWISE_ROWS] = rows,
        [CPU_DEPTHWISE_COLUMNS] = columns,
        [CPU_DEPTHWISE_TAPS] = taps,
        [CPU_DEPTHWISE_W_Y] = draw(seed, 2) ? taps : 1,
        [CPU_DEPTHWISE_HEIGHT] = height,
        [CPU_DEPTHWISE_WIDTH] = width,
        [CPU_DEPTHWISE_TOP] = top,
        [CPU_DEPTHWISE_LEFT] = left,
        [CPU_DEPTHWISE_STEP] = step,
        [CPU_DEPTHWISE_FLAGS] = draw(seed, row->out == BT_INT32 ? 2 : 8),
        [CPU_DEPTHWISE_ZERO] =
            row->out == BT_INT32 ? (int64_t)draw_number(row->in, seed) : 0,
    };
    n[CPU_DEPTHWISE_W_X] = n[CPU_DEPTHWISE_W_Y] == 1 ? taps : 1;
    put(&n[CPU_DEPTHWISE_LOW], 0, row->out, -40.5);
    put(&n[CPU_DEPTHWISE_HIGH], 0, row->out, 100.25);
    check_call(row, room, n, seed);
}

static void test_sums_are_those_of_loops(void **state)
{
    (void)state;
    enum { NELEM = MAX_PLANES * 8 * 1024 };
    struct room room;
    uint32_t seed = 11;
    for (int i = 0; i < CPU_DEPTHWISE_NPOINTER; i++)
        room.all[i] = guarded_create(NELEM * sizeof(double));
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        static const bt_dtype dtypes[][2] = { { BT_FLOAT32, BT_FLOAT32 },
                                              { BT_FLOAT64, BT_FLOAT64 },
                                              { BT_INT16, BT_INT32 },
                                              { BT_UINT8, BT_INT32 },
                                              { BT_INT8, BT_INT32 } };
        for (size_t i = 0; i < BT_COUNT(dtypes); i++) {
            const struct cpu_callee *row =
                cpu_depthwise_find(isa, dtypes[i][0], dtypes[i][1]);
            for (int k = 0; row && k < 1500; k++)
                check_row(row, &room, &seed);
        }
    }
    for (int i = 0; i < CPU_DEPTHWISE_NPOINTER; i++)
        guarded_destroy(&room.all[i]);
}

/* ---- schedules ---- */

struct calls {
    enum cpu_isa isa;
    uint32_t n, nbound; /* of them; those that leave nothing to do */
};

static bt_status run_call(void *self, const char *callee, uint32_t narg,
                          const struct call_value *args)
{
    struct calls *calls = self;
    if (strncmp(callee, "depthwise", 9) != 0)
        fail_msg("%s is called", callee);
    const uint32_t naddress = cpu_form_of(cpu_callee_find(calls->isa, callee))->naddress;
    run_depthwise(calls->isa, callee, narg, args);
    calls->n++;
    calls->nbound += args[naddress + CPU_DEPTHWISE_FLAGS].integer != 0;
    return NULL;
}

struct image {
    int64_t n, c, h, w, taps, step, top, left, bottom, right;
    int is_bound; /* bias and bounds are the call's */
    bt_dtype dtype;
    const char *before, *behind; /* the sums in the formula */
};

static void make_text(const struct image *c, char *text, size_t nbytes)
{
    snprintf(
        text, nbytes,
        c->dtype == BT_UINT8
            ? "y: %s[n, c, p in %d, q in %d] = %ssum(r in %d, s in %d: (int32(x[n, c, "
              "%d * p + r - %d, %d * q + s - %d]) - 3) * int32(w[c, 0, r, s]) else 0)%s"
            : "y: %s[n, c, p in %d, q in %d] = %ssum(r in %d, s in %d: x[n, c, %d * p + "
              "r "
              "- %d, %d * q + s - %d] * w[c, 0, r, s] else 0)%s",
        c->dtype != BT_UINT8     ? "t"
        : strchr(c->before, '(') ? "uint8"
                                 : "int32",
        (int)((c->h + c->top + c->bottom - c->taps) / c->step + 1),
        (int)((c->w + c->left + c->right - c->taps) / c->step + 1), c->before,
        (int)c->taps, (int)c->taps, (int)c->step, (int)c->top, (int)c->step, (int)c->left,
        c->behind);
}

/* The numbers are such that no sum is rounded. */
static void check(const struct image *c)
{
    struct world w = world_open();
    char text[512];
    const int64_t x[] = { c->n, c->c, c->h, c->w }, k[] = { c->c, 1, c->taps, c->taps };
    make_text(c, text, sizeof(text));
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "t[n, c, h, g]" },
                                     { .name = "w", .type = "t[c, i, u, v]" },
                                     { .name = "b", .type = "t[c]" } } };
    bt_tensor *in[] = { tensor_random(&w, c->dtype, 1, 4, x),
                        tensor_random(&w, c->dtype, 2, 4, k),
                        tensor_random(&w, c->dtype, 3, 1, &c->c) };
    bt_tensor *expected = formula_run(&w, &f, 3, in);
    bt_tensor *got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = CPU_ISA_PORTABLE + 1; isa <= cpu_isa_of_machine(); isa++) {
        static const uint32_t threads[] = { 1, 2, 7 };
        for (size_t i = 0; i < BT_COUNT(threads); i++) {
            struct calls calls = { .isa = isa };
            const struct cpu_config config = { .isa = isa, .nthread = threads[i] };
            run_schedule(&w, &f, 3, in, &config, got, run_call, &calls);
            assert_true(calls.n > 0);
            assert_int_equal(calls.nbound, c->is_bound ? calls.n : 0);
            for (int64_t e = 0; e < got->nelem; e++) {
                if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
                    fail_msg("%s: element %lld is %g, not %g", text, (long long)e,
                             bt_tensor_get(got, e), bt_tensor_get(expected, e));
            }
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (size_t i = 0; i < BT_COUNT(in); i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

#define PLAIN   0, BT_FLOAT32, "", ""
#define RELU    1, BT_FLOAT32, "max(", " + b[c], 0)"
#define LIMITED 1, BT_FLOAT64, "min(max(b[c] + ", ", -3), 6)"
#define OTHER   0, BT_FLOAT32, "2 - ", ""
#define BY_ROW  0, BT_FLOAT32, "", " + b[p]"
#define CODES   0, BT_UINT8, "", ""
#define TWICE   0, BT_UINT8, "2 * ", " - int32(b[c])"

// what is made of codes in the call
#define AGAIN                                         \
    1, BT_UINT8, "uint8(min(max(round_even(float32(", \
        " + int32(b[c])) * (float32(b[c]) * 0.0078125)) + 7, 0), 255))"

static void test_convolutions(void **state)
{
    (void)state;
    static const struct image all[] = {
        { 1, 32, 14, 14, 3, 1, 1, 1, 1, 1, RELU },
        { 1, 40, 7, 7, 3, 1, 1, 1, 1, 1, LIMITED },
        { 2, 5, 13, 19, 3, 2, 1, 1, 1, 1, RELU },  // planes are fewer than threads
        { 3, 17, 9, 30, 5, 1, 2, 2, 2, 2, PLAIN }, // a batch
        { 1, 6, 33, 21, 5, 2, 2, 0, 1, 3, LIMITED },
        { 1, 1, 50, 40, 3, 1, 1, 1, 1, 1, RELU },   // threads share rows
        { 1, 3, 40, 300, 3, 1, 1, 1, 1, 1, OTHER }, // sums go to a block, of some rows
        { 1, 2, 5, 700, 3, 2, 1, 1, 1, 1, OTHER },  // ... and columns
        { 1, 24, 12, 12, 3, 1, 0, 0, 0, 0, OTHER }, // nothing around
        { 2, 24, 6, 6, 3, 1, 1, 1, 1, 1, BY_ROW },  // what is added is not the channel's
        { 1, 1, 2, 2, 3, 1, 1, 1, 1, 1, PLAIN },
        { 1, 32, 14, 14, 3, 1, 1, 1, 1, 1, CODES },
        { 2, 5, 13, 19, 3, 2, 1, 1, 1, 1, TWICE },
        { 1, 3, 9, 600, 5, 1, 2, 2, 2, 2, TWICE },
        { 1, 6, 33, 21, 5, 2, 2, 0, 1, 3, CODES },
        { 1, 40, 7, 7, 3, 1, 1, 1, 1, 1, AGAIN },
        { 2, 5, 13, 19, 3, 2, 1, 1, 1, 1, AGAIN },
        { 1, 6, 33, 21, 5, 2, 2, 0, 1, 3, AGAIN },
        { 1, 3, 9, 600, 5, 1, 2, 2, 2, 2, AGAIN },
        { 1, 4, 2, 1, 5, 2, 4, 4, 4, 4, RELU }, // some windows have zeros alone
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

/* ---- without memory ---- */

/* 0: something had no memory, and said so. */
static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    static const struct image image = { 1, 3, 9, 9, 3, 1, 1, 1, 1, 1, OTHER };
    char text[512];
    make_text(&image, text, sizeof(text));
    const bt_op_input inputs[] = { { .name = "x", .type = "t[n, c, h, g]" },
                                   { .name = "w", .type = "t[c, i, u, v]" },
                                   { .name = "b", .type = "t[c]" },
                                   { 0 } };
    const bt_op op = {
        .name = "test.op", .revision = 1, .inputs = inputs, .formula = text
    };
    const bt_type *args[3] = {
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 1, 3, 9, 9 }),
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 3, 1, 3, 3 }),
        bt_type_tensor_of(store, BT_FLOAT32, 1, (const int64_t[]){ 3 }),
    };
    return schedule_op(registry, ctx, store, &op, args,
                       &(struct cpu_config){ .isa = CPU_ISA_AVX2, .nthread = 2 });
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_are_those_of_loops),
    cmocka_unit_test(test_convolutions),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
