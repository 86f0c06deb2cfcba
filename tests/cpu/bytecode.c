/* Bytecode do what programs do, whatever the ranges of turns; damaged ones are refused. */
#include "program.h"

#include "engine/bytecode_run.h"

/* All phases; parallel ones by ranges of `most` turns, each on rubbish. */
static int32_t run_bytecode(const struct bytecode *bytecode,
                            const struct cpu_callee *const *callees, void *const *buffers,
                            const int64_t *dims, int64_t most)
{
    size_t nbytes = (size_t)bytecode_scratch_nbytes(bytecode) + 64;
    char *lane = aligned_alloc(64, nbytes);
    assert_non_null(lane);
    int32_t fault = 0;
    for (uint32_t i = 0; i < bytecode->nphase && !fault; i++) {
        const struct bytecode_phase *phase = &bytecode->phases[i];
        struct bytecode_frame f = { .buffers = buffers,
                                    .dims = dims,
                                    .callees = callees,
                                    .n = (int64_t *)(void *)lane,
                                    .locals = lane + bytecode_locals_offset(bytecode) };
        int64_t end = phase->is_parallel ? phase->extent : 1;
        if (end < 0) // the phase before has counted them
            end = ((int64_t *)(void *)lane)[-1 - end];
        f.p = (void **)(void *)(f.n + bytecode->nn);
        for (f.first = 0; f.first < end && !fault; f.first = f.end) {
            f.end = f.first + most < end ? f.first + most : end;
            memset(lane, 0x55, nbytes);
            fault = bytecode_run(bytecode, phase, &f);
        }
    }
    free(lane);
    return fault;
}

static void find_callees(const struct bytecode *bytecode, enum cpu_isa isa,
                         const struct cpu_callee **callees)
{
    assert_true(bytecode->ncallee <= 16);
    for (uint32_t i = 0; i < bytecode->ncallee; i++)
        assert_non_null(callees[i] = cpu_callee_find(isa, bytecode->callees[i]));
}

static void check_program(bt_ctx *ctx, const char *text, enum cpu_isa isa)
{
    const struct cpu_callee *callees[16];
    const struct bytecode *bytecode;
    bt_loops *loops = parse_program(ctx, text);
    struct program_data expected = make_data(loops, 3);
    assert_ok(ctx, run_by_loops(ctx, loops, isa, 0, &expected));
    assert_ok(ctx, build_bytecode(ctx, loops, isa, &bytecode));
    find_callees(bytecode, isa, callees);
    for (int64_t most = 1; most <= 5; most += 2) {
        struct program_data d = make_data(loops, 3);
        assert_int_equal(run_bytecode(bytecode, callees, d.at, NULL, most), 0);
        assert_same_outputs(loops, &expected, &d, loops->name);
        free_data(&d);
    }
    free_data(&expected);
}

static void test_plans_do_what_programs_do(void **state)
{
    (void)state;
    bt_ctx *ctx = open_ctx();
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint32_t i = 0; i < BT_COUNT(programs); i++)
            check_program(ctx, programs[i], (enum cpu_isa)isa);
    }
    bt_ctx_destroy(ctx);
}

/* The first of the two that fail in the order of the program. */
static void test_a_check_that_fails_ends_the_plan(void **state)
{
    (void)state;
    static const char text[] = "loops checked {\n"
                               "    in a0: int64[4]\n"
                               "    out s0: int64[4]\n"
                               "    for i0 in 4 {\n"
                               "        check (a0[i0] < 9) : other axis 2 of 9\n"
                               "        check (a0[i0] < 3) : data axis 1 of 3\n"
                               "        copy.8(&s0[i0], &a0[i0], 1)\n"
                               "    }\n"
                               "}\n";
    int64_t in[] = { 1, 2, 3, 9 }, out[] = { -1, -1, -1, -1 };
    void *buffers[] = { in, out };
    const struct cpu_callee *callees[16];
    const struct bytecode *bytecode;
    bt_ctx *ctx = open_ctx();
    assert_ok(ctx,
              build_bytecode(ctx, parse_program(ctx, text), CPU_ISA_PORTABLE, &bytecode));
    find_callees(bytecode, CPU_ISA_PORTABLE, callees);
    assert_int_equal(run_bytecode(bytecode, callees, buffers, NULL, 1), 2);
    assert_string_equal(bytecode->checks[1].array, "data");
    assert_int_equal(bytecode->checks[1].axis, 1);
    assert_int_equal(bytecode->checks[1].bound, 3);
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], -1);
    bt_ctx_destroy(ctx);
}

/* Of all but the last element of each row: the first loop may have no turns, and the second
 * none either. */
#define OPEN                                                         \
    "loops open<n: Dim, m: Dim in 1..5> {\n"                         \
    "    in a0: float32[n*m]\n"                                      \
    "    out s0: float32[n*m]\n"                                     \
    "    parallel i0 in n {\n"                                       \
    "        for i1 in m - 1 {\n"                                    \
    "            neg.float32(&s0[i0*m + i1], &a0[i0*m + i1], 1)\n"   \
    "        }\n"                                                    \
    "        copy.4(&s0[i0*m + m - 1], &a0[i0*m + m - 1], 1)\n"      \
    "    }\n"                                                        \
    "    fill.float32(&s0[0], &a0[floordiv(n*m, 2)], min(n*m, 1))\n" \
    "}\n"

static const struct bytecode *build_open(bt_ctx *ctx, const struct cpu_callee **callees)
{
    const struct bytecode *bytecode;
    assert_ok(ctx,
              build_bytecode(ctx, parse_program(ctx, OPEN), CPU_ISA_PORTABLE, &bytecode));
    find_callees(bytecode, CPU_ISA_PORTABLE, callees);
    return bytecode;
}

