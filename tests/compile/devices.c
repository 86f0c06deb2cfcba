/* Devices: what `on N` says ends in kernels of that target, and what goes from one to
 * another is copied. */
#include "programs.h"

/* Two instances of one target with memories of their own, which the host cannot read, and
 * one on the host. */
static const char targets[] = "far, far{seed=2}, reference";
static const char devices[] =
    "#[attrs(devices=[\"far\", \"far{seed=2}\", \"reference\"])]\n";

static bt_module *read_typed(bt_ctx *ctx, const char *body)
{
    char text[4096];
    bt_module *parsed, *typed;
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s%s\n", devices, body);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

static bt_status compile(bt_ctx *ctx, const char *body, const char *list,
                         bt_compiled **out)
{
    bt_module *typed = read_typed(ctx, body), *fused;
    const bt_compile_options options = { .targets = list };
    bt_status status = bt_fuse(ctx, typed, &options, &fused);
    bt_module_unref(typed);
    BT_TRY(status);
    status = bt_compile(ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

static void check(const char *body, const char *const *expected, uint32_t ncopy)
{
    static const double x[] = { -5, -4, -3, -2, -1, 0 };
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *y;
    bt_tensor *input = numbers(ctx, 2, 3);
    assert_ok(ctx, compile(ctx, body, targets, &c));
    uint32_t n = 0;
    for (; expected[n]; n++) {
        assert_true(n < c->nkernel);
        assert_string_equal(c->targets[c->kernels[n]->target]->text, expected[n]);
    }
    assert_int_equal(c->nkernel, n);
    assert_null(find_call(c, "memory.copy", ncopy));
    if (ncopy)
        assert_non_null(find_call(c, "memory.copy", ncopy - 1));
    assert_ok(ctx, run_graph(ctx, c, input, &y));
    for (int64_t i = 0; i < 6; i++)
        assert_float_equal(bt_tensor_get(bt_object_as_tensor(y), i), 2 - x[i], 0);
    bt_object_unref(y);
    bt_tensor_unref(input);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_what_is_beside_a_value_is_where_it_is(void **state)
{
    (void)state;
    check("def @main(%x: Tensor[(2, 3), float32]) {\n"
          "    %0 on 1 = negative(%x);\n"
          "    %1 = add(%0, 1f);\n"
          "    %2 = add(%1, 1f);\n"
          "    %2\n"
          "}",
          (const char *const[]){ "far", NULL }, 2);
}

/* In, over by way of the host, out. */
static void test_two_memories_of_one_target(void **state)
{
    (void)state;
    check("def @main(%x: Tensor[(2, 3), float32]) {\n"
          "    %0 on 1 = negative(%x);\n"
          "    %1 on 2 = add(%0, 2f);\n"
          "    %1\n"
          "}",
          (const char *const[]){ "far", "far{seed=2}", NULL }, 4);
}

static void test_the_host_between_them(void **state)
{
    (void)state;
    check("def @main(%x: Tensor[(2, 3), float32]) {\n"
          "    %0 on 2 = negative(%x);\n"
          "    %1 on 3 = add(%0, 1f);\n"
          "    %2 on 1 = add(%1, 1f);\n"
          "    %2\n"
          "}",
          (const char *const[]){ "far{seed=2}", "reference", "far", NULL }, 4);
}

static void test_what_is_wrong_is_told(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_error(compile(ctx,
                         "def @main(%x: Tensor[(3), float32]) { %0 on 4 = exp(%x); %0 }",
                         targets, &c),
                 BT_ERR_NAME, "`on 4`");
    assert_error(compile(ctx,
                         "def @main(%x: Tensor[(3), float32]) { %0 on 2 = exp(%x); %0 }",
                         "reference", &c),
                 BT_ERR_NAME, "is of target far{seed=2}, which is not among those");
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_beside_a_value_is_where_it_is),
    cmocka_unit_test(test_two_memories_of_one_target),
    cmocka_unit_test(test_the_host_between_them),
    cmocka_unit_test(test_what_is_wrong_is_told),
};
TEST_MAIN(tests)
