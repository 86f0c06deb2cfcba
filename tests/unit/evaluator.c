/* The reference evaluator against plain loops. */
#include "formula.h"

#include <math.h>

static double get(const bt_tensor *t, int64_t i)
{
    return bt_tensor_get(t, i);
}

static void test_dense_is_a_matrix_product(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "data", "t[m, k]", 0, 0 },
                                     { "weight", "t[n, k]", 0, 0 } },
                         .text = "y: t[m, n] = sum(k: data[m, k] * weight[n, k])" };
    for (int64_t k = 0; k < 700; k = k * 3 + 1) {
        bt_tensor *x = tensor_random(&w, BT_FLOAT32, 1, DIMS(5, k));
        bt_tensor *v = tensor_random(&w, BT_FLOAT32, 2, DIMS(3, k));
        bt_tensor *y = formula_run(&w, &f, 2, (bt_tensor *[]){ x, v });
        assert_int_equal(y->rank, 2);
        assert_int_equal(y->dims[0], 5);
        assert_int_equal(y->dims[1], 3);
        for (int64_t i = 0; i < 15; i++) {
            double sum = 0;
            for (int64_t q = 0; q < k; q++)
                sum += get(x, i / 3 * k + q) * get(v, i % 3 * k + q);
            assert_true(get(y, i) == (float)sum);
        }
        bt_tensor_unref(x);
        bt_tensor_unref(v);
        bt_tensor_unref(y);
    }
    world_close(&w);
}

static void test_pointwise_of_any_rank(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "data", "t[..]", 0, 0 } },
                         .text = "y: t[..] = max(data[..], 0)" };
    const int64_t dims[] = { 2, 3, 400 };
    for (uint32_t rank = 0; rank < 4; rank++) {
        bt_tensor *x = tensor_random(&w, BT_FLOAT32, rank, rank, dims);
        bt_tensor *y = formula_run(&w, &f, 1, &x);
        assert_int_equal(y->rank, rank);
        for (int64_t i = 0; i < x->nelem; i++)
            assert_true(get(y, i) == fmax(get(x, i), 0));
        bt_tensor_unref(x);
        bt_tensor_unref(y);
    }
    world_close(&w);
}

static void test_rest_broadcasts_at_the_right(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "a", "t[..]", 0, 0 }, { "b", "t[..]", 0, 0 } },
                         .text = "y: t[..] = a[..] - b[..]" };
    bt_tensor *a = tensor_random(&w, BT_INT32, 1, DIMS(4, 1, 3));
    bt_tensor *b = tensor_random(&w, BT_INT32, 2, DIMS(5, 1));
    bt_tensor *y = formula_run(&w, &f, 2, (bt_tensor *[]){ a, b });
    assert_int_equal(y->rank, 3);
    assert_int_equal(y->nelem, 60);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 5; j++)
            for (int64_t k = 0; k < 3; k++)
                assert_true(get(y, (i * 5 + j) * 3 + k) == get(a, i * 3 + k) - get(b, j));
    bt_tensor_unref(a);
    bt_tensor_unref(b);
    bt_tensor_unref(y);
    world_close(&w);
}

struct window {
    int64_t sh, sw, pt, pl, pb, pr;
};
static const bt_attr window_attrs[] = {
    BT_ATTR(struct window, sh, INT, "1", ""),
    BT_ATTR(struct window, sw, INT, "1", ""),
    BT_ATTR(struct window, pt, INT, "0", ""),
    BT_ATTR(struct window, pl, INT, "0", ""),
    BT_ATTR(struct window, pb, INT, "0", ""),
    BT_ATTR(struct window, pr, INT, "0", ""),
    { 0 },
};
#define WINDOW                                  \
    "oh = floordiv(h + pt + pb - kh, sh) + 1; " \
    "ow = floordiv(w + pl + pr - kw, sw) + 1; "

static void check_conv2d(struct world *w, struct window a, int64_t h, int64_t wd,
                         int64_t nc, int64_t no)
{
    struct formula f = {
        .inputs = { { "data", "t[n, c, h, w]", 0, 0 },
                    { "weight", "t[o, c, kh, kw]", 0, 0 } },
        .text = WINDOW "y: t[n, o, i in oh, j in ow] = sum(c, r in kh, s in kw: "
                       "data[n, c, i*sh + r - pt, j*sw + s - pl] * weight[o, c, r, s] "
                       "else 0)",
        .attrs = window_attrs,
        .values = &a,
    };
    bt_tensor *x = tensor_random(w, BT_FLOAT32, 1, DIMS(2, nc, h, wd));
    bt_tensor *v = tensor_random(w, BT_FLOAT32, 2, DIMS(no, nc, 3, 2));
    bt_tensor *y = formula_run(w, &f, 2, (bt_tensor *[]){ x, v });
    int64_t oh = (h + a.pt + a.pb - 3) / a.sh + 1, ow = (wd + a.pl + a.pr - 2) / a.sw + 1;
    assert_int_equal(y->dims[2], oh);
    assert_int_equal(y->dims[3], ow);
    for (int64_t at = 0; at < y->nelem; at++) {
        int64_t j = at % ow, i = at / ow % oh, o = at / ow / oh % no,
                n = at / ow / oh / no;
        double sum = 0;
        for (int64_t c = 0; c < nc; c++)
            for (int64_t r = 0; r < 3; r++)
                for (int64_t s = 0; s < 2; s++) {
                    int64_t p = i * a.sh + r - a.pt, q = j * a.sw + s - a.pl;
                    if (p >= 0 && p < h && q >= 0 && q < wd)
                        sum += get(x, ((n * nc + c) * h + p) * wd + q) *
                               get(v, ((o * nc + c) * 3 + r) * 2 + s);
                }
        if (get(y, at) != (float)sum)
            fail_msg("element %d: %g, expected %g", (int)at, get(y, at), sum);
    }
    bt_tensor_unref(x);
    bt_tensor_unref(v);
    bt_tensor_unref(y);
}

