/* Loops by strips: what becomes of loops. */
#include "schedule/schedule.h"

#include "vectorise_formulas.h"

#include <stdlib.h>

#include "compute/evaluate/compute.h"

/* As the widest set has it: names of strips are the same on all. */
static void show(const struct formula *f, uint32_t nin, const struct argument *args,
                 const char *expected)
{
    struct world w = world_open();
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 1 };
    bt_tensor *in[6];
    bt_op op = formula_op(f);
    bt_compute *compute;
    bt_loops *loops;
    for (uint32_t i = 0; i < nin; i++)
        in[i] = tensor_new(&w, args[i].dtype, args[i].rank, args[i].dims);
    assert_ok(w.ctx, formula_make(&w, f, &op, nin, in, &compute));
    assert_ok(w.ctx,
              bt__compute_instantiate(w.ctx, compute, nin, (const bt_tensor *const *)in));
    assert_ok(w.ctx,
              cpu_lower(w.ctx, bt_ctx_scratch(w.ctx), "test", compute->graph, &loops));
    assert_ok(w.ctx, cpu_schedule_loops(loops, &config));
    if (getenv("SHOW"))
        printf("@@@\n%s", written(&w, loops));
    assert_string_equal(written(&w, loops), expected);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < nin; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void test_a_chain_is_one_pass(void **state)
{
    (void)state;
    show(&chain, 3, ARGS(F32(2, 2, 1000), F32(1, 1000), F32(2, 2, 1000)),
         "loops test {\n"
         "    in a0: float32[2000]\n"
         "    in a1: float32[1000]\n"
         "    in a2: float32[2000]\n"
         "    out s0: float32[2000]\n"
         "    for i0 in 2 {\n"
         "        fma_relu.float32(&s0[1000*i0], &a1[0], &a0[1000*i0], &a2[1000*i0], "
         "1000)\n"
         "    }\n"
         "}\n");
}

