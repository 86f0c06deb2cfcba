/*
 * Convolutions by Winograd's transforms: what their schedules compute is near to what the
 * evaluator does, in the room that each call has, and of what is not finite the same.
 */
#include "formula.h"

#include "contraction.h"
#include "loops_oracle.h"
#include "primitives/tile.h"
#include "primitives/winograd.h"
#include "schedule/contract.h"

#include <math.h>

/* ---- calls ---- */

struct calls {
    enum cpu_isa isa;
    uint32_t n[CPU_WINOGRAD_UNIT + 1]; /* transforms of the output, by size */
    uint32_t nweights, nfetch;         /* transforms of weights; calls that fetch these */
};

static int64_t nplace_of(const char *callee)
{
    const int64_t side = callee[strlen("winograd_")] - '0' + 2;
    return side * side;
}

static int64_t tiles_of(const char *callee, int64_t units)
{
    return units * CPU_WINOGRAD_UNIT / (callee[strlen("winograd_")] - '0');
}

static void check_weights(const char *callee, const struct call_value *p,
                          const int64_t *n)
{
    assert_true(p[CPU_WEIGHTS_U].nelem >= nplace_of(callee) * n[CPU_WEIGHTS_U_PLACE]);
    assert_true(p[CPU_WEIGHTS_W].nelem >
                (n[CPU_WEIGHTS_C] - 1) * n[CPU_WEIGHTS_W_C] +
                    (n[CPU_WEIGHTS_COUNT] - 1) * n[CPU_WEIGHTS_W_O] +
                    2 * (n[CPU_WEIGHTS_W_Y] + n[CPU_WEIGHTS_W_X]));
}

static void check_input(const char *callee, const struct call_value *p, const int64_t *n)
{
    const int64_t ntile = n[CPU_INPUT_ROWS] * tiles_of(callee, n[CPU_INPUT_UNITS]);
    assert_true(p[CPU_INPUT_V].nelem >= (nplace_of(callee) - 1) * n[CPU_INPUT_V_PLACE] +
                                            (n[CPU_INPUT_C] - 1) * n[CPU_INPUT_V_C] +
                                            ntile);
    assert_true(p[CPU_INPUT_X].nelem >= (n[CPU_INPUT_C] - 1) * n[CPU_INPUT_X_C] +
                                            n[CPU_INPUT_HEIGHT] * n[CPU_INPUT_WIDTH]);
}

static void check_output(const char *callee, const struct call_value *p, const int64_t *n)
{
    assert_true(p[CPU_OUTPUT_Y].nelem >=
                (n[CPU_OUTPUT_COUNT] - 1) * n[CPU_OUTPUT_Y_O] +
                    (n[CPU_OUTPUT_Y_HEIGHT] - 1) * n[CPU_OUTPUT_Y_ROW] +
                    n[CPU_OUTPUT_Y_WIDTH]);
    assert_true(p[CPU_OUTPUT_M].nelem >= nplace_of(callee) * n[CPU_OUTPUT_M_PLACE] - 16);
    assert_true(p[CPU_OUTPUT_X].nelem >= (n[CPU_OUTPUT_C] - 1) * n[CPU_OUTPUT_X_C] +
                                             n[CPU_OUTPUT_HEIGHT] * n[CPU_OUTPUT_WIDTH]);
}

/* What is fetched are the weights behind those that are read, or the last. */
static void check_fetch(const struct call_value *p, const int64_t *n)
{
    const int64_t of_place = n[CPU_TILE_K] * n[CPU_TILE_B_K];
    const int64_t left = p[CPU_TILE_B].nelem - of_place;
    const int64_t skipped = (left > 0 ? left : of_place) - p[CPU_TILE_NEXT].nelem;
    assert_in_range(skipped, 0, of_place - 1);
    assert_true(n[CPU_TILE_NEXT_K] > 0 && n[CPU_TILE_NEXT_K] <= n[CPU_TILE_B_K]);
}

static bt_status run_call(void *self, const char *callee, uint32_t narg,
                          const struct call_value *args)
{
    struct calls *calls = self;
    const struct cpu_callee *row = cpu_callee_find(calls->isa, callee);
    const struct cpu_form *form = cpu_form_of(row);
    void *p[BT_COUNT(form->operands)];
    int64_t n[64];
    assert_int_equal(narg, form->naddress + form->ninteger);
    assert_true(form->naddress <= BT_COUNT(p) && form->ninteger <= BT_COUNT(n));
    for (uint32_t i = 0; i < narg; i++) {
        if (i < form->naddress)
            p[i] = args[i].address;
        else
            n[i - form->naddress] = args[i].integer;
    }
    if (row->form == CPU_WINOGRAD_WEIGHTS)
        check_weights(callee, args, n);
    else if (row->form == CPU_WINOGRAD_INPUT)
        check_input(callee, args, n);
    else if (row->form == CPU_WINOGRAD_OUTPUT)
        check_output(callee, args, n);
    else if (row->form == CPU_TILE_EPILOGUE && calls->nweights > 0)
        check_fetch(args, n);
    calls->nweights += row->form == CPU_WINOGRAD_WEIGHTS;
    calls->nfetch += row->form == CPU_TILE_EPILOGUE && calls->nweights > 0;
    calls->n[CPU_WINOGRAD_UNIT] += strncmp(callee, "winograd_4_output", 17) == 0;
    calls->n[2] += strncmp(callee, "winograd_2_output", 17) == 0;
    assert_int_equal(row->run(p, n), 0);
    return NULL;
}

