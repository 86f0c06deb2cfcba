/* Every scalar operator and conversion, for every dtype, at edges: against libm and
 * against integers of twice the width. */
#include "formula.h"

#include <math.h>

#include "compute/graph/scalar.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static const bt_dtype dtypes[] = { BT_BOOL,        BT_INT8,           BT_INT16,
                                   BT_INT32,       BT_INT64,          BT_UINT8,
                                   BT_UINT16,      BT_UINT32,         BT_UINT64,
                                   BT_FLOAT16,     BT_BFLOAT16,       BT_FLOAT32,
                                   BT_FLOAT64,     BT_FLOAT8_E4M3FN,  BT_FLOAT8_E4M3FNUZ,
                                   BT_FLOAT8_E5M2, BT_FLOAT8_E5M2FNUZ };

static wide lowest(bt_dtype d)
{
    return BT_DTYPE_CLASS(d) == BT_CLASS_INT ? -((wide)1 << (BT_DTYPE_BITS(d) - 1)) : 0;
}

static wide greatest(bt_dtype d)
{
    if (d == BT_BOOL)
        return 1;
    return ((wide)1 << (BT_DTYPE_BITS(d) - (BT_DTYPE_CLASS(d) == BT_CLASS_INT))) - 1;
}

/* The value modulo the width. */
static wide wrapped(wide v, bt_dtype d)
{
    wide span = greatest(d) - lowest(d) + 1;
    v = (v - lowest(d)) % span;
    return (v < 0 ? v + span : v) + lowest(d);
}

/* ---- what the operators should give ---- */

static wide quotient(wide a, wide b, int direction)
{
    if (b == 0)
        return 0;
    wide q = a / b, r = a % b;
    if (direction < 0 && r != 0 && (r < 0) != (b < 0))
        q--;
    if (direction > 0 && r != 0 && (r < 0) == (b < 0))
        q++;
    return q;
}

/* Modulo 2^64, which is all that dtypes can tell. */
static wide product(wide a, wide b)
{
    return (wide)(uint64_t)((unsigned_wide)a * (unsigned_wide)b);
}

static wide power(wide a, wide b, bt_dtype d)
{
    wide y = 1;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b /= 2) {
        if (b % 2)
            y = wrapped(product(y, a), d);
        a = wrapped(product(a, a), d);
    }
    return y;
}

static wide shifted(wide a, wide b, bt_dtype d, int left)
{
    wide bits = BT_DTYPE_BITS(d);
    if (b < 0 || b >= bits)
        return left || a >= 0 ? 0 : -1;
    return left ? product(a, (wide)1 << b) : quotient(a, (wide)1 << b, -1);
}

static wide int_expected(const char *name, wide a, wide b, bt_dtype d)
{
    const struct {
        const char *name;
        wide value;
    } rows[] = {
        { "add", a + b },
        { "sub", a - b },
        { "mul", product(a, b) },
        { "div", quotient(a, b, 0) },
        { "truncdiv", quotient(a, b, 0) },
        { "floordiv", quotient(a, b, -1) },
        { "ceildiv", quotient(a, b, 1) },
        { "truncmod", b ? a - b * quotient(a, b, 0) : 0 },
        { "mod", b ? a - b * quotient(a, b, -1) : 0 },
        { "max", a > b ? a : b },
        { "min", a < b ? a : b },
        { "pow", power(a, b, d) },
        { "wrap", a < 0 ? a + b : a },
        { "neg", -a },
        { "abs", a < 0 ? -a : a },
        { "sign", (a > 0) - (a < 0) },
        { "floor", a },
        { "ceil", a },
        { "trunc", a },
        { "round", a },
        { "round_even", a },
        { "isnan", 0 },
        { "isinf", 0 },
        { "isfinite", 1 },
        { "bit_and", a & b },
        { "bit_or", a | b },
        { "bit_xor", a ^ b },
        { "bit_not", ~a },
        { "shift_left", shifted(a, b, d, 1) },
        { "shift_right", shifted(a, b, d, 0) },
        { "eq", a == b },
        { "ne", a != b },
        { "lt", a < b },
        { "le", a <= b },
        { "and", a && b },
        { "or", a || b },
        { "not", !a },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    }
    fail_msg("no integers for %s", name);
    return 0;
}