static void test_conv2d_pads_and_strides(void **state)
{
    (void)state;
    struct world w = world_open();
    check_conv2d(&w, (struct window){ 1, 1, 0, 0, 0, 0 }, 7, 9, 3, 4);
    check_conv2d(&w, (struct window){ 1, 1, 1, 1, 1, 0 }, 7, 9, 3, 4);
    check_conv2d(&w, (struct window){ 2, 3, 2, 1, 1, 1 }, 8, 11, 2, 5);
    check_conv2d(&w, (struct window){ 2, 1, 3, 2, 0, 4 }, 4, 5, 40, 3);
    check_conv2d(&w, (struct window){ 1, 1, 1, 1, 1, 1 }, 3, 300, 1, 2);
    world_close(&w);
}

static void test_max_pool2d_ignores_padding(void **state)
{
    (void)state;
    struct world w = world_open();
    struct window a = { 2, 2, 1, 1, 1, 1 };
    struct formula f = {
        .inputs = { { "data", "t[n, c, h, w]", 0, 0 } },
        .text = "kh = 3; kw = 3;" WINDOW
                "y: t[n, c, i in oh, j in ow] = max(r in kh, s in kw: "
                "data[n, c, i*sh + r - pt, j*sw + s - pl] else -inf)",
        .attrs = window_attrs,
        .values = &a,
    };
    bt_dtype dtypes[] = { BT_FLOAT32, BT_INT8, BT_FLOAT16 };
    for (uint32_t d = 0; d < 3; d++) {
        bt_tensor *x = tensor_random(&w, dtypes[d], 1, DIMS(2, 3, 9, 8));
        bt_tensor *y = formula_run(&w, &f, 1, &x);
        assert_int_equal(y->dims[2], 5);
        assert_int_equal(y->dims[3], 4);
        for (int64_t at = 0; at < y->nelem; at++) {
            int64_t j = at % 4, i = at / 4 % 5, nc = at / 20;
            double best = -INFINITY;
            for (int64_t r = i * 2 - 1; r < i * 2 + 2; r++)
                for (int64_t s = j * 2 - 1; s < j * 2 + 2; s++)
                    if (r >= 0 && r < 9 && s >= 0 && s < 8)
                        best = fmax(best, get(x, (nc * 9 + r) * 8 + s));
            assert_true(get(y, at) == best);
        }
        bt_tensor_unref(x);
        bt_tensor_unref(y);
    }
    world_close(&w);
}

static void test_softmax_in_stages(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "data", "t:float[n, k]", 0, 0 } },
                         .text = "m: t[i] = max(k: data[i, k]);"
                                 "e: t[i, k] = exp(data[i, k] - m[i]);"
                                 "s: t[i] = sum(k: e[i, k]);"
                                 "y: t[i, k] = e[i, k] / s[i]" };
    bt_tensor *x = tensor_random(&w, BT_FLOAT32, 1, DIMS(3, 1000));
    bt_tensor *y = formula_run(&w, &f, 1, &x);
    for (int64_t i = 0; i < 3; i++) {
        double sum = 0, total = 0;
        for (int64_t k = 0; k < 1000; k++)
            sum += exp(get(x, i * 1000 + k));
        for (int64_t k = 0; k < 1000; k++) {
            double expected = exp(get(x, i * 1000 + k)) / sum;
            assert_true(fabs(get(y, i * 1000 + k) - expected) < 1e-6 * expected);
            total += get(y, i * 1000 + k);
        }
        assert_true(fabs(total - 1) < 1e-5);
    }
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_dense_is_a_matrix_product),
    cmocka_unit_test(test_pointwise_of_any_rank),
    cmocka_unit_test(test_rest_broadcasts_at_the_right),
    cmocka_unit_test(test_conv2d_pads_and_strides),
    cmocka_unit_test(test_max_pool2d_ignores_padding),
    cmocka_unit_test(test_softmax_in_stages),
};
TEST_MAIN(tests)