/* ---- one convolution ---- */

struct image {
    int64_t n, c, h, w, o, top, left, bottom, right;
    int32_t size;                /* that is chosen; 0: none */
    const char *before, *behind; /* the sums in the formula */
};

static double largest(const bt_tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < t->nelem; i++) {
        const double x = fabs(bt_tensor_get(t, i));
        most = isfinite(x) && x > most ? x : most;
    }
    return most;
}

/* Errors are those of the largest element. */
static void assert_near(const bt_tensor *got, const bt_tensor *expected, double error)
{
    for (int64_t i = 0; i < got->nelem; i++) {
        const double a = bt_tensor_get(got, i), b = bt_tensor_get(expected, i);
        if (isfinite(b) ? !(fabs(a - b) <= error) : isnan(b) ? !isnan(a) : a != b)
            fail_msg("element %lld is %g, not %g", (long long)i, a, b);
    }
}

static void make_text(const struct image *c, char *text, size_t nbytes)
{
    snprintf(
        text, nbytes,
        "y: t[n, o, p in %d, q in %d] = %ssum(c, r in 3, s in 3: x[n, c, p + r - %d, q + "
        "s - %d] * w[o, c, r, s] else 0)%s",
        (int)(c->h + c->top + c->bottom - 2), (int)(c->w + c->left + c->right - 2),
        c->before, (int)c->top, (int)c->left, c->behind);
}

/* An element of the data (0) or the weights (1) that is another value. */
struct odd {
    float value; /* 0: none is */
    uint32_t input;
    int64_t at;
    float middle; /* times what the middle taps of filters are; 0: 1 */
};

static void put_odd(bt_tensor *const *in, const struct odd *odd)
{
    float *w = in[1]->data;
    for (int64_t i = 0; odd->middle != 0 && i < in[1]->nelem; i += 9)
        w[i + 4] *= odd->middle;
    if (odd->value != 0)
        ((float *)in[odd->input]->data)[odd->at] = odd->value;
}

