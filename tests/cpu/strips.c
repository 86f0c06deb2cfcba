/* Strips: scalar operators, functions and conversions on every instruction set of this
 * machine, against those of the reference evaluator. */
#include "strip_operands.h"

#include <float.h>

/* ---- scalar operators ---- */

/* The scalar operator of a row, -1: it is none; *variant: 0, 's' or 'r'. */
static int operator_of(const struct cpu_callee *row, char *variant)
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
                const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, name);
                int is_taken = op->classes >> BT_DTYPE_CLASS(dtypes[d]) & 1;
                if (bt_dtype_is_small_float(dtypes[d]) || !is_taken) {
                    assert_null(row);
                    continue;
                }
                if (!row)
                    fail_msg("%s is missing for %s", name,
                             cpu_isa_name((enum cpu_isa)isa));
                assert_int_equal(cpu_form_of(row)->naddress, op->narg + 1);
                assert_int_equal(row->in, dtypes[d]);
                assert_int_equal(row->out, op->is_test ? BT_BOOL : dtypes[d]);
                if (op->narg == 2) {
                    strcat(name, ".s");
                    assert_non_null(cpu_callee_find((enum cpu_isa)isa, name));
                    name[strlen(name) - 1] = 'r';
                    assert_non_null(cpu_callee_find((enum cpu_isa)isa, name));
                }
            }
        }
    }
}

static void test_names_are_found_once(void **state)
{
    (void)state;
    uint32_t n = 0;
    for (const struct cpu_callee *row; (row = strip_at(CPU_ISA_PORTABLE, n)); n++) {
        assert_ptr_equal(cpu_callee_find(CPU_ISA_PORTABLE, row->name), row);
        for (int isa = 0; isa < CPU_ISA_COUNT; isa++)
            assert_string_equal(strip_at((enum cpu_isa)isa, n)->name, row->name);
    }
    assert_true(n > 1000);
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
        const struct cpu_callee *row;
        for (n = 0; (row = cpu_callee_at((enum cpu_isa)isa, n)); n++) {
            assert_ptr_equal(cpu_callee_find((enum cpu_isa)isa, row->name), row);
            if (!row->ps)
                fail_msg("%s costs nothing", row->name);
        }
    }
    assert_null(cpu_callee_find(cpu_isa_of_machine(), "add"));
    assert_null(cpu_callee_find(cpu_isa_of_machine(), ""));
}

/* A call changes what it says that it writes, and nothing else: positions of the best
 * included, which begin with none. */
