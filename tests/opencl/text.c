/* The text of kernels: lines that each schedule has, in order. It needs no device. */
#include "setup.h"

#include <string.h>

#include "lower.h"

enum { MAX_LINES = 8 };

/* All launches of a function, one behind the other. */
static const char *text_of(bt_arena *arena, int is_cpu, const char *params,
                           const char *body)
{
    const ocl_device device = {
        .is_cpu = (uint32_t)is_cpu, .has_double = 1, .has_fma = 1, .lanes = 8
    };
    bt_module *module, *typed;
    bt_lowering lowering = { 0 };
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\n\ndef @main(%s) {\n    %s\n}\n",
                 params, body);
    assert_non_null(bt_text_get(&text));
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text.at, text.len, &module));
    assert_ok(ctx, bt_infer(ctx, module, &typed));
    assert_ok(ctx, ocl_lower(ctx, arena, &device, bt_module_find(typed, "main")->func,
                             &lowering));
    text.len = 0;
    for (uint32_t i = 0; i < lowering.nkernel; i++) {
        const ocl_program *program = lowering.kernels[i]->content;
        for (uint32_t k = 0; k < program->nlaunch; k++)
            bt_text_addf(&text, "%s\n", program->launches[k].text);
    }
    assert_non_null(bt_text_get(&text));
    bt_module_unref(typed);
    bt_module_unref(module);
    return text.at;
}

static void check(int is_cpu, const char *params, const char *body,
                  const char *const lines[MAX_LINES])
{
    bt_arena *arena = bt_arena_create(registry);
    const char *text = text_of(arena, is_cpu, params, body), *at = text;
    for (uint32_t i = 0; i < MAX_LINES && lines[i]; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found)
            fail_msg("no \"%s\" behind the others in\n%s", lines[i], text);
        at = found + strlen(lines[i]);
    }
    bt_arena_destroy(arena);
}

static void test_a_map_is_a_loop_of_a_processors_work_item(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(70, 1001), float32]", "nn.relu(add(%x, %x))",
          (const char *[MAX_LINES]){
              "__kernel void NAME(__global const float *restrict a0, const long a0_at, "
              "__global float *restrict s0, const long s0_at, const int n0)\n",
              "for (int i0 = w0 * 1024; i0 < min(n0, (w0 + 1) * 1024); i0++) {\n",
              "s0[i0] = f32_max(0.0f, (a0[i0] + a0[i0]));\n" });
    check(0, "%x: Tensor[(70, 1001), float32]", "nn.relu(add(%x, %x))",
          (const char *[MAX_LINES]){ "const int w0 = (int)get_global_id(0);\n",
                                     "if (w0 < n0) {\n", "s0[i0] =" });
}

static void test_a_row_is_shared_by_lanes_or_by_a_group(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(50, 1000), float32]", "sum(%x, axis=[1])",
          (const char *[MAX_LINES]){ "const int row = (int)get_group_id(0);\n",
                                     "for (int l = 0; l < 32; l++)", "s[l] + v;",
                                     "for (int s = 16; s > 0; s /= 2)", "s0[i0] =" });
    check(0, "%x: Tensor[(50, 1000), float32]", "sum(%x, axis=[1])",
          (const char *[MAX_LINES]){ "__local float", "i1 = 0 + item;", "i1 += 64) {\n",
                                     "_tree[item] =", "barrier(CLK_LOCAL_MEM_FENCE);\n",
                                     "if (item < 32) {\n", "if (item == 0) {\n",
                                     "s0[i0] =" });
}

static void test_few_long_rows_are_cut_into_parts(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(2, 70000), float32]", "max(%x, axis=[1])",
          (const char *[MAX_LINES]){ "const int part = (int)get_group_id(1);\n",
                                     "partials[(int)row * 32 + part] =", "__kernel",
                                     "for (int p = 0; p < 32; p++)" });
}

static void test_a_sum_of_products_is_tiles_of_registers(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(65, 70), float32], %y: Tensor[(70, 81), float32]",
          "nn.matmul(%x, %y)",
          (const char *[MAX_LINES]){
              "panels[to] = value;\n", "__kernel", "float8 s5_1 = 0;\n",
              "const float8 b_0 = vload8(0, terms);\n", "s0_0 = fma(x0, b_0, s0_0);\n",
              "vstore8(s0_0, 0, sums);\n" });
}

static void test_a_convolution_by_channels_has_lanes_along_rows(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(1, 8, 30, 31), float32], %w: Tensor[(8, 1, 3, 3), float32]",
          "nn.conv2d(%x, %w, padding=(1, 1), groups=8, channels=8, kernel_size=(3, 3))",
          (const char *[MAX_LINES]){
              "copy[row * n + x] = 0;\n", "__kernel",
              "const int has_nonfinite = any != 0;\n", "const int x0 = min(x, n - 16);\n",
              "v_0 = fma(x_0, y_0, v_0);\n", "if (has_nonfinite) {\n" });
}

static void test_a_running_sum_is_blocks(void **state)
{
    (void)state;
    check(1, "%x: Tensor[(9000), float32]", "cumsum(%x, axis=0)",
          (const char *[MAX_LINES]){ "start = block * 64,",
                                     "totals[row * n0 + block] =", "__kernel",
                                     "nblock = n0;\n", "__kernel", "before = totals[" });
}

static void test_other_numbers_are_the_same_kernel(void **state)
{
    (void)state;
    bt_arena *arena = bt_arena_create(registry);
    const char *a = text_of(arena, 1,
                            "%x: Tensor[(1, 8, 30, 30), float32], %w: Tensor[(16, 8, 3, "
                            "3), float32]",
                            "nn.conv2d(%x, %w, padding=(1, 1), channels=16, "
                            "kernel_size=(3, 3))");
    const char *b = text_of(arena, 1,
                            "%x: Tensor[(1, 64, 14, 28), float32], %w: Tensor[(48, 64, "
                            "3, 3), float32]",
                            "nn.conv2d(%x, %w, padding=(1, 1), strides=(2, 2), "
                            "channels=48, kernel_size=(3, 3))");
    assert_string_equal(a, b);
    bt_arena_destroy(arena);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_map_is_a_loop_of_a_processors_work_item),
    TEST(test_a_row_is_shared_by_lanes_or_by_a_group),
    TEST(test_few_long_rows_are_cut_into_parts),
    TEST(test_a_sum_of_products_is_tiles_of_registers),
    TEST(test_a_convolution_by_channels_has_lanes_along_rows),
    TEST(test_a_running_sum_is_blocks),
    TEST(test_other_numbers_are_the_same_kernel),
};

TEST_MAIN(tests)
