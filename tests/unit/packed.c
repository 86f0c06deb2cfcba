/* Packed element types: bits in memory, views, files. */
#include "setup.h"

#include <baton/value.h>

#include <math.h>
#include <string.h>

static const bt_dtype all_packed[] = {
#define BT_PACKED(UPPER, name, class_, bits, carrier) BT_##UPPER,
#include <baton/dtypes.def>
};

/* Elements 0, 1, 2, ..., each the low bits of its position. */
static bt_tensor *counting(bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_create(ctx, dtype, rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_packed_set(t->data, i, (int)BT_DTYPE_BITS(dtype), (uint8_t)i);
    return t;
}

static void test_elements_have_bits_and_no_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(all_packed); i++) {
        const bt_dtype d = all_packed[i];
        int64_t nbytes;
        assert_int_equal(bt_dtype_nbytes(d), 0);
        assert_int_equal(bt_dtype_nbits(d), BT_DTYPE_BITS(d));
        assert_true(bt_dtype_is_stored(d) && bt_dtype_is_packed(d));
        assert_false(bt_dtype_is_packed(bt_dtype_carrier(d)));
        for (int64_t n = 0; n < 20; n++) {
            assert_true(bt_elements_nbytes(d, n, &nbytes));
            assert_int_equal(nbytes, (n * BT_DTYPE_BITS(d) + 7) / 8);
        }
        assert_true(bt_elements_nbytes(d, INT64_MAX, &nbytes) && nbytes > 0);
    }
    assert_int_equal(bt_dtype_carrier(BT_FLOAT16), BT_FLOAT16);
    assert_int_equal(bt_dtype_nbits(BT_FLOAT16), 16);
}

static void test_the_first_element_has_the_lowest_bits(void **state)
{
    (void)state;
    const int64_t n = 5;
    bt_tensor *t = counting(BT_INT4, 1, &n);
    assert_int_equal(bt_tensor_nbytes(t), 3);
    assert_memory_equal(t->data, "\x10\x32\x04", 3);
    bt_tensor_set_int(t, 4, -1);
    bt_tensor_set(t, 1, -100);
    assert_memory_equal(t->data, "\x80\x32\x0f", 3);
    assert_int_equal(bt_tensor_get_int(t, 4), -1);
    assert_true(bt_tensor_get(t, 1) == -8);
    bt_tensor_unref(t);
    t = counting(BT_UINT2, 1, &n);
    assert_memory_equal(t->data, "\xe4\x00", 2);
    bt_tensor_unref(t);
}

/* Every code, and every float near a tie, against the list of all numbers. */
static void test_float4_rounds_to_the_nearest(void **state)
{
    (void)state;
    static const double sizes[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6, 8 };
    for (uint32_t k = 0; k < 8; k++) {
        const double tie = (sizes[k] + sizes[k + 1]) / 2;
        assert_true((double)bt_float4_e2m1fn_to_float((uint8_t)k) == sizes[k]);
        assert_true((double)bt_float4_e2m1fn_to_float((uint8_t)(k | 8)) == -sizes[k]);
        assert_true(signbit(bt_float4_e2m1fn_to_float((uint8_t)(k | 8))));
        for (int sign = 0; sign < 2; sign++) {
            const double s = sign ? -1 : 1;
            const uint32_t up = k < 7 ? k + 1 : 7, even = k % 2 ? up : k;
            assert_int_equal(bt_float4_e2m1fn_from_double(s * sizes[k]), k | sign << 3);
            assert_int_equal(bt_float4_e2m1fn_from_double(s * tie), even | sign << 3);
            assert_int_equal(bt_float4_e2m1fn_from_double(s * nextafter(tie, 0)),
                             k | sign << 3);
            assert_int_equal(bt_float4_e2m1fn_from_double(s * nextafter(tie, 9)),
                             up | sign << 3);
        }
    }
    assert_int_equal(bt_float4_e2m1fn_from_double((double)NAN), 7);
    assert_int_equal(bt_float4_e2m1fn_from_double((double)INFINITY), 7);
    assert_int_equal(bt_float4_e2m1fn_from_double(-(double)INFINITY), 15);
}

