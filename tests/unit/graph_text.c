/* Graphs as formulas: each is read as the graph that it was written of. */
#include "formula_text.h"

#include "compute/formula/cache.h"

/* What is written of a formula of x: float32[4, 3], i: int64[4], u: uint64[4]; where is_open,
 * the dims of x are not known. */
static const char *written(struct world *w, bt_arena *arena, const char *stages,
                           uint32_t nresult, int is_open)
{
    const int64_t dims[2] = { 4, 3 };
    const bt_type *opaque[2] = { bt_dim_opaque(w->store, NULL),
                                 bt_dim_opaque(w->store, NULL) };
    const bt_type *args[] = {
        is_open ? bt_type_tensor(w->store, bt_type_shape(w->store, 2, opaque),
                                 bt_type_dtype(w->store, BT_FLOAT32))
                : bt_type_tensor_of(w->store, BT_FLOAT32, 2, dims),
        bt_type_tensor_of(w->store, BT_INT64, 1, dims),
        bt_type_tensor_of(w->store, BT_UINT64, 1, dims),
    };
    const bt_formula_call call = { .narg = 3,
                                   .args = args,
                                   .result = any_result(w, nresult) };
    bt_graph *graph;
    char formula[400];
    snprintf(formula, sizeof(formula), "x: t[n, m], i: int64[k], u: uint64[k] => %s",
             stages);
    bt_status status = text_compose(w, arena, formula, &call, &graph);
    if (status)
        fail_msg("%s: %s", formula, status->message);
    const char *behind = strstr(text_again(w, arena, graph, &call), "=> ");
    assert_non_null(behind);
    return behind + 3;
}

static void test_numbers_have_the_dtype_that_they_had(void **state)
{
    static const char *const texts[][2] = {
        { "x[i, j] + 0.1", "0.1 + a0[i0, i1]" },
        { "x[i, j] * 2 - -0.0", "2 * a0[i0, i1] - -0.0" },
        { "max(x[i, j], -inf)", "max(-inf, a0[i0, i1])" },
        { "select(x[i, j] > 0, nan, 1)", "select(0 < a0[i0, i1], float32(nan), 1)" },
        { "float32(float64(x[i, j]) * 0.1)", "float32(0.1 * float64(a0[i0, i1]))" },
        { "float32(bit_or(u[0], uint64(-2)))", "float32(bit_or(a2[0], uint64(-2)))" },
        { "float32(bit_or(i[0], -9223372036854775807 - 1))",
          "float32(bit_or((-9223372036854775807 - 1), a1[0]))" },
        { "x[i, j] * 1e20 + 16777216", "16777216 + 1e+20 * a0[i0, i1]" },
        { "select(bool(1), x[i, j], 0)", "a0[i0, i1]" },
        { "3", "3" },
    };
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    for (uint32_t k = 0; k < BT_COUNT(texts); k++) {
        char stage[200], expected[200];
        snprintf(stage, sizeof(stage), "y: t[i in 4, j in 3] = %s", texts[k][0]);
        snprintf(expected, sizeof(expected), "s0: float32[i0 in 4, i1 in 3] = %s",
                 texts[k][1]);
        assert_string_equal(written(&w, arena, stage, 1, 0), expected);
    }
    bt_arena_destroy(arena);
    world_close(&w);
}

static void test_operators_bind_as_they_did(void **state)
{
    static const char *const texts[] = {
        "x[i, j] - (x[i, j] - x[0, 0])",
        "x[i, j] / (x[i, j] * x[0, 0]) * (x[i, j] + 1)",
        "-(x[i, j] + 1) * -x[i, j]",
        "x[i, j] - 2 * (x[i, j] - x[0, 0] * -3)",
        "select(i < 2 && (j == 1 || x[i, j] > 0) && !(x[i, j] < 1), x[i, j], 0)",
        "select((i < 2) == (j < 1), x[i, j], 1)",
        "float32(-2 * i - j * 3 + 7 - i[i] * (i + 1))",
        "sum(a, b | a <= i && b != j: x[a, b] * x[i, j])",
        "sum(a: max(b: x[a, b]) - min(b: x[b, a] else 0))",
        "float32(argmax(a in 4, b in 3: x[a, b])) + logsumexp(b in 3: x[i, b])",
        "float32(sum(a in 4: 1)) + float32(sum[int32](a in 4: int32(i[a])))",
        "x[clamp(i[i], 0, 3), j] + x[wrap(i[i], 4), j] + x[i[i], j]",
        "x[min(index(u[i]), 3), 0] else 5",
        "float32(shift_left(i[i], 3)) % 5 + pow(x[i, j], 2)",
        "x[floordiv(i + 3, 2), mod(j + 5, 3)] else x[i, j]",
        "stored(x[i, j] * 3) + float32(x[i, j] * 3)",
    };
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    for (uint32_t k = 0; k < BT_COUNT(texts); k++) {
        char stage[200];
        snprintf(stage, sizeof(stage), "y: t[i in 4, j in 3] = %s", texts[k]);
        (void)written(&w, arena, stage, 1, 0);
        snprintf(stage, sizeof(stage), "y: t[i in n, j in m] = %s", texts[k]);
        (void)written(&w, arena, stage, 1, 1);
    }
    bt_arena_destroy(arena);
    world_close(&w);
}

static void test_stages_and_results_are_those_that_they_were(void **state)
{
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    assert_string_equal(
        written(&w, arena,
                "m: t[i] = max(j: x[i, j]); y: t[i, j] = x[i, j] - m[i]; -> y, m", 2, 1),
        "s0: float32[i0 in d0] = max(r0 in d1: a0[i0, r0]); "
        "s1: float32[i0 in d0, i1 in d1] = a0[i0, i1] - s0[i0] -> s1, s0");
    assert_string_equal(written(&w, arena, "y: t[] = x[1, 2]", 1, 0),
                        "s0: float32[] = a0[1, 2]");
    assert_string_equal(written(&w, arena, "y: t[a in n * m] = x[a / m, a % m]", 1, 0),
                        "s0: float32[i0 in 12] = a0[i0 / 3, i0 % 3]");
    bt_arena_destroy(arena);
    world_close(&w);
}

/* A text is parsed once in a context; whoever keeps its formulas may outlive that. */
static void test_a_text_is_parsed_once(void **state)
{
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    const struct bt__formula *one, *two, *other;
    (void)state;
    assert_null(bt__formulas_ref(w.ctx));
    assert_ok(w.ctx, bt__formulas_get(w.ctx, arena, "a", "y: t[i] = x[i]", &one));
    assert_ok(w.ctx, bt__formulas_get(w.ctx, arena, "a", "y: t[i] = x[i]", &two));
    assert_ok(w.ctx, bt__formulas_get(w.ctx, arena, "b", "y: t[i] = x[i]", &other));
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, other);
    assert_error(bt__formulas_get(w.ctx, arena, "a", "y: t[i] = ", &two), BT_ERR_SYNTAX,
                 "expected an expression, found the end of the formula");
    struct bt__formulas *formulas = bt__formulas_ref(w.ctx);
    bt_arena_destroy(arena);
    world_close(&w);
    assert_string_equal(one->text, "y: t[i] = x[i]");
    bt__formulas_unref(formulas);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_numbers_have_the_dtype_that_they_had),
    cmocka_unit_test(test_operators_bind_as_they_did),
    cmocka_unit_test(test_stages_and_results_are_those_that_they_were),
    cmocka_unit_test(test_a_text_is_parsed_once),
};
TEST_MAIN(tests)
