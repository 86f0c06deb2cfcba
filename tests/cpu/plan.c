/* Plans do what programs do, whatever the ranges of turns; damaged ones are refused. */
#include "program.h"

#include "engine/plan_run.h"

/* All phases; parallel ones by ranges of `most` turns, each on rubbish. */
static int32_t run_plan(const struct plan *plan, const struct cpu_callee *const *callees,
                        void *const *buffers, const int64_t *dims, int64_t most)
{
    size_t nbytes = (size_t)plan_lane_nbytes(plan) + 64;
    char *lane = aligned_alloc(64, nbytes);
    assert_non_null(lane);
    int32_t fault = 0;
    for (uint32_t i = 0; i < plan->nphase && !fault; i++) {
        const struct plan_phase *phase = &plan->phases[i];
        struct plan_frame f = { .buffers = buffers,
                                .dims = dims,
                                .callees = callees,
                                .n = (int64_t *)(void *)lane,
                                .locals = lane + plan_locals_offset(plan) };
        int64_t end = phase->is_parallel ? phase->extent : 1;
        if (end < 0) // the phase before has counted them
            end = ((int64_t *)(void *)lane)[-1 - end];
        f.p = (void **)(void *)(f.n + plan->nn);
        for (f.first = 0; f.first < end && !fault; f.first = f.end) {
            f.end = f.first + most < end ? f.first + most : end;
            memset(lane, 0x55, nbytes);
            fault = plan_run(plan, phase, &f);
        }
    }
    free(lane);
    return fault;
}

static void find_callees(const struct plan *plan, enum cpu_isa isa,
                         const struct cpu_callee **callees)
{
    assert_true(plan->ncallee <= 16);
    for (uint32_t i = 0; i < plan->ncallee; i++)
        assert_non_null(callees[i] = cpu_callee_find(isa, plan->callees[i]));
}

static void check_program(bt_ctx *ctx, const char *text, enum cpu_isa isa)
{
    const struct cpu_callee *callees[16];
    const struct plan *plan;
    bt_loops *loops = parse_program(ctx, text);
    struct program_data expected = make_data(loops, 3);
    assert_ok(ctx, run_by_loops(ctx, loops, isa, 0, &expected));
    assert_ok(ctx, build_plan(ctx, loops, isa, &plan));
    find_callees(plan, isa, callees);
    for (int64_t most = 1; most <= 5; most += 2) {
        struct program_data d = make_data(loops, 3);
        assert_int_equal(run_plan(plan, callees, d.at, NULL, most), 0);
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
    const struct plan *plan;
    bt_ctx *ctx = open_ctx();
    assert_ok(ctx, build_plan(ctx, parse_program(ctx, text), CPU_ISA_PORTABLE, &plan));
    find_callees(plan, CPU_ISA_PORTABLE, callees);
    assert_int_equal(run_plan(plan, callees, buffers, NULL, 1), 2);
    assert_string_equal(plan->checks[1].array, "data");
    assert_int_equal(plan->checks[1].axis, 1);
    assert_int_equal(plan->checks[1].bound, 3);
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

static const struct plan *build_open(bt_ctx *ctx, const struct cpu_callee **callees)
{
    const struct plan *plan;
    assert_ok(ctx, build_plan(ctx, parse_program(ctx, OPEN), CPU_ISA_PORTABLE, &plan));
    find_callees(plan, CPU_ISA_PORTABLE, callees);
    return plan;
}

static void test_dims_are_those_of_the_launch(void **state)
{
    enum { MOST_N = 7, MOST_M = 5, GUARD = 1 };
    (void)state;
    const struct cpu_callee *callees[16];
    bt_ctx *ctx = open_ctx();
    const struct plan *plan = build_open(ctx, callees);
    for (int64_t n = 0; n <= MOST_N; n++) {
        for (int64_t m = 1; m <= MOST_M; m++) {
            const int64_t dims[] = { n, m };
            float in[MOST_N * MOST_M + GUARD], out[MOST_N * MOST_M + GUARD];
            void *buffers[] = { in, out };
            for (int64_t i = 0; i <= n * m; i++) {
                in[i] = (float)i + 1;
                out[i] = 99;
            }
            assert_int_equal(run_plan(plan, callees, buffers, dims, 2), 0);
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
    const struct plan *plan = build_open(ctx, callees);
    struct plan_phase phases[4];
    struct plan bad = *plan;
    assert_int_equal(plan->nphase, 3);
    memcpy(phases, plan->phases, plan->nphase * sizeof(*phases));
    bad.phases = phases;
    assert_ok(ctx, plan_check(ctx, &bad, callees));
    phases[1].extent = -1 - (int64_t)plan->nn;
    assert_error(plan_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    bad.phases = phases + 1;
    bad.nphase = 2;
    phases[1].extent = plan->phases[1].extent;
    assert_error(plan_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    bad = *plan;
    bad.ndim = 1;
    assert_error(plan_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
    bt_ctx_destroy(ctx);
}

static void refuse(const char *body, const char *why)
{
    char text[1024];
    const struct plan *plan;
    bt_ctx *ctx = open_ctx();
    snprintf(text, sizeof(text),
             "loops bad {\n    in a0: float32[8]\n    out s0: float32[8]\n%s}\n", body);
    assert_error(build_plan(ctx, parse_program(ctx, text), CPU_ISA_PORTABLE, &plan),
                 BT_ERR_UNSUPPORTED, why);
    bt_ctx_destroy(ctx);
}

static void test_what_is_not_vectorised_is_refused(void **state)
{
    (void)state;
    refuse("    s0[0] = a0[0]\n", "a store");
    refuse("    frobnicate(&s0[0], 8)\n", "there is no primitive frobnicate");
    refuse("    neg.float32(&s0[0], &a0[0])\n", "too few or too many");
    refuse("    if (a0[0] < float32(1.0)) {\n        neg.float32(&s0[0], &a0[0], 1)\n"
           "    }\n",
           "floats");
}

/* No word of a plan can be changed so that the check passes and registers, callees or
 * jumps lead outside. */
static void test_damaged_plans_are_refused(void **state)
{
    (void)state;
    const struct cpu_callee *callees[16];
    const struct plan *plan;
    uint32_t nrefused = 0;
    bt_ctx *ctx = open_ctx();
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        assert_ok(ctx, build_plan(ctx, parse_program(ctx, programs[i]), CPU_ISA_PORTABLE,
                                  &plan));
        find_callees(plan, CPU_ISA_PORTABLE, callees);
        uint32_t *code = BT_NEWS(bt_ctx_scratch(ctx), uint32_t, plan->ncode);
        struct plan bad = *plan;
        bad.code = code;
        for (uint32_t bit = 0; bit < plan->ncode * 32; bit++) {
            memcpy(code, plan->code, plan->ncode * sizeof(*code));
            code[bit / 32] ^= 1u << bit % 32;
            nrefused += plan_check(ctx, &bad, callees) != NULL;
        }
        for (uint32_t n = 0; n < plan->ncode; n++) {
            bad.ncode = n;
            assert_error(plan_check(ctx, &bad, callees), BT_ERR_FORMAT, "is damaged");
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
