/* Strips: every row on every instruction set of this machine, against the reference
 * evaluator's scalar operators, conversions and reducers. */
#include "strips.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "compute/reduce.h"

enum { NELEM = 513, NBYTES = NELEM * 8 };

static const bt_dtype dtypes[] = { BT_BOOL,   BT_INT8,    BT_INT16,    BT_INT32,
                                   BT_INT64,  BT_UINT8,   BT_UINT16,   BT_UINT32,
                                   BT_UINT64, BT_FLOAT16, BT_BFLOAT16, BT_FLOAT32,
                                   BT_FLOAT64 };

static int is_half(bt_dtype d)
{
    return d == BT_FLOAT16 || d == BT_BFLOAT16;
}

static const char *name_of(bt_dtype d)
{
    static char name[BT_DTYPE_NAME_SIZE];
    return bt_dtype_name(d, name, sizeof(name));
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 31;
    return x * 0x9e3779b97f4a7c15u;
}

/* ---- operands ---- */

static const double edges[] = { 0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                2,
                                3,
                                -3,
                                7,
                                -7,
                                8,
                                15,
                                16,
                                31,
                                32,
                                63,
                                64,
                                127,
                                128,
                                -128,
                                -129,
                                255,
                                256,
                                32767,
                                32768,
                                -32768,
                                65504,
                                65519,
                                65520,
                                65535,
                                8388608.5,
                                2147483647,
                                2147483648.,
                                -2147483648.,
                                4294967295.,
                                4294967296.,
                                0x1p62,
                                0x1p63,
                                -0x1p63,
                                0x1p64,
                                0x1.fffffep127,
                                0x1p-126,
                                0x1p-149,
                                -0x1p-149,
                                0x1p-24,
                                0x1p-25,
                                88.7,
                                -87.4,
                                -103.9,
                                -104.1,
                                88.8,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                0x1.8p-25,
                                1e-8 };

/* Element i of a strip of this dtype: edges in turn, then bits or small numbers. */
static void put(void *at, bt_dtype d, uint32_t i, uint64_t *state)
{
    uint64_t bits = next_random(state);
    if (d == BT_BOOL) {
        *(uint8_t *)at = bits >> 40 & 1;
    } else if (i % 3 == 0) {
        bt_cell v = {
            .f = edges[bits >> 8 & 0xffff ? (bits >> 20) % BT_COUNT(edges) : 0]
        };
        bt__cell_store(at, d, bt__cell_cast(v, BT_FLOAT64, d));
    } else if (i % 3 == 1 && bt__dtype_is_float(d)) {
        bt_cell v = { .f = (double)(int64_t)bits * 0x1p-60 };
        bt__cell_store(at, d, v);
    } else if (i % 3 == 1) {
        bt__cell_store(at, d,
                       (bt_cell){ .i = bt__int_wrap((int64_t)(bits >> 20 & 31) - 9, d) });
    } else {
        memcpy(at, &bits, bt_dtype_nbytes(d));
    }
}

/* Operand number `which` (from 1) of an elementwise row. */
static bt_dtype operand_type(const bt_strip *row, uint32_t which)
{
    return which == 1 && !strncmp(row->name, "select.", 7) ? BT_BOOL : row->in;
}

/* One buffer each for the output and up to three operands, with room to shift them. */
struct strip {
    uint64_t at[4][NELEM + 16];
};

static void fill(struct strip *s, const bt_strip *row, uint64_t seed)
{
    memset(s, 0xa5, sizeof(*s));
    for (uint32_t k = 1; k < row->naddress; k++) {
        bt_dtype d = operand_type(row, k);
        for (uint32_t i = 0; i < NELEM; i++) {
            uint64_t element = 0;
            put(&element, d, i * (k == 2 ? 5 : 1) + k, &seed);
            memcpy((char *)s->at[k] + i * bt_dtype_nbytes(d), &element,
                   bt_dtype_nbytes(d));
        }
    }
}

static void call(const bt_strip *row, struct strip *s, int64_t count)
{
    void *p[4] = { s->at[0], s->at[1], s->at[2], s->at[3] };
    assert_int_equal(row->fn(p, &count), 0);
}