static double mod_toward_minus(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && signbit(r) != signbit(b) ? r + b : r;
}

static double even(double a)
{
    double down = floor(a), rest = a - down;
    if (!isfinite(a) || rest == 0)
        return a;
    double up = down + 1;
    double y = rest < 0.5 ? down : rest > 0.5 ? up : fmod(down, 2) == 0 ? down : up;
    return copysign(y, a);
}

static double float_expected(const char *name, double a, double b)
{
    int unordered = isnan(a) || isnan(b);
    const struct {
        const char *name;
        double value;
    } rows[] = {
        { "add", a + b },
        { "sub", a - b },
        { "mul", a * b },
        { "div", a / b },
        { "truncdiv", trunc(a / b) },
        { "floordiv", floor(a / b) },
        { "ceildiv", ceil(a / b) },
        { "truncmod", fmod(a, b) },
        { "mod", mod_toward_minus(a, b) },
        { "max", unordered ? NAN : fmax(a, b) },
        { "min", unordered ? NAN : fmin(a, b) },
        { "pow", pow(a, b) },
        { "atan2", atan2(a, b) },
        { "zmul", a == 0 || b == 0 ? 0 : a * b },
        { "neg", -a },
        { "abs", fabs(a) },
        { "sign", isnan(a) ? a
                  : a > 0  ? 1
                  : a < 0  ? -1
                           : a },
        { "floor", floor(a) },
        { "ceil", ceil(a) },
        { "trunc", trunc(a) },
        { "round", round(a) },
        { "round_even", even(a) },
        { "sqrt", sqrt(a) },
        { "rsqrt", 1 / sqrt(a) },
        { "exp", exp(a) },
        { "exp2", exp2(a) },
        { "expm1", expm1(a) },
        { "log", log(a) },
        { "log2", log2(a) },
        { "log10", log10(a) },
        { "log1p", log1p(a) },
        { "sin", sin(a) },
        { "cos", cos(a) },
        { "tan", tan(a) },
        { "asin", asin(a) },
        { "acos", acos(a) },
        { "atan", atan(a) },
        { "sinh", sinh(a) },
        { "cosh", cosh(a) },
        { "tanh", tanh(a) },
        { "asinh", asinh(a) },
        { "acosh", acosh(a) },
        { "atanh", atanh(a) },
        { "erf", erf(a) },
        { "sigmoid", 1 / (1 + exp(-a)) },
        { "isnan", isnan(a) },
        { "isinf", isinf(a) != 0 },
        { "isfinite", isfinite(a) != 0 },
        { "eq", a == b },
        { "ne", a != b },
        { "lt", a < b },
        { "le", a <= b },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    }
    fail_msg("no floats for %s", name);
    return 0;
}

/* ---- values ---- */

enum { NVALUE = 26 };

static void set_wide(bt_tensor *t, int64_t i, wide v)
{
    bt_tensor_set_int(t, i, (int64_t)(uint64_t)v);
}

static wide get_wide(const bt_tensor *t, int64_t i)
{
    int64_t v = bt_tensor_get_int(t, i);
    return t->dtype == BT_UINT64 ? (wide)(uint64_t)v : v;
}

static bt_tensor *edges(struct world *w, bt_dtype d)
{
    static const double floats[NVALUE] = { 0,        -0.0,     1,     -1,   0.5,  -0.5,
                                           1.5,      -1.5,     2.5,   -2.5, 3,    0.25,
                                           7.75,     -7.75,    100,   -100, 1e4,  3e38,
                                           -3e38,    1e-8,     1e-40, 0.1,  -0.3, NAN,
                                           INFINITY, -INFINITY };
    static const int small[] = {
        0, 1, 2, 3, 7, 8, 31, 63, 64, -1, -2, -3, -8, 100, -100
    };
    bt_tensor *t = tensor_new(w, d, DIMS(NVALUE));
    for (int i = 0; i < NVALUE; i++) {
        if (bt_dtype_is_float(d)) {
            bt_tensor_set(t, i, floats[i]);
            continue;
        }
        wide v = i < 15   ? small[i]
                 : i < 19 ? greatest(d) - (i - 15)
                 : i < 23 ? lowest(d) + (i - 19)
                          : (greatest(d) / 3) * (i - 22);
        set_wide(t, i, wrapped(v, d));
    }
    return t;
}

