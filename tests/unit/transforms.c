/* Transforms of loops: what they make, and what they refuse. */
#include "formula.h"

#include "loops_oracle.h"
#include "random_transforms.h"

static bt_loops *read_loops(struct world *w, const char *text)
{
    bt_loops *loops = NULL;
    assert_ok(w->ctx, loops_parse(w->ctx, bt_ctx_scratch(w->ctx), "test", text,
                                  strlen(text), &loops));
    return loops;
}

static const char *written(struct world *w, const bt_loops *loops)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, bt_loops_print(loops, &text));
    return bt_text_get(&text);
}

/* ---- one transform of the first loop ---- */

enum { PARALLEL, COLLAPSE, MERGE, SHRINK, SIMPLIFY };

static bt_status transform(bt_loops *l, uint32_t what)
{
    bt_stmt *loop = l->body.at[0];
    // the first loop: conditions and stores may come before it
    for (uint32_t i = 0; i < l->body.len && loop->kind != BT_STMT_FOR; i++)
        loop = l->body.at[i];
    switch (what) {
    case PARALLEL: return bt_loops_parallel(l, loop);
    case COLLAPSE: return bt_loops_collapse(l, loop);
    case MERGE: return bt_loops_merge(l, loop);
    case SHRINK: return bt_loops_shrink(l, loop, 2);
    default: return bt_loops_simplify(l);
    }
}

#define BUFFERS               \
    "loops test {\n"          \
    "    in x: int64[24]\n"   \
    "    out y: int64[24]\n"  \
    "    temp e: int64[24]\n" \
    "    local t: int64[1]\n"

static void check(uint32_t what, const char *before, const char *after)
{
    struct world w = world_open();
    char text[2000], expected[2000];
    snprintf(text, sizeof(text), BUFFERS "%s}\n", before);
    snprintf(expected, sizeof(expected), BUFFERS "%s}\n", after);
    bt_loops *loops = read_loops(&w, text);
    assert_ok(w.ctx, transform(loops, what));
    assert_string_equal(written(&w, loops), expected);
    world_close(&w);
}

static void check_refused(uint32_t what, const char *before, const char *part)
{
    struct world w = world_open();
    char text[2000];
    snprintf(text, sizeof(text), BUFFERS "%s}\n", before);
    bt_loops *loops = read_loops(&w, text);
    const char *was = written(&w, loops);
    bt_status status = transform(loops, what);
    if (!status)
        fail_msg("not refused:\n%s%s", was, written(&w, loops));
    assert_error(status, BT_ERR_UNSUPPORTED, part);
    assert_string_equal(written(&w, loops), was);
    world_close(&w);
}

/* ---- what they make ---- */

static void test_what_is_decided_goes(void **state)
{
    (void)state;
    check(SIMPLIFY,
          "for i0 in 8 { if (i0 < 3) { if (i0 < 5) { y[i0] = select(i0 < 4, x[i0], 7) } "
          "else { y[0] = 1 } } else { if (i0 < 2) { y[1] = 1 } } }"
          "for i0 in 1 { y[i0] = 2 } for i0 in 0 { y[i0] = 3 } for i0 in 4 { }",
          "    for i0 in 8 {\n"
          "        if (0 <= -i0 + 2) {\n"
          "            y[i0] = x[i0]\n"
          "        }\n"
          "    }\n"
          "    y[0] = 2\n");
    // what an element says may have changed
    check(SIMPLIFY, "if (y[0] == 0) { y[0] = 1 if (y[0] == 0) { y[1] = 1 } }",
          "    if (0 == y[0]) {\n"
          "        y[0] = 1\n"
          "        if (0 == y[0]) {\n"
          "            y[1] = 1\n"
          "        }\n"
          "    }\n");
}