static bt_cell cell(const void *base, bt_dtype d, int64_t i)
{
    uint64_t element = 0;
    memcpy(&element, (const char *)base + i * (int64_t)bt_dtype_nbytes(d),
           bt_dtype_nbytes(d));
    return bt__cell_load(&element, d);
}

/* Whether two elements have the same bits, or are both NaN. */
static int is_same(bt_dtype d, const void *a, const void *b)
{
    bt_cell x = cell(a, d, 0), y = cell(b, d, 0);
    if (bt__dtype_is_float(d) && x.f != x.f)
        return y.f != y.f;
    return memcmp(a, b, bt_dtype_nbytes(d)) == 0;
}

/* ---- scalar operators ---- */

/* The scalar operator of a row, -1: it is none; *variant: 0, 's' or 'r'. */
static int operator_of(const bt_strip *row, char *variant)
{
    char name[64];
    snprintf(name, sizeof(name), "%s", row->name);
    char *dot = strchr(name, '.'), *last = strrchr(name, '.');
    *variant = last != dot ? last[1] : 0;
    *dot = 0;
    int which = bt__scalar_find(name);
    return which;
}

static void test_every_operator_of_every_dtype_is_there(void **state)
{
    (void)state;
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
            for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
                const struct bt__scalar *op = bt__scalar_get(i);
                char name[64];
                snprintf(name, sizeof(name), "%s.%s", op->name, name_of(dtypes[d]));
                const bt_strip *row = bt_cpu_strip_find_for(name, (enum cpu_isa)isa);
                int is_taken = op->classes >> BT_DTYPE_CLASS(dtypes[d]) & 1;
                if (is_half(dtypes[d]) || !is_taken) {
                    assert_null(row);
                    continue;
                }
                if (!row)
                    fail_msg("%s is missing for %s", name,
                             cpu_isa_name((enum cpu_isa)isa));
                assert_int_equal(row->naddress, op->narg + 1);
                assert_int_equal(row->in, dtypes[d]);
                assert_int_equal(row->out, op->is_test ? BT_BOOL : dtypes[d]);
                if (op->narg == 2) {
                    strcat(name, ".s");
                    assert_non_null(bt_cpu_strip_find_for(name, (enum cpu_isa)isa));
                    name[strlen(name) - 1] = 'r';
                    assert_non_null(bt_cpu_strip_find_for(name, (enum cpu_isa)isa));
                }
            }
        }
    }
}

static void test_names_are_found_once(void **state)
{
    (void)state;
    uint32_t n = 0;
    for (const bt_strip *row; (row = bt_cpu_strip_at(CPU_ISA_PORTABLE, n)); n++) {
        assert_ptr_equal(bt_cpu_strip_find_for(row->name, CPU_ISA_PORTABLE), row);
        for (int isa = 0; isa < CPU_ISA_COUNT; isa++)
            assert_string_equal(bt_cpu_strip_at((enum cpu_isa)isa, n)->name, row->name);
    }
    assert_true(n > 1000);
    assert_null(bt_cpu_strip_find("add"));
    assert_null(bt_cpu_strip_find(""));
}

static void test_the_environment_narrows_the_instruction_set(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        setenv("BATON_CPU", cpu_isa_name((enum cpu_isa)isa), 1);
        assert_ptr_equal(bt_cpu_strip_find("add.float32"),
                         bt_cpu_strip_find_for("add.float32", (enum cpu_isa)isa));
    }
    unsetenv("BATON_CPU");
    assert_ptr_equal(bt_cpu_strip_find("add.float32"),
                     bt_cpu_strip_find_for("add.float32", cpu_isa_of_machine()));
}

/* Units in the last place of float32 between a float and the exact result; 0 where it is
 * rounded rightly. What rounds to inf may be the greatest number, and the reverse. */
