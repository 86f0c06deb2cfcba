/* Tensors: creation, views, casts, comparison. */
#include "failing_allocator.h"
#include "setup.h"

#include <baton/value.h>

#include <math.h>

static bt_tensor *create(bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_create(ctx, dtype, rank, dims, &t));
    return t;
}

/* ---- creation ---- */

static void test_a_new_tensor_is_zero_aligned_and_row_major(void **state)
{
    (void)state;
    bt_tensor *t = create(BT_FLOAT32, 3, (int64_t[]){ 2, 3, 4 });
    assert_int_equal(t->nelem, 24);
    assert_int_equal(bt_tensor_nbytes(t), 96);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    assert_int_equal(t->strides[0], 12);
    assert_int_equal(t->strides[1], 4);
    assert_int_equal(t->strides[2], 1);
    for (int64_t i = 0; i < 24; i++)
        assert_true(((float *)t->data)[i] == 0);
    bt_tensor_unref(t);
}

static void test_a_raw_tensor_is_the_same_but_for_its_elements(void **state)
{
    (void)state;
    bt_tensor *t = create(BT_FLOAT32, 2, (int64_t[]){ 3, 4 }), *e;
    assert_ok(ctx, bt_tensor_create_raw(ctx, BT_FLOAT32, 2, t->dims, &e));
    assert_int_equal((uintptr_t)e->data % 64, 0);
    assert_int_equal(e->nelem, t->nelem);
    assert_memory_equal(e->strides, t->strides, 2 * sizeof(*e->strides));
    memset(e->data, 0x7f, bt_tensor_nbytes(e));
    bt_tensor_unref(e);
    assert_error(bt_tensor_create_raw(ctx, BT_FLOAT32, 1, (int64_t[]){ -1 }, &e),
                 BT_ERR_ARGUMENT, "below 0");
    bt_tensor_unref(t);
}

static void test_shapes_without_elements_are_tensors(void **state)
{
    (void)state;
    int64_t huge = INT64_C(1) << 40;
    bt_tensor *t = create(BT_INT8, 3, (int64_t[]){ 0, huge, huge });
    assert_int_equal(t->nelem, 0);
    assert_true(bt_tensor_is_dense(t));
    bt_tensor *cast;
    assert_ok(ctx, bt_tensor_cast(ctx, t, BT_FLOAT64, &cast));
    assert_int_equal(cast->nelem, 0);
    bt_tensor_unref(cast);
    bt_tensor_unref(t);
    t = create(BT_INT8, 0, NULL);
    assert_int_equal(t->nelem, 1);
    bt_tensor_unref(t);
}

static void test_impossible_shapes_are_refused(void **state)
{
    (void)state;
    bt_tensor *t = NULL;
    int64_t many[33] = { 0 };
    int64_t huge = INT64_C(1) << 40;
    assert_error(bt_tensor_create(ctx, BT_INT8, 1, (int64_t[]){ -1 }, &t),
                 BT_ERR_ARGUMENT, "below 0");
    assert_error(bt_tensor_create(ctx, BT_INT8, 33, many, &t), BT_ERR_ARGUMENT,
                 "rank 33");
    assert_error(bt_tensor_create(ctx, BT_INT8, 2, (int64_t[]){ huge, huge }, &t),
                 BT_ERR_LIMIT, "limit");
    assert_error(bt_tensor_create(ctx, BT_FLOAT64, 1, (int64_t[]){ INT64_MAX }, &t),
                 BT_ERR_LIMIT, "limit");
    assert_error(bt_tensor_create(ctx, BT_DTYPE(BT_CLASS_INT, 3, 1), 0, NULL, &t),
                 BT_ERR_ARGUMENT, "int3");
    bt_ctx_limits(ctx)->bytes = 100;
    assert_error(bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 26 }, &t),
                 BT_ERR_LIMIT, "100 bytes");
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 25 }, &t));
    bt_tensor_unref(t);
}

static void test_wrapped_memory_is_shared(void **state)
{
    (void)state;
    int32_t data[6] = { 1, 2, 3, 4, 5, 6 };
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_wrap(ctx, BT_INT32, 2, (int64_t[]){ 2, 3 }, data, &t));
    assert_int_equal(bt_tensor_get_int(t, 4), 5);
    bt_tensor_set_int(t, 4, 50);
    assert_int_equal(data[4], 50);
    bt_tensor_unref(t);
    assert_error(bt_tensor_wrap(ctx, BT_INT32, 1, (int64_t[]){ 1 }, NULL, &t),
                 BT_ERR_ARGUMENT, "no data");
    assert_error(bt_tensor_wrap(ctx, BT_INT32, 1, (int64_t[]){ 1 }, (char *)data + 1, &t),
                 BT_ERR_ARGUMENT, "aligned");
}

