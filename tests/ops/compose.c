/* Functions of several calls as one graph: the same bits as the calls one by one. */
#include "kit.h"

#include <string.h>

#include <baton/executor.h>

static bt_tensor *make_input(kit *k, const bt_type *type, uint64_t seed)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *t;
    assert_true(bt_tensor_static(type, &rank, dims));
    assert_ok(k->ctx, bt_tensor_create(k->ctx, bt_tensor_dtype(type), rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        double value = (double)(int64_t)(seed >> 33) / (UINT64_C(1) << 30) - 1;
        switch (t->dtype) {
        case BT_FLOAT32: ((float *)t->data)[i] = (float)value; break;
        case BT_FLOAT16: ((uint16_t *)t->data)[i] = bt_half_from_double(value); break;
        case BT_INT8: ((int8_t *)t->data)[i] = (int8_t)(value * 127); break;
        default: fail();
        }
    }
    return t;
}

static bt_object *call_interp(kit *k, const bt_module *m, uint32_t n, bt_tensor **in)
{
    const void *row;
    void *session;
    bt_object *out;
    assert_ok(k->ctx, bt_registry_row(k->ctx, "baton.executor/1", "interp",
                                      sizeof(bt_executor), &row));
    const bt_executor *interp = row;
    assert_ok(k->ctx, interp->open(k->ctx, m, NULL, &session));
    assert_ok(k->ctx,
              interp->call(k->ctx, session, "main", n, (bt_object **)in, NULL, &out));
    interp->close(session);
    return out;
}

static void assert_same_bits(const bt_tensor *a, const bt_tensor *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->nelem, b->nelem);
    assert_memory_equal(a->data, b->data, bt_tensor_nbytes(a));
}

/* Runs @main both ways; nstage: what is left of its stages. */
static void check(kit *k, const char *text, uint32_t nstage)
{
    bt_module *m = read_module(k, text);
    const bt_func *func = bt_module_find(m, "main")->func;
    uint32_t n = func->block->nparam;
    bt_tensor *in[8], *out[4];
    bt_compute *compute;
    bt_text graph;
    for (uint32_t i = 0; i < n; i++)
        in[i] = make_input(k, func->block->params[i]->base.type, i + 1);
    bt_object *expected = call_interp(k, m, n, in);
    assert_ok(k->ctx, bt_compute_create_func(k->ctx, func, NULL, &compute));
    assert_ok(k->ctx,
              bt_compute_run(k->ctx, compute, n, (const bt_tensor *const *)in, out));
    const bt_tuple *tuple = bt_object_as_tuple(expected);
    for (uint32_t i = 0; i < bt_compute_nout(compute); i++) {
        assert_same_bits(out[i],
                         bt_object_as_tensor(tuple ? tuple->fields[i] : expected));
        bt_tensor_unref(out[i]);
    }
    bt_arena *arena = bt_arena_create(k->registry);
    bt_text_init(&graph, arena);
    assert_ok(k->ctx,
              bt_compute_print(k->ctx, compute, n, (const bt_tensor *const *)in, &graph));
    uint32_t found = 0;
    for (const char *at = bt_text_get(&graph); (at = strstr(at, "view:")); at++)
        found++;
    if (found != nstage)
        fail_msg("%u stages:\n%s", found, bt_text_get(&graph));
    bt_arena_destroy(arena);
    bt_compute_destroy(compute);
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    bt_module_unref(m);
}

static void test_elementwise_chains_are_one_stage(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(3, 5), float32], %b: Tensor[(5), float32]) {\n"
          "  nn.relu(add(multiply(%x, %b), exp(%x)))\n"
          "}\n",
          1);
}

static void test_rounding_between_calls_stays(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(64), float16], %y: Tensor[(64), float16]) {\n"
          "  subtract(multiply(add(%x, %y), %y), %x)\n"
          "}\n",
          1);
}

static void test_what_is_computed_of_constants_is_rounded(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(64), float32]) { add(%x, tanh(-0.75f)) }\n",
          1);
}

static void test_what_follows_a_reduction_is_its_epilogue(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(1, 3, 9, 9), float32], %w: Tensor[(4, 3, 3, 3), "
          "float32],\n"
          "          %b: Tensor[(4), float32]) {\n"
          "  nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1]), %b))\n"
          "}\n",
          1);
}