static void test_a_clipped_sum_is_one_pass(void **state)
{
    static const struct formula clipped = {
        .inputs = { { .name = "a", .type = "t[m, n]" }, { .name = "b", .type = "t[m]" } },
        .text = "y: t[m, n] = min(max(a[m, n] + b[m], 0), 6);"
                "z: t[m, n] = min(max(a[m, n] + b[m], 0), 5)",
    };
    (void)state;
    show(
        &clipped, 2, ARGS(F32(2, 2, 1000), F32(1, 2)),
        "loops test {\n"
        "    in a0: float32[2000]\n"
        "    in a1: float32[2]\n"
        "    temp s0: float32[2000]\n"
        "    out s1: float32[2000]\n"
        "    local v4: float32[512]\n"
        "    temp c5: float32[3]\n"
        "    iota.int32(&c5[2], 1, 1084227584, 0)\n"
        "    for i0 in 2 {\n"
        "        add_relu6.float32.r(&s0[1000*i0], &a1[i0], &a0[1000*i0], 1000)\n"
        "    }\n"
        "    for i0 in 2 {\n"
        "        for i1 in 2 {\n"
        "            add_relu.float32.r(&v4[0], &a1[i0], &a0[1000*i0 + 512*i1], min(512, "
        "-512*i1 + 1000))\n"
        "            min.float32.s(&s1[1000*i0 + 512*i1], &v4[0], &c5[2], min(512, "
        "-512*i1 + 1000))\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* Whichever way its factors are written, but not where the function has another use. */
static void test_a_gate_is_one_pass(void **state)
{
    static const struct formula gates = {
        .inputs = { { .name = "a", .type = "t[n]" }, { .name = "b", .type = "t[n]" } },
        .text = "y: t[n] = (a[n] * (1 + erf(b[n]))) * (sigmoid(b[n]) * a[n]);"
                "z: t[n] = erf(a[n]) * (erf(a[n]) + 1)",
    };
    (void)state;
    show(&gates, 2, ARGS(F32(1, 500), F32(1, 500)),
         "loops test {\n"
         "    in a0: float32[500]\n"
         "    in a1: float32[500]\n"
         "    temp s0: float32[500]\n"
         "    out s1: float32[500]\n"
         "    local v4: float32[500]\n"
         "    local v5: float32[500]\n"
         "    temp c6: float32[1]\n"
         "    iota.int32(&c6[0], 1, 1065353216, 0)\n"
         "    mul_erf_1.float32(&v4[0], &a0[0], &a1[0], 500)\n"
         "    mul_sigmoid.float32(&v5[0], &a0[0], &a1[0], 500)\n"
         "    mul.float32(&s0[0], &v4[0], &v5[0], 500)\n"
         "    erf.float32(&v4[0], &a0[0], 500)\n"
         "    add.float32.r(&v5[0], &c6[0], &v4[0], 500)\n"
         "    mul.float32(&s1[0], &v4[0], &v5[0], 500)\n"
         "}\n");
}

/* As ONNX says it, and as qnn.requantize does; not where the bounds leave the codes. */
/* By way of float64, in which the evaluator computes; strips of float32 have no more to round, but no
 * product that is rounded is joined with a sum. */
static void test_a_float32_is_rounded_once(void **state)
{
    static const struct formula rounded = {
        .inputs = { { .name = "a", .type = "float32[m]" } },
        .text = "y: float32[m] = float32(a[m] * a[m]) + a[m]",
    };
    (void)state;
    show(&rounded, 1, ARGS(F32(1, 500)),
         "loops test {\n"
         "    in a0: float32[500]\n"
         "    out s0: float32[500]\n"
         "    local v2: float32[500]\n"
         "    mul.float32(&v2[0], &a0[0], &a0[0], 500)\n"
         "    add.float32(&s0[0], &a0[0], &v2[0], 500)\n"
         "}\n");
}

static void test_codes_are_one_pass(void **state)
{
    static const struct formula codes = {
        .inputs = { { .name = "a", .type = "int32[n]" },
                    { .name = "b", .type = "t[n]" } },
        .text =
            "y: uint8[n] = uint8(min(max(round_even(float32(a[n]) * b[n]) + 3, 0), "
            "255));"
            "z: int8[n] = int8(int32(min(max(round_even(float32(a[n]) * b[0]), -120), "
            "135)) + (-8));"
            "w: uint8[n] = uint8(min(max(round_even(float32(a[n]) * b[n]), -1), 255))",
    };
    (void)state;
    show(&codes, 2, ARGS(CASE(BT_INT32, 1, 500), F32(1, 500)),
         "loops test {\n"
         "    in a0: int32[500]\n"
         "    in a1: float32[500]\n"
         "    temp s0: uint8[500]\n"
         "    temp s1: int8[500]\n"
         "    out s2: uint8[500]\n"
         "    temp c5: float32[8]\n"
         "    temp c6: int32[2]\n"
         "    local v9: float32[500]\n"
         "    iota.int32(&c5[0], 1, -1069547520, 0)\n"
         "    iota.int32(&c5[1], 1, 1132199936, 0)\n"
         "    iota.int32(&c6[0], 1, 3, 0)\n"
         "    iota.int32(&c5[3], 1, 0, 0)\n"
         "    iota.int32(&c5[4], 1, 1132396544, 0)\n"
         "    iota.int32(&c5[5], 1, -1024458752, 0)\n"
         "    iota.int32(&c5[6], 1, 1124532224, 0)\n"
         "    iota.int32(&c6[1], 1, -8, 0)\n"
         "    iota.int32(&c5[7], 1, -1082130432, 0)\n"
         "    requantize_uint8.int32(&s0[0], &a0[0], &a1[0], &c5[0], &c5[1], &c5[0], "
         "&c6[0], 500)\n"
         "    requantize_int8.int32.s(&s1[0], &a0[0], &a1[0], &c5[5], &c5[6], &c5[3], "
         "&c6[1], 500)\n"
         "    cast.int32.float32(&v9[0], &a0[0], 500)\n"
         "    mul.float32(&v9[0], &a1[0], &v9[0], 500)\n"
         "    round_even.float32(&v9[0], &v9[0], 500)\n"
         "    max.float32.s(&v9[0], &v9[0], &c5[7], 500)\n"
         "    min.float32.s(&v9[0], &v9[0], &c5[4], 500)\n"
         "    cast.float32.uint8(&s2[0], &v9[0], 500)\n"
         "}\n");
}

static void test_softmax_goes_by_rows(void **state)
{
    (void)state;
    show(&softmax, 1, ARGS(F32(2, 4, 1000)),
         "loops test {\n"
         "    in a0: float32[4000]\n"
         "    temp s0: float32[4]\n"
         "    temp s1: float32[4000]\n"
         "    temp s2: float32[4]\n"
         "    out s3: float32[4000]\n"
         "    local t5: float32[1]\n"
         "    local t6: float64[1]\n"
         "    temp c8: float32[1]\n"
         "    temp c11: float64[1]\n"
         "    iota.int32(&c8[0], 1, -8388608, 0)\n"
         "    iota.int64(&c11[0], 1, 0, 0)\n"
         "    for i0 in 4 {\n"
         "        copy.4(&t5[0], &c8[0], 1)\n"
         "        reduce_max.float32(&t5[0], &a0[1000*i0], 1000)\n"
         "        copy.4(&s0[i0], &t5[0], 1)\n"
         "    }\n"
         "    for i0 in 4 {\n"
         "        exp_sub.float32.s(&s1[1000*i0], &a0[1000*i0], &s0[i0], 1000)\n"
         "    }\n"
         "    for i0 in 4 {\n"
         "        copy.8(&t6[0], &c11[0], 1)\n"
         "        reduce_sum.float32.wide(&t6[0], &s1[1000*i0], 1000)\n"
         "        cast.float64.float32(&s2[i0], &t6[0], 1)\n"
         "    }\n"
         "    for i0 in 4 {\n"
         "        div.float32.s(&s3[1000*i0], &s1[1000*i0], &s2[i0], 1000)\n"
         "    }\n"
         "}\n");
}

static void test_padding_costs_nothing_in_the_middle(void **state)
{
    (void)state;
    show(&depthwise, 2, ARGS(F32(3, 64, 56, 56), F32(3, 64, 3, 3)),
         "loops test {\n"
         "    in a0: float32[200704]\n"
         "    in a1: float32[576]\n"
         "    out s0: float32[200704]\n"
         "    local v4: float32[64]\n"
         "    temp c5: float32[1]\n"
         "    iota.int32(&c5[0], 1, 0, 0)\n"
         "    parallel i0 in 64 {\n"
         "        for i1 in 56 {\n"
         "            fill.float32(&v4[0], &c5[0], 56)\n"
         "            for i3 in 3 {\n"
         "                if ((0 <= i1 + i3 - 1) && (0 <= -i1 - i3 + 56)) {\n"
         "                    for i4 in 3 {\n"
         "                        fma.float32.s(&v4[max(-i4 + 1, 0)], &a0[3136*i0 + "
         "56*i1 + 56"
         "*i3 + i4 + max(-i4 + 1, 0) - 57], &a1[9*i0 + 3*i3 + i4], &v4[max(-i4 + 1, 0)], "
         "-max("
         "-i4 + 1, 0) + min(56, -i4 + 57))\n"
         "                    }\n"
         "                }\n"
         "            }\n"
         "            max.float32.r(&s0[3136*i0 + 56*i1], &c5[0], &v4[0], 56)\n"
         "        }\n"
         "    }\n"
         "}\n");
}

static void test_windows_of_planes_are_one_call(void **state)
{
    (void)state;
    show(&pool, 1, ARGS(F32(3, 64, 56, 56)),
         "loops test {\n"
         "    in a0: float32[200704]\n"
         "    out s0: float32[50176]\n"
         "    parallel i0 in 8 {\n"
         "        planes_max.float32(&s0[6272*i0], &a0[25088*i0], &a0[25088*i0], 8, 28, "
         "28, 3, 2, 784, 28, 3136, 56, 0, 56, 56, -1, -1)\n"
         "    }\n"
         "}\n");
}

static void test_windows_at_a_stride(void **state)
{
    (void)state;
    show(&pool, 1, ARGS(CASE(BT_FLOAT64, 3, 64, 56, 56)),
         "loops test {\n"
         "    in a0: float64[200704]\n"
         "    out s0: float64[50176]\n"
         "    local v3: float64[64]\n"
         "    temp c4: float64[1]\n"
         "    iota.int64(&c4[0], 1, -4503599627370496, 0)\n"
         "    parallel i0 in 64 {\n"
         "        for i1 in 28 {\n"
         "            fill.float64(&v3[0], &c4[0], 28)\n"
         "            window_max.float64(&v3[0], &a0[3136*i0 + 112*i1 + "
         "56*max(-2*i1 + 1, 0) - 56], 1, 2, 2, 1, -max(-2*i1 + 1, 0) + 3, 56)\n"
         "            window_max.float64(&v3[1], &a0[3136*i0 + 112*i1 + "
         "56*max(-2*i1 + 1, 0) - 55], 27, 2, 3, 1, -max(-2*i1 + 1, 0) + 3, 56)\n"
         "            copy.8(&s0[784*i0 + 28*i1], &v3[0], 28)\n"
         "        }\n"
         "    }\n"
         "}\n");
}

static void test_positions_in_windows_are_calls(void **state)
{
    (void)state;
    show(&first, 1, ARGS(F32(3, 64, 56, 56)),
         "loops test {\n"
         "    in a0: float32[200704]\n"
         "    temp s0: float32[50176]\n"
         "    out s1: int32[50176]\n"
         "    local v5: int32[64]\n"
         "    temp c6: int32[1]\n"
         "    iota.int32(&c6[0], 1, 2147483647, 0)\n"
         "    parallel i0 in 8 {\n"
         "        planes_max.float32(&s0[6272*i0], &a0[25088*i0], &a0[25088*i0], 8, 28, "
         "28, 3, 2, 784, 28, 3136, 56, 0, 56, 56, -1, -1)\n"
         "    }\n"
         "    parallel i0 in 64 {\n"
         "        for i1 in 28 {\n"
         "            fill.int32(&v5[0], &c6[0], 28)\n"
         "            window_first.float32(&v5[0], &a0[3136*i0 + 112*i1 + "
         "56*max(-2*i1 + 1, 0) - 56], &s0[784*i0 + 28*i1], 1, 2, 2, 1, "
         "-max(-2*i1 + 1, 0) + 3, 56, 3*max(-2*i1 + 1, 0) + 1, 1, 3)\n"
         "            window_first.float32(&v5[1], &a0[3136*i0 + 112*i1 + "
         "56*max(-2*i1 + 1, 0) - 55], &s0[784*i0 + 28*i1 + 1], 27, 2, 3, 1, "
         "-max(-2*i1 + 1, 0) + 3, 56, 3*max(-2*i1 + 1, 0), 1, 3)\n"
         "            copy.4(&s1[784*i0 + 28*i1], &v5[0], 28)\n"
         "        }\n"
         "    }\n"
         "}\n");
}

static void test_what_data_address_is_computed_in_the_result(void **state)
{
    (void)state;
    show(&spread, 2, ARGS(F32(2, 40, 300), CASE(BT_INT64, 1, 40)),
         "loops test {\n"
         "    in a0: float32[12000]\n"
         "    in a1: int64[40]\n"
         "    out s0: float32[1800]\n"
         "    temp c4: float32[1]\n"
         "    iota.int32(&c4[0], 1, 0, 0)\n"
         "    fill.float32(&s0[0], &c4[0], 1800)\n"
         "    for i2 in 40 {\n"
         "        if ((0 <= a1[i2]) && (a1[i2] < 6)) {\n"
         "            add.float32(&s0[300*a1[i2]], &s0[300*a1[i2]], &a0[300*i2], 300)\n"
         "        }\n"
         "    }\n"
         "}\n");
}

static void test_means_of_short_rows_are_one_call(void **state)
{
    (void)state;
    show(&mean, 1, ARGS(F32(2, 400, 49)),
         "loops test {\n"
         "    in a0: float32[19600]\n"
         "    out s0: float32[400]\n"
         "    local v3: float64[400]\n"
         "    temp c4: float64[1]\n"
         "    local v5: float32[400]\n"
         "    temp c6: float32[1]\n"
         "    iota.int64(&c4[0], 1, 0, 0)\n"
         "    iota.int32(&c6[0], 1, 1111752704, 0)\n"
         "    fill.float64(&v3[0], &c4[0], 400)\n"
         "    rows_sum.float32.wide(&v3[0], &a0[0], 400, 49, 49)\n"
         "    cast.float64.float32(&v5[0], &v3[0], 400)\n"
         "    div.float32.s(&s0[0], &v5[0], &c6[0], 400)\n"
         "}\n");
}

static void test_normalisation_goes_by_rows(void **state)
{
    (void)state;
    show(&norm, 2, ARGS(F32(2, 64, 768), F32(1, 768)),
         "loops test {\n"
         "    in a0: float32[49152]\n"
         "    in a1: float32[768]\n"
         "    temp s0: float32[64]\n"
         "    temp s1: float32[64]\n"
         "    out s2: float32[49152]\n"
         "    local t5: float64[1]\n"
         "    local t6: float64[1]\n"
         "    temp c7: float64[1]\n"
         "    local u8: float32[1]\n"
         "    temp c9: float32[2]\n"
         "    local v10: float32[512]\n"
         "    iota.int64(&c7[0], 1, 0, 0)\n"
         "    iota.int32(&c9[0], 1, 1145044992, 0)\n"
         "    iota.int32(&c9[1], 1, 925353388, 0)\n"
         "    parallel i0 in 64 {\n"
         "        copy.8(&t5[0], &c7[0], 1)\n"
         "        reduce_sum.float32.wide(&t5[0], &a0[768*i0], 768)\n"
         "        cast.float64.float32(&u8[0], &t5[0], 1)\n"
         "        div.float32(&s0[i0], &u8[0], &c9[0], 1)\n"
         "    }\n"
         "    parallel i0 in 64 {\n"
         "        copy.8(&t6[0], &c7[0], 1)\n"
         "        for i1 in 2 {\n"
         "            sub.float32.s(&v10[0], &a0[768*i0 + 512*i1], &s0[i0], min(512, "
         "-512*i1 + 768))\n"
         "            dot.float32.wide(&t6[0], &v10[0], &v10[0], min(512, -512*i1 + "
         "768))\n"
         "        }\n"
         "        cast.float64.float32(&u8[0], &t6[0], 1)\n"
         "        div.float32(&s1[i0], &u8[0], &c9[0], 1)\n"
         "    }\n"
         "    parallel i0 in 64 {\n"
         "        for i1 in 2 {\n"
         "            add.float32(&u8[0], &c9[1], &s1[i0], 1)\n"
         "            rsqrt.float32(&u8[0], &u8[0], 1)\n"
         "            sub.float32.s(&v10[0], &a0[768*i0 + 384*i1], &s0[i0], 384)\n"
         "            mul.float32.r(&v10[0], &u8[0], &v10[0], 384)\n"
         "            mul.float32(&s2[768*i0 + 384*i1], &a1[384*i1], &v10[0], 384)\n"
         "        }\n"
         "    }\n"
         "}\n");
}

static void test_rows_are_taken_whole(void **state)
{
    (void)state;
    show(&take_rows, 2, ARGS(F32(2, 50, 900), CASE(BT_INT64, 1, 33)),
         "loops test {\n"
         "    in a0: float32[45000]\n"
         "    in a1: int64[33]\n"
         "    out s0: float32[29700]\n"
         "    for i0 in 33 {\n"
         "        check ((wrap(a1[i0], 50) < 50) && (0 <= wrap(a1[i0], 50))) : x axis 0 "
         "of 50\n"
         "        copy.4(&s0[900*i0], &a0[900*wrap(a1[i0], 50)], 900)\n"
         "    }\n"
         "}\n");
}

static void test_elements_are_gathered(void **state)
{
    (void)state;
    show(&take_each, 2, ARGS(F32(1, 50), CASE(BT_INT32, 1, 700)),
         "loops test {\n"
         "    in a0: float32[50]\n"
         "    in a1: int32[700]\n"
         "    out s0: float32[700]\n"
         "    temp c3: int64[2]\n"
         "    local v4: int64[352]\n"
         "    iota.int64(&c3[0], 1, 0, 0)\n"
         "    iota.int64(&c3[1], 1, 49, 0)\n"
         "    for i0 in 2 {\n"
         "        cast.int32.int64(&v4[0], &a1[352*i0], min(352, -352*i0 + 700))\n"
         "        max.int64.r(&v4[0], &c3[0], &v4[0], min(352, -352*i0 + 700))\n"
         "        min.int64.s(&v4[0], &v4[0], &c3[1], min(352, -352*i0 + 700))\n"
         "        gather.4(&s0[352*i0], &a0[0], &v4[0], min(352, -352*i0 + 700))\n"
         "    }\n"
         "}\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_chain_is_one_pass),
    cmocka_unit_test(test_a_clipped_sum_is_one_pass),
    cmocka_unit_test(test_a_gate_is_one_pass),
    cmocka_unit_test(test_a_float32_is_rounded_once),
    cmocka_unit_test(test_codes_are_one_pass),
    cmocka_unit_test(test_softmax_goes_by_rows),
    cmocka_unit_test(test_padding_costs_nothing_in_the_middle),
    cmocka_unit_test(test_windows_of_planes_are_one_call),
    cmocka_unit_test(test_windows_at_a_stride),
    cmocka_unit_test(test_positions_in_windows_are_calls),
    cmocka_unit_test(test_what_data_address_is_computed_in_the_result),
    cmocka_unit_test(test_means_of_short_rows_are_one_call),
    cmocka_unit_test(test_normalisation_goes_by_rows),
    cmocka_unit_test(test_rows_are_taken_whole),
    cmocka_unit_test(test_elements_are_gathered),
};
TEST_MAIN(tests)
