/* Programs on the target: layers in the forms that it takes and in those that it refuses, each
 * with the numbers of interp, on three machines and both simulators. */
#include "target.h"

/* x, w of [16, 32, 3, 3], b; s: the sum. */
#define PROGRAM(sum, rest)                                                            \
    "def @main(%x: Tensor[(4, 32, 7, 6), int8], %w: Tensor[(16, 32, 3, 3), int8], "   \
    "%b: Tensor[(16), int32], %r: Tensor[(4, 16, 7, 6), int8]) { %s = " sum "; " rest \
    " }"
#define SAME      "nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\")"
#define TO_INT8   "cast(clip(%q, a_min=-128.0, a_max=127.0), dtype=\"int8\")"
#define HALVED(x) "fixed_point_multiply(" x ", multiplier=1073741824, shift=-9)"

static const struct row {
    const char *body;
    uint32_t taken[3]; /* functions: on single, multi, tiny */
} rows[] = {
    // sums, with a bias or without, as they are
    { PROGRAM(SAME, "%s"), { 1, 1, 1 } },
    { PROGRAM(SAME, "nn.bias_add(%s, %b)"), { 1, 1, 1 } },
    // scaled: by shifts, by factors, which need a multiplier
    { PROGRAM(SAME, "%q = " HALVED("nn.bias_add(%s, %b)") "; " TO_INT8), { 1, 1, 1 } },
    { PROGRAM(SAME, "%q = fixed_point_multiply(nn.bias_add(%s, %b), "
                    "multiplier=1518500250, shift=-8); " TO_INT8),
      { 1, 1, 1 } },
    { PROGRAM(SAME, "%q = right_shift(add(%s, 256), 9); " TO_INT8), { 1, 1, 1 } },
    { PROGRAM(SAME, "%q = right_shift(%s, 9); " TO_INT8), { 1, 1, 1 } },
    // by float32, where the factor is a power of two
    { PROGRAM(SAME, "%f = multiply(cast(nn.bias_add(%s, %b), dtype=\"float32\"), "
                    "0.001953125); %q = cast(clip(round_even(%f), a_min=-128.0, "
                    "a_max=127.0), dtype=\"int32\"); " TO_INT8),
      { 1, 1, 1 } },
    { PROGRAM(SAME, "%f = multiply(cast(%s, dtype=\"float32\"), 0.002); %q = "
                    "cast(clip(round_even(%f), a_min=-128.0, a_max=127.0), "
                    "dtype=\"int32\"); " TO_INT8),
      { 1, 1, 1 } },
    // a zero point of the result, relu
    { PROGRAM(SAME, "%q = nn.relu(add(" HALVED("%s") ", 3)); " TO_INT8), { 1, 1, 1 } },
    // what is added behind: of another scale, with a zero point
    { PROGRAM(SAME, "%q = add(" HALVED("%s") ", cast(%r, dtype=\"int32\")); " TO_INT8),
      { 1, 1, 1 } },
    { PROGRAM(SAME,
              "%q = add(left_shift(subtract(cast(%r, dtype=\"int32\"), 5), 2), " HALVED(
                  "%s") "); " TO_INT8),
      { 1, 1, 1 } },
    // strides, dilation, padding at one side alone
    { PROGRAM("nn.conv2d(%x, %w, strides=[2, 3], padding=[1, 0, 2, 1], "
              "out_dtype=\"int32\")",
              "%q = " HALVED("%s") "; " TO_INT8),
      { 1, 1, 1 } },
    { PROGRAM("nn.conv2d(%x, %w, dilation=[2, 1], out_dtype=\"int32\")",
              "%q = " HALVED("%s") "; " TO_INT8),
      { 1, 1, 1 } },
    // windows, elements, totals
    { PROGRAM("nn.max_pool2d(%x, pool_size=[3, 2], strides=[2, 1], padding=[1, 0])",
              "%s"),
      { 1, 1, 1 } },
    { PROGRAM("add(cast(%r, dtype=\"int32\"), cast(%r, dtype=\"int32\"))",
              "%q = %s; " TO_INT8),
      { 1, 1, 1 } },
    { PROGRAM("sum(cast(%x, dtype=\"int32\"), axis=[2, 3])",
              "%q = fixed_point_multiply(%s, multiplier=1073741824, shift=-4); " TO_INT8),
      { 1, 1, 1 } },
};

static void check_rows(uint32_t machine)
{
    bt_ctx *ctx = open_npu();
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        const uint32_t taken =
            check_machine(ctx, "rows", rows[i].body, machines[machine]);
        if (taken != rows[i].taken[machine])
            fail_msg("%u functions on %s, expected %u: %s", taken, machines[machine],
                     rows[i].taken[machine], rows[i].body);
        bt_ctx_clear_diags(ctx);
    }
    bt_ctx_destroy(ctx);
}

static void test_layers_on_single(void **state)
{
    (void)state;
    check_rows(0);
}

static void test_layers_on_multi(void **state)
{
    (void)state;
    check_rows(1);
}

static void test_layers_on_a_file(void **state)
{
    (void)state;
    check_rows(2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layers_on_single),
    cmocka_unit_test(test_layers_on_multi),
    cmocka_unit_test(test_layers_on_a_file),
};
TEST_MAIN(tests)