static void check_writes(const struct cpu_callee *row)
{
    static const int64_t n[] = { 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    enum { MOST = 7 };
    unsigned char memory[MOST][256], before[MOST][256];
    void *p[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        p[i] = memory[i];
    assert_true(cpu_form_of(row)->naddress <= MOST &&
                cpu_form_of(row)->ninteger <= BT_COUNT(n) &&
                cpu_form_of(row)->nwritten <= cpu_form_of(row)->naddress);
    memset(memory, 0, sizeof(memory)); // index 0, false, 0
    for (uint32_t i = 0; i < cpu_form_of(row)->nwritten; i++)
        memset(memory[i], 0xff, sizeof(memory[i]));
    memcpy(before, memory, sizeof(memory));
    assert_int_equal(row->run(p, n), 0);
    for (uint32_t i = cpu_form_of(row)->nwritten; i < MOST; i++) {
        if (memcmp(memory[i], before[i], sizeof(memory[i])) != 0)
            fail_msg("%s: address %u is written", row->name, i);
    }
    for (uint32_t i = 1; i < cpu_form_of(row)->nwritten; i++) {
        if (memcmp(memory[i], before[i], sizeof(memory[i])) == 0)
            fail_msg("%s: address %u is not written", row->name, i);
    }
}

static void test_only_what_the_table_says_is_written(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        const struct cpu_callee *row;
        for (uint32_t i = 0; (row = strip_at((enum cpu_isa)isa, i)); i++)
            check_writes(row);
    }
}

/* Vectors and what is left behind them: as the portable set has it, to the bit. */
static void test_exp_has_the_same_bits_on_all_sets(void **state)
{
    (void)state;
    static const char *const names[] = { "exp.float32", "exp_sub.float32",
                                         "exp_sub.float32.s", "exp_sub.float32.r" };
    enum { MOST = 70 };
    uint64_t seed = 9;
    float a[MOST], b[MOST], got[MOST + 1], expected[MOST + 1];
    for (int isa = 1; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t k = 0; k < 8000 * BT_COUNT(names); k++) {
            const char *name = names[k % BT_COUNT(names)];
            const int64_t n = k / BT_COUNT(names) % MOST;
            for (int64_t i = 0; i < MOST; i++) {
                const uint32_t bits = (uint32_t)next_random(&seed);
                memcpy(&a[i], &bits,
                       sizeof(bits)); // anything; or what is within the limits
                a[i] = k & 64 ? (float)(bits >> 8) * 0x1p-16f - 128 : a[i];
                b[i] = (float)(next_random(&seed) >> 40) * 0x1p-20f - 8;
            }
            memset(got, 0x55, sizeof(got));
            memset(expected, 0x55, sizeof(expected));
            (void)cpu_callee_find((enum cpu_isa)isa, name)
                ->run((void *[]){ got, a, b }, &n);
            (void)cpu_callee_find(CPU_ISA_PORTABLE, name)
                ->run((void *[]){ expected, a, b }, &n);
            for (int64_t i = 0; i <= n; i++) {
                if (memcmp(&got[i], &expected[i], sizeof(*got)) != 0 &&
                    !(isnan(got[i]) && isnan(expected[i])))
                    fail_msg("%s: element %lld of %lld is %a, not %a", name, (long long)i,
                             (long long)n, (double)got[i], (double)expected[i]);
            }
        }
    }
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

static void check_operator(const struct cpu_callee *row, int which, char variant,
                           struct strip *s)
{
    const struct bt__scalar *op = bt__scalar_get((uint32_t)which);
    for (int64_t i = 0; i < NELEM; i++) {
        bt_cell args[2] = { cell(s->at[1], row->in, variant == 'r' ? 0 : i),
                            cell(s->at[2], row->in, variant == 's' ? 0 : i) };
        bt_cell expected = bt_scalar_eval((uint32_t)which, row->in, args);
        bt_cell got = cell(s->at[0], row->out, i);
        int ok = got.i == expected.i;
        if (bt_dtype_is_float(row->out) && row->out == BT_FLOAT32 && op->ulp > 0)
            ok = ulps((float)got.f, expected.f) <= op->ulp;
        else if (bt_dtype_is_float(row->out)) {
            expected.f = bt__float_round(expected.f, row->out);
            ok = got.i == expected.i || (isnan(got.f) && isnan(expected.f));
        }
        if (!ok && bt_dtype_is_float(row->in))
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
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
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
    const struct cpu_callee *row = cpu_callee_find(cpu_isa_of_machine(), label);
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
        row->run(p, &count);
        for (int64_t i = 0; i < count; i++) {
            bt_cell arg = { .f = (double)a[i] };
            double error = ulps(y[i], bt_scalar_eval(which, BT_FLOAT64, &arg).f);
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
        const struct cpu_callee *row = cpu_callee_find(cpu_isa_of_machine(), label);
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
            row->run(p, &count);
            for (int i = 0; i < 512; i++) {
                bt_cell args[2] = { { .f = (double)a[i] }, { .f = (double)b[i] } };
                double error = ulps(y[i], bt_scalar_eval(which, BT_FLOAT64, args).f);
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
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint64_t seed = 1; !strncmp(row->name, "cast.", 5) && seed <= 20;
                 seed++) {
                fill(&s, row, seed * 3 + k);
                call(row, &s, NELEM);
                n++;
                for (int64_t i = 0; i < NELEM; i++) {
                    bt_cell v = cell(s.at[1], row->in, i);
                    bt_cell wanted = bt_cell_cast(v, row->in, row->out);
                    uint64_t expected = 0;
                    bt_cell_store(&expected, row->out, wanted);
                    size_t at = (size_t)i * bt_dtype_nbytes(row->out);
                    if (!is_same(row->out, (char *)s.at[0] + at, &expected))
                        fail_msg("%s of %a (%lld): expected %a (%lld)", row->name, v.f,
                                 (long long)v.i, wanted.f, (long long)wanted.i);
                }
            }
        }
    }
    assert_int_equal(n, BT_COUNT(dtypes) * BT_COUNT(dtypes) * 20 *
                            ((int)cpu_isa_of_machine() + 1));
}

/* ---- whether all are finite ---- */

static void check_finite(enum cpu_isa isa, const char *name, bt_dtype dtype)
{
    static const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    const struct cpu_callee *row = cpu_callee_find(isa, name);
    const double great = dtype == BT_FLOAT32 ? (double)FLT_MAX : DBL_MAX;
    enum { MOST = 70 };
    unsigned char memory[(MOST + 1) * 8], is;
    void *p[] = { &is, memory };
    for (int64_t count = 0; count <= MOST; count++) {
        for (int64_t at = 0; at <= count; at++) { // past the end: all are
            for (int64_t i = 0; i <= MOST; i++)
                bt_cell_store(memory + (size_t)i * bt_dtype_nbytes(dtype), dtype,
                              (bt_cell){ .f = i == at ? odd[count % 3]
                                              : i % 2 ? -great
                                                      : 0x1p-149 });
            is = 0xff;
            assert_int_equal(row->run(p, &count), 0);
            assert_int_equal(is, at == count);
        }
    }
}

static void test_one_element_that_is_not_finite_is_found(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        check_finite((enum cpu_isa)isa, "finite.float32", BT_FLOAT32);
        check_finite((enum cpu_isa)isa, "finite.float64", BT_FLOAT64);
    }
}

