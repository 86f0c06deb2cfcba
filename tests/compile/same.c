/*
 * Text as a target generates it gives the same bits by every compiler: loops over
 * pointers, integers, floats, constant tables, calls through a table of primitives.
 */
#include "compile.h"

#include <math.h>

/* What generated text calls: never a function by name. */
struct primitives {
    void (*add)(float *out, const float *a, const float *b, int64_t n);
    void (*exp)(float *out, const float *a, int64_t n);
    float (*dot)(const float *a, const float *b, int64_t n);
    double (*mean)(double a, double b);
};

static void add(float *out, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}
static void exp_(float *out, const float *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = expf(a[i]);
}
static float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
static double mean(double a, double b)
{
    return (a + b) / 2;
}
static const struct primitives primitives = { add, exp_, dot, mean };

struct call {
    const struct primitives *p;
    const float *const *in;
    float *const *out;
    int64_t *ints;
    const int64_t *dims;
    double *doubles;
};
typedef int32_t (*kernel)(const struct call *);

#define HEAD                                                              \
    "typedef long i64; typedef int i32; typedef unsigned long u64;\n"     \
    "typedef unsigned int u32; typedef unsigned char u8;\n"               \
    "typedef signed char i8;\n"                                           \
    "struct primitives {\n"                                               \
    "  void (*add)(float *, const float *, const float *, i64);\n"        \
    "  void (*exp)(float *, const float *, i64);\n"                       \
    "  float (*dot)(const float *, const float *, i64);\n"                \
    "  double (*mean)(double, double);\n"                                 \
    "};\n"                                                                \
    "struct call { const struct primitives *p; const float *const *in;\n" \
    "  float *const *out; i64 *ints; const i64 *dims; double *doubles; };\n"

/* dims: 7, 13, 3; in: 7*13 and 13*3 floats; out: 7*13 floats; ints: 32; doubles: 32. */
static const struct {
    const char *name, *text;
} kernels[] = {
    { "fused elementwise with a table of constants",
      "static const float w[4] = { 0x1.8p+0f, -0x1.4p-2f, 0x1.99999ap-4f, 0x0p+0f };\n"
      "i32 f(const struct call *c) {\n"
      "  const float *x = c->in[0]; float *y = c->out[0]; i64 n = c->dims[0] * "
      "c->dims[1];\n"
      "  for (i64 i = 0; i < n; i = i + 1) {\n"
      "    float a = x[i] * w[i & 3]; float b = a + w[0]; float z = 0x0p+0f;\n"
      "    if (b > z) { z = b; }\n"
      "    y[i] = z * b - a;\n"
      "  }\n  return 0;\n}\n" },
    { "matrix product by three loops",
      "i32 f(const struct call *c) {\n"
      "  i64 m = c->dims[0], k = c->dims[1], n = c->dims[2];\n"
      "  const float *a = c->in[0]; const float *b = c->in[1]; float *y = c->out[0];\n"
      "  for (i64 i = 0; i < m; i = i + 1) { for (i64 j = 0; j < n; j = j + 1) {\n"
      "    float s = 0x0p+0f;\n"
      "    for (i64 l = 0; l < k; l = l + 1) { float t = a[i * k + l] * b[l * n + j];\n"
      "      s = s + t; }\n"
      "    y[i * n + j] = s;\n"
      "  } }\n  return 0;\n}\n" },
    { "strips through primitives",
      "static i32 strip(const struct call *c, const float *x, float *y, i64 n) {\n"
      "  c->p->exp(y, x, n); c->p->add(y, y, x, n);\n"
      "  float d = c->p->dot(x, y, n); y[0] = y[0] + d; return 0; }\n"
      "i32 f(const struct call *c) {\n"
      "  i64 n = c->dims[0] * c->dims[1]; i64 tile = 16;\n"
      "  for (i64 i = 0; i < n; i = i + tile) {\n"
      "    i64 left = n - i; i64 take = tile; if (left < tile) { take = left; }\n"
      "    i32 fault = strip(c, c->in[0] + i, c->out[0] + i, take);\n"
      "    if (fault != 0) { return fault; }\n"
      "  }\n"
      "  c->doubles[0] = c->p->mean(0x1.5p+3, 0x1p-1);\n  return 0;\n}\n" },
    { "integers of every width, signs, shifts, divisions",
      "static const i64 numbers[8] = { 0, 1, -1, 7, -7, 9223372036854775807, "
      "4294967296,\n"
      "  -2147483648 };\n"
      "i32 f(const struct call *c) {\n"
      "  i64 *o = c->ints;\n"
      "  for (i64 i = 0; i < 8; i = i + 1) {\n"
      "    i64 a = numbers[i]; i64 b = numbers[7 - i]; i64 d = b;\n"
      "    if (d == 0) { d = 3; }\n"
      "    if (d == -1) { d = 5; }\n"
      "    i64 q = a / d; i64 r = a % d; if (r != 0) { if ((r < 0) != (d < 0)) { q = q - "
      "1; } }\n"
      "    o[4 * i] = q; o[4 * i + 1] = (i64)((u64)a * (u64)b);\n"
      "    o[4 * i + 2] = (i64)((u64)a >> 5) ^ (a >> 7);\n"
      "    o[4 * i + 3] = (i64)(i32)(a & 0xffffffff) + (i64)((u32)b / 3u);\n"
      "  }\n  return 0;\n}\n" },
    { "floats to integers and back, float64",
      "i32 f(const struct call *c) {\n"
      "  const float *x = c->in[0];\n"
      "  for (i64 i = 0; i < 32; i = i + 1) {\n"
      "    double d = (double)x[i] * 0x1.9p+6; i64 t = (i64)d; c->ints[i] = t;\n"
      "    c->doubles[i] = d / (0x1p+0 + (double)t * (double)t);\n"
      "    c->out[0][i] = (float)c->doubles[i] + (float)t;\n"
      "  }\n  return 0;\n}\n" },
    { "comparisons with NaN and infinity",
      "i32 f(const struct call *c) {\n"
      "  const float *x = c->in[1]; i64 n = c->dims[1] * c->dims[2];\n"
      "  for (i64 i = 0; i < 32; i = i + 1) {\n"
      "    float a = x[i]; float b = x[(i * 5) % n]; i64 m = 0;\n"
      "    if (a < b) { m = m + 1; }\n    if (a <= b) { m = m + 2; }\n"
      "    if (a == b) { m = m + 4; }\n    if (a != b) { m = m + 8; }\n"
      "    if (a != a) { m = m + 16; }\n"
      "    c->ints[i] = m; float z = a; if (b > a) { z = b; }\n    c->out[0][i] = z;\n"
      "  }\n  return 0;\n}\n" },
    { "a fault is returned", "i32 f(const struct call *c) { if (c->dims[0] != 8) { "
                             "return 3; }\n return 0; }\n" },
};

