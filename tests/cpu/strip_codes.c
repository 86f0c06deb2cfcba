/*
 * Codes of 8 bits from floats, and from sums of two codes: strips give what scalar operators give one
 * after the other, at any count and in place; schedules have them where formulas say so.
 */
#include "primitives/fixed.h"
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

/* ---- primitives ---- */

enum { MOST = 300 };

struct codes {
    float low, high;
    int32_t zero;
};

static struct codes draw_codes(int is_signed, uint32_t *seed)
{
    const int32_t least = is_signed ? INT8_MIN : 0,
                  zero = least + (int32_t)draw(seed, 256);
    // half of them bounded as by relu
    return (struct codes){ draw(seed, 2) ? (float)(least - zero) : 0,
                           (float)(least + 255 - zero), zero };
}

static uint8_t code_of(float number, const struct codes *c)
{
    const float x = isnan(number) ? 0 : nearbyintf(number);
    return (uint8_t)((int32_t)(x < c->low    ? c->low
                               : x > c->high ? c->high
                                             : x) +
                     c->zero);
}

static float decoded(uint8_t byte, int64_t zero, float factor, int is_signed)
{
    return (float)((is_signed ? (int8_t)byte : byte) - zero) * factor;
}

static void check_sum(enum cpu_isa isa, int is_signed, const struct guarded *g,
                      uint32_t *seed)
{
    const struct cpu_callee *row =
        cpu_callee_find(isa, is_signed ? "sum_codes.int8" : "sum_codes.uint8");
    struct codes codes = draw_codes(is_signed, seed);
    const int64_t count = draw(seed, MOST), signs = draw(seed, 4);
    const int64_t zeros[2] = { (int64_t)draw(seed, 256) - (signs & 1 ? 128 : 0),
                               (int64_t)draw(seed, 256) - (signs & 2 ? 128 : 0) };
    float factors[2] = { (float)((int)draw(seed, 4001) - 2000) / 1024,
                         (float)((int)draw(seed, 4001) - 2000) / 1777 };
    uint8_t *y = g[0].end - count, *a = g[1].end - count, *b = g[2].end - count;
    uint8_t is[MOST];
    assert_non_null(row);
    for (int64_t i = 0; i < count; i++) {
        a[i] = (uint8_t)draw(seed, 256);
        b[i] = (uint8_t)draw(seed, 256);
        const float first = decoded(a[i], zeros[0], factors[0], signs & 1);
        const float second = decoded(b[i], zeros[1], factors[1], (signs & 2) != 0);
        is[i] = code_of(first + second, &codes);
    }
    void *to = draw(seed, 2) ? y : draw(seed, 2) ? a : b;
    void *p[] = { to, a, b, &factors[0], &factors[1], &codes.low, &codes.high };
    assert_int_equal(
        row->run(p, (int64_t[]){ count, zeros[0], zeros[1], codes.zero, signs }), 0);
    for (int64_t i = 0; i < count; i++) {
        if (((uint8_t *)to)[i] != is[i])
            fail_msg("%s of %lld: number %lld is %d, not %d", row->name, (long long)count,
                     (long long)i, ((uint8_t *)to)[i], is[i]);
    }
}

static void check_encode(enum cpu_isa isa, int is_signed, const struct guarded *g,
                         uint32_t *seed)
{
    static const float special[] = {
        INFINITY, -INFINITY, NAN, 3e38F, -3e38F, 0.5F, -1.5F
    };
    const struct cpu_callee *row =
        cpu_callee_find(isa, is_signed ? "encode_int8.float32" : "encode_uint8.float32");
    struct codes codes = draw_codes(is_signed, seed);
    const int64_t count = draw(seed, MOST);
    uint8_t *y = g[0].end - count;
    float *a = (float *)(void *)g[3].end - count, of_nan = 0;
    assert_non_null(row);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t kind = draw(seed, 30);
        a[i] = kind < BT_COUNT(special) ? special[kind]
                                        : (float)((int)draw(seed, 6001) - 3000) / 16;
    }
    void *p[] = { y, a, &codes.low, &codes.high, &of_nan, &codes.zero };
    assert_int_equal(row->run(p, &count), 0);
    for (int64_t i = 0; i < count; i++) {
        if (y[i] != code_of(a[i], &codes))
            fail_msg("%s of %g is %d, not %d", row->name, (double)a[i], y[i],
                     code_of(a[i], &codes));
    }
}

/* An integer of up to so many bits. */
static int64_t draw_wide(uint32_t *seed, uint32_t bits)
{
    const uint64_t high = draw(seed, UINT32_MAX),
                   all = high << 32 | draw(seed, UINT32_MAX);
    return (int64_t)all >> (63 - draw(seed, bits));
}