static void test_what_a_convolution_reads_often_is_computed_before_it(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(1, 3, 9, 9), float32], %w: Tensor[(4, 3, 3, 3), "
          "float32],\n"
          "          %s: Tensor[(3, 1, 1), float32]) {\n"
          "  nn.conv2d(nn.relu(multiply(%x, %s)), %w, padding=[1, 1])\n"
          "}\n",
          2);
}

static void test_what_a_reduction_reads_once_is_computed_in_it(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(4, 9), float32]) {\n"
          "  sum(multiply(%x, add(%x, 1f)), axis=[1])\n"
          "}\n",
          1);
}

static void test_padding_goes_into_a_convolution(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(1, 3, 9, 9), float32], %w: Tensor[(4, 3, 3, 3), "
          "float32]) {\n"
          "  nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)\n"
          "}\n",
          1);
}

static void test_moved_elements_are_read_where_they_were(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(2, 3, 4), float32]) {\n"
          "  tanh(strided_slice(transpose(%x, axes=[2, 0, 1]), begin=[1, 0, 0], end=[4, "
          "2, 3]))\n"
          "}\n",
          1);
}

static void test_what_is_dear_is_computed_once(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(6, 7), float32]) {\n"
          "  %0 = exp(%x);\n"
          "  nn.max_pool2d(reshape(%0, newshape=[1, 1, 6, 7]), pool_size=[3, 3])\n"
          "}\n",
          2);
}

static void test_several_results_stay(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(4, 6), float32]) {\n"
          "  %0 = add(%x, 1f);\n"
          "  %1 = split(%0, indices_or_sections=2, axis=1);\n"
          "  (%0, nn.softmax(%1.0), %1.1)\n"
          "}\n",
          6);
}

static void test_integers_wrap_as_before(void **state)
{
    check(*state,
          "#[version = \"0.0.5\"]\n"
          "def @main(%x: Tensor[(40), int8], %y: Tensor[(40), int8]) {\n"
          "  add(multiply(%x, %y), cast(less(%x, %y), dtype=\"int8\"))\n"
          "}\n",
          1);
}

static void refuse(kit *k, const char *text, const char *part)
{
    bt_module *m = read_module(k, text);
    bt_compute *compute;
    assert_error(
        bt_compute_create_func(k->ctx, bt_module_find(m, "main")->func, NULL, &compute),
        BT_ERR_UNSUPPORTED, part);
    bt_module_unref(m);
}

static void test_what_has_no_graph_is_refused(void **state)
{
    refuse(*state,
           "#[version = \"0.0.5\"]\n"
           "def @main(%x: Tensor[(4), float32]) { exp(sort(%x)) }\n",
           "plain C");
    refuse(*state,
           "#[version = \"0.0.5\"]\n"
           "def @main(%x: Tensor[(4), float32]) { sort(%x + 1f) }\n",
           "plain C");
    refuse(*state,
           "#[version = \"0.0.5\"]\n"
           "def @main(%c: bool, %x: Tensor[(4), float32]) { if (%c) { %x } else { "
           "exp(%x) } }\n",
           "cannot be part");
}

/* In another order, twice and not at all; the constant outlives its module. */
static void test_plain_c_takes_parameters_in_any_order(void **state)
{
    kit *k = *state;
    bt_module *m = read_module(
        k, "#[version = \"0.0.5\"]\n"
           "def @main(%v: Tensor[(0), float32], %unused: (bool, bool), %at: Tensor[(1), "
           "int32], %x: Tensor[(3), float32]) {\n"
           "  strided_set(%x, %v, %at, %at, const[(1), int32]{-1})\n"
           "}\n");
    bt_compute *compute;
    bt_tensor *in[5] = { NULL }, *y;
    const int64_t dims[5] = { 0, 1, 1, 1, 3 };
    assert_ok(k->ctx, bt_compute_create_func(k->ctx, bt_module_find(m, "main")->func,
                                             NULL, &compute));
    bt_module_unref(m);
    for (uint32_t i = 0; i < 5; i++)
        assert_ok(k->ctx, bt_tensor_create(k->ctx, i == 3 ? BT_INT32 : BT_FLOAT32, 1,
                                           &dims[i], &in[i]));
    *(int32_t *)in[3]->data = 1;
    for (uint32_t i = 0; i < 3; i++)
        ((float *)in[4]->data)[i] = (float)i;
    assert_ok(k->ctx,
              bt_compute_run(k->ctx, compute, 5, (const bt_tensor *const *)in, &y));
    bt_compute_destroy(compute);
    assert_same_bits(y, in[4]); // from 1 back to 1: nothing is replaced
    bt_tensor_unref(y);
    for (uint32_t i = 0; i < 5; i++)
        bt_tensor_unref(in[i]);
}

