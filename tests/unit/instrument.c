/* What runs of pipelines print: differences of modules, tables of times. */
#include "test.h"

#include "pass/pipeline.h"

static int setup(void **state)
{
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .plugin_only = "" });
    *state = r ? bt_ctx_create(r) : NULL;
    bt_registry_unref(r);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    bt_ctx_destroy(*state);
    return 0;
}

static const char *diff(bt_ctx *ctx, const char *before, const char *after)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt__diff(ctx, before, after, &text));
    return bt_text_get(&text);
}

static void test_a_diff_shows_changed_lines_with_neighbours(void **state)
{
    bt_ctx *ctx = *state;
    assert_string_equal(
        diff(ctx, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
        "  ... 1 unchanged line\n  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n"
        "  ... 1 unchanged line\n");
    assert_string_equal(diff(ctx, "a\nb\nc\n", "a\nc\nd\n"), "  a\n- b\n  c\n+ d\n");
    assert_string_equal(diff(ctx, "", "a\n"), "+ a\n");
    assert_string_equal(diff(ctx, "a", ""), "- a\n");
    assert_string_equal(diff(ctx, "a\nb\n", "a\nb\n"), "  ... 2 unchanged lines\n");
}

/* Applied to `before`, the marks give `after`: without the context's cut both texts are
 * spelled out. */
static void test_a_diff_holds_both_texts(void **state)
{
    bt_ctx *ctx = *state;
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        char texts[2][64], spelled[2][128];
        for (int t = 0; t < 2; t++) {
            size_t n = 0;
            for (int i = 0; i < 7; i++) {
                seed = seed * 1664525u + 1013904223u;
                if (seed >> 30)
                    n += (size_t)sprintf(texts[t] + n, "%c\n",
                                         'a' + (int)(seed >> 20 & 3));
            }
            texts[t][n] = 0;
        }
        size_t n[2] = { 0, 0 };
        for (const char *c = diff(ctx, texts[0], texts[1]); *c; c += 4) {
            if (strncmp(c, "  ...", 5) == 0) // cut: not compared below
                break;
            for (int t = 0; t < 2; t++) {
                if (*c == ' ' || *c == "-+"[t])
                    n[t] += (size_t)sprintf(spelled[t] + n[t], "%c\n", c[2]);
            }
        }
        if (strstr(diff(ctx, texts[0], texts[1]), "..."))
            continue;
        spelled[0][n[0]] = spelled[1][n[1]] = 0;
        assert_string_equal(spelled[0], texts[0]);
        assert_string_equal(spelled[1], texts[1]);
    }
}

static void test_times_are_summed_by_pass(void **state)
{
    bt_ctx *ctx = *state;
    bt__timings timings = { 0 };
    bt_text text;
    bt_arena *arena = bt_ctx_scratch(ctx);
    assert_true(bt__timing_add(arena, &timings, "fold", 1, 2000000));
    assert_true(bt__timing_add(arena, &timings, "inline", 0, 1000000));
    assert_true(bt__timing_add(arena, &timings, "fold", 0, 1000000));
    bt_text_init(&text, arena);
    bt__timing_print(&timings, &text);
    assert_string_equal(bt_text_get(&text), "pass          time   share   runs  changed\n"
                                            "fold       3.00 ms   75.0%      2        1\n"
                                            "inline     1.00 ms   25.0%      1        0\n"
                                            "all        4.00 ms\n");
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_diff_shows_changed_lines_with_neighbours),
    TEST(test_a_diff_holds_both_texts),
    TEST(test_times_are_summed_by_pass),
};
TEST_MAIN(tests)