static void test_which_turns_are_independent(void **state)
{
    (void)state;
    check(PARALLEL, "for i0 in 4 { for i1 in 5 { y[5*i0 + i1] = x[i0] } }",
          "    parallel i0 in 4 {\n"
          "        for i1 in 5 {\n"
          "            y[5*i0 + i1] = x[i0]\n"
          "        }\n"
          "    }\n");
    // the inner index, whose stride is the smaller
    check(PARALLEL, "for i0 in 5 { for i1 in 4 { y[5*i1 + i0] = y[5*i1 + i0] + 1 } }",
          "    parallel i0 in 5 {\n"
          "        for i1 in 4 {\n"
          "            y[i0 + 5*i1] = y[i0 + 5*i1] + 1\n"
          "        }\n"
          "    }\n");
    check(PARALLEL, "for i0 in 5 { y[2*i0] = y[2*i0 + 1] }",
          "    parallel i0 in 5 {\n        y[2*i0] = y[2*i0 + 1]\n    }\n");
    check_refused(PARALLEL, "for i0 in 4 { for i1 in 5 { y[4*i0 + i1] = x[i0] } }",
                  "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[i0] = y[i0 + 1] }", "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[x[i0]] = 1 }", "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[0] sum[int64]= x[i0] }",
                  "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[3*i0] = y[2*i0 + 6] }", "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[mod(i0, 3)] = 1 }", "same element of y");
    // rows of 3 elements, 8 apart
    check(PARALLEL, "for i0 in 9 { y[8*floordiv(i0, 3) + 2*mod(i0, 3)] = 1 }",
          "    parallel i0 in 9 {\n"
          "        y[2*mod(i0, 3) + 8*floordiv(i0, 3)] = 1\n    }\n");
    check_refused(PARALLEL, "for i0 in 9 { y[4*floordiv(i0, 3) + 2*mod(i0, 3)] = 1 }",
                  "same element of y");
    check_refused(PARALLEL, "for i0 in 9 { y[8*floordiv(i0, 3) + 2*mod(i0, 4)] = 1 }",
                  "same element of y");
    check_refused(PARALLEL, "for i0 in 9 { y[floordiv(i0, 3)] = 1 }", "same element of y");
    check_refused(PARALLEL, "for i0 in 4 { y[i0] = t[0] t[0] = x[i0] }",
                  "t holds something");
    check_refused(PARALLEL, "t[0] = 0 for i0 in 4 { y[i0] = t[0] }", "t holds something");
    check_refused(PARALLEL, "for i0 in 4 { t[0] = x[i0] } y[0] = t[0]",
                  "t holds something");
    check_refused(PARALLEL,
                  "for i0 in 4 { if (i0 < 2) { t[0] = 1 } else { y[9] = t[0] } }",
                  "t holds something");
    check_refused(PARALLEL, "for i0 in 4 { gemm(&y[4*i0], i0) }", "same element of y");
}

static void test_two_loops_as_one(void **state)
{
    (void)state;
    check(COLLAPSE, "for i0 in 3 { for i1 in 4 { y[4*i0 + i1] = x[8*i0 + 2*i1 + 1] } }",
          "    for i0 in 12 {\n        y[i0] = x[2*i0 + 1]\n    }\n");
    check_refused(COLLAPSE, "for i0 in 3 { for i1 in 4 { y[5*i0 + i1] = 0 } }",
                  "one sum");
    check_refused(COLLAPSE, "for i0 in 3 { for i1 in 4 { y[4*i0 + i1] = i0 } }",
                  "one sum");
    check_refused(COLLAPSE, "for i0 in 3 { for i1 in 4 { y[4*i0 + i1] = x[i1] } }",
                  "one sum");
}

static void test_loops_that_follow_each_other(void **state)
{
    (void)state;
    check(MERGE,
          "for i0 in 3 { for i1 in 4 { e[4*i0 + i1] = x[4*i0 + i1] } }"
          "for i1 in 3 { for i0 in 4 { y[4*i1 + i0] = e[4*i1 + i0] } }",
          "    for i2 in 3 {\n"
          "        for i1 in 4 {\n"
          "            e[i1 + 4*i2] = x[i1 + 4*i2]\n"
          "        }\n"
          "        for i0 in 4 {\n"
          "            y[i0 + 4*i2] = e[i0 + 4*i2]\n"
          "        }\n"
          "    }\n");
    check_refused(MERGE,
                  "for i0 in 3 { e[i0] = x[i0] } for i0 in 3 { y[i0] = e[i0 + 1] }",
                  "need each other's e");
    check_refused(MERGE, "for i0 in 3 { y[i0] = e[i0] } for i0 in 3 { e[2*i0] = 1 }",
                  "need each other's e");
    check_refused(MERGE, "for i0 in 3 { t[0] = x[i0] } for i0 in 3 { y[i0] = t[0] }",
                  "need each other's t");
    check_refused(MERGE, "for i0 in 3 { y[i0] = 1 } for i0 in 4 { y[i0] = 2 }",
                  "as many iterations");
}

