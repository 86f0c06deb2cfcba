/* Terms: interning, kinds, what constructors refuse. */
#include "setup.h"

#include "ir/store.h"

static const bt_type *new_var(uint32_t kind)
{
    return bt_type_var(store, &(bt_type_param){ .kind = kind }, "v");
}

static void test_equal_structure_is_one_pointer(void **state)
{
    (void)state;
    const bt_type *a = bt_type_tensor_of(store, BT_FLOAT32, 2, (int64_t[]){ 3, 4 });
    const bt_type *b = bt_type_tensor_of(store, BT_FLOAT32, 2, (int64_t[]){ 3, 4 });
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, bt_type_tensor_of(store, BT_INT32, 2, (int64_t[]){ 3, 4 }));
    assert_ptr_not_equal(a, bt_type_tensor_of(store, BT_FLOAT32, 2, (int64_t[]){ 4, 3 }));
    assert_ptr_not_equal(a, bt_type_tensor_of(store, BT_FLOAT32, 1, (int64_t[]){ 3 }));
    const bt_type *pair[] = { a, bt_type_scalar(store, BT_BOOL) };
    const bt_type *tuple = bt_type_tuple(store, 2, pair);
    assert_ptr_equal(tuple, bt_type_tuple(store, 2, pair));
    assert_ptr_not_equal(tuple, bt_type_tuple(store, 1, pair));
    assert_ptr_equal(bt_type_ref(store, tuple), bt_type_ref(store, tuple));
    assert_ptr_not_equal(bt_type_ref(store, a), bt_type_tuple(store, 1, &a));
    assert_ptr_equal(bt_type_tuple(store, 0, NULL), bt_type_tuple(store, 0, NULL));
    assert_ptr_equal(bt_type_hole(store, BT_KIND_DIM), bt_type_hole(store, BT_KIND_DIM));
    assert_ptr_not_equal(bt_type_hole(store, BT_KIND_DIM),
                         bt_type_hole(store, BT_KIND_TYPE));
}

static void test_variables_are_fresh(void **state)
{
    (void)state;
    assert_ptr_not_equal(new_var(BT_KIND_TYPE), new_var(BT_KIND_TYPE));
    assert_ptr_not_equal(bt_dim_opaque(store, "a"), bt_dim_opaque(store, "a"));
}

static void test_parts_of_tensors(void **state)
{
    (void)state;
    const bt_type *t = bt_type_tensor_of(store, BT_FLOAT16, 3, (int64_t[]){ 2, 0, 5 });
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    assert_int_equal(bt_tensor_dtype(t), BT_FLOAT16);
    assert_int_equal(bt_tensor_shape(t)->n, 3);
    assert_true(bt_tensor_static(t, &rank, dims));
    assert_int_equal(rank, 3);
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 0);
    assert_int_equal(dims[2], 5);

    const bt_type *n = new_var(BT_KIND_DIM), *rest = new_var(BT_KIND_SHAPE);
    const bt_type *dtype = new_var(BT_KIND_DTYPE);
    t = bt_type_tensor(store, bt_type_shape(store, 1, &n), dtype);
    assert_int_equal(bt_tensor_dtype(t), 0);
    assert_int_equal(bt_tensor_shape(t)->n, 1);
    assert_false(bt_tensor_static(t, &rank, dims));
    t = bt_type_tensor(store, bt_type_shape_rest(store, 1, &n, 1, rest), dtype);
    assert_null(bt_tensor_shape(t));
    assert_null(bt_tensor_shape(n));
    assert_int_equal(bt_tensor_dtype(NULL), 0);
}

static void test_has_tells_what_is_inside(void **state)
{
    (void)state;
    const bt_type *n = new_var(BT_KIND_DIM), *opaque = bt_dim_opaque(store, NULL);
    const bt_type *f32 = bt_type_dtype(store, BT_FLOAT32);
    const bt_type *dims[] = { n, opaque, bt_type_hole(store, BT_KIND_DIM) };
    const bt_type *t[3];
    for (int i = 0; i < 3; i++)
        t[i] = bt_type_tensor(store, bt_type_shape(store, 1, &dims[i]), f32);
    assert_int_equal(t[0]->has, BT_HAS_VAR);
    assert_int_equal(t[1]->has, BT_HAS_OPAQUE);
    assert_int_equal(t[2]->has, BT_HAS_HOLE);
    assert_int_equal(bt_type_tuple(store, 3, t)->has,
                     BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_HOLE);
    assert_int_equal(bt_type_scalar(store, BT_BOOL)->has, 0);
}

static void test_a_bound_parameter_is_bound_by_its_function(void **state)
{
    (void)state;
    const bt_type *inner = bt_type_bound(store, BT_KIND_TYPE, 0, 0);
    const bt_type *outer = bt_type_bound(store, BT_KIND_TYPE, 1, 0);
    bt_type_param param = { .kind = BT_KIND_TYPE };
    bt_func_type fields = {
        .nparam = 1, .params = &param, .narg = 1, .args = &inner, .result = inner
    };
    const bt_type *f = bt_type_func(store, &fields);
    assert_int_equal(f->has, 0);
    assert_ptr_equal(f, bt_type_func(store, &fields));
    fields.result = outer;
    f = bt_type_func(store, &fields);
    assert_int_equal(f->has, BT_HAS_BOUND);
    assert_int_equal(f->nloose, 1);
    // Without parameters of its own a function type binds nothing.
    bt_func_type plain = { .narg = 1, .args = &inner, .result = inner };
    assert_int_equal(bt_type_func(store, &plain)->nloose, 1);
}

