/* Which programs may compute in place: what is said of them, and what happens. */
#include "schedule/alias.h"

#include "program.h"

/* Data of a program, no two elements of its input alike; in place, that is the output too.
 */
static struct program_data fill(const bt_loops *loops, uint32_t in, uint32_t out,
                                int is_in_place)
{
    struct program_data d = make_data(loops, 3);
    for (int64_t i = 0; i < bt_loops_nelem(loops, in); i++)
        ((float *)d.at[in])[i] = 100 + (float)i;
    if (is_in_place) {
        free(d.at[out]);
        d.at[out] = d.at[in];
    }
    return d;
}

static void free_over(struct program_data *d, uint32_t out)
{
    d->at[out] = NULL;
    free_data(d);
}

/* Whether turns in some order give another result in place. */
static int is_disturbed(bt_ctx *ctx, const bt_loops *loops, uint32_t in, uint32_t out)
{
    int differs = 0;
    struct program_data apart = fill(loops, in, out, 0);
    assert_ok(ctx, run_by_loops(ctx, loops, CPU_ISA_PORTABLE, 0, &apart));
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct program_data d = fill(loops, in, out, 1);
            assert_ok(ctx, run_by_loops(ctx, loops, (enum cpu_isa)isa, seed, &d));
            for (uint32_t i = 0; i < d.n; i++)
                differs |= loops->roles.at[i] == BT_BUFFER_OUTPUT &&
                           memcmp(d.at[i], apart.at[i], d.nbytes[i]) != 0;
            free_over(&d, out);
        }
    }
    free_data(&apart);
    return differs;
}

static uint32_t buffer_of(const bt_loops *loops, const char *name)
{
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        if (strcmp(loops->graph->arrays[i]->name, name) == 0)
            return i;
    }
    fail_msg("no buffer %s", name);
    return 0;
}

enum {
    NO,
    YES,
    CAUTIOUS, /* no, though nothing would happen */
    UNSAID    /* no, and what happens is the compiler's choice */
};

static void check(const char *body, int expected)
{
    bt_ctx *ctx = open_ctx();
    char text[4096];
    snprintf(text, sizeof(text),
             "loops test {\n    in x: float32[96]\n    in b: float32[96]\n"
             "    in k: int64[96]\n    out y: float32[96]\n    temp t: float32[96]\n"
             "    local l: float32[96]\n%s}\n",
             body);
    bt_loops *loops = parse_program(ctx, text);
    const struct cpu_alias_question q = {
        .loops = loops,
        .n = loops->body.len,
        .stmts = loops->body.at,
        .config = &(const struct cpu_config){ .isa = CPU_ISA_PORTABLE },
        .in = buffer_of(loops, "x"),
        .out = buffer_of(loops, "y")
    };
    int may = cpu_may_alias(&q);
    if (may != (expected == YES))
        fail_msg("%s: %d", body, may);
    if (expected != UNSAID && is_disturbed(ctx, loops, q.in, q.out) != (expected == NO))
        fail_msg("%s: in place it is %s", body, expected == NO ? "right" : "wrong");
    bt_ctx_destroy(ctx);
}

#define ADD(x, y) "add.float32(&y[" y "], &x[" x "], &b[" y "], "

static void test_strips_that_read_where_they_write(void **state)
{
    (void)state;
    check("    " ADD("0", "0") "96)\n", YES);
    check("    for i0 in 3 {\n        " ADD("32*i0", "32*i0") "32)\n    }\n", YES);
    check("    parallel i0 in 3 {\n        " ADD("32*i0", "32*i0") "32)\n    }\n", YES);
    // blocks of which the last is short, in loops
    check("    parallel i0 in 2 {\n        for i1 in 3 {\n            " ADD(
              "48*i0 + 20*i1", "48*i0 + 20*i1") "min(20, -20*i1 + 48))\n        }\n"
                                                "    }\n",
          YES);
    // blocks that overlap
    check("    for i0 in 2 {\n        for i1 in 3 {\n            " ADD(
              "48*i0 + 16*i1", "48*i0 + 16*i1") "min(20, -20*i1 + 48))\n        }\n"
                                                "    }\n",
          NO);
    check("    " ADD("1", "0") "95)\n", UNSAID);
    check("    " ADD("0", "1") "95)\n", NO);
    check("    parallel i0 in 3 {\n        " ADD("-32*i0 + 64", "32*i0") "32)\n    }\n",
          NO);
    // a row of another extent
    check("    for i0 in 3 {\n        " ADD("32*i0", "32*i0") "min(33, -32*i0 + 96))\n"
                                                              "    }\n",
          NO);
}