static void test_a_stage_is_computed_where_its_rows_are_read(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops =
        read_loops(&w, BUFFERS
                   "for i0 in 3 { for i1 in 8 { e[8*i0 + i1] = x[8*i0 + i1] + 1 } }"
                   "for i0 in 3 { t[0] = 0 for i1 in 8 { t[0] sum[int64]= e[8*i0 + i1] } "
                   "for i1 in 8 { y[8*i0 + i1] = e[8*i0 + i1] - t[0] } } }");
    assert_ok(w.ctx, bt_loops_merge(loops, loops->body.at[0]));
    assert_error(bt_loops_shrink(loops, loops->body.at[0], 0), BT_ERR_UNSUPPORTED,
                 "no local of these loops");
    assert_ok(w.ctx, bt_loops_shrink(loops, loops->body.at[0], 2));
    assert_ok(w.ctx, bt_loops_parallel(loops, loops->body.at[0]));
    assert_string_equal(written(&w, loops), "loops test {\n"
                                            "    in x: int64[24]\n"
                                            "    out y: int64[24]\n"
                                            "    local e: int64[8]\n"
                                            "    local t: int64[1]\n"
                                            "    parallel i0 in 3 {\n"
                                            "        for i1 in 8 {\n"
                                            "            e[i1] = x[8*i0 + i1] + 1\n"
                                            "        }\n"
                                            "        t[0] = 0\n"
                                            "        for i1 in 8 {\n"
                                            "            t[0] sum[int64]= e[i1]\n"
                                            "        }\n"
                                            "        for i1 in 8 {\n"
                                            "            y[8*i0 + i1] = e[i1] - t[0]\n"
                                            "        }\n"
                                            "    }\n"
                                            "}\n");
    world_close(&w);
    check_refused(SHRINK, "for i0 in 3 { e[i0] = x[i0] } y[0] = e[0]", "outside of i0");
    check_refused(SHRINK, "for i0 in 3 { e[i0 + 1] = x[i0] y[i0] = e[i0] }",
                  "not seen to have stored");
    check_refused(SHRINK, "for i0 in 3 { e[i0] = x[i0] y[i0] = e[2*i0] }", "one stride");
    check_refused(SHRINK,
                  "for i0 in 3 { for i1 in 7 { e[8*i0 + i1] = 0 } y[i0] = e[8*i0 + 7] }",
                  "not seen to have stored");
}

/* ---- chains of stages ---- */

/* Programs of several nests, in integers, that sequences of transforms go to. */
static const char *const chains[] = {
    // rows: greatest, differences, their sum, the quotient
    "loops rows { in x: int64[60] out y: int64[60] temp m: int64[6] temp e: int64[60] "
    "temp s: int64[6] local t: int64[1] "
    "for i0 in 6 { t[0] = -99 for i1 in 10 { t[0] max[int64]= x[10*i0 + i1] } "
    "m[i0] = t[0] } "
    "for i0 in 6 { for i1 in 10 { e[10*i0 + i1] = m[i0] - x[10*i0 + i1] } } "
    "for i0 in 6 { t[0] = 0 for i1 in 10 { t[0] sum[int64]= e[10*i0 + i1] } "
    "s[i0] = t[0] } "
    "for i0 in 6 { for i1 in 10 { y[10*i0 + i1] = 100 * e[10*i0 + i1] / (s[i0] + 1) } } "
    "}",
    // a padded window, then a pointwise stage and one that transposes
    "loops window { in x: int64[60] out y: int64[60] temp c: int64[60] temp d: int64[60] "
    "local t: int64[1] "
    "for i0 in 6 { for i1 in 10 { t[0] = 0 for i2 in 3 { if (0 <= i0 + i2 - 1) && "
    "(i0 + i2 < 7) { for i3 in 3 { if (0 <= i1 + i3 - 1) && (i1 + i3 < 11) { "
    "t[0] sum[int64]= x[10*i0 + 10*i2 + i1 + i3 - 11] } } } } c[10*i0 + i1] = t[0] } } "
    "for i0 in 6 { for i1 in 10 { d[10*i0 + i1] = max(c[10*i0 + i1], 3) } } "
    "for i0 in 10 { for i1 in 6 { y[6*i0 + i1] = d[10*i1 + i0] } } }",
    // products, and what comes after them
    "loops dense { in x: int64[60] out y: int64[60] temp p: int64[36] local t: int64[1] "
    "for i0 in 6 { for i1 in 6 { t[0] = 0 for i2 in 10 { "
    "t[0] sum[int64]= x[10*i0 + i2] * x[10*i1 + i2] } p[6*i0 + i1] = t[0] } } "
    "for i0 in 6 { for i1 in 10 { t[0] = 0 for i2 in 6 { "
    "t[0] sum[int64]= p[6*i0 + i2] * x[10*i2 + i1] } y[10*i0 + i1] = t[0] } } }",
    // a recurrence, and a sum by what an element says
    "loops order { in x: int64[60] out y: int64[60] temp h: int64[61] "
    "h[0] = 1 for i0 in 60 { h[i0 + 1] = mod(h[i0] * 3 + x[i0], 17) } "
    "for i0 in 60 { y[i0] = h[i0 + 1] } "
    "for i0 in 6 { for i1 in 10 { y[mod(x[10*i0 + i1], 60)] sum[int64]= h[i0] } } }",
};