static double ulps(float got, double exact)
{
    float near = (float)exact;
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
    if (near == got)
        return 0;
    if (isinf(got) || isinf(near))
        return fabsf(isinf(got) ? near : got) == 0x1.fffffep127f ? 1 : (double)INFINITY;
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

static void check_operator(const bt_strip *row, int which, char variant, struct strip *s)
{
    const struct bt__scalar *op = bt__scalar_get((uint32_t)which);
    for (int64_t i = 0; i < NELEM; i++) {
        bt_cell args[2] = { cell(s->at[1], row->in, variant == 'r' ? 0 : i),
                            cell(s->at[2], row->in, variant == 's' ? 0 : i) };
        bt_cell expected = bt__scalar_eval((uint32_t)which, row->in, args);
        bt_cell got = cell(s->at[0], row->out, i);
        int ok = got.i == expected.i;
        if (bt__dtype_is_float(row->out) && row->out == BT_FLOAT32 && op->ulp > 0)
            ok = ulps((float)got.f, expected.f) <= op->ulp;
        else if (bt__dtype_is_float(row->out)) {
            expected.f = bt__float_round(expected.f, row->out);
            ok = got.i == expected.i || (isnan(got.f) && isnan(expected.f));
        }
        if (!ok && bt__dtype_is_float(row->in))
            fail_msg("%s(%a, %a) gives %a (%lld), expected %a (%lld)", row->name,
                     args[0].f, args[1].f, got.f, (long long)got.i, expected.f,
                     (long long)expected.i);
        if (!ok)
            fail_msg("%s(%lld, %lld) gives %lld, expected %lld", row->name,
                     (long long)args[0].i, (long long)args[1].i, (long long)got.i,
                     (long long)expected.i);
    }
}

static void test_operators_give_what_the_evaluator_gives(void **state)
{
    (void)state;
    static struct strip s;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            char variant;
            int which = operator_of(row, &variant);
            for (uint64_t seed = 1; which >= 0 && seed <= 5; seed++) {
                fill(&s, row, seed * 7 + k);
                call(row, &s, NELEM);
                check_operator(row, which, variant, &s);
            }
        }
    }
}

/* ---- float32 functions, densely ---- */

/* Greatest error of an operator of one argument over all exponents and both signs. */
static double greatest_error(const char *name, uint32_t step, float *worst)
{
    char label[64];
    snprintf(label, sizeof(label), "%s.float32", name);
    const bt_strip *row = bt_cpu_strip_find(label);
    uint32_t which = (uint32_t)bt__scalar_find(name);
    double greatest = 0;
    uint64_t next = 0;
    while (next < UINT64_C(1) << 32) {
        float a[512], y[512];
        int64_t count = 0;
        for (; count < 512 && next < UINT64_C(1) << 32; next += step, count++) {
            uint32_t bits = (uint32_t)next;
            memcpy(&a[count], &bits, 4);
        }
        void *p[] = { y, a };
        row->fn(p, &count);
        for (int64_t i = 0; i < count; i++) {
            bt_cell arg = { .f = (double)a[i] };
            double error = ulps(y[i], bt__scalar_eval(which, BT_FLOAT64, &arg).f);
            if (error > greatest)
                greatest = error, *worst = a[i];
        }
    }
    return greatest;
}

static void test_float32_functions_stay_within_their_ulp(void **state)
{
    (void)state;
    const char *text = getenv("STRIPS_STEP"); // 1: every float there is
    uint32_t step = text ? (uint32_t)atoi(text) : 8191;
    for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
        const struct bt__scalar *op = bt__scalar_get(i);
        if (op->narg != 1 || !(op->classes & BT_CLASS_BITS_FLOAT) || op->ulp == 0)
            continue;
        float worst = 0;
        double error = greatest_error(op->name, step, &worst);
        print_message("%-8s %.3f ulp at %a\n", op->name, error, (double)worst);
        if (!(error <= op->ulp))
            fail_msg("%s: %g ulp at %a, %g are allowed", op->name, error, (double)worst,
                     op->ulp);
    }
}