enum { NIN = 91, NOTHER = 39, NOUT = 91, N = 32 };

/* All that a kernel may write. */
struct result {
    int64_t ints[N];
    double doubles[N];
    float out[NOUT];
    int32_t code;
};

static void run(kernel f, struct result *r)
{
    static const int64_t dims[] = { 7, 13, 3 };
    float a[NIN], b[NOTHER];
    for (int i = 0; i < NIN; i++)
        a[i] = (float)((i * 37) % 101 - 50) / 16;
    for (int i = 0; i < NOTHER; i++)
        b[i] = (float)((i * 29) % 53 - 26) / 8;
    b[3] = NAN;
    b[4] = INFINITY;
    b[5] = -INFINITY;
    b[6] = -0.0f;
    const float *const in[] = { a, b };
    float *const out[] = { r->out };
    memset(r, 0, sizeof(*r));
    r->code = f(&(struct call){ &primitives, in, out, r->ints, dims, r->doubles });
}

static void check_same(const char *name, const struct result *a, const struct result *b)
{
    if (memcmp(a->out, b->out, sizeof(a->out)) != 0 ||
        memcmp(a->ints, b->ints, sizeof(a->ints)) != 0 ||
        memcmp(a->doubles, b->doubles, sizeof(a->doubles)) != 0 || a->code != b->code)
        fail_msg("%s: the results differ", name);
}

static void run_text(bt_ctx *ctx, const char *compiler, const char *options,
                     const char *text, struct result *out)
{
    bt_code *code = build(ctx, compiler, options, text, NULL);
    run((kernel)get(code, "f"), out);
    bt_code_unload(code);
}

static void compare(const char *other, const char *options)
{
    bt_ctx *ctx = open_plain();
    need(ctx, "tcc", NULL);
    need(ctx, other, options);
    for (size_t i = 0; i < BT_COUNT(kernels); i++) {
        char text[4096];
        struct result mine, theirs;
        snprintf(text, sizeof(text), "%s%s", HEAD, kernels[i].text);
        run_text(ctx, "tcc", NULL, text, &mine);
        run_text(ctx, other, options, text, &theirs);
        check_same(kernels[i].name, &mine, &theirs);
    }
    bt_ctx_destroy(ctx);
}

static void test_tcc_and_cc_give_the_same_bits(void **state)
{
    (void)state;
    compare("cc", "cache=\"off\"");
}