static void check(const char *name, const bt_tensor *x, int64_t i, int64_t j,
                  const bt_tensor *y, int64_t at)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_dtype d = x->dtype;
    if (bt_dtype_is_float(d)) {
        double a = bt_tensor_get(x, i), b = bt_tensor_get(x, j);
        double got = bt_tensor_get(y, at), raw = float_expected(name, a, b);
        if (bt_dtype_is_small_float(d))
            raw = (float)raw; // in which they are computed
        double wanted = bt__float_round(raw, y->dtype);
        // two ways to the same function may differ by one rounding
        double slack = strcmp(name, "sigmoid") == 0 ? fabs(wanted) * 1e-7 : 0;
        if (got != wanted && !(isnan(got) && isnan(wanted)) &&
            !(fabs(got - wanted) <= slack))
            fail_msg("%s(%.17g, %.17g) of %s is %.17g, expected %.17g", name, a, b,
                     bt_dtype_name(d, dtype, sizeof(dtype)), got, wanted);
        return;
    }
    wide a = get_wide(x, i), b = get_wide(x, j);
    wide wanted = wrapped(int_expected(name, a, b, d), y->dtype);
    if (get_wide(y, at) != wanted)
        fail_msg("%s(%lld, %lld) of %s is %lld, expected %lld", name, (long long)a,
                 (long long)b, bt_dtype_name(d, dtype, sizeof(dtype)),
                 (long long)get_wide(y, at), (long long)wanted);
}

static void check_operator(struct world *w, const struct bt__scalar *row, bt_dtype d)
{
    char text[128];
    struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = text };
    snprintf(text, sizeof(text), "y: %s[i in n, j in n] = %s(x[i]%s)",
             row->is_test ? "bool" : "t", row->name, row->narg == 2 ? ", x[j]" : "");
    bt_tensor *x = edges(w, d);
    bt_tensor *y = formula_run(w, &f, 1, &x);
    for (int64_t at = 0; at < y->nelem; at++)
        check(row->name, x, at / NVALUE, at % NVALUE, y, at);
    bt_tensor_unref(x);
    bt_tensor_unref(y);
}

static void test_operators_at_edges(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
        struct world w = world_open();
        for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
            const struct bt__scalar *row = bt__scalar_get(i);
            if (row->classes >> BT_DTYPE_CLASS(dtypes[d]) & 1)
                check_operator(&w, row, dtypes[d]);
        }
        world_close(&w);
    }
}

static void test_other_classes_are_refused(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
        struct world w = world_open();
        bt_tensor *x = edges(&w, dtypes[d]), *y;
        for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
            const struct bt__scalar *row = bt__scalar_get(i);
            char text[128];
            struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = text };
            snprintf(text, sizeof(text), "y: t[i] = %s(x[i]%s)", row->name,
                     row->narg == 2 ? ", x[i]" : "");
            if (!(row->classes >> BT_DTYPE_CLASS(dtypes[d]) & 1))
                assert_error(formula_try(&w, &f, 1, &x, &y), BT_ERR_TYPE,
                             "does not take");
        }
        bt_tensor_unref(x);
        world_close(&w);
    }
}

/* ---- conversions ---- */