static void test_powers_and_angles_stay_within_their_ulp(void **state)
{
    (void)state;
    static const char *const names[] = { "pow", "atan2" };
    uint64_t random = 1;
    for (uint32_t k = 0; k < 2; k++) {
        char label[64];
        snprintf(label, sizeof(label), "%s.float32", names[k]);
        const bt_strip *row = bt_cpu_strip_find(label);
        uint32_t which = (uint32_t)bt__scalar_find(names[k]);
        double greatest = 0;
        for (int round = 0; round < 1000; round++) {
            float a[512], b[512], y[512];
            int64_t count = 512;
            for (int i = 0; i < 512; i++) {
                uint64_t bits = next_random(&random);
                a[i] = (float)ldexp((double)(bits >> 40) * 0x1p-24, round % 60 - 30);
                b[i] = (float)((double)(int32_t)bits * 0x1p-26);
                a[i] = k && bits >> 39 & 1 ? -a[i] : a[i];
            }
            void *p[] = { y, a, b };
            row->fn(p, &count);
            for (int i = 0; i < 512; i++) {
                bt_cell args[2] = { { .f = (double)a[i] }, { .f = (double)b[i] } };
                double error = ulps(y[i], bt__scalar_eval(which, BT_FLOAT64, args).f);
                greatest = error > greatest ? error : greatest;
            }
        }
        print_message("%-8s %.3f ulp\n", names[k], greatest);
        assert_true(greatest <= bt__scalar_get(which)->ulp);
    }
}

/* ---- casts ---- */

static void test_casts_between_all_dtypes(void **state)
{
    (void)state;
    static struct strip s;
    uint32_t n = 0;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint64_t seed = 1; !strncmp(row->name, "cast.", 5) && seed <= 20;
                 seed++) {
                fill(&s, row, seed * 3 + k);
                call(row, &s, NELEM);
                n++;
                for (int64_t i = 0; i < NELEM; i++) {
                    bt_cell v = cell(s.at[1], row->in, i);
                    bt_cell wanted = bt__cell_cast(v, row->in, row->out);
                    uint64_t expected = 0;
                    bt__cell_store(&expected, row->out, wanted);
                    size_t at = (size_t)i * bt_dtype_nbytes(row->out);
                    if (!is_same(row->out, (char *)s.at[0] + at, &expected))
                        fail_msg("%s of %a (%lld): expected %a (%lld)", row->name, v.f,
                                 (long long)v.i, wanted.f, (long long)wanted.i);
                }
            }
        }
    }
    assert_int_equal(n, 169 * 20 * ((int)cpu_isa_of_machine() + 1));
}

static void test_all_halves_convert(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t base = 0; base < 65536; base += 512) {
            uint16_t halves[512], back[512];
            float floats[512];
            int64_t count = 512;
            for (uint32_t i = 0; i < 512; i++)
                halves[i] = (uint16_t)(base + i);
            void *to[] = { floats, halves }, *from[] = { back, floats };
            bt_cpu_strip_find_for("cast.float16.float32", (enum cpu_isa)isa)
                ->fn(to, &count);
            for (uint32_t i = 0; i < 512; i++) {
                float wanted = bt_half_to_float(halves[i]);
                assert_memory_equal(&floats[i], &wanted, 4);
                floats[i] = nextafterf(floats[i], (float)i - 256);
            }
            bt_cpu_strip_find_for("cast.float32.float16", (enum cpu_isa)isa)
                ->fn(from, &count);
            for (uint32_t i = 0; i < 512; i++)
                assert_int_equal(back[i], bt_half_from_double((double)floats[i]));
        }
    }
}

/* ---- all elementwise rows: counts, places, sharing, instruction sets ---- */

static int is_elementwise(const bt_strip *row)
{
    static const char *const others[] = { "fill.",    "copy.",   "gather.",
                                          "scatter.", "load.",   "store.",
                                          "iota.",    "reduce_", "dot." };
    for (uint32_t i = 0; i < BT_COUNT(others); i++) {
        if (!strncmp(row->name, others[i], strlen(others[i])))
            return 0;
    }
    return 1;
}

/* Fails unless the elements agree, and no byte after them was written. */
static void check_same(const bt_strip *row, const struct strip *reference,
                       const void *out, int64_t count, const char *how)
{
    size_t nbytes = bt_dtype_nbytes(row->out);
    for (int64_t i = 0; i < count; i++) {
        if (!is_same(row->out, (const char *)reference->at[0] + (size_t)i * nbytes,
                     (const char *)out + (size_t)i * nbytes))
            fail_msg("%s %s: element %d of %d differs", row->name, how, (int)i,
                     (int)count);
    }
}

