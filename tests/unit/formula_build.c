/* Formulas built from C are those that text is read to: same tree, same rules, same
 * numbers. */
#include "formula.h"

#include <math.h>

#include "compute/formula/ast.h"

/* ---- shorthand ---- */

typedef bt_formula form;

static const bt_expr *two(form *f, const char *name, const bt_expr *a, const bt_expr *b)
{
    return bt_expr_call(f, name, 2, (const bt_expr *[]){ a, b });
}

static const bt_expr *read2(form *f, const char *array, const bt_expr *i,
                            const bt_expr *j)
{
    return bt_expr_read(f, array, 2, (const bt_expr *[]){ i, j });
}

static const bt_expr *reduce1(form *f, const char *reducer, const char *index,
                              const bt_expr *body)
{
    bt_index var = { index, NULL };
    return bt_expr_reduce(f, &(bt_reduction){ reducer, NULL, 1, &var, NULL, body });
}

static bt_status stage2(form *f, const char *name, const bt_expr *extent,
                        const bt_expr *value)
{
    bt_index axes[2] = { { "i", NULL }, { "j", extent } };
    return bt_formula_stage(f, &(bt_stage){ name, "t", 2, axes, value });
}

static bt_status scalar(form *f, const char *name, const bt_expr *value)
{
    return bt_formula_stage(f, &(bt_stage){ .name = name, .value = value });
}

/* ---- operators, both ways ---- */

static bt_status build_dense(form *f, const bt_formula_call *call)
{
    const bt_expr *i = bt_expr_name(f, "i"), *j = bt_expr_name(f, "j"),
                  *k = bt_expr_name(f, "k");
    (void)call;
    return stage2(
        f, "y", NULL,
        reduce1(f, "sum", "k", two(f, "mul", read2(f, "x", i, k), read2(f, "w", j, k))));
}

static bt_status build_softmax(form *f, const bt_formula_call *call)
{
    const bt_expr *i = bt_expr_name(f, "i"), *j = bt_expr_name(f, "j"), *e;
    bt_index row = { "i", NULL };
    (void)call;
    BT_TRY(
        bt_formula_stage(f, &(bt_stage){ "m", "t", 1, &row,
                                         reduce1(f, "max", "j", read2(f, "x", i, j)) }));
    e = two(f, "sub", read2(f, "x", i, j), bt_expr_read(f, "m", 1, &i));
    BT_TRY(stage2(f, "e", NULL, bt_expr_call(f, "exp", 1, &e)));
    e = read2(f, "e", i, j);
    return stage2(f, "y", NULL, two(f, "div", e, reduce1(f, "sum", "j", e)));
}

/* Windows: stated extents, scalar stages, `else`, attributes, a negative number. */
static bt_status build_window(form *f, const bt_formula_call *call)
{
    const bt_expr *i = bt_expr_name(f, "i"), *j = bt_expr_name(f, "j"),
                  *r = bt_expr_name(f, "r"), *zero = bt_expr_int(f, 0), *one[1], *at;
    bt_index var = { "r", bt_expr_read(f, "size", 1, &zero) };
    (void)call;
    one[0] = bt_expr_int(f, -1);
    BT_TRY(scalar(f, "pad", two(f, "sub", zero, one[0])));
    at = two(f, "sub", two(f, "add", j, r), bt_expr_name(f, "pad"));
    at = bt_expr_else(f, read2(f, "x", i, at), bt_expr_float(f, -INFINITY));
    return stage2(f, "y", bt_expr_name(f, "n"),
                  bt_expr_reduce(f, &(bt_reduction){ "max", NULL, 1, &var, NULL, at }));
}