static void test_tcc_and_clang_give_the_same_bits(void **state)
{
    (void)state;
    compare("cc", "cache=\"off\", command=\"clang\"");
}

/* ---- random text ---- */

enum { NFUNCTION = 24, NSTATEMENT = 40, NVARIABLE = 6 };

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void add_variable(bt_text *out, char kind, uint64_t *state)
{
    bt_text_addf(out, "%c%u", kind, next_random(state) % NVARIABLE);
}

/* Pieces are as texts have them; @ stands for an integer, $ for a float64. What C leaves
 * undefined is avoided: overflow, shifts too far, division by zero, conversions out of
 * range. */
static const char *const pieces[] = {
    "@ = (i64)((u64)@ + (u64)@);",
    "@ = (i64)((u64)@ - (u64)@);",
    "@ = (i64)((u64)@ * (u64)@);",
    "@ = @ & @;",
    "@ = (@ ^ @) | 5;",
    "@ = @ >> (@ & 31);",
    "@ = (i64)((u64)@ << (@ & 63));",
    "t = @; if (t < 2) { t = 3; } @ = @ / t;",
    "t = @; if (t < 2) { t = 7; } @ = @ % t;",
    "@ = (i64)(i32)(@ & 2147483647);",
    "@ = (i64)((u32)@ / 7u);",
    "@ = table[@ & 7];",
    "@ = c->ints[@ & 31];",
    "if (@ < @) { @ = @; } else { @ = (i64)((u64)@ + 1u); }",
    "if ($ <= $) { @ = 0 - (@ & 255); }",
    "if (@ != @) { $ = $ + w[@ & 3]; }",
    "$ = $ + $;",
    "$ = $ - $ * $;",
    "$ = $ * 0x1.8p-1;",
    "$ = $ / ($ * $ + 0x1p+0);",
    "$ = (double)(float)$;",
    "$ = (double)(@ & 65535);",
    "if ($ < 0x1p+20) { if ($ > -0x1p+20) { @ = (i64)$; } }",
    "$ = c->p->mean($, $);",
    "for (i64 i = 0; i < (@ & 15); i = i + 1) { @ = (i64)((u64)@ * 3u + (u64)i); }",
    "for (i64 i = 0; i < 8; i = i + 1) { $ = $ * 0x1p-1 + w[i & 3]; }",
    "@ = helper(@, $);",
};

static void add_statement(bt_text *out, uint64_t *state)
{
    const char *piece = pieces[next_random(state) % BT_COUNT(pieces)];
    bt_text_addf(out, "  ");
    for (; *piece; piece++) {
        if (*piece == '@')
            add_variable(out, 'a', state);
        else if (*piece == '$')
            add_variable(out, 'd', state);
        else
            bt_text_add(out, piece, 1);
    }
    // The bits of a NaN are nobody's promise.
    bt_text_addf(out, "\n  if (d0 != d0) { d0 = 0x0p+0; }\n");
}

/* f0 ... of integers and float64, as a target writes them. */
static void add_functions(bt_text *out, uint64_t *state)
{
    bt_text_addf(out, "%s%s", HEAD,
                 "static const i64 table[8] = { 0, 1, -1, 7, -7, 9223372036854775807,\n"
                 "  4294967296, -2147483648 };\n"
                 "static const double w[4] = { 0x1p-1, -0x1.4p+2, 0x1.99999ap-4, 0x0p+0 "
                 "};\n"
                 "static i64 helper(i64 x, double y) { if (y > 0x1p+3) { return x; }\n"
                 "  return (i64)((u64)x >> 3); }\n");
    for (int i = 0; i < NFUNCTION; i++) {
        bt_text_addf(out, "i32 f%d(const struct call *c) {\n  i64 t = 0;\n", i);
        for (int v = 0; v < NVARIABLE; v++)
            bt_text_addf(out, "  i64 a%d = c->ints[%d]; double d%d = c->doubles[%d];\n",
                         v, v, v, v);
        for (int s = 0; s < NSTATEMENT; s++)
            add_statement(out, state);
        for (int v = 0; v < NVARIABLE; v++)
            bt_text_addf(out,
                         "  c->ints[%d] = a%d; if (d%d != d%d) { d%d = 0x0p+0; }\n"
                         "  c->doubles[%d] = d%d;\n",
                         v, v, v, v, v, v, v);
        bt_text_addf(out, "  return (i32)(t & 3);\n}\n");
    }
}