/* @main<n>(%x: Tensor[(n, 4), float32]) with a number for n, which attributes name too. */
static bt_status compute_for(kit *k, const char *text, int64_t n, bt_tensor **out)
{
    bt_module *m = read_module(k, text);
    bt_compute *compute;
    bt_tensor *x;
    bt_status status =
        bt_compute_create_func(k->ctx, bt_module_find(m, "main")->func, &n, &compute);
    bt_module_unref(m); // what is made of it stands by itself
    if (status)
        return status;
    assert_ok(k->ctx, bt_tensor_create(k->ctx, BT_FLOAT32, 2, (int64_t[]){ n, 4 }, &x));
    for (int64_t i = 0; i < x->nelem; i++)
        ((float *)x->data)[i] = (float)(x->nelem - i);
    status = bt_compute_run(k->ctx, compute, 1, (const bt_tensor *const *)&x, out);
    bt_tensor_unref(x);
    bt_compute_destroy(compute);
    return status;
}

static void test_dims_become_numbers_in_attributes_and_plain_c(void **state)
{
    static const char moved[] =
        "#[version = \"0.0.5\"]\n"
        "def @main<n: Dim in 1..8>(%x: Tensor[(n, 4), float32]) {\n"
        "  %0 = split(negative(%x), indices_or_sections=2, axis=0);\n"
        "  reshape(%0.1, newshape=[n, 2])\n"
        "}\n";
    static const char sorted[] = "#[version = \"0.0.5\"]\n"
                                 "def @main<n: Dim>(%x: Tensor[(n, 4), float32]) {\n"
                                 "  sort(%x, axis=0)\n"
                                 "}\n";
    kit *k = *state;
    bt_tensor *y;
    for (int64_t n = 2; n <= 8; n += 2) {
        assert_ok(k->ctx, compute_for(k, moved, n, &y));
        assert_int_equal(y->dims[0], n);
        assert_int_equal(y->dims[1], 2);
        for (int64_t i = 0; i < y->nelem; i++)
            assert_true(bt_tensor_get(y, i) == (double)(i - 2 * n));
        bt_tensor_unref(y);
        assert_ok(k->ctx, compute_for(k, sorted, n, &y));
        for (int64_t i = 4; i < y->nelem; i++)
            assert_true(bt_tensor_get(y, i - 4) < bt_tensor_get(y, i));
        bt_tensor_unref(y);
    }
    assert_error(compute_for(k, moved, 10, &y), BT_ERR_ARGUMENT, "dim n is 10");
    assert_error(compute_for(k, moved, 3, &y), BT_ERR_RUNTIME, "split: ");
}

static const struct CMUnitTest tests[] = {
    TEST(test_elementwise_chains_are_one_stage),
    TEST(test_rounding_between_calls_stays),
    TEST(test_what_is_computed_of_constants_is_rounded),
    TEST(test_what_follows_a_reduction_is_its_epilogue),
    TEST(test_what_a_convolution_reads_often_is_computed_before_it),
    TEST(test_what_a_reduction_reads_once_is_computed_in_it),
    TEST(test_padding_goes_into_a_convolution),
    TEST(test_moved_elements_are_read_where_they_were),
    TEST(test_what_is_dear_is_computed_once),
    TEST(test_several_results_stay),
    TEST(test_integers_wrap_as_before),
    TEST(test_what_has_no_graph_is_refused),
    TEST(test_plain_c_takes_parameters_in_any_order),
    TEST(test_dims_become_numbers_in_attributes_and_plain_c),
};
TEST_MAIN(tests)