/* A condition, an accumulator, `..`, a cast, a comparison read the other way round. */
static bt_status build_prefix(form *f, const bt_formula_call *call)
{
    const bt_expr *i = bt_expr_name(f, "i"), *k = bt_expr_name(f, "k"), *x, *sum;
    bt_index vars[2] = { { "k", NULL }, { "..", NULL } };
    bt_index axes[2] = { { "i", bt_expr_name(f, "m") }, { "..", NULL } };
    (void)call;
    x = bt_expr_read(f, "x", 2, (const bt_expr *[]){ k, bt_expr_rest(f) });
    sum = bt_expr_reduce(f, &(bt_reduction){ .reducer = "sum",
                                             .dtype = "float64",
                                             .nindex = 1,
                                             .indices = vars,
                                             .condition = two(f, "le", k, i),
                                             .body = x });
    BT_TRY(bt_formula_stage(
        f, &(bt_stage){ "y", "t", 2, axes, bt_expr_call(f, "t", 1, &sum) }));
    axes[0].extent = bt_expr_call(
        f, "extent", 2, (const bt_expr *[]){ bt_expr_name(f, "x"), bt_expr_int(f, 0) });
    x = bt_expr_read(f, "y", 2, (const bt_expr *[]){ i, bt_expr_rest(f) });
    x = bt_expr_call(f, "select", 3,
                     (const bt_expr *[]){ two(f, "lt", bt_expr_float(f, 0.5), x), x,
                                          bt_expr_float(f, 1) });
    BT_TRY(bt_formula_stage(f, &(bt_stage){ "z", "t", 2, axes, x }));
    BT_TRY(bt_formula_result(f, "z"));
    return bt_formula_result(f, "y");
}

struct pair {
    const char *text;
    bt_status (*build)(bt_formula *, const bt_formula_call *);
    uint32_t nresult;
};
static const struct pair pairs[] = {
    { "y: t[i, j] = sum(k: x[i, k] * w[j, k])", build_dense, 1 },
    { "m: t[i] = max(j: x[i, j]); e: t[i, j] = exp(x[i, j] - m[i]);"
      "y: t[i, j] = e[i, j] / sum(j: e[i, j])",
      build_softmax, 1 },
    { "pad = 0 - -1;"
      "y: t[i, j in n] = max(r in size[0]: x[i, j + r - pad] else -inf)",
      build_window, 1 },
    { "y: t[i in m, ..] = t(sum[float64](k | k <= i: x[k, ..]));"
      "z: t[i in extent(x, 0), ..] = select(y[i, ..] > 0.5, y[i, ..], 1.0) -> z, y",
      build_prefix, 2 },
};

static const bt_op_input inputs[] = { { "x", "t:float[m, n]", "", 0 },
                                      { "w", "t[m, n]", "", 0 },
                                      { 0 } };
struct attrs {
    bt_ints size;
};
static const bt_attr schema[] = { BT_ATTR(struct attrs, size, INTS, "[1]", ""), { 0 } };

static bt_op op_of(const struct pair *pair, int is_built)
{
    return (bt_op){ .name = "test.op",
                    .revision = 1,
                    .inputs = inputs,
                    .attrs = schema,
                    .attrs_nbytes = sizeof(struct attrs),
                    .formula = is_built ? NULL : pair->text,
                    .build_formula = is_built ? pair->build : NULL };
}

static const char *print_text(struct world *w, bt_arena *arena, const char *text)
{
    const struct bt__formula *f;
    bt_text out;
    bt_text_init(&out, arena);
    assert_ok(w->ctx, bt__formula_parse(w->ctx, arena, "test.op", text, &f));
    bt__formula_print((struct bt__formula *)(uintptr_t)f, 0, &out);
    return bt_text_get(&out);
}

static void test_text_and_builder_make_one_tree(void **state)
{
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(pairs); i++) {
        bt_formula *f;
        bt_text built;
        bt_text_init(&built, arena);
        assert_ok(w.ctx, bt_formula_create(w.ctx, "test.op", &f));
        assert_ok(w.ctx, pairs[i].build(f, NULL));
        assert_ok(w.ctx, bt_formula_print(f, &built));
        bt_formula_destroy(f);
        const char *written = print_text(&w, arena, pairs[i].text);
        assert_string_equal(bt_text_get(&built), written);
        // what is printed reads back to what it was
        assert_string_equal(print_text(&w, arena, written), written);
    }
    bt_arena_destroy(arena);
    world_close(&w);
}