static void check_cast(const bt_tensor *x, const bt_tensor *y, int64_t i)
{
    double v = bt_tensor_get(x, i);
    wide from = bt_dtype_is_float(x->dtype) ? 0 : get_wide(x, i), wanted;
    if (bt_dtype_is_float(y->dtype)) {
        // float of a wide integer rounds once
        double expected = bt_dtype_is_float(x->dtype) ? bt__float_round(v, y->dtype)
                          : y->dtype == BT_FLOAT64    ? (double)from
                          : y->dtype == BT_FLOAT32
                              ? (double)(float)from
                              : bt__float_round((double)from, y->dtype);
        double got = bt_tensor_get(y, i);
        if (got != expected && !(isnan(got) && isnan(expected)))
            fail_msg("%.17g becomes %.17g, expected %.17g", v, got, expected);
        return;
    }
    if (y->dtype == BT_BOOL)
        wanted = bt_dtype_is_float(x->dtype) ? v != 0 : from != 0;
    else if (!bt_dtype_is_float(x->dtype))
        wanted = wrapped(from, y->dtype);
    else
        wanted = isnan(v)                          ? 0
                 : v >= (double)greatest(y->dtype) ? greatest(y->dtype)
                 : v <= (double)lowest(y->dtype)   ? lowest(y->dtype)
                                                   : (wide)v;
    if (get_wide(y, i) != wanted)
        fail_msg("%.17g becomes %lld, expected %lld", v, (long long)get_wide(y, i),
                 (long long)wanted);
}

static void test_casts_between_all_dtypes(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < BT_COUNT(dtypes); from++) {
        struct world w = world_open();
        bt_tensor *x = edges(&w, dtypes[from]);
        for (uint32_t to = 0; to < BT_COUNT(dtypes); to++) {
            char text[96], name[BT_DTYPE_NAME_SIZE];
            struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = text };
            bt_dtype_name(dtypes[to], name, sizeof(name));
            snprintf(text, sizeof(text), "y: %s[i] = %s(x[i])", name, name);
            bt_tensor *y = formula_run(&w, &f, 1, &x);
            for (int64_t i = 0; i < NVALUE; i++)
                check_cast(x, y, i);
            bt_tensor_unref(y);
        }
        bt_tensor_unref(x);
        world_close(&w);
    }
}

static void test_wide_integers_round_once(void **state)
{
    (void)state;
    // half an ulp of bfloat16 and float32 above a power of two, and a bit
    const int64_t at[] = { (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1,
                           (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1 };
    bt_cell x = { .i = at[0] }, y = { .i = at[1] };
    assert_true(bt_cell_cast(x, BT_INT64, BT_BFLOAT16).f == 0x1.02p62);
    assert_true(bt_cell_cast(y, BT_INT64, BT_FLOAT32).f == (double)(float)at[1]);
    x.i = -at[0];
    assert_true(bt_cell_cast(x, BT_INT64, BT_BFLOAT16).f == -0x1.02p62);
}

static void test_numbers_fold_like_elements(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "x", "int8[n]", 0, 0 } },
                         .text = "y: int8[i] = int8(100) + int8(100) - x[i]" };
    bt_tensor *x = tensor_new(&w, BT_INT8, DIMS(1));
    bt_tensor *y = formula_run(&w, &f, 1, &x);
    assert_int_equal(bt_tensor_get_int(y, 0), -56);
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    world_close(&w);
}

/* ---- derivatives ---- */

/* The text with the names a, b, y and tie read as arrays, its part of number `which`. */
static void derivative_text(const char *text, uint32_t which, char *out)
{
    static const char *const arrays[] = { "a", "b", "y", "tie" };
    for (; which > 0; which--)
        text = strchr(text, ';') + 1;
    while (*text && *text != ';') {
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789");
        int is_array = 0;
        for (uint32_t i = 0; i < BT_COUNT(arrays); i++)
            is_array |= n == strlen(arrays[i]) && strncmp(text, arrays[i], n) == 0;
        n = n ? n : 1;
        out += sprintf(out, is_array ? "%.*s[i]" : "%.*s", (int)n, text);
        text += n;
    }
    *out = 0;
}

enum { NPOINT = 200 };
struct points {
    double at[NPOINT][2], tie;
    double got[NPOINT]; /* the derivative */
};

static double eval(uint32_t which, double a, double b)
{
    bt_cell args[2] = { { .f = a }, { .f = b } };
    return bt_scalar_eval(which, BT_FLOAT64, args).f;
}