static void test_kinds_are_checked(void **state)
{
    (void)state;
    const bt_type *f32 = bt_type_dtype(store, BT_FLOAT32);
    const bt_type *n = new_var(BT_KIND_DIM), *shape = bt_type_shape(store, 1, &n);
    assert_null(bt_type_tensor(store, f32, f32));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "expected a Shape");
    assert_null(bt_type_tensor(store, shape, shape));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "expected a DType");
    assert_null(bt_type_shape(store, 1, &shape));
    assert_null(bt_type_tuple(store, 1, &n));
    assert_null(bt_type_ref(store, f32));
    assert_null(bt_dim_add(store, n, f32));
    assert_null(bt_dim_mul(store, shape, n));
    assert_null(bt_dim_max(store, n, f32));
    assert_null(bt_type_shape_rest(store, 1, &n, 2, new_var(BT_KIND_SHAPE)));
    assert_null(bt_type_dtype(store, 0));
    assert_null(bt_type_tensor_of(store, BT_BOOL, 33, NULL));
}

static void test_a_shape_put_in_a_shape_is_spliced(void **state)
{
    (void)state;
    const bt_type *d[5];
    for (int i = 0; i < 5; i++)
        d[i] = bt_dim(store, i + 10);
    const bt_type *rest = new_var(BT_KIND_SHAPE);
    const bt_type *ends[] = { d[0], d[4] };
    const bt_type *middle = bt_type_shape(store, 3, &d[1]);
    assert_ptr_equal(bt_type_shape_rest(store, 2, ends, 1, middle),
                     bt_type_shape(store, 5, d));
    const bt_type *inner[] = { d[1], d[2] };
    const bt_type *open = bt_type_shape_rest(store, 2, inner, 1, rest);
    const bt_type *all[] = { d[0], d[1], d[2], d[4] };
    assert_ptr_equal(bt_type_shape_rest(store, 2, ends, 1, open),
                     bt_type_shape_rest(store, 4, all, 2, rest));
    assert_ptr_equal(bt_type_shape_rest(store, 0, NULL, 0, rest), rest);
}

static void test_data_types_are_nominal(void **state)
{
    (void)state;
    const bt_type *a = new_var(BT_KIND_TYPE), *n = new_var(BT_KIND_DIM);
    const bt_type *vars[] = { a, n };
    bt_adt_def list = { .name = "List", .nvar = 2, .vars = vars }, other = list;
    const bt_type *args[] = { bt_type_scalar(store, BT_BOOL), bt_dim(store, 3) };
    const bt_type *t = bt_type_apply(store, &list, 2, args);
    assert_ptr_equal(t, bt_type_apply(store, &list, 2, args));
    assert_ptr_not_equal(t, bt_type_apply(store, &other, 2, args));
    assert_int_equal(bt_as_apply_type(t)->n, 3);
    assert_ptr_equal(bt_as_apply_type(t)->at[0], bt_type_adt(store, &list));
    assert_int_equal(bt_type_kind_of(bt_as_apply_type(t)->at[0]), BT_KIND_ADT);
    assert_int_equal(bt_type_kind_of(t), BT_KIND_TYPE);
    assert_null(bt_type_apply(store, &list, 1, args));
    const bt_type *swapped[] = { args[1], args[0] };
    assert_null(bt_type_apply(store, &list, 2, swapped));
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    const bt_type *t = bt_type_tuple(store, 0, NULL), *deepest = NULL;
    uint32_t n = 0;
    for (; t && n < 10 * BT_TYPE_DEPTH; n++) {
        deepest = t;
        t = bt_type_tuple(store, 1, &t);
    }
    assert_int_equal(deepest->depth, BT_TYPE_DEPTH);
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "nests too deeply");
    assert_null(bt_type_bound(store, BT_KIND_TYPE, BT_TYPE_DEPTH, 0));
}

static void test_ranges_of_dim_parameters_are_checked(void **state)
{
    (void)state;
    bt_type_param range = { BT_KIND_DIM, 1, 512, 8 };
    int64_t low, high;
    bt_dim_bounds(bt_type_var(store, &range, "n"), &low, &high);
    assert_int_equal(low, 8);
    assert_int_equal(high, 512);
    assert_null(bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, -1, 5, 1 }, "n"));
    assert_null(bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 6, 5, 1 }, "n"));
    assert_null(bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 9, 15, 8 }, "n"));
    assert_null(bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 0, 5, -1 }, "n"));
    assert_null(bt_type_var(store, &(bt_type_param){ 17, 0, 5, 1 }, "n"));
}

static void test_names_of_kinds(void **state)
{
    (void)state;
    assert_string_equal(bt_kind_name(BT_KIND_ADT), "AdtHandle");
    assert_string_equal(bt_kind_name(77), "?");
    assert_string_equal(bt_type_kind_name(BT_TYPE_FLOORDIV), "floordiv");
    assert_string_equal(bt_type_kind_name(BT_TYPE_COUNT), "?");
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_equal_structure_is_one_pointer),
    TEST(test_variables_are_fresh),
    TEST(test_parts_of_tensors),
    TEST(test_has_tells_what_is_inside),
    TEST(test_a_bound_parameter_is_bound_by_its_function),
    TEST(test_kinds_are_checked),
    TEST(test_a_shape_put_in_a_shape_is_spliced),
    TEST(test_data_types_are_nominal),
    TEST(test_nesting_is_limited),
    TEST(test_ranges_of_dim_parameters_are_checked),
    TEST(test_names_of_kinds),
};
// clang-format on
TEST_MAIN(tests)