static void test_what_is_read_before_it_is_written(void **state)
{
    (void)state;
    check("    copy.4(&l[0], &x[0], 96)\n    neg.float32(&y[0], &l[0], 96)\n", YES);
    check("    for i0 in 96 {\n        copy.4(&t[-i0 + 95], &x[i0], 1)\n    }\n"
          "    for i0 in 96 {\n        neg.float32(&y[i0], &t[i0], 1)\n    }\n",
          YES);
    // a residual that comes last, to the same block and to a later one
    check("    neg.float32(&y[0], &b[0], 96)\n    add.float32(&y[0], &y[0], &x[0], 96)\n",
          NO);
    check("    for i0 in 3 {\n        neg.float32(&l[0], &b[32*i0], 32)\n"
          "        add.float32(&y[32*i0], &l[0], &x[32*i0], 32)\n    }\n",
          YES);
    check("    for i0 in 3 {\n        neg.float32(&y[32*i0], &b[32*i0], 32)\n"
          "        add.float32(&y[32*i0], &y[32*i0], &x[32*i0], 32)\n    }\n",
          NO);
    // twice, by the statement that writes and after it
    check("    mul.float32(&y[0], &x[0], &x[0], 96)\n", YES);
    check("    neg.float32(&y[0], &x[0], 96)\n    add.float32(&y[0], &y[0], &x[0], 96)\n",
          NO);
    check("    for i0 in 2 {\n        add.float32(&y[0], &x[0], &b[0], 96)\n    }\n", NO);
    // in the same loop, of the other half
    check(
        "    neg.float32(&y[0], &b[0], 48)\n    add.float32(&y[48], &b[0], &x[48], 48)\n",
        YES);
    check(
        "    neg.float32(&y[0], &b[0], 49)\n    add.float32(&y[48], &b[0], &x[48], 48)\n",
        NO);
}

static void test_what_is_read_in_other_ways(void **state)
{
    (void)state;
    // one element for all, which is written first
    check("    for i0 in 96 {\n        add.float32(&y[i0], &b[i0], &x[0], 1)\n    }\n",
          NO);
    check("    add.float32.s(&y[0], &b[0], &x[0], 96)\n", CAUTIOUS);
    check(
        "    for i0 in 3 {\n        add.float32.s(&y[32*i0], &b[0], &x[0], 32)\n    }\n",
        NO);
    check("    fill.float32(&y[0], &x[95], 96)\n", CAUTIOUS);
    // elements at a stride, and those that data choose
    check("    load.4(&y[0], &x[95], 96, -1)\n", NO);
    check("    load.4(&l[0], &x[95], 96, -1)\n    copy.4(&y[0], &l[0], 96)\n", YES);
    check("    for i0 in 2 {\n        load.4(&l[0], &x[48*i0], 24, 2)\n"
          "        fill.float32(&y[48*i0], &l[0], 48)\n    }\n",
          YES);
    check("    for i0 in 2 {\n        load.4(&l[0], &x[i0], 48, 2)\n"
          "        copy.4(&y[48*i0], &l[0], 48)\n    }\n",
          NO);
    check("    for i0 in 2 {\n        copy.4(&l[0], &x[48*i0], 48)\n"
          "        store.4(&y[i0], &l[0], 48, 2)\n    }\n",
          NO);
    check("    gather.4(&y[0], &x[0], &k[0], 96)\n", NO);
    check("    reduce_sum.float32(&y[0], &x[0], 96)\n", NO);
    check(
        "    for i0 in 96 {\n        halo.4(&y[i0], &x[i0], 1, 1, 0, 1, 0, 1, 1, 1, 0)\n"
        "    }\n",
        CAUTIOUS);
    check("    halo.4(&t[0], &x[0], 1, 96, 0, 1, 0, 96, 96, 1, 0)\n    copy.4(&y[0], "
          "&t[0], "
          "96)\n",
          YES);
}