static void test_text_and_builder_compute_the_same(void **state)
{
    struct world w = world_open();
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 3, DIMS(4, 5)),
                         tensor_random(&w, BT_FLOAT32, 4, DIMS(4, 5)) };
    struct attrs attrs = { { 1, (const int64_t[]){ 3 } } };
    const bt_type *types[2] = { type_of_tensor(&w, in[0], 0),
                                type_of_tensor(&w, in[1], 0) };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(pairs); i++) {
        bt_tensor *out[2][2] = { { 0 } };
        bt_text graph[2];
        for (int built = 0; built < 2; built++) {
            bt_op op = op_of(&pairs[i], built);
            bt_compute *c;
            bt_formula_call call = { &op, &attrs, 2, types,
                                     any_result(&w, pairs[i].nresult) };
            bt_text_init(&graph[built], bt_ctx_scratch(w.ctx));
            assert_ok(w.ctx, bt_compute_create(w.ctx, &call, &c));
            assert_ok(w.ctx, bt_compute_run(w.ctx, c, 2, (const bt_tensor *const *)in,
                                            out[built]));
            assert_ok(w.ctx, bt_compute_print(w.ctx, c, 2, (const bt_tensor *const *)in,
                                              &graph[built]));
            bt_compute_destroy(c);
        }
        assert_string_equal(bt_text_get(&graph[0]), bt_text_get(&graph[1]));
        for (uint32_t r = 0; r < pairs[i].nresult; r++) {
            assert_memory_equal(out[0][r]->data, out[1][r]->data,
                                (size_t)out[0][r]->nelem * sizeof(float));
            bt_tensor_unref(out[0][r]);
            bt_tensor_unref(out[1][r]);
        }
    }
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static void test_printed_formulas_read_back(void **state)
{
    static const char *const texts[] = {
        "y: t[i] = a - (b - c) - d * (e + f) / -(g % 2)",
        "y: t[i] = (a < b) == (c <= d) && !(p || q) || r != 1e-30",
        "y: t[i] = ((a else b) else c else d) + (x[i] else 0)",
        "y: t[i] = sum[int32](k in n + 1, l | k <= l && (k < 2 || l == 3): x[k] else 0)",
        "y: t[i in floordiv(n, 2), ..] = clamp(x[2 * i, ..], -inf, nan) * 1.0",
        "n2 = n * 2; y: t[] = data.0[]; z: t[..] = max(x[..], 0) -> z, y",
        "y: t[i] = max(max(k: x[k]), select(a, b, c), min(j, k))",
        "y: t[i] = 1e+22 + 0.1 + 123456789012345678 + 3e-08",
    };
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(texts); i++) {
        const char *once = print_text(&w, arena, texts[i]);
        assert_string_equal(print_text(&w, arena, once), once);
    }
    assert_string_equal(print_text(&w, arena, texts[0]),
                        "y: t[i] = a - (b - c) - d * (e + f) / -(g % 2)\n-> y");
    assert_string_equal(print_text(&w, arena, "y:t[i]=((a+b)+c)+(d+(-x[i]))>2"),
                        "y: t[i] = 2 < a + b + c + (d + -x[i])\n-> y");
    bt_arena_destroy(arena);
    world_close(&w);
}

/* ---- what is refused ---- */

static bt_formula *begin(struct world *w)
{
    bt_formula *f = NULL;
    assert_ok(w->ctx, bt_formula_create(w->ctx, "test.op", &f));
    return f;
}

/* The first thing refused is what the stage says. */
static void check_value(struct world *w, bt_formula *f, const bt_expr *value,
                        uint32_t code, const char *part)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_null(value);
    assert_error(stage2(f, "y", NULL, value), code, part);
    assert_error(bt_formula_print(f, &text), code, part);
    bt_formula_destroy(f);
}

static void test_wrong_parts_are_refused(void **state)
{
    struct world w = world_open();
    bt_formula *f = begin(&w);
    (void)state;
    check_value(&w, f, bt_expr_name(f, "two words"), BT_ERR_SYNTAX, "`two words`");
    f = begin(&w);
    check_value(&w, f, bt_expr_name(f, "else"), BT_ERR_SYNTAX, "`else`");
    f = begin(&w);
    check_value(&w, f, bt_expr_name(f, ""), BT_ERR_SYNTAX, "called ``");
    f = begin(&w);
    check_value(&w, f, two(f, "add", bt_expr_int(f, 1), NULL), BT_ERR_SYNTAX,
                "an expression is missing");
    f = begin(&w);
    check_value(&w, f, two(f, "add", bt_expr_name(f, "?"), bt_expr_int(f, 1)),
                BT_ERR_SYNTAX, "`?`");
    f = begin(&w);
    check_value(&w, f, reduce1(f, "total", "k", bt_expr_int(f, 1)), BT_ERR_SYNTAX,
                "no reducer is called `total`");
    f = begin(&w);
    check_value(&w, f, reduce1(f, "sum", "data.0", bt_expr_int(f, 1)), BT_ERR_SYNTAX,
                "an index cannot be called `data.0`");
    f = begin(&w);
    check_value(&w, f, reduce1(f, "sum", "..", bt_expr_int(f, 1)), BT_ERR_SYNTAX, "`..`");
    f = begin(&w);
    assert_error(stage2(f, "y", NULL, NULL), BT_ERR_SYNTAX, "has no value");
    bt_formula_destroy(f);
    f = begin(&w);
    assert_ok(w.ctx, stage2(f, "y", NULL, bt_expr_int(f, 1)));
    assert_error(stage2(f, "y", NULL, bt_expr_int(f, 1)), BT_ERR_NAME, "two stages");
    bt_formula_destroy(f);
    f = begin(&w);
    assert_ok(w.ctx, scalar(f, "n2", bt_expr_int(f, 1)));
    assert_error(bt_formula_result(f, "n2"), BT_ERR_NAME, "no array stage");
    bt_formula_destroy(f);
    f = begin(&w);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w.ctx));
    assert_ok(w.ctx, scalar(f, "n2", bt_expr_int(f, 1)));
    assert_error(bt_formula_print(f, &text), BT_ERR_SYNTAX, "no stage is an array");
    bt_formula_destroy(f);
    bt_formula_destroy(NULL);
    world_close(&w);
}