static void check_chain(struct world *w, const char *text, uint64_t seed, uint32_t *ndone)
{
    bt_arena *arena = bt_arena_create(w->registry);
    bt_loops *loops, *plain;
    int64_t x[60], y[60], again[60];
    bt_text done, was;
    for (int64_t i = 0; i < 60; i++)
        x[i] = (int64_t)((i * 37 + (int64_t)seed) % 23) - 9;
    assert_ok(w->ctx, loops_parse(w->ctx, arena, "test", text, strlen(text), &plain));
    assert_ok(w->ctx, loops_parse(w->ctx, arena, "test", text, strlen(text), &loops));
    struct transforming t = { .ctx = w->ctx, .loops = loops, .random = seed };
    bt_text_init(&done, arena);
    transform_randomly(&t, 30, &done);
    for (uint32_t i = 0; i < NTRY; i++)
        ndone[i] += t.ndone[i];
    struct run_options options = { .seed = seed };
    assert_ok(w->ctx, loops_run(w->ctx, plain, (void *[]){ x, y }, NULL));
    bt_text_init(&was, arena);
    assert_ok(w->ctx, bt_loops_print(loops, &was));
    bt_status status = loops_run(w->ctx, loops, (void *[]){ x, again }, &options);
    if (status || memcmp(y, again, sizeof(y)) != 0) {
        fprintf(stderr, "seed %d: %s\n%s\n", (int)seed, bt_text_get(&done), was.at);
        fail_msg("%s", status ? status->message : "another result");
    }
    bt_arena_destroy(arena);
}

static void test_sequences_of_transforms_keep_the_result(void **state)
{
    (void)state;
    struct world w = world_open();
    uint32_t ndone[NTRY] = { 0 };
    for (uint64_t seed = 1; seed <= 1200; seed++) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        check_chain(&w, chains[seed % BT_COUNT(chains)], seed, ndone);
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
        bt_ctx_clear_diags(w.ctx);
    }
    for (uint32_t i = 0; i < NTRY; i++) {
        if (ndone[i] < 5)
            fail_msg("%s was legal %u times only", try_names[i], ndone[i]);
    }
    world_close(&w);
}

#define OPEN                                 \
    "loops open<n: Dim, m: Dim in 1..9> {\n" \
    "    in x: int64[(n * m)]\n"             \
    "    out y: int64[(n * m)]\n"

/* Strides are expressions of dims: rows of m elements lie one after the other. */
static void test_open_loops_are_one_where_their_strides_allow(void **state)
{
    static const char rows[] = "    for i0 in n {\n"
                               "        for i1 in m {\n"
                               "            y[i0*m + i1] = x[i0*m + i1]\n"
                               "        }\n"
                               "    }\n"
                               "}\n";
    static const char columns[] = "    for i0 in n {\n"
                                  "        for i1 in m {\n"
                                  "            y[i0 + i1*n] = x[i0*m + i1]\n"
                                  "        }\n"
                                  "    }\n"
                                  "}\n";
    static const char joined[] = "    for i0 in (n * m) {\n"
                                 "        y[i0] = x[i0]\n"
                                 "    }\n"
                                 "}\n";
    char text[1000], expected[1000];
    (void)state;
    struct world w = world_open();
    snprintf(text, sizeof(text), OPEN "%s", rows);
    snprintf(expected, sizeof(expected), OPEN "%s", joined);
    bt_loops *loops = read_loops(&w, text);
    assert_ok(w.ctx, transform(loops, COLLAPSE));
    assert_string_equal(written(&w, loops), expected);
    // elements of a column lie apart
    snprintf(text, sizeof(text), OPEN "%s", columns);
    assert_error(transform(read_loops(&w, text), COLLAPSE), BT_ERR_UNSUPPORTED,
                 "do not stand in one sum");
    world_close(&w);
}