static void run_random(const bt_code *code, int index, struct result *r)
{
    char name[16];
    snprintf(name, sizeof(name), "f%d", index);
    memset(r, 0, sizeof(*r));
    for (int i = 0; i < N; i++) {
        r->ints[i] = i * i * 1234567891011 - 40000 * i;
        r->doubles[i] = (double)(i * 17 % 23 - 11) / 3;
    }
    r->code = ((kernel)get(code, name))(
        &(struct call){ .p = &primitives, .ints = r->ints, .doubles = r->doubles });
}

static void compare_random(const char *options)
{
    bt_ctx *ctx = open_plain();
    uint64_t state = 20260101;
    need(ctx, "tcc", NULL);
    need(ctx, "cc", options);
    for (int round = 0; round < 5; round++) {
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        add_functions(&text, &state);
        assert_non_null(bt_text_get(&text));
        bt_code *mine = build(ctx, "tcc", NULL, text.at, NULL);
        bt_code *theirs = build(ctx, "cc", options, text.at, NULL);
        struct result before = { { 0 }, { 0 }, { 0 }, 0 };
        for (int i = 0; i < NFUNCTION; i++) {
            char name[64];
            struct result a, b;
            run_random(mine, i, &a);
            run_random(theirs, i, &b);
            snprintf(name, sizeof(name), "round %d, f%d", round, i);
            check_same(name, &a, &b);
            assert_memory_not_equal(&a, &before, sizeof(a)); // they do compute something
            before = a;
        }
        bt_code_unload(mine);
        bt_code_unload(theirs);
    }
    bt_ctx_destroy(ctx);
}

static void test_random_text_gives_the_same_bits_by_tcc_and_cc(void **state)
{
    (void)state;
    compare_random("cache=\"off\"");
}

static void test_random_text_gives_the_same_bits_by_tcc_and_clang(void **state)
{
    (void)state;
    compare_random("cache=\"off\", command=\"clang\"");
}

/* The results are what C says, not only equal. */
static void test_results_are_right(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    char text[4096];
    struct result r;
    need(ctx, NULL, NULL);
    const char *options = bt_c_probe(ctx, "tcc", NULL) ? "cache=\"off\"" : NULL;
    const char *name = options ? "cc" : "tcc";
    snprintf(text, sizeof(text), "%s%s", HEAD, kernels[1].text);
    run_text(ctx, name, options, text, &r);
    assert_true(isnan(r.out[0])); // its column of b has the NaN
    float sum = 0;
    for (int l = 0; l < 13; l++)
        sum += (float)((l * 37) % 101 - 50) / 16 *
               (l == 1 ? INFINITY : (float)(((3 * l + 1) * 29) % 53 - 26) / 8);
    assert_true(memcmp(&r.out[1], &sum, sizeof(sum)) == 0);
    snprintf(text, sizeof(text), "%s%s", HEAD, kernels[3].text);
    run_text(ctx, name, options, text, &r);
    assert_int_equal(r.ints[4 * 4], -1); // -7 / 7, rounded down
    assert_int_equal(r.ints[4 * 1], 0);  // 1 / 4294967296
    snprintf(text, sizeof(text), "%s%s", HEAD, kernels[6].text);
    run_text(ctx, name, options, text, &r);
    assert_int_equal(r.code, 3);
    bt_ctx_destroy(ctx);
}

/* The machine's flags reach cc; tcc ignores them. */
static void test_flags_of_the_machine(void **state)
{
    (void)state;
    static const char *const flags[] = { "-DLEVEL=3", NULL };
    static const char text[] = "#if !defined(LEVEL)\n#define LEVEL 1\n#endif\n"
                               "int f(void) { return LEVEL; }\n";
    const bt_c_source source = {
        .name = "flags", .text = text, .nbytes = strlen(text), .machine = flags
    };
    bt_ctx *ctx = open_plain();
    for (size_t i = 0; i < BT_COUNT(compilers); i++) {
        bt_text object;
        bt_code *code;
        need(ctx, compilers[i].name, compilers[i].options);
        bt_text_init(&object, bt_ctx_scratch(ctx));
        assert_ok(ctx, bt_c_compile(ctx, compilers[i].name, compilers[i].options, &source,
                                    &object));
        assert_ok(ctx, load_object(ctx, &object, NULL, &code));
        assert_int_equal(((int (*)(void))get(code, "f"))(), i == 0 ? 1 : 3);
        bt_code_unload(code);
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tcc_and_cc_give_the_same_bits),
    cmocka_unit_test(test_tcc_and_clang_give_the_same_bits),
    cmocka_unit_test(test_random_text_gives_the_same_bits_by_tcc_and_cc),
    cmocka_unit_test(test_random_text_gives_the_same_bits_by_tcc_and_clang),
    cmocka_unit_test(test_results_are_right),
    cmocka_unit_test(test_flags_of_the_machine),
};
TEST_MAIN(tests)