/* A view at any element, of any length: the right elements, and zeros behind when it is
 * dense. */
static void test_views_begin_anywhere(void **state)
{
    (void)state;
    const int64_t n = 13;
    for (uint32_t d = 0; d < BT_COUNT(all_packed); d++) {
        const int width = (int)BT_DTYPE_BITS(all_packed[d]);
        bt_tensor *t = counting(all_packed[d], 1, &n);
        for (int64_t first = 0; first < n; first++) {
            for (int64_t count = 1; first + count <= n; count++) {
                bt_tensor *view, *dense, *want;
                assert_ok(ctx, bt_tensor_view(ctx, t, 1, &count, (int64_t[]){ 1 }, first,
                                              &view));
                assert_ok(ctx, bt_tensor_dense(ctx, view, &dense));
                assert_ok(ctx, bt_tensor_create(ctx, all_packed[d], 1, &count, &want));
                for (int64_t i = 0; i < count; i++)
                    bt_packed_set(want->data, i, width, (uint8_t)(first + i));
                assert_memory_equal(dense->data, want->data, bt_tensor_nbytes(want));
                bt_tensor_unref(want);
                bt_tensor_unref(dense);
                bt_tensor_unref(view);
            }
        }
        bt_tensor_unref(t);
    }
}

static void test_views_may_have_any_strides(void **state)
{
    (void)state;
    bt_tensor *t = counting(BT_UINT4, 2, (int64_t[]){ 3, 5 }), *view, *dense, *wide;
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, (int64_t[]){ 5, 3 }, (int64_t[]){ -1, 5 }, 4,
                                  &view));
    assert_ok(ctx, bt_tensor_dense(ctx, view, &dense));
    assert_ok(ctx, bt_tensor_cast(ctx, view, BT_FLOAT32, &wide));
    for (int64_t i = 0; i < 15; i++) {
        assert_int_equal(bt_tensor_get_int(dense, i), 4 - i / 3 + i % 3 * 5);
        assert_true(bt_tensor_get(wide, i) == (double)(4 - i / 3 + i % 3 * 5));
    }
    bt_tensor_unref(wide);
    bt_tensor_unref(dense);
    bt_tensor_unref(view);
    bt_tensor_unref(t);
}

static void test_npy_has_the_bytes(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < BT_COUNT(all_packed); d++) {
        bt_tensor *t = counting(all_packed[d], 2, (int64_t[]){ 3, 5 }), *bytes, *back;
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        assert_ok(ctx, bt_npy_write(ctx, t, &text));
        assert_ok(ctx, bt_npy_read(ctx, "x.npy", text.at, text.len, &bytes));
        assert_int_equal(bytes->dtype, BT_UINT8);
        assert_int_equal(bytes->nelem, bt_tensor_nbytes(t));
        ((uint8_t *)bytes->data)[bytes->nelem - 1] |= 0xc0; // behind the last element
        assert_ok(ctx, bt_tensor_of_bits(ctx, bytes, t->dtype, 2, t->dims, &back));
        assert_non_null(back);
        assert_memory_equal(back->data, t->data, bt_tensor_nbytes(t));
        bt_tensor_unref(back);
        assert_ok(ctx,
                  bt_tensor_of_bits(ctx, bytes, t->dtype, 1, (int64_t[]){ 40 }, &back));
        assert_null(back);
        bt_tensor_unref(bytes);
        bt_tensor_unref(t);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(test_elements_have_bits_and_no_bytes),
    TEST(test_the_first_element_has_the_lowest_bits),
    TEST(test_float4_rounds_to_the_nearest),
    TEST(test_views_begin_anywhere),
    TEST(test_views_may_have_any_strides),
    TEST(test_npy_has_the_bytes),
};
TEST_MAIN(tests)