/* The derivative by argument `by`, as its row says. */
static void derive(struct world *w, uint32_t which, uint32_t by, struct points *p)
{
    char text[256] = "d: float64[i] = ";
    struct formula f = { .inputs = { { "a", "float64[n]", 0, 0 },
                                     { "b", "float64[n]", 0, 0 },
                                     { "y", "float64[n]", 0, 0 },
                                     { "tie", "float64[n]", 0, 0 } },
                         .text = text };
    bt_tensor *in[4];
    derivative_text(bt__scalar_get(which)->derivative, by, text + strlen(text));
    strcat(text, " + select(a[i] == 0, 0, 0)"); // of numbers alone there would be no axis
    for (int i = 0; i < 4; i++)
        in[i] = tensor_new(w, BT_FLOAT64, DIMS(NPOINT));
    for (uint32_t i = 0; i < NPOINT; i++) {
        bt_tensor_set(in[0], i, p->at[i][0]);
        bt_tensor_set(in[1], i, p->at[i][1]);
        bt_tensor_set(in[2], i, eval(which, p->at[i][0], p->at[i][1]));
        bt_tensor_set(in[3], i, p->tie);
    }
    bt_tensor *d = formula_run(w, &f, 4, in);
    for (uint32_t i = 0; i < NPOINT; i++)
        p->got[i] = bt_tensor_get(d, i);
    for (int i = 0; i < 4; i++)
        bt_tensor_unref(in[i]);
    bt_tensor_unref(d);
}

/* A central difference with one step of Richardson; NAN where smaller steps give another. */
static double slope_at(uint32_t which, uint32_t by, const double *at)
{
    double slopes[3];
    for (int i = 0; i < 3; i++) {
        const double h = 1e-3 / (1 << i), da = by ? 0 : h, db = by ? h : 0;
        slopes[i] =
            (eval(which, at[0] + da, at[1] + db) - eval(which, at[0] - da, at[1] - db)) /
            (2 * h);
    }
    const double first = (4 * slopes[1] - slopes[0]) / 3,
                 second = (4 * slopes[2] - slopes[1]) / 3;
    return fabs(first - second) <= 1e-8 * (1 + fabs(second)) ? second : (double)NAN;
}

static void check_derivative(struct world *w, uint32_t which, uint32_t by)
{
    struct points p = { .tie = 0.5 };
    const char *name = bt__scalar_get(which)->name;
    uint64_t random = which * 2 + by + 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < NPOINT * 2; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        p.at[i / 2][i % 2] = (double)(random >> 40) * 0x1p-22 - 2;
    }
    derive(w, which, by, &p);
    for (uint32_t i = 0; i < NPOINT; i++) {
        const double slope = slope_at(which, by, p.at[i]);
        n += !isnan(slope);
        if (!isnan(slope) && !(fabs(p.got[i] - slope) <= 1e-7 * (1 + fabs(slope))))
            fail_msg("%s by argument %u at (%g, %g): %g, differences give %g", name, by,
                     p.at[i][0], p.at[i][1], p.got[i], slope);
    }
    if (n < NPOINT / 10)
        fail_msg("%s has a slope at %u points of %d", name, n, NPOINT);
}

static void test_derivatives_agree_with_differences(void **state)
{
    (void)state;
    struct world w = world_open();
    uint32_t n = 0;
    for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
        const struct bt__scalar *row = bt__scalar_get(i);
        for (uint32_t by = 0; row->derivative[0] && by < row->narg; by++, n++)
            check_derivative(&w, i, by);
    }
    assert_true(n > 40);
    world_close(&w);
}