/* ---- views ---- */

static bt_tensor *counting(uint32_t rank, const int64_t *dims)
{
    bt_tensor *t = create(BT_INT32, rank, dims);
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set_int(t, i, i);
    return t;
}

static void assert_elements(const bt_tensor *t, int64_t n, const int64_t *expected)
{
    assert_int_equal(t->nelem, n);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(bt_tensor_get_int(t, i), expected[i]);
}

static void test_views_keep_their_owner_alive(void **state)
{
    (void)state;
    bt_tensor *t = counting(2, (int64_t[]){ 3, 4 }), *transposed, *column, *dense;
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, (int64_t[]){ 4, 3 }, (int64_t[]){ 1, 4 }, 0,
                                  &transposed));
    assert_ok(ctx, bt_tensor_view(ctx, transposed, 1, (int64_t[]){ 3 }, (int64_t[]){ -4 },
                                  9, &column));
    assert_ptr_equal(column->owner, t);
    bt_tensor_unref(t);
    assert_elements(transposed, 12, (int64_t[]){ 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 });
    assert_ok(ctx, bt_tensor_dense(ctx, transposed, &dense));
    bt_tensor_unref(transposed);
    assert_true(bt_tensor_is_dense(dense));
    assert_elements(dense, 12, (int64_t[]){ 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 });
    assert_elements(column, 3, (int64_t[]){ 9, 5, 1 });
    assert_false(bt_tensor_is_dense(column));
    bt_tensor_set_int(column, 1, -7);
    assert_int_equal(bt_tensor_get_int(column, 1), -7);
    bt_tensor_unref(dense);
    bt_tensor_unref(column);
}

static void test_views_outside_their_owner_are_refused(void **state)
{
    (void)state;
    bt_tensor *t = counting(1, (int64_t[]){ 10 }), *view;
    static const struct {
        int64_t length, stride, offset;
    } bad[] = { { 11, 1, 0 },        { 10, 1, 1 },        { 2, 1, -1 },
                { 2, -1, 0 },        { 4, 3, 1 },         { 1, 1, 10 },
                { 2, INT64_MAX, 1 }, { 2, INT64_MIN, 1 }, { 3, INT64_MAX, 0 },
                { 1, 0, INT64_MAX } };
    for (uint32_t i = 0; i < BT_COUNT(bad); i++)
        assert_error(bt_tensor_view(ctx, t, 1, &bad[i].length, &bad[i].stride,
                                    bad[i].offset, &view),
                     BT_ERR_ARGUMENT, "leaves");
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, (int64_t[]){ 5, 2 }, (int64_t[]){ 0, 9 }, 0,
                                  &view));
    assert_elements(view, 10, (int64_t[]){ 0, 9, 0, 9, 0, 9, 0, 9, 0, 9 });
    bt_tensor *inner;
    assert_ok(ctx, bt_tensor_view(ctx, view, 1, (int64_t[]){ 0 }, NULL, 1000, &inner));
    bt_tensor_unref(inner);
    bt_tensor_unref(view);
    bt_tensor_unref(t);
}

static void test_dense_of_a_dense_tensor_is_itself(void **state)
{
    (void)state;
    bt_tensor *t = counting(3, (int64_t[]){ 2, 1, 3 }), *view, *dense;
    assert_ok(ctx, bt_tensor_dense(ctx, t, &dense));
    assert_ptr_equal(dense, t);
    bt_tensor_unref(dense);
    // The stride of an axis of one element says nothing.
    assert_ok(ctx, bt_tensor_view(ctx, t, 3, t->dims, (int64_t[]){ 3, 77, 1 }, 0, &view));
    assert_true(bt_tensor_is_dense(view));
    bt_tensor_unref(view);
    bt_tensor_unref(t);
}

/* ---- elements and casts ---- */

static const bt_dtype all_dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type) BT_##UPPER,
#include <baton/dtypes.def>
};

/* From 1 on, without a gap: float8_e5m2 has no 9. */
static int64_t count_of(bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) && BT_DTYPE_BITS(dtype) == 8 ? 8 : 100;
}

