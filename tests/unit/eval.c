/* Operators in plain C: what they get, and what is checked of what they give. */
#include "formula.h"

static bt_status sums(bt_ctx *ctx, const bt_eval_call *call)
{
    int64_t scale = *(const int64_t *)call->attrs;
    BT_TRY(bt_tensor_create(ctx, BT_FLOAT32, 1, (const int64_t[]){ call->nin },
                            &call->out[0]));
    for (uint32_t i = 0; i < call->nin; i++) {
        double sum = 0;
        if (!bt_tensor_is_dense(call->in[i]))
            return bt_eval_fail(ctx, call, "input %u is not dense", i);
        for (int64_t k = 0; k < call->in[i]->nelem; k++)
            sum += bt_tensor_get(call->in[i], k);
        bt_tensor_set(call->out[0], i, (double)scale * sum);
    }
    BT_TRY(bt_tensor_scalar_int(ctx, BT_INT64, call->arg_nleaf[0], &call->out[1]));
    return NULL;
}

static bt_status nothing(bt_ctx *ctx, const bt_eval_call *call)
{
    (void)ctx;
    (void)call;
    return NULL;
}

static bt_status wrong_dtype(bt_ctx *ctx, const bt_eval_call *call)
{
    return bt_tensor_scalar(ctx, BT_FLOAT64, 1, &call->out[0]);
}

static bt_status wrong_dims(bt_ctx *ctx, const bt_eval_call *call)
{
    return bt_tensor_create(ctx, BT_FLOAT32, 1, (const int64_t[]){ 9 }, &call->out[0]);
}

static bt_status fails(bt_ctx *ctx, const bt_eval_call *call)
{
    BT_TRY(bt_tensor_scalar(ctx, BT_FLOAT32, 1, &call->out[0]));
    return bt_eval_fail(ctx, call, "%d is too many", 7);
}

struct one {
    int64_t scale;
};
static const bt_attr one_attr[] = { BT_ATTR(struct one, scale, INT, "1", ""), { 0 } };

static void test_leaves_are_flat_and_dense(void **state)
{
    (void)state;
    struct world w = world_open();
    struct one one = { 3 };
    bt_op op = {
        .name = "test.sums", .attrs = one_attr, .attrs_nbytes = sizeof(one), .eval = sums
    };
    bt_tensor *whole = tensor_random(&w, BT_FLOAT32, 1, DIMS(4, 6)), *view;
    assert_ok(w.ctx, bt_tensor_view(w.ctx, whole, DIMS(3, 2), (const int64_t[]){ 2, 6 },
                                    1, &view));
    const bt_type *dims = bt_dim_opaque(w.store, NULL);
    const bt_type *tensor = type_of_tensor(&w, whole, 0);
    const bt_type *args[] = {
        bt_type_tuple(w.store, 2, (const bt_type *[]){ tensor, tensor }), tensor
    };
    const bt_type *results[] = { bt_type_tensor(w.store, bt_type_shape(w.store, 1, &dims),
                                                bt_type_dtype(w.store, BT_FLOAT32)),
                                 bt_type_scalar(w.store, BT_INT64) };
    bt_formula_call call = { .op = &op,
                             .attrs = &one,
                             .narg = 2,
                             .args = args,
                             .result = bt_type_tuple(w.store, 2, results) };
    bt_compute *compute = NULL;
    assert_ok(w.ctx, bt_compute_create(w.ctx, &call, &compute));
    // the computation keeps what it needs
    bt_store_unref(w.store);
    w.store = bt_store_create(w.registry);
    one.scale = 0;
    assert_int_equal(bt_compute_nout(compute), 2);
    const bt_tensor *in[] = { whole, view, whole };
    bt_tensor *out[2] = { NULL, NULL };
    assert_ok(w.ctx, bt_compute_run(w.ctx, compute, 3, in, out));
    assert_int_equal(bt_tensor_get_int(out[1], 0), 2);
    double sum = 0;
    for (int64_t i = 0; i < 6; i++)
        sum += bt_tensor_get(view, i);
    assert_true(bt_tensor_get(out[0], 1) == 3 * sum);
    uint32_t ranks[2], is_bound;
    int64_t found[2][BT_MAX_RANK];
    assert_error(bt_compute_shapes(w.ctx, compute, 3, in, ranks, found, &is_bound),
                 BT_ERR_UNSUPPORTED, "known only when it is computed");
    assert_error(bt_compute_run(w.ctx, compute, 2, in, out), BT_ERR_ARGUMENT,
                 "expected 3 tensors, found 2");
    bt_tensor_unref(out[0]);
    bt_tensor_unref(out[1]);
    bt_compute_destroy(compute);
    bt_tensor_unref(view);
    bt_tensor_unref(whole);
    world_close(&w);
}

static void check_refused(bt_status (*eval)(bt_ctx *, const bt_eval_call *),
                          uint32_t code, const char *part)
{
    struct world w = world_open();
    bt_op op = { .name = "test.op", .eval = eval };
    bt_formula_call call = { .op = &op,
                             .result = bt_type_tensor_of(w.store, BT_FLOAT32, 1,
                                                         (const int64_t[]){ 2 }) };
    bt_compute *compute = NULL;
    bt_tensor *out = NULL;
    assert_ok(w.ctx, bt_compute_create(w.ctx, &call, &compute));
    assert_error(bt_compute_run(w.ctx, compute, 0, NULL, &out), code, part);
    assert_null(out);
    bt_compute_destroy(compute);
    world_close(&w);
}

static void test_results_are_checked(void **state)
{
    (void)state;
    check_refused(nothing, BT_ERR_INTERNAL, "gave no tensor for result 0");
    check_refused(wrong_dtype, BT_ERR_INTERNAL, "has type float32, computed was float64");
    check_refused(wrong_dims, BT_ERR_RUNTIME, "extent 2 in its type, computed was 9");
    check_refused(fails, BT_ERR_RUNTIME, "test.op: 7 is too many");
}

static void test_an_operator_without_either_is_refused(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_op op = { .name = "test.op" };
    bt_formula_call call = { .op = &op, .result = bt_type_scalar(w.store, BT_FLOAT32) };
    bt_compute *compute;
    assert_error(bt_compute_create(w.ctx, &call, &compute), BT_ERR_UNSUPPORTED,
                 "neither a formula nor plain C");
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_leaves_are_flat_and_dense),
    cmocka_unit_test(test_results_are_checked),
    cmocka_unit_test(test_an_operator_without_either_is_refused),
};
TEST_MAIN(tests)