static void test_counts_and_places_change_no_element(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 7, 512 };
    static struct strip reference, s;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            if (!is_elementwise(row))
                continue;
            fill(&reference, row, k);
            call(row, &reference, NELEM);
            for (uint32_t c = 0; c < BT_COUNT(counts); c++) {
                fill(&s, row, k);
                // each operand at another odd address
                void *p[4];
                for (uint32_t j = 0; j < 4; j++) {
                    p[j] = (char *)s.at[j] + 1 + 2 * j;
                    memmove(p[j], s.at[j], NBYTES);
                }
                assert_int_equal(row->fn(p, &counts[c]), 0);
                check_same(row, &reference, p[0], counts[c], "misaligned");
                const unsigned char *after =
                    (unsigned char *)p[0] + (size_t)counts[c] * bt_dtype_nbytes(row->out);
                for (int j = 0; j < 64; j++)
                    assert_int_equal(after[j], 0xa5);
            }
        }
    }
}

static void test_the_output_may_be_an_operand(void **state)
{
    (void)state;
    static struct strip reference, s;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint32_t j = 1; is_elementwise(row) && j < row->naddress; j++) {
                if (bt_dtype_nbytes(operand_type(row, j)) != bt_dtype_nbytes(row->out))
                    continue;
                fill(&reference, row, k);
                call(row, &reference, NELEM);
                fill(&s, row, k);
                void *p[4] = { s.at[j], s.at[1], s.at[2], s.at[3] };
                int64_t count = NELEM;
                row->fn(p, &count);
                check_same(row, &reference, s.at[j], NELEM, "in place");
            }
        }
    }
}

static void test_instruction_sets_give_the_same_bits(void **state)
{
    (void)state;
    static struct strip reference, s;
    for (int isa = 1; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint64_t seed = 0; is_elementwise(row) && seed < 10; seed++) {
                fill(&reference, row, seed);
                fill(&s, row, seed);
                call(bt_cpu_strip_at(CPU_ISA_PORTABLE, k), &reference, NELEM);
                call(row, &s, NELEM);
                check_same(row, &reference, s.at[0], NELEM, "of another set");
            }
        }
    }
}

/* ---- pairs ---- */

static void test_pairs_give_the_bits_of_single_strips(void **state)
{
    (void)state;
    enum { N = 512 };
    static float a[N], b[N], c[N], y[N], z[N], t[N];
    const float zero = 0;
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(int64_t)next_random(&random) * 0x1p-61f;
        b[i] = (float)(int64_t)next_random(&random) * 0x1p-60f;
        c[i] = (float)(int64_t)next_random(&random) * 0x1p-60f;
    }
    int64_t n = N;
