/* Pairs of bfloat16 and int16, and quads: every element in its place, zeros behind, nothing else touched. */
#include "primitives/pairs.h"
#include "guard.h"

#include <math.h>
#include <stdlib.h>

/* To the nearest, of two as near the even one; denormals are zeros. */
static uint32_t rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (isnan(x))
        return bits >> 16 | 0x40;
    if (fpclassify(x) == FP_SUBNORMAL)
        return bits >> 31 << 15;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static float odd_float(int64_t i)
{
    static const float odd[] = {
        0,           -0.0F,         INFINITY,        -INFINITY,
        1e-40F,      3.4e38F,       1 + 0x1p-8F, // half way, to even
        1 + 0x3p-8F, 1 + 0x1.1p-8F, -1.17549435e-38F
    };
    if (i % 3 == 0)
        return odd[i / 3 % (int64_t)(sizeof(odd) / sizeof(*odd))];
    return (float)((double)(i * 7919 % 1000) / 37 - 12);
}

/* An element as half of a pair. */
static uint32_t half_of(bt_dtype t, const void *from, int64_t at, int64_t zero)
{
    const int64_t code = t == BT_UINT8  ? ((const uint8_t *)from)[at]
                         : t == BT_INT8 ? ((const int8_t *)from)[at]
                                        : ((const int16_t *)from)[at];
    return t == BT_FLOAT32 ? rounded(((const float *)from)[at])
                           : (uint32_t)(code - zero) & 0xffff;
}

/* Of so many terms, 2 or 4. */
static uint32_t element_at(bt_dtype t, int64_t nterm, const void *from, int64_t k,
                           int64_t j, const int64_t *n)
{
    const int64_t nbit = 32 / nterm;
    uint32_t element = 0;
    for (int64_t i = 0; i < nterm; i++) {
        const int64_t at =
            (nterm * k + i) * n[CPU_PAIRS_K_STRIDE] + j * n[CPU_PAIRS_N_STRIDE];
        if (nterm * k + i < n[CPU_PAIRS_K] && j < n[CPU_PAIRS_N])
            element |= (half_of(t, from, at, n[CPU_PAIRS_ZERO]) & (0xffff >> (16 - nbit)))
                       << nbit * i;
    }
    return element;
}

/* The source ends where the last element does that is read. */
static void check(const struct cpu_callee *row, int64_t nterm, const int64_t *n)
{
    const int64_t ntarget = n[CPU_PAIRS_DEPTH] * n[CPU_PAIRS_WIDTH];
    const int64_t nsource = n[CPU_PAIRS_K] && n[CPU_PAIRS_N]
                                ? (n[CPU_PAIRS_K] - 1) * n[CPU_PAIRS_K_STRIDE] +
                                      (n[CPU_PAIRS_N] - 1) * n[CPU_PAIRS_N_STRIDE] + 1
                                : 0;
    const size_t nbytes = BT_DTYPE_BITS(row->in) / 8;
    struct guarded source = guarded_create((size_t)nsource * nbytes + 1);
    struct guarded target = guarded_create((size_t)ntarget * sizeof(uint32_t) + 1);
    unsigned char *from = source.end - (size_t)nsource * nbytes;
    uint32_t *to = (uint32_t *)(void *)target.end - ntarget;
    for (int64_t i = 0; row->in == BT_FLOAT32 && i < nsource; i++)
        ((float *)(void *)from)[i] = odd_float(i);
    for (int64_t i = 0; row->in != BT_FLOAT32 && i < nsource * (int64_t)nbytes; i++)
        from[i] = (unsigned char)(i * 7919 >> 3);
    memset(target.base, 0xee, (size_t)(target.end - target.base));
    assert_int_equal(row->run((void *[]){ to, from }, n), 0);
    for (int64_t k = 0; k < n[CPU_PAIRS_DEPTH]; k++) {
        for (int64_t j = 0; j < n[CPU_PAIRS_WIDTH]; j++)
            assert_int_equal(n[CPU_PAIRS_TURNED] ? to[j * n[CPU_PAIRS_DEPTH] + k]
                                                 : to[k * n[CPU_PAIRS_WIDTH] + j],
                             element_at(row->in, nterm, from, k, j, n));
    }
    for (unsigned char *at = target.base; at < (unsigned char *)to; at++)
        assert_int_equal(*at, 0xee);
    guarded_destroy(&source);
    guarded_destroy(&target);
}

