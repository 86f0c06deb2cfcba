/* Graphs of adjoints and tangents: of formulas as they stand in operators, the stages that are
 * left once conditions are solved, and what each is seen as. A view that is lost, or a new
 * scatter, fails here. */
#include "formula.h"

#include "compute/derivative/derivative.h"
#include "compute/formula/call.h"
#include "compute/graph/print.h"

struct shape {
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
};

/* A formula of x and w; what stands in the stages of its adjoint, in this order, and how many
 * stages there are. */
struct row {
    const char *name, *text, *types[2];
    struct shape x, w;
    uint32_t nstage;
    const char *expected[6];
};

static const struct row rows[] = {
    { "tanh, from what it gave",
      "y: t[..] = tanh(x[..])",
      { "t[m, n]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "(1 - (a1[i0, i1] * a1[i0, i1])) * a2[i0, i1]", "map pointwise" } },
    { "relu, which is 0 at 0",
      "y: t[..] = max(x[..], 0)",
      { "t[m, n]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "(0 < a1[i0, i1])", "map pointwise" } },
    { "a factor that is broadcast",
      "y: t[..] = x[..] * w[..]",
      { "t[..]", "t[..]" },
      { 2, { 3, 4 } },
      { 1, { 4 } },
      2,
      { "a1[i1] * a3[i0, i1]", "map pointwise", "sum(r0 in 3", "k[r0]" } },
    { "transpose",
      "y: t[j, i] = x[i, j]",
      { "t[m, n]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "= a2[i1, i0]" } },
    { "product of matrices",
      "y: t[m, n] = sum(k: x[m, k] * w[n, k])",
      { "t[m, k]", "t[n, k]" },
      { 2, { 3, 4 } },
      { 2, { 5, 4 } },
      2,
      { "contraction batch[] m[i1] n[i0] k[r0]",
        "contraction batch[] m[i1] n[i0] k[r0]" } },
    { "convolution: its data through a window that runs backward",
      "y: t[n, o, p in 8, q in 8] = sum(c, r, s: x[n, c, p + r - 1, q + s - 1] * w[o, c, "
      "r, s] "
      "else 0)",
      { "t[n, c, h, v]", "t[o, c, kh, kw]" },
      { 4, { 2, 3, 8, 8 } },
      { 4, { 5, 3, 3, 3 } },
      2,
      { "contraction", "window(a3.2: 1*i2 - 1*r1 + 1)", "contraction",
        "window(a0.2: 1*i2 + 1*r1 - 1)" } },
    { "convolution of stride 2: its weight's window is dilated",
      "y: t[n, o, p in 4, q in 4] = sum(c, r, s: x[n, c, 2*p + r - 1, 2*q + s - 1] * "
      "w[o, c, r, s] else 0)",
      { "t[n, c, h, v]", "t[o, c, kh, kw]" },
      { 4, { 2, 3, 8, 8 } },
      { 4, { 5, 3, 3, 3 } },
      2,
      { "contraction", "window(a0.2: 1*i2 + 2*r1 - 1)" } },
    { "pool: at most two windows have a place",
      "y: t[n, p in 4] = max(r in 3: x[n, 2*p + r - 1] else -inf)",
      { "t[n, h]" },
      { 2, { 2, 8 } },
      { 0 },
      2,
      { "int32[i0 in 2, i1 in 4] = min(r0 in 3", "sum(r0 in 2" } },
    { "pool without overlap: a map",
      "y: t[n, p in 4] = max(r in 2: x[n, 2*p + r])",
      { "t[n, h]" },
      { 2, { 2, 8 } },
      { 0 },
      2,
      { "min(r0 in 2", "select((0 == mod(i1, 2)", "a2[i0, floordiv(i1, 2)]", "map" } },
    { "a sum inside of an expression is a stage",
      "y: t[i, j] = x[i, j] / sum(k: x[i, k] * x[i, k])",
      { "t[i, j]" },
      { 2, { 3, 4 } },
      { 0 },
      3,
      { "contraction", "row", "map pointwise" } },
    { "product: of what stands beside",
      "y: t[i] = prod(j: x[i, j])",
      { "t[i, j]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "prod(r0 in 4 | (0 <= i1 - r0 - 1)", "prod(r0 in 4 | (0 <= -i1 + r0 - 1)" } },
    { "logsumexp",
      "y: t[i] = logsumexp(j: x[i, j])",
      { "t[i, j]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "exp((a0[i0, i1] - a1[i0]))", "map pointwise" } },
    { "running sum: from the end",
      "y: t[i, j] = sum(k | k <= j: x[i, k])",
      { "t[i, j]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "sum(r0 in 4 | (0 <= -i1 + r0): a2[i0, r0])" } },
    { "reshape",
      "y: t[i in 3, j in 4] = x[4*i + j]",
      { "t[n]" },
      { 1, { 12 } },
      { 0 },
      1,
      { "= a2[floordiv(i0, 4), mod(i0, 4)]" } },
    { "reshape back",
      "y: t[i in 12] = x[floordiv(i, 4), mod(i, 4)]",
      { "t[a, b]" },
      { 2, { 3, 4 } },
      { 0 },
      1,
      { "= a2[4*i0 + i1]" } },
    { "a branch that is not taken has no part in it",
      "y: t[i] = select(w[i] > 0, x[i] * w[i], sqrt(x[i]))",
      { "t[n]", "t[n]" },
      { 1, { 4 } },
      { 1, { 4 } },
      2,
      { "select((0 < a1[i0]), 0, zmul(a3[i0], (1 / (2 * sqrt(a0[i0])))))",
        "select((0 < a1[i0]), (a3[i0] * a0[i0]), 0)" } },
};

/* Text in the context's scratch. */
static const char *print(struct world *w, const struct row *row, int is_forward,
                         bt_arena *arena)
{
    const uint32_t nin = row->w.rank ? 2 : 1;
    struct formula f = { .text = row->text };
    const struct shape *shapes[] = { &row->x, &row->w };
    static const char *const names[] = { "x", "w" };
    const bt_type *args[2];
    bt_graph *graph;
    uint32_t to[2];
    bt_text text;
    for (uint32_t i = 0; i < nin; i++) {
        f.inputs[i] = (bt_op_input){ .name = names[i], .type = row->types[i] };
        args[i] =
            bt_type_tensor_of(w->store, BT_FLOAT32, shapes[i]->rank, shapes[i]->dims);
    }
    const bt_op op = formula_op(&f);
    bt_formula_call call = {
        .op = &op, .narg = nin, .args = args, .result = any_result(w, 1)
    };
    static const uint8_t all[] = { 1, 1 };
    assert_ok(w->ctx, bt__call_compose(w->ctx, arena, &call, &graph));
    assert_ok(w->ctx, is_forward ? bt__graph_tangent(graph, all, to)
                                 : bt__graph_adjoint(graph, all, all, to));
    bt_text_init(&text, arena);
    assert_ok(w->ctx, bt_graph_verify(w->ctx, arena, graph));
    assert_ok(w->ctx, bt_graph_print(w->ctx, graph, &text));
    return bt_text_get(&text);
}

static uint32_t count(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void test_adjoints_have_the_stages_that_one_would_write(void **state)
{
    struct world w = world_open();
    (void)state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_arena *arena = bt_arena_create(w.registry);
        const char *text = print(&w, &rows[i], 0, arena), *at = text;
        int is_right = count(text, "view: ") == rows[i].nstage;
        for (uint32_t k = 0; k < 6 && rows[i].expected[k] && at; k++) {
            at = strstr(at, rows[i].expected[k]);
            at = at ? at + 1 : NULL;
        }
        if (!is_right || !at)
            fail_msg("%s\n%s\n%s", rows[i].name, rows[i].text, text);
        bt_arena_destroy(arena);
    }
    world_close(&w);
}

/* Whatever is linear in its input is its own tangent. */
static void test_the_tangent_of_what_is_linear_is_itself(void **state)
{
    struct world w = world_open();
    static const char *const linear[] = { "transpose", "running sum: from the end",
                                          "reshape", "reshape back" };
    (void)state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        for (size_t k = 0; k < BT_COUNT(linear); k++) {
            if (strcmp(rows[i].name, linear[k]) != 0)
                continue;
            bt_arena *arena = bt_arena_create(w.registry);
            const char *text = print(&w, &rows[i], 1, arena);
            // inputs are x, y and the tangent of x
            assert_int_equal(count(text, "view: "), 1);
            assert_non_null(strstr(text, "a2["));
            assert_null(strstr(text, "a0["));
            bt_arena_destroy(arena);
        }
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adjoints_have_the_stages_that_one_would_write),
        cmocka_unit_test(test_the_tangent_of_what_is_linear_is_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