#define CALL(name, ...)                                          \
    do {                                                         \
        const void *args[] = { __VA_ARGS__ };                    \
        void *p[4];                                              \
        memcpy(p, args, sizeof(args));                           \
        assert_int_equal(bt_cpu_strip_find(name)->fn(p, &n), 0); \
    } while (0)
    CALL("mul.float32", t, a, b);
    CALL("add.float32", z, t, c);
    CALL("fma.float32", y, a, b, c);
    assert_memory_equal(y, z, sizeof(y));
    CALL("max.float32.s", z, z, &zero);
    CALL("fma_relu.float32", y, a, b, c);
    assert_memory_equal(y, z, sizeof(y));
    CALL("mul.float32.s", t, a, b);
    CALL("add.float32", z, t, c);
    CALL("fma.float32.s", y, a, b, c);
    assert_memory_equal(y, z, sizeof(y));
    CALL("max.float32.s", z, z, &zero);
    CALL("fma_relu.float32.s", y, a, b, c);
    assert_memory_equal(y, z, sizeof(y));
    CALL("add.float32", t, a, b);
    CALL("max.float32.s", z, t, &zero);
    CALL("add_relu.float32", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
    CALL("sigmoid.float32", t, b);
    CALL("mul.float32", z, a, t);
    CALL("mul_sigmoid.float32", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
}

/* ---- moves ---- */

static void test_moves(void **state)
{
    (void)state;
    static uint64_t a[1600], out[1600];
    static int64_t index[NELEM];
    uint64_t random = 9;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (size_t width = 1; width <= 8; width *= 2) {
            char name[32];
            const bt_strip *row;
            for (size_t i = 0; i < BT_COUNT(a); i++)
                a[i] = next_random(&random);
            for (int64_t i = 0; i < NELEM; i++)
                index[i] = (int64_t)(next_random(&random) >> 40) % NELEM;
            char *from = (char *)a + width, *to = (char *)out;
            int64_t n[] = { NELEM, -1 };
#define FIND(verb)                                        \
    snprintf(name, sizeof(name), verb ".%d", (int)width); \
    row = bt_cpu_strip_find_for(name, (enum cpu_isa)isa); \
    assert_non_null(row);                                 \
    memset(out, 0, sizeof(out));
            FIND("copy") row->fn((void *[]){ to, from }, n);
            assert_memory_equal(to, from, NELEM * width);
            row->fn((void *[]){ from, from }, n);
            assert_memory_equal(to, from, NELEM * width);
            FIND("gather") row->fn((void *[]){ to, from, index }, n);
            for (size_t i = 0; i < NELEM; i++)
                assert_memory_equal(to + i * width, from + (size_t)index[i] * width,
                                    width);
            FIND("scatter") row->fn((void *[]){ to, from, index }, n);
            for (size_t i = 0; i < NELEM; i++) {
                size_t last = i;
                for (size_t j = i + 1; j < NELEM; j++)
                    last = index[j] == index[i] ? j : last;
                assert_memory_equal(to + (size_t)index[i] * width, from + last * width,
                                    width);
            }
            FIND("load")
            row->fn(
                (void *[]){
                    to,
                    from + 600 * width,
                },
                n);
            for (size_t i = 0; i < NELEM; i++)
                assert_memory_equal(to + i * width, from + (600 - i) * width, width);
            n[1] = 3;
            FIND("store") row->fn((void *[]){ to, from }, n);
            for (size_t i = 0; i < NELEM; i++) {
                assert_memory_equal(to + 3 * i * width, from + i * width, width);
                assert_memory_equal(to + (3 * i + 1) * width, "\0\0\0\0\0\0\0\0", width);
            }
        }
    }
}

static void test_fills_and_counts(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        int64_t wide[NELEM], n[] = { NELEM, INT64_MAX - 5, 7 };
        int32_t narrow[NELEM];
        float floats[NELEM], value = 1.25f;
        bt_cpu_strip_find_for("iota.int64", (enum cpu_isa)isa)->fn((void *[]){ wide }, n);
        bt_cpu_strip_find_for("iota.int32", (enum cpu_isa)isa)
            ->fn((void *[]){ narrow }, n);
        bt_cpu_strip_find_for("fill.float32", (enum cpu_isa)isa)
            ->fn((void *[]){ floats, &value }, n);
        for (int64_t i = 0; i < NELEM; i++) {
            int64_t expected = (int64_t)((uint64_t)n[1] + (uint64_t)i * 7);
            assert_int_equal(wide[i], expected);
            assert_int_equal(narrow[i], (int32_t)expected);
            assert_true(floats[i] == value);
        }
        for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
            char name[64];
            snprintf(name, sizeof(name), "fill.%s", name_of(dtypes[d]));
            assert_non_null(bt_cpu_strip_find_for(name, (enum cpu_isa)isa));
        }
    }
}

static void test_selects_take_the_masked(void **state)
{
    (void)state;
    static struct strip s;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
            char name[64];
            snprintf(name, sizeof(name), "select.%s", name_of(dtypes[d]));
            const bt_strip *row = bt_cpu_strip_find_for(name, (enum cpu_isa)isa);
            size_t width = bt_dtype_nbytes(dtypes[d]);
            fill(&s, row, d);
            call(row, &s, NELEM);
            for (size_t i = 0; i < NELEM; i++) {
                int mask = ((uint8_t *)s.at[1])[i];
                assert_memory_equal((char *)s.at[0] + i * width,
                                    (char *)s.at[mask ? 2 : 3] + i * width, width);
            }
        }
    }
}

