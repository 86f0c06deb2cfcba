/* Strips: where elements lie, how many they are and which instruction set computes them
 * changes no bit. */
#include "strip_operands.h"

#include <math.h>

/* ---- all elementwise rows: counts, places, sharing, instruction sets ---- */

static int is_elementwise(const struct cpu_callee *row)
{
    return row->form <= CPU_SELECT;
}

/* Fails unless the elements agree, and no byte after them was written. */
static void check_same(const struct cpu_callee *row, const struct strip *reference,
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
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
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
                assert_int_equal(row->run(p, &counts[c]), 0);
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
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint32_t j = 1; is_elementwise(row) && j < cpu_form_of(row)->naddress;
                 j++) {
                if (bt_dtype_nbytes(operand_type(row, j)) != bt_dtype_nbytes(row->out))
                    continue;
                fill(&reference, row, k);
                call(row, &reference, NELEM);
                fill(&s, row, k);
                void *p[4] = { s.at[j], s.at[1], s.at[2], s.at[3] };
                int64_t count = NELEM;
                row->run(p, &count);
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
        const struct cpu_callee *row;
        for (uint32_t k = 0; (row = strip_at((enum cpu_isa)isa, k)); k++) {
            for (uint64_t seed = 0; is_elementwise(row) && seed < 10; seed++) {
                fill(&reference, row, seed);
                fill(&s, row, seed);
                call(strip_at(CPU_ISA_PORTABLE, k), &reference, NELEM);
                call(row, &s, NELEM);
                check_same(row, &reference, s.at[0], NELEM, "of another set");
            }
        }
    }
}

/* ---- codes ---- */

/* What the strips that it stands for give, one by one. */
static int code(int32_t sum, float factor, float low, float high, float of_nan,
                int32_t zero)
{
    const float product = (float)sum * factor;
    const float whole = isnan(product) ? of_nan : rintf(product);
    return (int)(whole < low ? low : whole > high ? high : whole) + zero;
}

static void test_codes_are_those_of_single_strips(void **state)
{
    (void)state;
    enum { N = 700 };
    static const float odd[] = { INFINITY, -INFINITY, NAN, 0, -0.0F, 1e30F, 0.5F };
    static const int zeros[] = { 0, 3, 255 };
    static int32_t sums[N];
    static float factors[N];
    uint32_t seed = 3;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        sums[i] = i % 3 ? (int32_t)(seed >> 16) - 32768 : (int32_t)seed;
        factors[i] = i % 9 ? (float)(seed >> 8 & 0xfff) * 0x1p-15F : odd[i / 9 % 7];
    }
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (int k = 0; k < 12; k++) {
            static const char *const names[] = { "requantize_uint8.int32",
                                                 "requantize_uint8.int32.s",
                                                 "requantize_int8.int32",
                                                 "requantize_int8.int32.s" };
            unsigned char codes[N];
            int32_t zero = zeros[k / 4] - (k % 4 < 2 ? 0 : 128);
            float low = (float)((k % 4 < 2 ? 0 : -128) - zero), high = low + 255, nan = 0;
            const struct cpu_callee *row =
                cpu_callee_find((enum cpu_isa)isa, names[k % 4]);
            assert_non_null(row);
            for (int at = 0; at < (k % 2 ? N : 1); at += 7) {
                const int64_t n = N - at;
                void *p[] = { codes, sums + at, factors + at, &low, &high, &nan, &zero };
                assert_int_equal(row->run(p, &n), 0);
                for (int i = at; i < N; i++) {
                    const float factor = factors[k % 2 ? at : i];
                    assert_int_equal(
                        codes[i - at],
                        (unsigned char)code(sums[i], factor, low, high, nan, zero));
                }
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
    const float zero = 0, one = 1, six = 6;
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(int64_t)next_random(&random) * 0x1p-61f;
        b[i] = (float)(int64_t)next_random(&random) * 0x1p-60f;
        c[i] = (float)(int64_t)next_random(&random) * 0x1p-60f;
    }
    int64_t n = N;
#define CALL(name, ...)                                                               \
    do {                                                                              \
        const void *args[] = { __VA_ARGS__ };                                         \
        void *p[4];                                                                   \
        memcpy(p, args, sizeof(args));                                                \
        assert_int_equal(cpu_callee_find(cpu_isa_of_machine(), name)->run(p, &n), 0); \
    } while (0)
    const uint32_t turn = 13, rest = 32 - 13; // the floats' bits as integers
    CALL("shift_left.uint32.s", t, a, &turn);
    CALL("shift_right.uint32.s", z, a, &rest);
    CALL("bit_or.uint32", t, t, z);
    CALL("bit_xor.uint32", z, t, b);
    CALL("rotate_xor.uint32.s", y, a, &turn, b);
    assert_memory_equal(y, z, sizeof(y));
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
    CALL("min.float32.s", z, z, &six);
    CALL("add_relu6.float32", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
    CALL("sigmoid.float32", t, b);
    CALL("mul.float32", z, a, t);
    CALL("mul_sigmoid.float32", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
    CALL("erf.float32", t, b);
    CALL("add.float32.s", t, t, &one);
    CALL("mul.float32", z, a, t);
    CALL("mul_erf_1.float32", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
    CALL("sub.float32.s", t, a, b);
    CALL("exp.float32", z, t);
    CALL("exp_sub.float32.s", y, a, b);
    assert_memory_equal(y, z, sizeof(y));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counts_and_places_change_no_element),
    cmocka_unit_test(test_the_output_may_be_an_operand),
    cmocka_unit_test(test_instruction_sets_give_the_same_bits),
    cmocka_unit_test(test_codes_are_those_of_single_strips),
    cmocka_unit_test(test_pairs_give_the_bits_of_single_strips),
};
TEST_MAIN(tests)