static void test_dims_are_those_of_the_launch(void **state)
{
    enum { MAX_N = 7, MAX_M = 5, GUARD = 1 };
    (void)state;
    const struct cpu_callee *callees[16];
    bt_ctx *ctx = open_ctx();
    const struct bytecode *bytecode = build_open(ctx, callees);
    for (int64_t n = 0; n <= MAX_N; n++) {
        for (int64_t m = 1; m <= MAX_M; m++) {
            const int64_t dims[] = { n, m };
            float in[MAX_N * MAX_M + GUARD], out[MAX_N * MAX_M + GUARD];
            void *buffers[] = { in, out };
            for (int64_t i = 0; i <= n * m; i++) {
                in[i] = (float)i + 1;
                out[i] = 99;
            }
            assert_int_equal(run_bytecode(bytecode, callees, buffers, dims, 2), 0);
            for (int64_t i = 0; i < n * m; i++) {
                float want = i == 0 ? in[n * m / 2] : i % m == m - 1 ? in[i] : -in[i];
                assert_float_equal(out[i], want, 0);
            }
            assert_float_equal(out[n * m], 99, 0);
        }
    }
    bt_ctx_destroy(ctx);
}

/* A parallel phase whose turns nobody has counted. */
static void test_a_phase_without_turns_is_refused(void **state)
{
    (void)state;
    const struct cpu_callee *callees[16];
    bt_ctx *ctx = open_ctx();
    const struct bytecode *bytecode = build_open(ctx, callees);
    struct bytecode_phase phases[4];
    struct bytecode bad = *bytecode;
    assert_int_equal(bytecode->nphase, 3);
    memcpy(phases, bytecode->phases, bytecode->nphase * sizeof(*phases));
    bad.phases = phases;
    assert_ok(ctx, bytecode_check(ctx, &bad, callees));
    phases[1].extent = -1 - (int64_t)bytecode->nn;
    assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    phases[1].extent = bytecode->phases[1].extent;
    phases[1].is_parallel = CPU_SHORT;
    assert_ok(ctx, bytecode_check(ctx, &bad, callees));
    phases[1].is_parallel = CPU_SHORT + 1;
    assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    phases[1].is_parallel = 1;
    bad.phases = phases + 1;
    bad.nphase = 2;
    assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    bad = *bytecode;
    bad.alternates = bytecode->nbuffer + 1;
    assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "alternates");
    bad = *bytecode;
    bad.ndim = 1;
    assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    bt_ctx_destroy(ctx);
}

static void refuse(const char *body, uint32_t code, const char *why)
{
    char text[1024];
    const struct bytecode *bytecode;
    bt_ctx *ctx = open_ctx();
    snprintf(text, sizeof(text),
             "loops bad {\n    in a0: float32[8]\n    out s0: float32[8]\n%s}\n", body);
    assert_error(
        build_bytecode(ctx, parse_program(ctx, text), CPU_ISA_PORTABLE, &bytecode), code,
        why);
    bt_ctx_destroy(ctx);
}

/* As mistakes of the schedule: nothing that is wrong goes to the evaluator unseen. Integers that
 * are computed by floats are a limit of bytecode. */
static void test_what_is_not_vectorised_is_refused(void **state)
{
    (void)state;
    refuse("    s0[0] = a0[0]\n", BT_ERR_INTERNAL, "a store");
    refuse("    frobnicate(&s0[0], 8)\n", BT_ERR_INTERNAL,
           "there is no primitive frobnicate");
    refuse("    neg.float32(&s0[0], &a0[0])\n", BT_ERR_INTERNAL, "too few or too many");
    refuse("    if (a0[0] < float32(1.0)) {\n        neg.float32(&s0[0], &a0[0], 1)\n"
           "    }\n",
           BT_ERR_UNSUPPORTED, "floats");
}

/* No word of bytecode can be changed so that the check passes and registers, callees or
 * jumps lead outside. */
static void test_damaged_plans_are_refused(void **state)
{
    (void)state;
    const struct cpu_callee *callees[16];
    const struct bytecode *bytecode;
    uint32_t nrefused = 0;
    bt_ctx *ctx = open_ctx();
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        assert_ok(ctx, build_bytecode(ctx, parse_program(ctx, programs[i]),
                                      CPU_ISA_PORTABLE, &bytecode));
        find_callees(bytecode, CPU_ISA_PORTABLE, callees);
        uint32_t *code = BT_NEWS(bt_ctx_scratch(ctx), uint32_t, bytecode->ncode);
        struct bytecode bad = *bytecode;
        bad.code = code;
        for (uint32_t bit = 0; bit < bytecode->ncode * 32; bit++) {
            memcpy(code, bytecode->code, bytecode->ncode * sizeof(*code));
            code[bit / 32] ^= 1u << bit % 32;
            nrefused += bytecode_check(ctx, &bad, callees) != NULL;
        }
        for (uint32_t n = 0; n < bytecode->ncode; n++) {
            bad.ncode = n;
            assert_error(bytecode_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
        }
    }
    assert_true(nrefused > 1000);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plans_do_what_programs_do),
    cmocka_unit_test(test_a_check_that_fails_ends_the_plan),
    cmocka_unit_test(test_dims_are_those_of_the_launch),
    cmocka_unit_test(test_a_phase_without_turns_is_refused),
    cmocka_unit_test(test_what_is_not_vectorised_is_refused),
    cmocka_unit_test(test_damaged_plans_are_refused),
};
TEST_MAIN(tests)