static void test_small_integers_are_the_same_in_every_type(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < BT_COUNT(all_dtypes); a++) {
        bt_tensor *from = create(all_dtypes[a], 1, (int64_t[]){ 100 });
        int64_t step = all_dtypes[a] == BT_BOOL ? 0 : 1;
        for (int64_t i = 0; i < 100; i++)
            bt_tensor_set_int(from, i, 1 + i * step);
        for (uint32_t b = 0; b < BT_COUNT(all_dtypes); b++) {
            bt_tensor *to;
            assert_ok(ctx, bt_tensor_cast(ctx, from, all_dtypes[b], &to));
            assert_int_equal(to->dtype, all_dtypes[b]);
            for (int64_t i = 0;
                 i < count_of(all_dtypes[a]) && i < count_of(all_dtypes[b]); i++) {
                int64_t expected = all_dtypes[b] == BT_BOOL ? 1 : 1 + i * step;
                assert_int_equal(bt_tensor_get_int(to, i), expected);
                assert_true(bt_tensor_get(to, i) == (double)expected);
            }
            bt_tensor_unref(to);
        }
        bt_tensor_unref(from);
    }
}

static int64_t cast_double(double x, bt_dtype dtype)
{
    bt_tensor *t, *to;
    assert_ok(ctx, bt_tensor_scalar(ctx, BT_FLOAT64, x, &t));
    assert_ok(ctx, bt_tensor_cast(ctx, t, dtype, &to));
    int64_t out = bt_tensor_get_int(to, 0);
    bt_tensor_set(to, 0, x);
    assert_int_equal(bt_tensor_get_int(to, 0), out);
    bt_tensor_unref(to);
    bt_tensor_unref(t);
    return out;
}

static void test_floats_truncate_and_saturate(void **state)
{
    (void)state;
    assert_int_equal(cast_double(2.9, BT_INT8), 2);
    assert_int_equal(cast_double(-2.9, BT_INT8), -2);
    assert_int_equal(cast_double(127.9, BT_INT8), 127);
    assert_int_equal(cast_double(128, BT_INT8), 127);
    assert_int_equal(cast_double(-1e30, BT_INT8), -128);
    assert_int_equal(cast_double(INFINITY, BT_INT16), 32767);
    assert_int_equal(cast_double(-INFINITY, BT_INT32), INT32_MIN);
    assert_int_equal(cast_double(0x1p63, BT_INT64), INT64_MAX);
    assert_int_equal(cast_double(-0x1p63, BT_INT64), INT64_MIN);
    assert_int_equal(cast_double(0x1.fffffffffffffp62, BT_INT64), 0x7ffffffffffffc00);
    assert_int_equal(cast_double(-1, BT_UINT8), 0);
    assert_int_equal(cast_double(255.5, BT_UINT8), 255);
    assert_int_equal(cast_double(300, BT_UINT16), 300);
    assert_int_equal(cast_double(1e10, BT_UINT32), UINT32_MAX);
    assert_int_equal((uint64_t)cast_double(0x1p63, BT_UINT64), UINT64_C(1) << 63);
    assert_int_equal((uint64_t)cast_double(0x1p64, BT_UINT64), UINT64_MAX);
    assert_int_equal(cast_double(-0.5, BT_UINT64), 0);
    for (uint32_t i = 0; i < BT_COUNT(all_dtypes); i++) {
        if (BT_DTYPE_CLASS(all_dtypes[i]) <= BT_CLASS_UINT)
            assert_int_equal(cast_double(NAN, all_dtypes[i]), 0);
    }
    assert_int_equal(cast_double(NAN, BT_BOOL), 1);
    assert_int_equal(cast_double(0.25, BT_BOOL), 1);
    assert_int_equal(cast_double(-0.0, BT_BOOL), 0);
}

static int64_t cast_int(int64_t x, bt_dtype from, bt_dtype dtype)
{
    bt_tensor *t, *to;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, from, x, &t));
    assert_ok(ctx, bt_tensor_cast(ctx, t, dtype, &to));
    int64_t out = bt_tensor_get_int(to, 0);
    bt_tensor_unref(to);
    bt_tensor_unref(t);
    return out;
}

static void test_integers_wrap(void **state)
{
    (void)state;
    assert_int_equal(cast_int(300, BT_INT32, BT_UINT8), 44);
    assert_int_equal(cast_int(300, BT_INT32, BT_INT8), 44);
    assert_int_equal(cast_int(200, BT_UINT8, BT_INT8), -56);
    assert_int_equal(cast_int(-1, BT_INT8, BT_UINT32), UINT32_MAX);
    assert_int_equal((uint64_t)cast_int(-1, BT_INT8, BT_UINT64), UINT64_MAX);
    assert_int_equal(cast_int(INT64_MIN, BT_INT64, BT_INT32), 0);
    assert_int_equal(cast_int(0x1ffffffff, BT_INT64, BT_INT32), -1);
    assert_int_equal(cast_int(256, BT_INT32, BT_BOOL), 1);
}

