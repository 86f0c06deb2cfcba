/* Transforms of loops: what they make, and what they refuse. */
#include "formula.h"

#include "random_transforms.h"

static bt_loops *read_loops(struct world *w, const char *text)
{
    bt_loops *loops = NULL;
    assert_ok(w->ctx, bt_loops_parse(w->ctx, bt_ctx_scratch(w->ctx), "test", text,
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

enum { SPLIT_GUARD, SPLIT_LOOP, UNROLL, PEEL, PARALLEL, HOIST, INTERCHANGE, COLLAPSE };
enum { MERGE = COLLAPSE + 1, DISTRIBUTE, SHRINK, PACK, SIMPLIFY };

static bt_status transform(bt_loops *l, uint32_t what)
{
    bt_stmt *loop = l->body.at[0], *other;
    // the first loop: conditions and stores may come before it
    for (uint32_t i = 0; i < l->body.len && loop->kind != BT_STMT_FOR; i++)
        loop = l->body.at[i];
    switch (what) {
    case SPLIT_GUARD: return bt_loops_split(l, loop, 4, BT_REST_GUARD, &other);
    case SPLIT_LOOP: return bt_loops_split(l, loop, 4, BT_REST_LOOP, &other);
    case UNROLL: return bt_loops_unroll(l, loop);
    case PEEL: return bt_loops_peel(l, loop);
    case PARALLEL: return bt_loops_parallel(l, loop);
    case HOIST: return bt_loops_hoist(l, loop);
    case INTERCHANGE: return bt_loops_interchange(l, loop);
    case COLLAPSE: return bt_loops_collapse(l, loop);
    case MERGE: return bt_loops_merge(l, loop);
    case DISTRIBUTE: return bt_loops_distribute(l, loop, 1, &other);
    case SHRINK: return bt_loops_shrink(l, loop, 2);
    case PACK: return bt_loops_pack(l, loop, 0, BT_BUFFER_TEMP);
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

static void test_tiles_have_a_rest(void **state)
{
    (void)state;
    check(SPLIT_GUARD, "for i0 in 10 { y[i0] = x[i0] }",
          "    for i0 in 3 {\n"
          "        for i1 in 4 {\n"
          "            if (0 <= -4*i0 - i1 + 9) {\n"
          "                y[4*i0 + i1] = x[4*i0 + i1]\n"
          "            }\n"
          "        }\n"
          "    }\n");
    check(SPLIT_LOOP, "for i0 in 10 { y[i0] = x[i0] }",
          "    for i0 in 2 {\n"
          "        for i1 in 4 {\n"
          "            y[4*i0 + i1] = x[4*i0 + i1]\n"
          "        }\n"
          "    }\n"
          "    for i0 in 2 {\n"
          "        y[i0 + 8] = x[i0 + 8]\n"
          "    }\n");
    check_refused(SPLIT_LOOP, "for i0 in 3 { y[i0] = x[i0] }", "no tiles of 4");
}

static void test_turns_are_written_out(void **state)
{
    (void)state;
    check(UNROLL, "for i0 in 3 { y[2*i0] = x[i0] }",
          "    y[0] = x[0]\n    y[2] = x[1]\n    y[4] = x[2]\n");
    check_refused(UNROLL, "for i0 in 99 { y[0] = x[0] }", "more than 64 turns");
}

static void test_a_padded_loop_is_cut_at_its_borders(void **state)
{
    (void)state;
    check(PEEL,
          "for i0 in 8 { t[0] = 0 for i1 in 3 { if (0 <= i0 + i1 - 1) && (i0 + i1 < 9) { "
          "t[0] sum[int64]= x[i0 + i1 - 1] } } y[i0] = t[0] }",
          "    for i0 in 1 {\n"
          "        t[0] = 0\n"
          "        for i1 in 3 {\n"
          "            if (0 <= i1 - 1) {\n"
          "                t[0] sum[int64]= x[i1 - 1]\n"
          "            }\n"
          "        }\n"
          "        y[0] = t[0]\n"
          "    }\n"
          "    for i0 in 6 {\n"
          "        t[0] = 0\n"
          "        for i1 in 3 {\n"
          "            if true {\n"
          "                t[0] sum[int64]= x[i0 + i1]\n"
          "            }\n"
          "        }\n"
          "        y[i0 + 1] = t[0]\n"
          "    }\n"
          "    for i0 in 1 {\n"
          "        t[0] = 0\n"
          "        for i1 in 3 {\n"
          "            if (0 <= -i1 + 1) {\n"
          "                t[0] sum[int64]= x[i1 + 6]\n"
          "            }\n"
          "        }\n"
          "        y[7] = t[0]\n"
          "    }\n");
    check_refused(PEEL, "for i0 in 8 { if (x[i0] == 0) { y[i0] = 1 } }", "no condition");
}

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

static void test_what_does_not_change_goes_before_the_loop(void **state)
{
    (void)state;
    check(HOIST, "for i0 in 8 { if (x[0] == 0) { y[i0] = 1 } }",
          "    if (0 == x[0]) {\n"
          "        for i0 in 8 {\n"
          "            y[i0] = 1\n"
          "        }\n"
          "    }\n");
    check(HOIST, "for i0 in 8 { t[0] = x[3] y[i0] = t[0] }",
          "    t[0] = x[3]\n"
          "    for i0 in 8 {\n"
          "        y[i0] = t[0]\n"
          "    }\n");
    check_refused(HOIST, "for i0 in 8 { if (y[0] == 0) { y[i0] = 1 } }", "depends on it");
    check_refused(HOIST, "for i0 in 8 { y[i0] = t[0] t[0] = x[3] }", "depends on it");
    check_refused(HOIST, "for i0 in 8 { t[0] = x[3] t[0] = t[0] + 1 y[i0] = t[0] }",
                  "depends on it");
    check_refused(HOIST, "for i0 in 0 { t[0] = x[3] y[i0] = t[0] }", "no turns");
}

static void test_which_loops_change_places(void **state)
{
    (void)state;
    check(INTERCHANGE, "for i0 in 3 { for i1 in 4 { t[0] = x[i0] y[4*i0 + i1] = t[0] } }",
          "    for i1 in 4 {\n"
          "        for i0 in 3 {\n"
          "            t[0] = x[i0]\n"
          "            y[4*i0 + i1] = t[0]\n"
          "        }\n"
          "    }\n");
    check(INTERCHANGE, "for i0 in 3 { for i1 in 4 { t[0] sum[int64]= x[4*i0 + i1] } }",
          "    for i1 in 4 {\n"
          "        for i0 in 3 {\n"
          "            t[0] sum[int64]= x[4*i0 + i1]\n"
          "        }\n"
          "    }\n");
    // a recurrence along the diagonal
    check_refused(INTERCHANGE,
                  "for i0 in 3 { for i1 in 4 { y[4*i0 + i1 + 3] = y[4*i0 + i1] + 1 } }",
                  "may matter");
    check_refused(INTERCHANGE, "for i0 in 3 { for i1 in 4 { y[i0 + i1] = x[i0] } }",
                  "may matter");
    check_refused(INTERCHANGE, "for i0 in 3 { for i1 in 4 { t[0] = t[0] + x[i0] } }",
                  "may matter");
    check_refused(INTERCHANGE,
                  "for i0 in 3 { for i1 in 4 { t[0] sum[int64]= x[i0] "
                  "t[0] max[int64]= x[i1] } }",
                  "may matter");
    check_refused(INTERCHANGE, "for i0 in 3 { y[i0] = 1 for i1 in 4 { y[i1] = 1 } }",
                  "not one loop");
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
                  "as many turns");
}

static void test_one_loop_as_two(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(
        &w, BUFFERS "for i0 in 3 { t[0] = 0 for i1 in 4 { t[0] sum[int64]= x[4*i0 + i1] "
                    "} y[i0] = t[0] } }");
    bt_stmt *second;
    assert_ok(w.ctx, bt_loops_distribute(loops, loops->body.at[0], 1, &second));
    assert_ok(w.ctx, bt_loops_distribute(loops, second, 1, &second));
    assert_string_equal(written(&w, loops), "loops test {\n"
                                            "    in x: int64[24]\n"
                                            "    out y: int64[24]\n"
                                            "    temp e: int64[24]\n"
                                            "    local t: int64[3]\n"
                                            "    for i0 in 3 {\n"
                                            "        t[i0] = 0\n"
                                            "    }\n"
                                            "    for i0 in 3 {\n"
                                            "        for i1 in 4 {\n"
                                            "            t[i0] sum[int64]= x[4*i0 + i1]\n"
                                            "        }\n"
                                            "    }\n"
                                            "    for i0 in 3 {\n"
                                            "        y[i0] = t[i0]\n"
                                            "    }\n"
                                            "}\n");
    world_close(&w);
    check_refused(DISTRIBUTE, "for i0 in 3 { y[i0] = e[i0] e[i0 + 1] = x[i0] }",
                  "each other's e");
    check_refused(DISTRIBUTE, "for i0 in 3 { y[i0] = t[0] t[0] = x[i0] }",
                  "t holds something");
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
                 "not the program's own");
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

static void test_what_is_read_is_packed(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(&w, "loops test { in x: int64[12] out y: int64[24] "
                                     "for i0 in 3 { for i1 in 2 { for i2 in 4 { "
                                     "y[8*i0 + 4*i1 + i2] = x[3*i2 + i0] } } } }");
    assert_ok(w.ctx, transform(loops, PACK));
    assert_string_equal(written(&w, loops), "loops test {\n"
                                            "    in x: int64[12]\n"
                                            "    out y: int64[24]\n"
                                            "    temp p2: int64[12]\n"
                                            "    for i0 in 3 {\n"
                                            "        for i2 in 4 {\n"
                                            "            p2[4*i0 + i2] = x[i0 + 3*i2]\n"
                                            "        }\n"
                                            "    }\n"
                                            "    for i0 in 3 {\n"
                                            "        for i1 in 2 {\n"
                                            "            for i2 in 4 {\n"
                                            "                y[8*i0 + 4*i1 + i2] = "
                                            "p2[4*i0 + i2]\n"
                                            "            }\n"
                                            "        }\n"
                                            "    }\n"
                                            "}\n");
    world_close(&w);
    check_refused(PACK, "for i0 in 3 { y[i0] = x[i0] + x[i0 + 1] }", "one offset");
    check_refused(PACK, "for i0 in 30 { if (i0 < 24) { y[i0] = x[i0] } }", "in bounds");
    check_refused(PACK, "for i0 in 3 { y[i0] = x[x[i0]] }", "one offset");
}

/* ---- kernels ---- */

/* The contract, done. */
static bt_status multiply_add(void *self, const char *callee, uint32_t narg,
                              const bt_call_value *v)
{
    uint32_t *ncall = self;
    float *const a = v[1].address, *const b = v[2].address;
    double *const c = v[0].address;
    assert_string_equal(callee, "gemm");
    assert_int_equal(narg, 12);
    ++*ncall;
    for (int64_t m = 0; m < v[3].integer; m++) {
        for (int64_t n = 0; n < v[4].integer; n++) {
            for (int64_t k = 0; k < v[5].integer; k++)
                c[m * v[6].integer + n * v[7].integer] +=
                    (double)a[m * v[8].integer + k * v[9].integer] *
                    b[k * v[10].integer + n * v[11].integer];
        }
    }
    return NULL;
}

static const bt_contract gemm = {
    .name = "gemm",
    .a = BT_FLOAT32,
    .b = BT_FLOAT32,
    .c = BT_FLOAT64,
    .extents = { { .most = 4 }, { .multiple = 4 }, { .least = 2 } },
    .strides = { BT_ANY_STRIDE, 1, BT_ANY_STRIDE, BT_ANY_STRIDE, BT_ANY_STRIDE,
                 BT_ANY_STRIDE },
};

#define DENSE                                                               \
    "loops dense { in x: float32[60] in w: float32[80] out y: float32[48] " \
    "local t: float64[1] "                                                  \
    "for i0 in 6 { for i1 in 8 { t[0] = float64(0) for i2 in 10 { "         \
    "t[0] sum[float32]= x[10*i0 + i2] * w[10*i1 + i2] } "                   \
    "y[8*i0 + i1] = max(float32(t[0]), float32(0)) } } }"

/* Tiles of rows, accumulators for a tile, and the kernel inside. */
static bt_status tile_dense(bt_loops *l)
{
    bt_stmt *rows = l->body.at[0], *row, *end, *middle;
    BT_TRY(bt_loops_split(l, rows, 3, BT_REST_LOOP, &row));
    bt_stmt *columns = row->body.at[0];
    BT_TRY(bt_loops_distribute(l, columns, 2, &end));
    BT_TRY(bt_loops_distribute(l, columns, 1, &middle));
    BT_TRY(bt_loops_distribute(l, row, 2, &end));
    BT_TRY(bt_loops_distribute(l, row, 1, &middle));
    BT_TRY(bt_loops_tensorize(l, middle, &gemm));
    return bt_loops_parallel(l, rows);
}

static void test_a_contraction_becomes_calls_of_a_kernel(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(&w, DENSE), *tiled = read_loops(&w, DENSE);
    bt_tensor *x = tensor_random(&w, BT_FLOAT32, 1, DIMS(60));
    bt_tensor *weight = tensor_random(&w, BT_FLOAT32, 2, DIMS(80));
    float y[48], again[48];
    uint32_t ncall = 0;
    bt_loops_options options = { .seed = 7, .call = multiply_add, .self = &ncall };
    assert_ok(w.ctx, tile_dense(tiled));
    assert_ok(w.ctx, bt_loops_run(w.ctx, loops, (void *[]){ x->data, weight->data, y }));
    assert_ok(w.ctx,
              bt_loops_run_with(w.ctx, tiled, (void *[]){ x->data, weight->data, again },
                                &options));
    assert_int_equal(ncall, 2);
    assert_memory_equal(y, again, sizeof(y));
    assert_non_null(strstr(written(&w, tiled), "local t: float64[24]"));
    assert_non_null(strstr(written(&w, tiled), "gemm(&t[0], &x[30*i0], &w[0], 3, 8, 10, "
                                               "8, 1, 10, 1, 1, 10)"));
    bt_tensor_unref(x);
    bt_tensor_unref(weight);
    world_close(&w);
}

static void test_what_a_contract_does_not_take(void **state)
{
    (void)state;
    static const struct {
        const char *nest, *part;
    } rows[] = {
        { "for i0 in 3 { c[8*i0] sum[float32]= a[i0] }", "no product" },
        { "for i0 in 3 { c[8*i0] max[float32]= a[i0] * b[i0] }", "more than to sum" },
        { "for i0 in 3 { c[8*i0] sum[float32]= a[i0] * b[i0] }", "m, n and k" },
        { "for i0 in 3 { for i1 in 4 { for i2 in 3 { "
          "c[4*i0 + i1] sum[float32]= a[3*i0 + i2] * b[mod(i1, 2) + i2] } } }",
          "no constant stride" },
        { "for i0 in 3 { for i1 in 4 { for i2 in 3 { "
          "c[i0 + 3*i1] sum[float32]= a[3*i0 + i2] * b[4*i2 + i1] } } }",
          "stride cn" },
        { "for i0 in 3 { for i1 in 4 { "
          "c[4*i0 + i1] sum[float32]= a[i0] * b[i1] } }",
          "not for this" },
        { "for i0 in 3 { for i1 in 6 { for i2 in 3 { "
          "c[6*i0 + i1] sum[float32]= a[3*i0 + i2] * b[6*i2 + i1] } } }",
          "this n" },
        { "for i0 in 6 { for i1 in 4 { for i2 in 3 { "
          "c[4*i0 + i1] sum[float32]= a[3*i0 + i2] * b[4*i2 + i1] } } }",
          "this m" },
        { "for i0 in 3 { for i1 in 4 { for i2 in 3 { "
          "c[4*i0 + i1] sum[float64]= c[3*i0 + i2] * c[4*i2 + i1] } } }",
          "element type" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "loops test { in a: float32[64] in b: float32[64] out c: float64[64] "
                 "%s }",
                 rows[i].nest);
        bt_loops *loops = read_loops(&w, text);
        assert_error(bt_loops_tensorize(loops, loops->body.at[0], &gemm),
                     BT_ERR_UNSUPPORTED, rows[i].part);
    }
    world_close(&w);
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
    assert_ok(w->ctx, bt_loops_parse(w->ctx, arena, "test", text, strlen(text), &plain));
    assert_ok(w->ctx, bt_loops_parse(w->ctx, arena, "test", text, strlen(text), &loops));
    struct transforming t = { .ctx = w->ctx, .loops = loops, .random = seed };
    bt_text_init(&done, arena);
    transform_randomly(&t, 30, &done);
    for (uint32_t i = 0; i < NTRY; i++)
        ndone[i] += t.ndone[i];
    bt_loops_options options = { .seed = seed };
    assert_ok(w->ctx, bt_loops_run(w->ctx, plain, (void *[]){ x, y }));
    bt_text_init(&was, arena);
    assert_ok(w->ctx, bt_loops_print(loops, &was));
    bt_status status = bt_loops_run_with(w->ctx, loops, (void *[]){ x, again }, &options);
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tiles_have_a_rest),
    cmocka_unit_test(test_turns_are_written_out),
    cmocka_unit_test(test_a_padded_loop_is_cut_at_its_borders),
    cmocka_unit_test(test_what_is_decided_goes),
    cmocka_unit_test(test_what_does_not_change_goes_before_the_loop),
    cmocka_unit_test(test_which_loops_change_places),
    cmocka_unit_test(test_which_turns_are_independent),
    cmocka_unit_test(test_two_loops_as_one),
    cmocka_unit_test(test_loops_that_follow_each_other),
    cmocka_unit_test(test_one_loop_as_two),
    cmocka_unit_test(test_a_stage_is_computed_where_its_rows_are_read),
    cmocka_unit_test(test_what_is_read_is_packed),
    cmocka_unit_test(test_a_contraction_becomes_calls_of_a_kernel),
    cmocka_unit_test(test_what_a_contract_does_not_take),
    cmocka_unit_test(test_sequences_of_transforms_keep_the_result),
};
TEST_MAIN(tests)
