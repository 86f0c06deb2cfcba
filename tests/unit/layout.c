/* Layouts: what is read, what is refused. */
#include "setup.h"

#include <baton/ir.h>

static void test_a_blocked_layout_is_read(void **state)
{
    (void)state;
    const bt_layout *layout = bt_layout_parse(store, "OIHW:OIHW4i16o4i");
    assert_non_null(layout);
    assert_string_equal(layout->text, "OIHW:OIHW4i16o4i");
    assert_int_equal(layout->nlogical, 4);
    assert_int_equal(layout->nphysical, 7);
    static const uint32_t axes[] = { 0, 1, 2, 3, 1, 0, 1 };
    static const int64_t factors[] = { 0, 0, 0, 0, 4, 16, 4 };
    for (int i = 0; i < 7; i++) {
        assert_int_equal(layout->physical[i].axis, axes[i]);
        assert_int_equal(layout->physical[i].factor, factors[i]);
    }
    assert_ptr_equal(bt_layout_parse(store, "OIHW:OIHW4i16o4i"), layout);
    assert_ptr_not_equal(bt_layout_parse(store, "OIHW:OIHW4i16o2i"), layout);
    assert_int_equal(bt_layout_parse(store, "NCHW:NHWC")->physical[1].axis, 2);
}

static void test_malformed_layouts_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        ":",
        "NCHW",
        "NCHW:",
        "NCHW:NCH",
        "NCHW:NCHWW",
        "NCHH:NCHH",
        "NCHW:NCHW16",
        "NCHW:NCHWc",
        "NCHW:NCHW0c",
        "NCHW:16cNCHW",
        "NCHW:NCHW016c",
        "NCHW:NCHW16d",
        "NCHW:NCHW-2c",
        "nchw:nchw",
        "NCHW:NCHW 16c",
        "NCHW:NCHW16c ",
        "NCHW:NCHW4294967296c4294967296c",
        "NCHW:NCHW99999999999999999999c",
        "N:N2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n2n",
    };
    for (uint32_t i = 0; i < BT_COUNT(wrong); i++) {
        if (bt_layout_parse(store, wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
    }
}

static void test_row_major_is_no_layout(void **state)
{
    (void)state;
    const bt_type *plain =
        bt_type_tensor_of(store, BT_FLOAT32, 4, (int64_t[]){ 1, 32, 8, 8 });
    const bt_tensor_type *t = bt_as_tensor_type(plain);
    const bt_layout *identity = bt_layout_parse(store, "NCHW:NCHW");
    const bt_layout *blocked = bt_layout_parse(store, "NCHW:NCHW16c");
    assert_ptr_equal(bt_type_tensor_layout(store, t->shape, t->dtype, identity), plain);
    const bt_type *other = bt_type_tensor_layout(store, t->shape, t->dtype, blocked);
    assert_ptr_not_equal(other, plain);
    assert_ptr_equal(bt_as_tensor_type(other)->layout, blocked);
    assert_ptr_equal(other, bt_type_tensor_layout(store, t->shape, t->dtype, blocked));
}

static void test_a_layout_has_the_axes_of_the_tensor(void **state)
{
    (void)state;
    const bt_type *two[] = { bt_dim(store, 4), bt_dim(store, 8) };
    const bt_type *shape = bt_type_shape(store, 2, two);
    const bt_type *open = bt_type_hole(store, BT_KIND_SHAPE);
    const bt_type *dtype = bt_type_dtype(store, BT_FLOAT32);
    const bt_layout *layout = bt_layout_parse(store, "NCHW:NCHW4c");
    assert_null(bt_type_tensor_layout(store, shape, dtype, layout));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "an axis for each dim");
    assert_non_null(bt_type_tensor_layout(store, open, dtype, layout));
    layout = bt_layout_parse(store, "NC:NC4c");
    assert_non_null(bt_type_tensor_layout(store, shape, dtype, layout));
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_a_blocked_layout_is_read),
    TEST(test_malformed_layouts_are_refused),
    TEST(test_row_major_is_no_layout),
    TEST(test_a_layout_has_the_axes_of_the_tensor),
};
// clang-format on
TEST_MAIN(tests)