/* ---- reductions ---- */

/* Reducer of a row "reduce_R.T", with a T as accumulator; -1: it is none. */
static int reducer_of(const bt_strip *row)
{
    char name[64];
    if (strncmp(row->name, "reduce_", 7) != 0 || strstr(row->name, ".wide"))
        return -1;
    snprintf(name, sizeof(name), "%s", row->name + 7);
    *strchr(name, '.') = 0;
    return bt__reducer_find(name);
}

static int is_arg(uint32_t which)
{
    return bt__reducer_get(which)->result == BT__RESULT_INT64;
}

/* Runs a strip of `count` elements from s->at[1], at odd addresses if `shift`; results are
 * left in *value and *position. */
static void reduce(const bt_strip *row, uint32_t which, struct strip *s, int64_t count,
                   int shift, uint64_t *value, int64_t *position)
{
    int64_t n[] = { count, 100, -2 };
    char *in = (char *)s->at[2] + shift;
    memcpy(in, s->at[1], NBYTES);
    *value = 0;
    *position = -1;
    bt__cell_store(value, row->in, bt__reducer_start(which, row->in, 0));
    void *p[] = { value, in, NULL }, *with[] = { value, position, in };
    assert_int_equal(row->fn(is_arg(which) ? with : p, n), 0);
}

static void check_reducer(const bt_strip *row, uint32_t which, struct strip *s,
                          int64_t count)
{
    uint64_t value;
    int64_t position;
    bt_cell acc = bt__reducer_start(which, row->in, 0);
    bt_cell acc2 = bt__reducer_start(which, row->in, 1), values[NELEM];
    double size = 0;
    for (int64_t i = 0; i < count; i++) {
        values[i] = cell(s->at[1], row->in, i);
        size += bt__dtype_is_float(row->in) ? fabs(values[i].f) : 0;
    }
    bt__reducer_take(which, row->in)((uint32_t)count, &acc, &acc2, 0, values, 1, 100, -2);
    reduce(row, which, s, count, 0, &value, &position);
    bt_cell got = bt__cell_load(&value, row->in);
    if (is_arg(which)) {
        assert_int_equal(position, acc2.i);
    } else if (!bt__dtype_is_float(row->in)) {
        assert_int_equal(got.i, bt__int_wrap(acc.i, row->in));
    } else if (which == BT_REDUCER_SUM || which == BT_REDUCER_PROD) {
        double unit = row->in == BT_FLOAT32 ? 0x1p-23 : 0x1p-52;
        double bound =
            which == BT_REDUCER_SUM ? 24 * unit * size : 600 * unit * fabs(acc.f);
        if (!(fabs(got.f - acc.f) <= bound) && !(isnan(got.f) && isnan(acc.f)))
            fail_msg("%s of %d: %a, expected %a", row->name, (int)count, got.f, acc.f);
    } else if (got.f != acc.f && !(isnan(got.f) && isnan(acc.f))) {
        fail_msg("%s of %d: %a, expected %a", row->name, (int)count, got.f, acc.f);
    }
    uint64_t other;
    reduce(row, which, s, count, 3, &other, &position);
    assert_true(is_same(row->in, &other, &value));
    char label[64];
    snprintf(label, sizeof(label), "%s", row->name);
    reduce(bt_cpu_strip_find_for(label, CPU_ISA_PORTABLE), which, s, count, 0, &other,
           &position);
    assert_true(is_same(row->in, &other, &value));
}

/* Numbers whose sums and products stay in range, or anything. */
static void fill_terms(struct strip *s, const bt_strip *row, uint32_t seed, int is_tame)
{
    uint64_t random = seed;
    fill(s, row, seed);
    for (size_t i = 0; is_tame && bt__dtype_is_float(row->in) && i < NELEM; i++) {
        bt_cell v = { .f = 1 + (double)(int64_t)next_random(&random) * 0x1p-66 };
        bt__cell_store((char *)s->at[1] + i * bt_dtype_nbytes(row->in), row->in, v);
    }
}