static int64_t right(int64_t x, int64_t by)
{
    return x >> (by < 0 || by > 63 ? 63 : by);
}

static int64_t left(int64_t x, int64_t by)
{
    return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* As qnn.requantize writes it. */
static int64_t rounded(int64_t x, int64_t half, int64_t shift, int64_t rounding)
{
    if (rounding == CPU_FIXED_UP || (rounding != CPU_FIXED_EVEN && x >= 0))
        return right(plus(x, half), shift);
    if (rounding != CPU_FIXED_EVEN)
        return minus(0, right(minus(half, x), shift));
    return right(
        plus(plus(x, half > 1 ? half - 1 : 0), shift > 0 ? right(x, shift) & 1 : 0),
        shift);
}

static uint8_t fixed_code(int32_t a, int64_t m, int64_t shift, const int64_t *n)
{
    int64_t wide = a;
    if (n[CPU_FIXED_ROUNDING] == CPU_FIXED_GEMMLOWP) {
        wide = left(a, shift < 31 ? 31 - shift : 0);
        wide = wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : wide;
    }
    int64_t x = (int64_t)((uint64_t)wide * (uint64_t)m);
    if (n[CPU_FIXED_ROUNDING] == CPU_FIXED_GEMMLOWP) {
        x = right(plus(x, 1073741824), 31);
        shift = shift > 31 ? shift - 31 : 0;
    }
    const int64_t half =
        n[CPU_FIXED_HALF] < 0 ? right(left(1, shift), 1) : n[CPU_FIXED_HALF];
    const int64_t code =
        plus(rounded(x, half, shift, n[CPU_FIXED_ROUNDING]), n[CPU_FIXED_ZERO]);
    return (uint8_t)(code < n[CPU_FIXED_LOW]    ? n[CPU_FIXED_LOW]
                     : code > n[CPU_FIXED_HIGH] ? n[CPU_FIXED_HIGH]
                                                : code);
}

/* Some factors are longer than int32, and some shifts than there are bits. */
static void check_fixed(enum cpu_isa isa, int is_signed, const struct guarded *g,
                        uint32_t *seed)
{
    static const char *const names[] = { "fixed_uint8.int32", "fixed_uint8.int32.s",
                                         "fixed_int8.int32", "fixed_int8.int32.s" };
    const int is_one = (int)draw(seed, 2);
    const struct cpu_callee *row = cpu_callee_find(isa, names[2 * is_signed + is_one]);
    const int64_t count = draw(seed, MOST), nfactor = is_one ? 1 : count;
    const int64_t least = is_signed ? INT8_MIN : 0, low = least + draw(seed, 100);
    const int64_t n[] = { count, (int64_t)draw(seed, 3) - 1, draw_wide(seed, 20),
                          low,   low + draw(seed, 100),      draw(seed, 4) };
    const uint32_t m_bits = draw(seed, 3) ? 31 : 63, most_shift = draw(seed, 3) ? 40 : 70;
    uint8_t *y = g[0].end - count;
    int32_t *a = (int32_t *)(void *)g[3].end - count;
    int64_t *m = (int64_t *)(void *)g[4].end - nfactor;
    int64_t *shift = (int64_t *)(void *)g[5].end - nfactor;
    assert_non_null(row);
    for (int64_t i = 0; i < count; i++)
        a[i] = (int32_t)draw_wide(seed, 32);
    for (int64_t i = 0; i < nfactor; i++) {
        m[i] = draw_wide(seed, m_bits);
        shift[i] = (int64_t)draw(seed, most_shift) - (most_shift > 64 ? 2 : 0);
    }
    void *p[] = { y, a, m, shift };
    assert_int_equal(row->run(p, n), 0);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = is_one ? 0 : i;
        if (y[i] != fixed_code(a[i], m[at], shift[at], n))
            fail_msg("%s of %lld: %d by %lld, %lld down, is %d, not %d", row->name,
                     (long long)count, a[i], (long long)m[at], (long long)shift[at], y[i],
                     fixed_code(a[i], m[at], shift[at], n));
    }
}

static void test_strips_are_what_operators_are(void **state)
{
    (void)state;
    struct guarded g[6];
    uint32_t seed = 9;
    for (int i = 0; i < 6; i++)
        g[i] = guarded_create(MOST * sizeof(int64_t));
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (int k = 0; k < 2000; k++) {
            check_sum(isa, k % 2, g, &seed);
            check_encode(isa, k % 2, g, &seed);
            check_fixed(isa, k % 2, g, &seed);
        }
    }
    for (int i = 0; i < 6; i++)
        guarded_destroy(&g[i]);
}