static void check(const struct image *c, struct odd odd)
{
    struct world w = world_open();
    char text[512];
    const int64_t x[] = { c->n, c->c, c->h, c->w }, k[] = { c->o, c->c, 3, 3 };
    static const uint8_t is_constant[] = { 0, 1, 0 };
    make_text(c, text, sizeof(text));
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "t[n, c, h, g]" },
                                     { .name = "w", .type = "t[o, c, u, v]" },
                                     { .name = "b", .type = "t[o]" } } };
    bt_tensor *in[] = { tensor_random(&w, BT_FLOAT32, 1, 4, x),
                        tensor_random(&w, BT_FLOAT32, 2, 4, k),
                        tensor_random(&w, BT_FLOAT32, 3, 1, &c->o) };
    put_odd(in, &odd);
    bt_tensor *expected = formula_run(&w, &f, 3, in);
    bt_tensor *got = tensor_new(&w, BT_FLOAT32, expected->rank, expected->dims);
    // small integers are not rounded by size 2
    const int64_t nplace = (c->size + 2) * (c->size + 2);
    const int is_far = c->size && nplace * c->o * c->c * 4 > 512 * 1024;
    const double error = c->size == 4 || odd.value != 0 ? 2e-5 * largest(expected) : 0;
    // with AMX sums of two halves take less time, and transforms are those of AVX-512
    for (enum cpu_isa isa = 0; isa < CPU_ISA_AMX && cpu_isa_request(isa); isa++) {
        static const uint32_t threads[] = { 1, 2, 7 };
        for (size_t i = 0; i < BT_COUNT(threads); i++) {
            struct calls calls = { .isa = isa }, exact = { .isa = isa };
            struct cpu_config config = { .isa = isa,
                                         .nthread = threads[i],
                                         .is_constant = is_constant };
            run_schedule(&w, &f, 3, in, &config, got, run_call, &calls);
            assert_int_equal(calls.n[2] > 0, c->size == 2);
            assert_int_equal(calls.n[4] > 0, c->size == 4);
            assert_int_equal(calls.nfetch > 0, is_far);
            assert_near(got, expected, error);
            config.accuracy = CPU_EXACT;
            run_schedule(&w, &f, 3, in, &config, got, run_call, &exact);
            assert_int_equal(exact.n[2] + exact.n[4], 0);
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (size_t i = 0; i < BT_COUNT(in); i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

#define RELU  "max(", " + b[o], 0)"
#define PLAIN "", ""

/* ---- tests ---- */

static void test_convolutions(void **state)
{
    (void)state;
    static const struct image all[] = {
        { 1, 32, 16, 16, 32, 1, 1, 1, 1, 4, RELU },
        { 1, 64, 7, 7, 320, 1, 1, 1, 1, 2, RELU },
        { 1, 40, 13, 19, 61, 1, 1, 1, 1, 4, RELU },  // neither units nor panels are full
        { 1, 33, 9, 30, 50, 0, 0, 0, 0, 4, PLAIN },  // nothing around, nothing behind
        { 3, 64, 10, 11, 63, 1, 1, 1, 1, 4, PLAIN }, // a batch
        { 2, 32, 5, 90, 40, 2, 1, 0, 3, 4,
          RELU }, // wider than vectors, zeros to one side
        { 1, 32, 4, 300, 32, 1, 2, 1, 2, 4, "", " * b[o]" },
        { 1, 40, 40, 12, 32, 1, 1, 1, 1, 4, RELU }, // more rows than a block has
        { 1, 33, 6, 7, 450, 1, 1, 1, 1, 2, PLAIN },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i], (struct odd){ 0 });
}

static void test_small_ones_stay_sums(void **state)
{
    (void)state;
    check(&(struct image){ 1, 3, 16, 16, 32, 1, 1, 1, 1, 0, RELU }, (struct odd){ 0 });
    check(&(struct image){ 1, 32, 3, 3, 32, 0, 0, 0, 0, 0, RELU }, (struct odd){ 0 });
}

/* What is not finite is where its sums are, and not in all of a tile. */
static void test_what_is_not_finite(void **state)
{
    (void)state;
    static const struct image small = { 1, 64, 7, 7, 320, 1, 1, 1, 1, 2, PLAIN };
    static const struct image large = { 1, 32, 16, 16, 40, 1, 1, 1, 1, 4, "", " + b[o]" };
    static const float odd[] = { INFINITY, -INFINITY, NAN, 1e38F };
    for (size_t i = 0; i < BT_COUNT(odd); i++) {
        check(&small, (struct odd){ odd[i], .at = 60 });
        check(&large, (struct odd){ odd[i], .at = 16 * 16 * 31 + 37 });
    }
}

/* Weights are kept in transformed form only, in which a small tap is lost beside others: of what
 * is not finite it says all the same whether it is NaN, and its sign. */
static void test_small_taps(void **state)
{
    (void)state;
    static const struct image images[] = {
        { 1, 64, 7, 7, 320, 1, 1, 1, 1, 2, PLAIN },
        { 1, 32, 16, 16, 40, 1, 1, 1, 1, 4, PLAIN },
    };
    for (size_t i = 0; i < BT_COUNT(images); i++) {
        check(&images[i], (struct odd){ INFINITY, .at = 120, .middle = 1e-12F });
        check(&images[i], (struct odd){ -INFINITY, .at = 120, .middle = -1e-30F });
    }
}

static void test_weights_that_are_not_finite(void **state)
{
    (void)state;
    static const struct image images[] = {
        { 1, 64, 7, 7, 320, 1, 1, 1, 1, 2, PLAIN },
        { 1, 33, 16, 16, 40, 1, 1, 1, 1, 4, "", " + b[o]" },
    };
    static const float odd[] = { INFINITY, -INFINITY, NAN, 3e38F };
    for (size_t i = 0; i < 2 * BT_COUNT(odd); i++)
        check(&images[i % 2], (struct odd){ odd[i / 2], .input = 1, .at = 33 * 9 + 4 });
}

/* ---- without memory ---- */

/* 0: something had no memory, and said so. */
static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    static const struct image image = { 1, 32, 16, 16, 33, 1, 1, 1, 1, 4, RELU };
    static const uint8_t is_constant[] = { 0, 1, 0 };
    char text[512];
    make_text(&image, text, sizeof(text));
    const bt_op_input inputs[] = { { .name = "x", .type = "t[n, c, h, g]" },
                                   { .name = "w", .type = "t[o, c, u, v]" },
                                   { .name = "b", .type = "t[o]" },
                                   { 0 } };
    const bt_op op = {
        .name = "test.op", .revision = 1, .inputs = inputs, .formula = text
    };
    const bt_type *args[3] = {
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 1, 32, 16, 16 }),
        bt_type_tensor_of(store, BT_FLOAT32, 4, (const int64_t[]){ 33, 32, 3, 3 }),
        bt_type_tensor_of(store, BT_FLOAT32, 1, (const int64_t[]){ 33 }),
    };
    return schedule_op(registry, ctx, store, &op, args,
                       &(struct cpu_config){ .isa = CPU_ISA_PORTABLE,
                                             .nthread = 2,
                                             .is_constant = is_constant });
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_convolutions),
    cmocka_unit_test(test_small_ones_stay_sums),
    cmocka_unit_test(test_what_is_not_finite),
    cmocka_unit_test(test_small_taps),
    cmocka_unit_test(test_weights_that_are_not_finite),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