static void test_reductions_take_like_the_evaluator(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 7, 31, 32, 33, 512, 513 };
    static struct strip s;
    uint32_t n = 0;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const bt_strip *row;
        for (uint32_t k = 0; (row = bt_cpu_strip_at((enum cpu_isa)isa, k)); k++) {
            int which = reducer_of(row);
            for (uint32_t c = 0; which >= 0 && c < BT_COUNT(counts); c++, n++) {
                int is_sum = which == BT_REDUCER_SUM || which == BT_REDUCER_PROD;
                fill_terms(&s, row, k + c, is_sum);
                check_reducer(row, (uint32_t)which, &s, counts[c]);
            }
        }
    }
    assert_true(n >= 82 * BT_COUNT(counts));
}

static void test_wide_sums_and_products_of_pairs(void **state)
{
    (void)state;
    static float a[NELEM], b[NELEM];
    double sum = 0, product = 1, dot = 0, wide[CPU_ISA_COUNT][3];
    float narrow[CPU_ISA_COUNT];
    uint64_t random = 3;
    for (int i = 0; i < NELEM; i++) {
        a[i] = 1 + (float)(int64_t)next_random(&random) * 0x1p-66f;
        b[i] = (float)(int64_t)next_random(&random) * 0x1p-62f;
        sum += (double)a[i], product *= (double)a[i], dot += (double)a[i] * (double)b[i];
    }
    int64_t n = NELEM;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        enum cpu_isa set = (enum cpu_isa)isa;
        wide[isa][0] = 0, wide[isa][1] = 1, wide[isa][2] = 0, narrow[isa] = 0;
        bt_cpu_strip_find_for("reduce_sum.float32.wide", set)
            ->fn((void *[]){ &wide[isa][0], a }, &n);
        bt_cpu_strip_find_for("reduce_prod.float32.wide", set)
            ->fn((void *[]){ &wide[isa][1], a }, &n);
        bt_cpu_strip_find_for("dot.float32.wide", set)
            ->fn((void *[]){ &wide[isa][2], a, b }, &n);
        bt_cpu_strip_find_for("dot.float32", set)
            ->fn((void *[]){ &narrow[isa], a, b }, &n);
        assert_true(fabs(wide[isa][0] - sum) <= 1e-12 * sum);
        assert_true(fabs(wide[isa][1] - product) <= 1e-12 * product);
        assert_true(fabs(wide[isa][2] - dot) <= 1e-12 * NELEM);
        assert_true(fabs((double)narrow[isa] - dot) <= 1e-6 * NELEM);
        assert_memory_equal(wide[isa], wide[0], sizeof(wide[0]));
        assert_memory_equal(&narrow[isa], &narrow[0], sizeof(narrow[0]));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_operator_of_every_dtype_is_there),
    cmocka_unit_test(test_names_are_found_once),
    cmocka_unit_test(test_the_environment_narrows_the_instruction_set),
    cmocka_unit_test(test_operators_give_what_the_evaluator_gives),
    cmocka_unit_test(test_float32_functions_stay_within_their_ulp),
    cmocka_unit_test(test_powers_and_angles_stay_within_their_ulp),
    cmocka_unit_test(test_casts_between_all_dtypes),
    cmocka_unit_test(test_all_halves_convert),
    cmocka_unit_test(test_counts_and_places_change_no_element),
    cmocka_unit_test(test_the_output_may_be_an_operand),
    cmocka_unit_test(test_instruction_sets_give_the_same_bits),
    cmocka_unit_test(test_pairs_give_the_bits_of_single_strips),
    cmocka_unit_test(test_moves),
    cmocka_unit_test(test_fills_and_counts),
    cmocka_unit_test(test_selects_take_the_masked),
    cmocka_unit_test(test_reductions_take_like_the_evaluator),
    cmocka_unit_test(test_wide_sums_and_products_of_pairs),
};
TEST_MAIN(tests)