/* An expression that stands twice in itself, again and again, is small in memory only. */
static void test_trees_that_grow_without_bound_are_refused(void **state)
{
    struct world w = world_open();
    bt_formula *f = begin(&w);
    const bt_expr *x = bt_expr_name(f, "i");
    (void)state;
    for (int i = 0; i < 60; i++)
        x = two(f, "add", x, x);
    check_value(&w, f, x, BT_ERR_LIMIT, "more than");
    f = begin(&w);
    x = bt_expr_name(f, "i");
    for (int i = 0; i < 1000; i++)
        x = bt_expr_call(f, "neg", 1, &x);
    check_value(&w, f, x, BT_ERR_LIMIT, "nested deeper");
    world_close(&w);
}

static void test_numbers_below_zero_are_negations(void **state)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = { { 0, "0" },
                 { -3, "-3" },
                 { INT64_MAX, "9223372036854775807" },
                 { INT64_MIN, "-9223372036854775807 - 1" } };
    struct world w = world_open();
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_formula *f = begin(&w);
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(w.ctx));
        assert_ok(w.ctx, stage2(f, "y", NULL, bt_expr_int(f, rows[i].value)));
        assert_ok(w.ctx, bt_formula_print(f, &text));
        assert_non_null(strstr(bt_text_get(&text), rows[i].text));
        bt_formula_destroy(f);
    }
    world_close(&w);
}

static bt_status build_unknown(bt_formula *f, const bt_formula_call *call)
{
    const bt_expr *i = bt_expr_name(f, "i"), *j = bt_expr_name(f, "j");
    (void)call;
    return stage2(f, "y", NULL,
                  two(f, "add", read2(f, "x", i, j), bt_expr_name(f, "unknown")));
}

static void test_faults_of_a_built_formula_have_a_place(void **state)
{
    static const struct pair pair = { NULL, build_unknown, 1 };
    struct world w = world_open();
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 3, DIMS(4, 5)),
                         tensor_random(&w, BT_FLOAT32, 4, DIMS(4, 5)) };
    const bt_type *types[2] = { type_of_tensor(&w, in[0], 0),
                                type_of_tensor(&w, in[1], 0) };
    bt_op op = op_of(&pair, 1);
    bt_compute *c;
    bt_formula_call call = { &op, NULL, 2, types, any_result(&w, 1) };
    (void)state;
    bt_status status = bt_compute_create(w.ctx, &call, &c);
    assert_error(status, BT_ERR_NAME, "unknown name `unknown`");
    assert_string_equal(status->place.file, "test.op");
    assert_string_equal(status->place.text, "y: t[i, j] = x[i, j] + unknown");
    assert_int_equal(status->place.line, 1);
    assert_int_equal(status->place.column, 24);
    assert_int_equal(status->place.width, 7);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_text_and_builder_make_one_tree),
    cmocka_unit_test(test_text_and_builder_compute_the_same),
    cmocka_unit_test(test_printed_formulas_read_back),
    cmocka_unit_test(test_wrong_parts_are_refused),
    cmocka_unit_test(test_trees_that_grow_without_bound_are_refused),
    cmocka_unit_test(test_numbers_below_zero_are_negations),
    cmocka_unit_test(test_faults_of_a_built_formula_have_a_place),
};
TEST_MAIN(tests)