static void test_all_halves_convert(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        // a count that vectors do not divide
        for (uint32_t base = 0; base < 65536; base += 507) {
            uint16_t halves[507], back[507];
            float floats[507];
            int64_t count = 65536 - base < 507 ? 65536 - base : 507;
            for (uint32_t i = 0; i < (uint32_t)count; i++)
                halves[i] = (uint16_t)(base + i);
            void *to[] = { floats, halves }, *from[] = { back, floats };
            cpu_callee_find((enum cpu_isa)isa, "cast.float16.float32")->run(to, &count);
            for (uint32_t i = 0; i < (uint32_t)count; i++) {
                float wanted = bt_half_to_float(halves[i]);
                uint32_t quiet = 0;
                memcpy(&quiet, &wanted, 4);
                quiet |= isnan(wanted) ? 0x400000u : 0;
                memcpy(&wanted, &quiet, 4);
                assert_memory_equal(&floats[i], &wanted, 4);
                floats[i] = nextafterf(floats[i], (float)i - 256);
            }
            cpu_callee_find((enum cpu_isa)isa, "cast.float32.float16")->run(from, &count);
            for (uint32_t i = 0; i < (uint32_t)count; i++)
                assert_int_equal(back[i], bt_half_from_double((double)floats[i]));
        }
    }
}

/* To 8 bits from every so many floats, denormals too. */
static void test_floats_become_those_of_8_bits(void **state)
{
    (void)state;
    static const char *const names[] = { "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz" };
    static const bt_dtype types[] = { BT_FLOAT8_E4M3FN, BT_FLOAT8_E4M3FNUZ,
                                      BT_FLOAT8_E5M2, BT_FLOAT8_E5M2FNUZ };
    for (int k = 0; k < 4 * ((int)cpu_isa_of_machine() + 1); k++) {
        char label[64];
        snprintf(label, sizeof(label), "cast.float32.float8_%s", names[k % 4]);
        const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)(k / 4), label);
        for (uint64_t next = 0; next < UINT64_C(1) << 32;) {
            float a[507];
            uint8_t y[507];
            int64_t count = 0;
            for (; count < 507 && next < UINT64_C(1) << 32; next += 32749, count++)
                a[count] = bt_float_of_bits((uint32_t)next);
            row->run((void *[]){ y, a }, &count);
            for (int64_t i = 0; i < count; i++) {
                uint8_t wanted;
                bt_cell_store(&wanted, types[k % 4], (bt_cell){ .f = (double)a[i] });
                if (y[i] != wanted && !isnan(a[i]))
                    fail_msg("%s of %a: %x, not %x", label, (double)a[i], y[i], wanted);
            }
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_operator_of_every_dtype_is_there),
    cmocka_unit_test(test_names_are_found_once),
    cmocka_unit_test(test_only_what_the_table_says_is_written),
    cmocka_unit_test(test_exp_has_the_same_bits_on_all_sets),
    cmocka_unit_test(test_operators_give_what_the_evaluator_gives),
    cmocka_unit_test(test_float32_functions_stay_within_their_ulp),
    cmocka_unit_test(test_powers_and_angles_stay_within_their_ulp),
    cmocka_unit_test(test_casts_between_all_dtypes),
    cmocka_unit_test(test_one_element_that_is_not_finite_is_found),
    cmocka_unit_test(test_all_halves_convert),
    cmocka_unit_test(test_floats_become_those_of_8_bits),
};
TEST_MAIN(tests)