static void check_sizes(const struct cpu_callee *row, int64_t nterm, int64_t zero)
{
    static const int64_t depths[] = { 0, 1, 2, 3, 31, 32, 33, 34, 65, 70 };
    for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
        const int64_t k = depths[d], depth = (k + nterm - 1) / nterm;
        for (int64_t n = 0; n <= 37; n++) {
            check(row, nterm, (int64_t[]){ k, n, depth, n, n + 2, 1, zero, 0 }); // rows
            check(row, nterm, (int64_t[]){ k, n, depth + n % 3, n + 3, 1, k + 2, zero, 0 });
            check(row, nterm, (int64_t[]){ k, n, depth, 40, 3, 3 * k, zero, 0 });
        }
        check(row, nterm, (int64_t[]){ k, 1, depth, 1, 1, 1, zero, 0 }); // one column
        check(row, nterm, (int64_t[]){ k, 1, depth + 20, 1, 9, 1, zero, 0 });
        check(row, nterm, (int64_t[]){ k, 0, depth, 1, 1, 1, zero, 0 });
        for (int64_t n = 0; row->in != BT_FLOAT32 && n <= 9; n++) { // column by column
            check(row, nterm, (int64_t[]){ k, n, depth, n, 1, k, zero, 1 });
            check(row, nterm, (int64_t[]){ k, n, depth + 20, n, 1, k + 5, zero, 1 });
            check(row, nterm, (int64_t[]){ k, n, depth + 1, n, 1, 1, zero, 1 });
        }
    }
}

static void test_every_element_is_rounded_in_its_place(void **state)
{
    (void)state;
    const struct cpu_callee *row =
        cpu_callee_find(CPU_ISA_AVX512BF16, "pairs_bf16_avx512bf16");
    if (!row || cpu_isa_of_machine() < CPU_ISA_AVX512BF16) {
        print_message("this machine has no pairs of bfloat16\n");
        skip();
    }
    check_sizes(row, 2, 0);
}

static void test_every_code_is_in_its_place(void **state)
{
    (void)state;
    static const char *const sets[] = { "portable", "avx2", "avx512" };
    static const char *const types[] = { "i16", "u8", "s8" };
    for (uint32_t isa = 0; isa < 3 && isa <= cpu_isa_of_machine(); isa++) {
        for (uint32_t t = 0; t < 3; t++) {
            char name[32];
            snprintf(name, sizeof(name), "pairs_%s_%s", types[t], sets[isa]);
            const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, name);
            assert_non_null(row);
            check_sizes(row, 2, 0);
            check_sizes(row, 2, t == 1 ? 255 : -128);
        }
        char quads[32];
        snprintf(quads, sizeof(quads), "quads_%s", sets[isa]);
        const struct cpu_callee *row = cpu_callee_find((enum cpu_isa)isa, quads);
        assert_non_null(row);
        check_sizes(row, 4, 0);
        check_sizes(row, 4, -128);
        check_sizes(row, 4, 200);
    }
}

/* Of rows whose quads are neighbours, and of panels. */
static void test_sums_of_quads_wrap(void **state)
{
    (void)state;
    enum { ROWS = 5, DEPTH = 70 };
    static const int64_t strides[][2] = { { DEPTH + 3, 1 }, { 1, ROWS } };
    static uint32_t quads[ROWS * (DEPTH + 3)];
    const struct cpu_callee *row = cpu_callee_find(CPU_ISA_PORTABLE, "quad_sums");
    assert_non_null(row);
    for (uint32_t i = 0; i < ROWS * (DEPTH + 3); i++)
        quads[i] = i % 3 ? 0x80808080U : i * 2654435761U;
    for (size_t s = 0; s < 2; s++) {
        const int64_t *stride = strides[s], factor = -1000000;
        int32_t sums[ROWS + 1] = { [ROWS] = 77 };
        const int64_t n[] = { ROWS, DEPTH, stride[0], stride[1], factor };
        assert_int_equal(row->run((void *[]){ sums, quads }, n), 0);
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < 4 * DEPTH; k++)
                sum += (int8_t)(quads[i * stride[0] + k / 4 * stride[1]] >> k % 4 * 8);
            assert_int_equal((uint32_t)sums[i], (uint32_t)(sum * factor));
        }
        assert_int_equal(sums[ROWS], 77);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_element_is_rounded_in_its_place),
    cmocka_unit_test(test_every_code_is_in_its_place),
    cmocka_unit_test(test_sums_of_quads_wrap),
};
TEST_MAIN(tests)