/* However many rows there are, one is as long as the others. */
static void test_a_stage_of_open_rows_is_as_large_as_one(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(
        &w, "loops open<n: Dim> {\n in x: int64[8*n]\n out y: int64[8*n]\n"
            " temp e: int64[8*n]\n for i0 in n {\n"
            "  for i1 in 8 {\n   e[8*i0 + i1] = x[8*i0 + i1] + 1\n  }\n"
            "  for i1 in 8 {\n   y[8*i0 + i1] = e[8*i0 - i1 + 7]\n  }\n }\n}\n");
    assert_ok(w.ctx, transform(loops, SHRINK));
    assert_string_equal(written(&w, loops), "loops open<n: Dim> {\n"
                                            "    in x: int64[8*n]\n"
                                            "    out y: int64[8*n]\n"
                                            "    local e: int64[8]\n"
                                            "    for i0 in n {\n"
                                            "        for i1 in 8 {\n"
                                            "            e[i1] = x[8*i0 + i1] + 1\n"
                                            "        }\n"
                                            "        for i1 in 8 {\n"
                                            "            y[8*i0 + i1] = e[-i1 + 7]\n"
                                            "        }\n"
                                            "    }\n"
                                            "}\n");
    // rows of open length have no number of elements
    loops = read_loops(&w, "loops open<n: Dim, m: Dim> {\n in x: int64[(n * m)]\n"
                           " out y: int64[(n * m)]\n temp e: int64[(n * m)]\n"
                           " for i0 in n {\n  for i1 in m {\n"
                           "   e[i0*m + i1] = x[i0*m + i1]\n"
                           "   y[i0*m + i1] = e[i0*m + i1]\n  }\n }\n}\n");
    assert_error(transform(loops, SHRINK), BT_ERR_UNSUPPORTED, "one stride");
    world_close(&w);
}

/* Columns of open length: what one iteration has lies all over the buffer. */
static void test_a_stage_of_open_columns_keeps_its_size(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops =
        read_loops(&w, "loops open<n: Dim in 1..1000000000> {\n in x: int64[4*n]\n"
                       " out y: int64[4*n]\n temp e: int64[4*n]\n for i0 in n {\n"
                       "  for i1 in 4 {\n   e[i0 + i1*n] = x[i0 + i1*n] + 1\n  }\n"
                       "  for i1 in 4 {\n   y[i0 + i1*n] = e[i0 + i1*n]\n  }\n }\n}\n");
    assert_error(transform(loops, SHRINK), BT_ERR_UNSUPPORTED, "e keeps its size");
    world_close(&w);
}

/* What a loop without iterations does not store is still there from the iteration before. */
static void test_a_local_is_stored_only_by_loops_that_have_iterations(void **state)
{
    static const char *const headers[] = { "<n: Dim, m: Dim in 1..9>",
                                           "<n: Dim, m: Dim in 0..9>" };
    (void)state;
    struct world w = world_open();
    for (int may_be_empty = 0; may_be_empty < 2; may_be_empty++) {
        char text[1000];
        snprintf(text, sizeof(text),
                 "loops open%s {\n in x: int64[m]\n out y: int64[n]\n local t: int64[1]\n"
                 " for i0 in n {\n  for i1 in m {\n   t[0] = x[i1]\n  }\n"
                 "  y[i0] = t[0]\n }\n}\n",
                 headers[may_be_empty]);
        bt_status status = transform(read_loops(&w, text), PARALLEL);
        if (may_be_empty)
            assert_error(status, BT_ERR_UNSUPPORTED, "t holds something");
        else
            assert_ok(w.ctx, status);
    }
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_decided_goes),
    cmocka_unit_test(test_which_turns_are_independent),
    cmocka_unit_test(test_two_loops_as_one),
    cmocka_unit_test(test_loops_that_follow_each_other),
    cmocka_unit_test(test_a_stage_is_computed_where_its_rows_are_read),
    cmocka_unit_test(test_sequences_of_transforms_keep_the_result),
    cmocka_unit_test(test_open_loops_are_one_where_their_strides_allow),
    cmocka_unit_test(test_a_stage_of_open_rows_is_as_large_as_one),
    cmocka_unit_test(test_a_stage_of_open_columns_keeps_its_size),
    cmocka_unit_test(test_a_local_is_stored_only_by_loops_that_have_iterations),
};
TEST_MAIN(tests)
