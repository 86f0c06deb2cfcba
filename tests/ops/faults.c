/* Calls that are well typed and fail when they run, because of what is in a tensor. */
#include "kit.h"

// clang-format off
static const struct fault_row {
    const char *op, *attrs;
    const char *args[MAX_ARG];
    const char *part; /* of the message */
} rows[] = {
    { "take", "axis=0, mode=\"fast\"", { "float32[3] 1 2 3", "int32[2] 0 3" }, "3" },
    { "take", "mode=\"fast\"", { "float32[2, 2] 1 2 3 4", "int32[] -5" }, "take" },
    { "take", "axis=0", { "float32[0]", "int32[1] 0" }, "take" },
    { "gather", "axis=0", { "float32[3] 1 2 3", "int32[1] -4" }, "gather" },
    { "gather_nd", NULL, { "float32[2, 2] 1 2 3 4", "int32[2, 1] 1 2" }, "gather_nd" },
    { "arange", NULL, { "int32[] 0", "int32[] 4", "int32[] 0" }, "step is 0" },
    { "arange", NULL, { "float32[] 0", "float32[] inf", "float32[] 1" }, "stop is inf" },
    { "arange", NULL, { "int64[] -9223372036854775807", "int64[] 9223372036854775807", "int64[] 1" }, "too many elements" },
    { "dyn.reshape", NULL, { "float32[6] 1 2 3 4 5 6", "int32[1] 4" }, "newshape has not as many elements as data; data is float32[6], newshape is [4]" },
    { "dyn.reshape", NULL, { "float32[6] 1 2 3 4 5 6", "int32[2] -1 -1" }, "-1 twice" },
    { "dyn.reshape", NULL, { "float32[6] 1 2 3 4 5 6", "int64[2] 4611686018427387904 4" }, "too many elements" },
    { "dyn.broadcast_to", NULL, { "float32[3] 1 2 3", "int32[2] 2 4" }, "does not broadcast" },
    { "dyn.zeros", NULL, { "int64[1] -1" }, "-1" },
    { "dyn.zeros", NULL, { "int64[2] 4611686018427387904 4" }, "dyn.zeros" },
    { "dyn.squeeze", NULL, { "float32[1, 3] 1 2 3", "int32[1] 1" }, "has no extent of 1" },
    { "dyn.expand_dims", NULL, { "float32[1] 1", "int32[] 5" }, "outside the rank of data; data is float32[1], axis is 5" },
    { "dyn.tile", NULL, { "float32[2] 1 2", "int32[1] -1" }, "below 0; data is float32[2], reps is [-1]" },
    { "dyn.strided_slice", NULL, { "float32[2] 1 2", "int32[1] 0", "int32[1] 2", "int32[1] 0" }, "a step of 0" },
    { "dyn.topk", NULL, { "float32[2] 1 2", "int32[] 3" }, "k is 3" },
    { "dyn.topk", NULL, { "float32[2] 1 2", "int32[0]" }, "k must be one number; data is float32[2], k is []" },
    { "strided_set", NULL, { "float32[3] 1 2 3", "float32[1] 0", "int32[1] 0", "int32[1] 2", "int32[1] 1" }, "v has another shape than the part; data is float32[3], v is float32[1]" },
    { "qnn.check_scale", NULL, { "float32[2] 0.5 0" }, "scales_above_0_and_finite" },
    { "qnn.check_scale", NULL, { "float32[2] 0.5 -0.5" }, "scales_above_0_and_finite" },
    { "qnn.check_scale", NULL, { "float32[] inf" }, "scales_above_0_and_finite" },
    { "qnn.check_scale", NULL, { "float16[1, 2] nan 1" }, "scales_above_0_and_finite" },
    { "qnn.check_zero_point", NULL, { "int32[2] 127 128" }, "zero_points_that_are_codes" },
    { "qnn.check_zero_point", "dtype=\"uint8\"", { "int32[] -1" }, "zero_points_that_are_codes" },
    { "qnn.check_zero_point", "dtype=\"int4\"", { "int64[1] 2147483647" }, "zero_points_that_are_codes" },
    { "random.multinomial", NULL, { "uint32[2] 1 2", "float32[3] 1 -1 2" }, "index 0 is out of bounds for axis 0 of rows_of_finite_weights_from_0_on" },
    { "random.multinomial", NULL, { "uint32[2] 1 2", "float64[2, 2, 2] 1 2 1 2 1 2 1 nan" }, "index 3 is out of bounds for axis 0 of rows_of_finite_weights_from_0_on" },
    { "random.multinomial", NULL, { "uint32[2] 1 2", "float32[2] inf 1" }, "rows_of_finite_weights_from_0_on" },
    { "random.multinomial", NULL, { "uint32[2] 1 2", "float32[2, 2] 0 1 0 0" }, "index 1 is out of bounds for axis 0 of rows_with_a_weight_above_0" },
    { "adv_index", NULL, { "(float32[3] 1 2 3 | int32[1] 3)" }, "adv_index" },
};
// clang-format on

/* Parameters, so that nothing is known of the elements before the run. */
static const bt_value *param_of(kit *k, const char *text, bt_tensor **leaves,
                                uint32_t *nleaf)
{
    const bt_value *fields[MAX_LEAF], *tuple;
    uint32_t n = 0;
    int is_tuple = *text == '(';
    do {
        const bt_param *param;
        bt_tensor *t = leaves[(*nleaf)++] = read_tensor(k, &text);
        const bt_type *type = bt_type_tensor_of(k->store, t->dtype, t->rank, t->dims);
        assert_ok(k->ctx, bt_build_param(k->b, "x", type, &param));
        fields[n++] = &param->base;
    } while (*text == '|');
    if (!is_tuple)
        return fields[0];
    assert_ok(k->ctx, bt_build_tuple(k->b, n, fields, &tuple));
    return tuple;
}

static void run_fault(kit *k, const struct fault_row *row)
{
    const bt_value *args[MAX_ARG], *value;
    const bt_type *types[MAX_ARG];
    bt_tensor *leaves[MAX_LEAF], *out[MAX_LEAF] = { NULL };
    uint32_t narg = 0, nleaf = 0;
    bt_compute *compute;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    for (; narg < MAX_ARG && row->args[narg]; narg++) {
        args[narg] = param_of(k, row->args[narg], leaves, &nleaf);
        types[narg] = args[narg]->type;
    }
    assert_ok(k->ctx, bt_build(k->b, row->op, row->attrs, args, narg, &value));
    const bt_call *call = bt_as_call(value);
    bt_formula_call formula = { call->op, call->attrs, narg, types, value->type };
    assert_ok(k->ctx, bt_compute_create(k->ctx, &formula, &compute));
    bt_status status =
        bt_compute_run(k->ctx, compute, nleaf, (const bt_tensor *const *)leaves, out);
    if (!status)
        fail_msg("%s: runs", row->op);
    if (!strstr(status->message, row->op) || !strstr(status->message, row->part))
        fail_msg("%s: expected \"%s\" in: %s", row->op, row->part, status->message);
    for (uint32_t i = 0; i < MAX_LEAF; i++)
        assert_null(out[i]);
    for (uint32_t i = 0; i < nleaf; i++)
        bt_tensor_unref(leaves[i]);
    bt_compute_destroy(compute);
    bt_builder_destroy(k->b);
    k->b = NULL;
}

static void test_faults_of_elements_are_errors(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_fault(*state, &rows[i]);
}

static const struct CMUnitTest tests[] = {
    TEST(test_faults_of_elements_are_errors),
};
TEST_MAIN(tests)
