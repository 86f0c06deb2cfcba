/* The null target: dense layers of any size, with and without bias and relu, have the bits
 * that the reference has; what it has not been made for is left to others. */
#include "programs.h"

static uint32_t kernels_of(const bt_compiled *c, uint32_t target)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nkernel; i++)
        n += c->kernels[i]->target == target;
    return n;
}

/* Result of a program of one input; *ntaken counts kernels of the first target. */
static bt_object *compute(bt_ctx *ctx, const char *body, const char *targets,
                          const bt_tensor *x, uint32_t *ntaken)
{
    static char text[1 << 14];
    bt_module *parsed, *typed, *fused;
    bt_compiled *c;
    bt_object *y;
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", body);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    const bt_compile_options options = { .targets = targets };
    assert_ok(ctx, bt_fuse(ctx, typed, &options, &fused));
    bt_module_unref(typed);
    assert_ok(ctx, bt_compile(ctx, fused, &options, &c));
    bt_module_unref(fused);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    *ntaken = kernels_of(c, 0);
    bt_compiled_unref(c);
    return y;
}

static void check(bt_ctx *ctx, const char *body, int64_t m, int64_t k, uint32_t taken)
{
    uint32_t ntaken;
    bt_tensor_difference d;
    bt_tensor *x = numbers(ctx, m, k);
    bt_object *expected = compute(ctx, body, "reference", x, &ntaken),
              *found = compute(ctx, body, "null,reference", x, &ntaken);
    if (ntaken != taken)
        fail_msg("%u kernels of the null target, expected %u: %s", ntaken, taken, body);
    assert_ok(ctx, bt_tensor_compare(ctx, bt_object_as_tensor(found),
                                     bt_object_as_tensor(expected), 0, 0, &d));
    if (d.ndifferent)
        fail_msg("other numbers: %s", body);
    bt_object_unref(expected);
    bt_object_unref(found);
    bt_tensor_unref(x);
}

/* Weights and biases are computed from the input, so that any size is a line. */
static void test_layers_of_all_sizes(void **state)
{
    static const int sizes[][3] = { { 1, 1, 1 }, { 2, 3, 4 },  { 1, 17, 33 },
                                    { 5, 1, 3 }, { 3, 24, 1 }, { 0, 3, 4 },
                                    { 2, 0, 3 }, { 2, 3, 0 },  { 16, 16, 16 } };
    static const char *const forms[] = {
        "%d", "nn.relu(%d)", "add(%d, %b)", "nn.relu(add(%d, %b))",
        "add(nn.relu(%d), %b)" // relu before bias: two
    };
    bt_ctx *ctx = open_targets(NULL);
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(sizes); i++) {
        for (uint32_t f = 0; f < BT_COUNT(forms); f++) {
            char body[1024];
            int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            snprintf(body, sizeof(body),
                     "def @main(%%x: Tensor[(%d, %d), float32]) {\n"
                     "    %%w = full(0.25f, shape=[%d, %d]);\n"
                     "    %%b = full(-0.5f, shape=[%d]);\n"
                     "    %%d = nn.dense(%%x, %%w);\n"
                     "    %s\n}\n",
                     m, k, n, k, n, forms[f]);
            check(ctx, body, m, k, 1);
        }
    }
    bt_ctx_destroy(ctx);
}

static void test_what_it_is_not_made_for(void **state)
{
    static const struct {
        const char *body;
        uint32_t taken;
    } rows[] = {
        { "%d = nn.dense(%x, %x); add(%d, %d)", 0 },
        { "%w = negative(%x); %d = nn.dense(%x, %w); add(%d, %x)", 1 }, // a matrix
        { "%w = negative(%x); %d = nn.dense(%x, %w); add(%d, 2f)", 1 }, // a scalar
        { "%w = negative(%x); %d = nn.dense(%x, %w); "
          "add(%d, const[(1), float32]{2})",
          1 },
        { "%w = negative(%x); %d = nn.dense(%x, %w); "
          "nn.bias_add(%d, const[(3), float32]{1, 2, 3}, axis=0)",
          1 },
        { "%w = cast(%x, dtype=\"float64\"); %d = nn.dense(%w, negative(%w)); "
          "cast(%d, dtype=\"float32\")",
          0 },
    };
    bt_ctx *ctx = open_targets(NULL);
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char body[1024];
        snprintf(body, sizeof(body), "def @main(%%x: Tensor[(3, 3), float32]) { %s }\n",
                 rows[i].body);
        check(ctx, body, 3, 3, rows[i].taken);
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layers_of_all_sizes),
    cmocka_unit_test(test_what_it_is_not_made_for),
};
TEST_MAIN(tests)