/* ---- schedules ---- */

struct calls {
    struct strip_run run;
    const char *name;
    uint32_t n, others; /* of that name; of others */
};

static bt_status run_call(void *self, const char *callee, uint32_t narg,
                          const struct call_value *args)
{
    struct calls *calls = self;
    if (strcmp(callee, calls->name) == 0)
        calls->n++;
    else if (strncmp(callee, "iota", 4) != 0)
        calls->others++;
    return strip_call(&calls->run, callee, narg, args);
}

struct layer {
    bt_dtype a, b;
    const char *name; /* of the call that is all; "": there is none */
    const char *text;
};

static bt_tensor *numbers_random(struct world *w, bt_dtype dtype, uint32_t seed)
{
    bt_tensor *t = tensor_new(w, dtype, 2, (const int64_t[]){ 7, 1000 });
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i,
                      dtype == BT_FLOAT32 ? draw(&seed, 2001) / 16.0 - 60
                      : dtype == BT_INT8  ? draw(&seed, 256) - 128.0
                                          : draw(&seed, 256));
    return t;
}

static void check(const struct layer *c)
{
    struct world w = world_open();
    struct formula f = { .text = c->text,
                         .inputs = { { .name = "a", .type = "t[n, m]" },
                                     { .name = "b", .type = "u[n, m]" } } };
    bt_tensor *in[] = { numbers_random(&w, c->a, 3), numbers_random(&w, c->b, 4) };
    bt_op op = formula_op(&f);
    bt_tensor *expected = formula_run(&w, &f, 2, in);
    bt_tensor *got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        const struct cpu_config config = { .isa = isa, .nthread = 2 };
        struct calls calls = { .run = { .ctx = w.ctx, .isa = isa }, .name = c->name };
        struct run_options options = { .seed = 7, .call = run_call, .self = &calls };
        void *data[] = { in[0]->data, in[1]->data, got->data };
        bt_compute *compute;
        bt_loops *loops;
        assert_ok(w.ctx, formula_make(&w, &f, &op, 2, in, &compute));
        assert_ok(w.ctx, cpu_lower(w.ctx, bt_ctx_scratch(w.ctx), "test", compute->graph,
                                   &loops));
        assert_ok(w.ctx, cpu_schedule_loops(loops, &config));
        memset(got->data, 0x55, (size_t)got->nelem);
        assert_ok(w.ctx, loops_run(w.ctx, loops, data, &options));
        if (*c->name ? !calls.n || (calls.others && strncmp(c->name, "sum", 3) == 0)
                     : calls.n)
            fail_msg("%s: %u calls, %u others", c->text, calls.n, calls.others);
        for (int64_t e = 0; e < got->nelem; e++) {
            if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
                fail_msg("%s: element %lld is %g, not %g", c->text, (long long)e,
                         bt_tensor_get(got, e), bt_tensor_get(expected, e));
        }
        bt_compute_destroy(compute);
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

#define TO(type, number, least, most, zero)                                     \
    "y: " type "[i, j] = " type "(int32(min(max(round_even(" number "), " least \
    "), " most ")) + " zero ")"
#define TERM(code, zero, factor) \
    "float32(int32(" code "[i, j]) - " zero ") * float32(" factor ")"

static void test_layers(void **state)
{
    (void)state;
    static const struct layer all[] = {
        { BT_UINT8, BT_UINT8, "sum_codes.uint8",
          TO("uint8", TERM("a", "128", "0.75") " + " TERM("b", "3", "0.375"), "-9", "246",
             "9") },
        { BT_UINT8, BT_UINT8, "sum_codes.uint8",
          TO("uint8", TERM("a", "0", "0.75") " - " TERM("b", "255", "0.375"), "0", "255",
             "0") },
        { BT_INT8, BT_UINT8, "sum_codes.int8",
          TO("int8", TERM("a", "-128", "1.125") " + " TERM("b", "0", "0.875"), "-120",
             "135", "-8") },
        { BT_UINT8, BT_INT8, "sum_codes.uint8",
          TO("uint8", "float32(int32(a[i, j]) - 4) + " TERM("b", "1", "0.875"), "-7",
             "248", "7") },
        { BT_UINT8, BT_UINT8, "encode_uint8.float32",
          TO("uint8", TERM("a", "128", "0.75") " * " TERM("b", "3", "0.375"), "-9", "246",
             "9") },
        { BT_UINT8, BT_UINT8, "encode_uint8.float32",
          TO("uint8", TERM("a", "900", "0.75") " + " TERM("b", "3", "0.375"), "-9", "246",
             "9") },
        { BT_FLOAT32, BT_FLOAT32, "encode_uint8.float32",
          TO("uint8", "a[i, j] / float32(0.3125)", "-127", "128", "127") },
        { BT_FLOAT32, BT_FLOAT32, "encode_int8.float32",
          TO("int8", "a[i, j] * b[i, j]", "-128", "127", "0") },
        { BT_FLOAT32, BT_FLOAT32, "",
          TO("int8", "a[i, j]", "-128", "127", "7") }, // wraps
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

#define FIXED(type, number, zero, least, most)                                        \
    "y: " type "[i, j] = " type "(min(max(shift_right(" number ") + " zero ", " least \
    "), " most "))"
/* x stands at X below 0, and above. */
#define AWAY(type, x, half, shift)                                                      \
    "y: " type "[i, j] = " type "(min(max(select(" x " < 0, -shift_right(" half " - " x \
    ", " shift "), shift_right(" x " + " half ", " shift ")) + 7, 0), 127))"
#define GEMMLOWP(sum, m, left)                           \
    "shift_right(clamp(shift_left(int64(" sum "), " left \
    "), -2147483648, 2147483647) * " m " + 1073741824, 31)"
#define HALF(shift) "shift_right(shift_left(int64(1), " shift "), 1)"
#define TABLES \
    "m: int64[j in 1000] = j * 1048576 + 99; s: int64[j in 1000] = mod(j, 40) + 1;\n"

static void test_layers_of_fixed_point(void **state)
{
    (void)state;
    static const struct layer all[] = {
        { BT_INT32, BT_INT32, "fixed_uint8.int32.s",
          FIXED("uint8", "int64(a[i, j]) * 1431655765 + 1073741824, 31", "7", "0",
                "255") },
        { BT_INT32, BT_INT32, "fixed_int8.int32.s",
          FIXED("int8", "int64(a[i, j] + b[i, j]) * 1431655765, 33", "-9", "-9", "127") },
        { BT_INT32, BT_INT32, "fixed_int8.int32",
          TABLES FIXED(
              "int8",
              "int64(a[i, j]) * m[j] + shift_right(shift_left(int64(1), s[j]), 1), "
              "s[j]",
              "4", "-128", "127") },
        { BT_INT32, BT_INT32, "fixed_uint8.int32.s",
          AWAY("uint8", "int64(a[i, j] - 90) * 1431655765", "1073741824", "31") },
        { BT_INT32, BT_INT32, "fixed_int8.int32",
          TABLES AWAY("int8", "(int64(a[i, j] - 90) * m[j])", HALF("s[j]"), "s[j]") },
        { BT_INT32, BT_INT32, "fixed_uint8.int32.s",
          FIXED("uint8",
                "int64(a[i, j] - 90) * 1431655765 + 1073741823 + "
                "bit_and(shift_right(int64(a[i, j] - 90) * 1431655765, 31), 1), 31",
                "7", "0", "255") },
        { BT_INT32, BT_INT32, "fixed_uint8.int32.s",
          AWAY("uint8", GEMMLOWP("(a[i, j] - 90)", "1431655765", "0"), "4", "3") },
        { BT_INT32, BT_INT32, "fixed_int8.int32.s",
          AWAY("int8", GEMMLOWP("(a[i, j] - 90)", "1431655765", "28"), "0", "0") },
        { BT_INT32, BT_INT32, "fixed_int8.int32",
          TABLES AWAY("int8", GEMMLOWP("(a[i, j] - 90)", "m[j]", "max(31 - s[j], 0)"),
                      HALF("max(s[j] - 31, 0)"), "max(s[j] - 31, 0)") },
        { BT_INT32, BT_INT32, "",
          AWAY("uint8", GEMMLOWP("(a[i, j] - 90)", "1431655765", "0"), "5", "3") },
        { BT_INT32, BT_INT32, "",
          AWAY("uint8", GEMMLOWP("(a[i, j] - 90)", "1431655765", "2"), "4", "3") },
        { BT_INT32, BT_INT32, "",
          FIXED("uint8", "int64(a[i, j]) * 3 + 1, 1", "7", "0", "256") }, // wraps
        { BT_INT32, BT_INT32, "",
          FIXED("uint8", "int64(a[i, j]) * 3 + int64(b[i, j]), 1", "7", "0", "255") },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_strips_are_what_operators_are),
    cmocka_unit_test(test_layers_of_fixed_point),
    cmocka_unit_test(test_layers),
};
TEST_MAIN(tests)