static double cast_to_float(int64_t x, bt_dtype from, bt_dtype dtype)
{
    bt_tensor *t, *to;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, from, x, &t));
    assert_ok(ctx, bt_tensor_cast(ctx, t, dtype, &to));
    double out = bt_tensor_get(to, 0);
    bt_tensor_unref(to);
    bt_tensor_unref(t);
    return out;
}

/* Just above half way between two floats: rounding by way of double would see a tie. */
static void test_integers_round_once(void **state)
{
    (void)state;
    int64_t above = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    assert_true(cast_to_float(above, BT_INT64, BT_FLOAT32) == 0x1p60 + 0x1p37);
    assert_true(cast_to_float(above - 1, BT_INT64, BT_FLOAT32) == 0x1p60);
    assert_true(cast_to_float(-above, BT_INT64, BT_FLOAT32) == -0x1p60 - 0x1p37);
    above = (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1;
    assert_true(cast_to_float(above, BT_INT64, BT_BFLOAT16) == 0x1p60 + 0x1p53);
    assert_true(cast_to_float(above - 1, BT_INT64, BT_BFLOAT16) == 0x1p60);
    assert_true(cast_to_float(above - 2, BT_INT64, BT_BFLOAT16) == 0x1p60);
    assert_true(cast_to_float(-above, BT_INT64, BT_BFLOAT16) == -0x1p60 - 0x1p53);
    assert_true(cast_to_float(-1, BT_UINT64, BT_FLOAT32) == 0x1p64);
    assert_true(cast_to_float(-1, BT_UINT64, BT_FLOAT64) == 0x1p64);
    assert_true(cast_to_float(-1, BT_UINT64, BT_BFLOAT16) == 0x1p64);
    assert_true(cast_to_float(INT64_MAX, BT_INT64, BT_FLOAT64) == 0x1p63);
    assert_true(isinf(cast_to_float(65520, BT_INT32, BT_FLOAT16)));
    assert_true(cast_to_float(65519, BT_INT32, BT_FLOAT16) == 65504);
    assert_true(cast_to_float(2049, BT_INT32, BT_FLOAT16) == 2048);
    assert_true(cast_to_float(2051, BT_INT32, BT_FLOAT16) == 2052);
}

static void test_a_strided_tensor_is_cast_in_order(void **state)
{
    (void)state;
    bt_tensor *t = counting(2, (int64_t[]){ 3, 700 }), *view, *to;
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, (int64_t[]){ 700, 3 },
                                  (int64_t[]){ -1, 700 }, 699, &view));
    assert_ok(ctx, bt_tensor_cast(ctx, view, BT_FLOAT32, &to));
    assert_true(bt_tensor_is_dense(to));
    for (int64_t i = 0; i < 2100; i++)
        assert_int_equal(bt_tensor_get_int(view, i), 699 - i / 3 + i % 3 * 700);
    for (int64_t i = 0; i < 2100; i++)
        assert_true(bt_tensor_get(to, i) == (double)(699 - i / 3 + i % 3 * 700));
    bt_tensor_unref(to);
    bt_tensor_unref(view);
    bt_tensor_unref(t);
}

/* ---- comparison ---- */

static bt_tensor *floats(bt_dtype dtype, int64_t n, const double *values)
{
    bt_tensor *t = create(dtype, 1, &n);
    for (int64_t i = 0; i < n; i++)
        bt_tensor_set(t, i, values[i]);
    return t;
}

static bt_tensor_difference compare(bt_tensor *a, bt_tensor *b, double relative,
                                    double absolute)
{
    bt_tensor_difference d;
    assert_ok(ctx, bt_tensor_compare(ctx, a, b, relative, absolute, &d));
    bt_tensor_unref(a);
    bt_tensor_unref(b);
    return d;
}

static void test_differences_are_measured(void **state)
{
    (void)state;
    bt_tensor_difference d =
        compare(floats(BT_FLOAT32, 4, (double[]){ 1, 2.5, 100, -8 }),
                floats(BT_FLOAT32, 4, (double[]){ 1, 2, 101, -8 }), 0.01, 0);
    assert_int_equal(d.ndifferent, 1);
    assert_int_equal(d.first, 1);
    assert_true(d.max_absolute == 1);
    assert_true(d.max_relative == 0.25);
    assert_true(d.max_to_largest == 1.0 / 101);
    d = compare(floats(BT_FLOAT32, 2, (double[]){ 1, 0x1p-149 }),
                floats(BT_FLOAT32, 2, (double[]){ 1 + 0x1p-22, -0x1p-149 }), 0, 1);
    assert_int_equal(d.ndifferent, 0);
    assert_int_equal(d.first, -1);
    assert_true(d.max_ulp == 2);
    d = compare(floats(BT_FLOAT16, 1, (double[]){ 1 }),
                floats(BT_FLOAT16, 1, (double[]){ 2 }), 0, 0);
    assert_true(d.max_ulp == 1024);
    d = compare(floats(BT_FLOAT64, 1, (double[]){ 0.0 }),
                floats(BT_FLOAT64, 1, (double[]){ -0.0 }), 0, 0);
    assert_int_equal(d.ndifferent, 0);
    assert_true(d.max_ulp == 0);
}

