/* What programs cost: as the rows of their primitives say. */
#include "program.h"

#include "schedule/lanes.h"
#include "schedule/schedule.h"

static double cost(const char *call)
{
    bt_ctx *ctx = open_ctx();
    char text[1024];
    const struct cpu_config config = { .isa = CPU_ISA_PORTABLE };
    snprintf(text, sizeof(text),
             "loops test {\n    in a: float32[4096]\n    in b: float32[4096]\n"
             "    out y: float32[4096]\n    %s\n}\n",
             call);
    double ns = cpu_cost(&config, &parse_program(ctx, text)->body);
    bt_ctx_destroy(ctx);
    return ns;
}

static void test_an_operator_costs_what_its_row_says(void **state)
{
    (void)state;
    const double add = cost("add.float32(&y[0], &a[0], &b[0], 512)");
    assert_true(cost("acos.float32(&y[0], &a[0], 512)") > 5 * add);
    assert_true(cost("atan2.float32(&y[0], &a[0], &b[0], 512)") > 5 * add);
    assert_true(cost("abs.float32(&y[0], &a[0], 512)") == add);
    assert_true(cost("add.float64(&y[0], &a[0], &b[0], 512)") > 1.5 * add);
    assert_true(cost("for i0 in 8 {\nadd.float32(&y[0], &a[0], &b[0], 512)\n}") >=
                8 * add);
}

static void test_blocks_cost_their_products(void **state)
{
    (void)state;
#define LINES(m, k, k1)                                            \
    cost("line_f32_portable(&y[0], &a[0], &b[0], " #m ", 100, " #k \
         ", 1, 1, 1, 0, 0, " #k1 ", 1, 1, 1, 0, 0)")
    const double one = LINES(1, 9, 1) - LINES(1, 0, 1);
    assert_true(one > 0);
    assert_true(LINES(1, 90, 1) > 9 * one);
    assert_true(LINES(10, 9, 1) > 9 * one);
    assert_true(LINES(1, 9, 10) > 9 * one);
    assert_true(cost("pack.4(&y[0], &a[0], 8, 8, 32, 32, 1, 1)") >
                cost("pack.4(&y[0], &a[0], 8, 8, 16, 32, 1, 1)"));
}

/* Each element of B is met once: a line waits for memory, where a tile computes. */
static void test_lines_cost_what_they_read(void **state)
{
    (void)state;
    const double lines =
        cost("for i0 in 20 {\n"
             "line_f32_portable(&y[0], &a[0], &b[0], 4, 32, 650, 20800, 1, 32, 32, 2, 1, "
             "0, 0, 1, 0, 0)\n}");
    const double tiles =
        cost("for i0 in 80 {\n"
             "tile_f32_portable(&y[0], &a[0], &b[0], 1, 32, 650, 0, 1, 32, 32, 2, 1, "
             "0, 0, 1, 0, 0)\n}");
    assert_true(lines > 3 * tiles);
    assert_true(lines > 20000); // the weights of a large recurrent step are worth threads
}

static void test_elements_far_apart_cost_more(void **state)
{
    (void)state;
    assert_true(cost("load.4(&y[0], &a[0], 64, 64)") >
                3 * cost("load.4(&y[0], &a[0], 64, 2)"));
}

/* 3 us of a line in each iteration. */
static void test_threads_are_for_what_costs_more_than_they_do(void **state)
{
    (void)state;
    static const char text[] =
        "loops test {\n    in a: float32[2000]\n    in b: float32[2000000]\n"
        "    out y: float32[4000]\n"
#define TURNS(n)                                                                 \
    "    parallel i0 in " #n " {\n        line_f32_portable(&y[128*i0], &a[0], " \
    "&b[83200*i0], 4, 32, 650, 20800, 1, 32, 32, 0, 1, 0, 0, 1, 0, 0)\n    }\n"
        TURNS(1) TURNS(3) TURNS(20) "}\n";
    bt_ctx *ctx = open_ctx();
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 2 };
    bt_loops *loops = parse_program(ctx, text);
    assert_ok(ctx, cpu_schedule_loops(loops, &config));
    assert_int_equal(loops->body.len, 3);
    assert_int_equal(loops->body.at[0]->is_parallel, 0);
    assert_int_equal(loops->body.at[1]->is_parallel, CPU_SHORT);
    assert_int_equal(loops->body.at[2]->is_parallel, 1);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_operator_costs_what_its_row_says),
    cmocka_unit_test(test_blocks_cost_their_products),
    cmocka_unit_test(test_lines_cost_what_they_read),
    cmocka_unit_test(test_elements_far_apart_cost_more),
    cmocka_unit_test(test_threads_are_for_what_costs_more_than_they_do),
};
TEST_MAIN(tests)