static void test_conditions_tell_what_meets(void **state)
{
    (void)state;
    // the last block is longer
    check("    for i0 in 2 {\n        if (0 <= -i0) {\n            " ADD(
              "40*i0",
              "40*i0") "40)\n        } else {\n            " ADD("40*i0",
                                                                 "40*i0") "56)\n        "
                                                                          "}\n    }\n",
          YES);
    check("    for i0 in 2 {\n        if (0 <= -i0) {\n            " ADD(
              "40*i0",
              "40*i0") "41)\n        } else {\n            " ADD("40*i0",
                                                                 "40*i0") "56)\n        "
                                                                          "}\n    }\n",
          NO);
    // so is the last block of each row
    check(
        "    for i0 in 2 {\n        if (0 <= -i0) {\n            for i1 in 2 {\n"
        "                " ADD(
            "20*i0 + 48*i1",
            "20*i0 + 48*i1") "20)\n            }\n"
                             "        } else {\n            for i1 in 2 {\n"
                             "                " ADD(
                                 "20*i0 + 48*i1", "20*i0 + 48*i1") "28)\n            }\n"
                                                                   "        }\n    }\n",
        YES);
    check(
        "    for i0 in 2 {\n        if (0 <= -i0) {\n            for i1 in 2 {\n"
        "                " ADD(
            "20*i0 + 48*i1",
            "20*i0 + 48*i1") "20)\n            }\n"
                             "        } else {\n            for i1 in 2 {\n"
                             "                " ADD(
                                 "20*i0 + 47*i1", "20*i0 + 47*i1") "28)\n            }\n"
                                                                   "        }\n    }\n",
        NO);
    // one way or the other
    check("    for i0 in 3 {\n        if (k[i0] < 2) {\n"
          "            neg.float32(&y[32*i0], &b[32*i0], 32)\n        } else {\n"
          "            neg.float32(&y[32*i0], &x[32*i0], 32)\n        }\n    }\n",
          YES);
    check("    for i0 in 3 {\n        neg.float32(&y[32*i0], &b[32*i0], 32)\n"
          "        if (k[i0] < 2) {\n"
          "            neg.float32(&y[32*i0], &x[32*i0], 32)\n        }\n    }\n",
          NO);
}

/* Of open loops it is only asked what is said: nothing runs without numbers. */
static void check_open(const char *body, int expected)
{
    bt_ctx *ctx = open_ctx();
    char text[1000];
    snprintf(text, sizeof(text),
             "loops test<n: Dim> {\n    in x: float32[32*n]\n    in b: float32[32*n]\n"
             "    out y: float32[32*n]\n%s}\n",
             body);
    bt_loops *loops = parse_program(ctx, text);
    const struct cpu_alias_question q = {
        .loops = loops,
        .n = loops->body.len,
        .stmts = loops->body.at,
        .config = &(const struct cpu_config){ .isa = CPU_ISA_PORTABLE },
        .in = buffer_of(loops, "x"),
        .out = buffer_of(loops, "y")
    };
    if (cpu_may_alias(&q) != expected)
        fail_msg("%s: not %d", body, expected);
    bt_ctx_destroy(ctx);
}

static void test_loops_may_be_open(void **state)
{
    (void)state;
    // rows; blocks of which the last is short
    check_open("    parallel i0 in n {\n        " ADD("32*i0", "32*i0") "32)\n    }\n",
               1);
    check_open("    parallel i0 in ceildiv(32*n, 64) {\n        " ADD(
                   "64*i0", "64*i0") "min(64, -64*i0 + 32*n))\n    }\n",
               1);
    // into the row before, the next element, from the other end
    check_open("    for i0 in n {\n        " ADD("32*i0", "32*i0") "33)\n    }\n", 0);
    check_open("    for i0 in n {\n        " ADD("32*i0", "32*i0 + 1") "31)\n    }\n", 0);
    check_open(
        "    for i0 in n {\n        " ADD("32*n - 32*i0 - 32", "32*i0") "32)\n    }\n",
        0);
    // twice
    check_open(
        "    for i0 in n {\n        neg.float32(&y[32*i0], &x[32*i0], 32)\n    }\n"
        "    for i0 in n {\n        neg.float32(&y[32*i0], &x[32*i0], 32)\n    }\n",
        0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_strips_that_read_where_they_write),
    cmocka_unit_test(test_what_is_read_before_it_is_written),
    cmocka_unit_test(test_what_is_read_in_other_ways),
    cmocka_unit_test(test_conditions_tell_what_meets),
    cmocka_unit_test(test_loops_may_be_open),
};
TEST_MAIN(tests)