static void test_nan_and_infinity_equal_themselves_only(void **state)
{
    (void)state;
    double a[] = { NAN, INFINITY, -INFINITY, 1, INFINITY, NAN };
    double b[] = { NAN, INFINITY, -INFINITY, INFINITY, 1, 1 };
    bt_tensor_difference d =
        compare(floats(BT_FLOAT32, 3, a), floats(BT_FLOAT32, 3, b), 0, 0);
    assert_int_equal(d.ndifferent, 0);
    assert_true(d.max_absolute == 0);
    d = compare(floats(BT_FLOAT32, 6, a), floats(BT_FLOAT32, 6, b), 1, 1e30);
    assert_int_equal(d.ndifferent, 3);
    assert_int_equal(d.first, 3);
    assert_true(isinf(d.max_absolute));
}

static void test_long_integers_compare_exactly(void **state)
{
    (void)state;
    bt_tensor *a, *b;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT64, INT64_MAX, &a));
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT64, INT64_MAX - 1, &b));
    bt_tensor_difference d = compare(a, b, 0, 0);
    assert_int_equal(d.ndifferent, 1);
    assert_true(d.max_absolute == 1);
}

static void test_other_types_do_not_compare(void **state)
{
    (void)state;
    bt_tensor_difference d;
    bt_tensor *a = create(BT_INT8, 1, (int64_t[]){ 2 });
    bt_tensor *b = create(BT_UINT8, 1, (int64_t[]){ 2 });
    bt_tensor *c = create(BT_INT8, 1, (int64_t[]){ 3 });
    bt_tensor *e = create(BT_INT8, 2, (int64_t[]){ 2, 1 });
    assert_error(bt_tensor_compare(ctx, a, b, 0, 0, &d), BT_ERR_TYPE, "int8 meets uint8");
    assert_error(bt_tensor_compare(ctx, a, c, 0, 0, &d), BT_ERR_TYPE, "dimension 0");
    assert_error(bt_tensor_compare(ctx, a, e, 0, 0, &d), BT_ERR_TYPE, "rank 1");
    bt_tensor_unref(a);
    bt_tensor_unref(b);
    bt_tensor_unref(c);
    bt_tensor_unref(e);
}

/* ---- failing allocation ---- */

static int use_tensors(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_tensor *t = NULL, *view = NULL, *cast = NULL, *dense = NULL;
    int succeeded =
        own &&
        ok_or_no_memory(bt_tensor_create(own, BT_INT32, 2, (int64_t[]){ 3, 4 }, &t)) &&
        ok_or_no_memory(bt_tensor_view(own, t, 2, (int64_t[]){ 4, 3 },
                                       (int64_t[]){ 1, 4 }, 0, &view)) &&
        ok_or_no_memory(bt_tensor_cast(own, view, BT_FLOAT32, &cast)) &&
        ok_or_no_memory(bt_tensor_dense(own, view, &dense));
    bt_tensor_unref(t);
    bt_tensor_unref(view);
    bt_tensor_unref(cast);
    bt_tensor_unref(dense);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_tensors);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_new_tensor_is_zero_aligned_and_row_major),
    TEST(test_a_raw_tensor_is_the_same_but_for_its_elements),
    TEST(test_shapes_without_elements_are_tensors),
    TEST(test_impossible_shapes_are_refused),
    TEST(test_wrapped_memory_is_shared),
    TEST(test_views_keep_their_owner_alive),
    TEST(test_views_outside_their_owner_are_refused),
    TEST(test_dense_of_a_dense_tensor_is_itself),
    TEST(test_small_integers_are_the_same_in_every_type),
    TEST(test_floats_truncate_and_saturate),
    TEST(test_integers_wrap),
    TEST(test_integers_round_once),
    TEST(test_a_strided_tensor_is_cast_in_order),
    TEST(test_differences_are_measured),
    TEST(test_nan_and_infinity_equal_themselves_only),
    TEST(test_long_integers_compare_exactly),
    TEST(test_other_types_do_not_compare),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