/* Where differences say nothing: ties, zeros, and what is not a number. */
static void test_derivatives_at_kinks_and_poles(void **state)
{
    (void)state;
    static const struct {
        uint32_t which;
        double a, b, tie, by_a, by_b;
    } rows[] = {
        { BT_SCALAR_MAX, 1, 1, 0.5, 0.5, 0.5 },
        { BT_SCALAR_MAX, 0, 0, 0, 0, 0 },
        { BT_SCALAR_MAX, 0, -0.0, 0.5, 0.5, 0.5 },
        { BT_SCALAR_MAX, 2, 1, 0.5, 1, 0 },
        { BT_SCALAR_MAX, (double)INFINITY, (double)INFINITY, 0.5, 0.5, 0.5 },
        { BT_SCALAR_MIN, 1, 1, 0.5, 0.5, 0.5 },
        { BT_SCALAR_MIN, 6, 6, 0, 0, 0 },
        { BT_SCALAR_MIN, 2, 1, 0.5, 0, 1 },
        { BT_SCALAR_ABS, 0, 0, 0.5, 0, 0 },
        { BT_SCALAR_ABS, -3, 0, 0.5, -1, 0 },
        { BT_SCALAR_POW, 0, 0, 0.5, 0, -(double)INFINITY },
        { BT_SCALAR_POW, 0, 2, 0.5, 0, 0 },
        { BT_SCALAR_POW, 0, 1, 0.5, 1, 0 },
        { BT_SCALAR_ZMUL, 0, (double)INFINITY, 0.5, (double)INFINITY, 0 },
        { BT_SCALAR_ZMUL, 3, 4, 0.5, 4, 3 },
        { BT_SCALAR_SQRT, 0, 0, 0.5, (double)INFINITY, 0 },
    };
    struct world w = world_open();
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        struct points p = { .tie = rows[i].tie };
        for (uint32_t k = 0; k < NPOINT; k++) {
            p.at[k][0] = rows[i].a;
            p.at[k][1] = rows[i].b;
        }
        for (uint32_t by = 0; by < bt__scalar_get(rows[i].which)->narg; by++) {
            const double wanted = by ? rows[i].by_b : rows[i].by_a;
            derive(&w, rows[i].which, by, &p);
            if (p.got[0] != wanted)
                fail_msg("%s by argument %u at (%g, %g): %g, not %g",
                         bt_scalar_name(rows[i].which), by, rows[i].a, rows[i].b,
                         p.got[0], wanted);
        }
    }
    world_close(&w);
}

/* The trait p: some derivative is not finite at some finite arguments, and of others none. */
static void test_poles_are_where_the_trait_says(void **state)
{
    (void)state;
    static const double values[] = { 0,  -0.0, 1,   -1,   0.5,   -0.5,   2,      -2,
                                     30, -30,  800, -800, 1e200, -1e200, 1e-200, 0.1 };
    enum { N = BT_COUNT(values) };
    struct world w = world_open();
    for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
        const struct bt__scalar *row = bt__scalar_get(i);
        int has_poles = 0;
        for (uint32_t by = 0; row->derivative[0] && by < row->narg; by++) {
            for (uint32_t first = 0; first < N; first++) {
                struct points p = { .tie = 0.5 };
                for (uint32_t k = 0; k < NPOINT; k++) {
                    p.at[k][0] = values[first];
                    p.at[k][1] = values[k % N];
                }
                derive(&w, i, by, &p);
                for (uint32_t k = 0; k < N; k++)
                    has_poles |= !isfinite(p.got[k]);
            }
        }
        if (has_poles && !row->has_poles)
            fail_msg("%s has a derivative that is not finite", row->name);
        // the poles of tan are no floats, but near them halves overflow
        if (row->has_poles && !has_poles && i != BT_SCALAR_ZMUL && i != BT_SCALAR_TAN)
            fail_msg("%s has finite derivatives", row->name);
    }
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_operators_at_edges),
    cmocka_unit_test(test_other_classes_are_refused),
    cmocka_unit_test(test_casts_between_all_dtypes),
    cmocka_unit_test(test_wide_integers_round_once),
    cmocka_unit_test(test_numbers_fold_like_elements),
    cmocka_unit_test(test_derivatives_agree_with_differences),
    cmocka_unit_test(test_derivatives_at_kinks_and_poles),
    cmocka_unit_test(test_poles_are_where_the_trait_says),
};
TEST_MAIN(tests)
