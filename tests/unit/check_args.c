/* Arguments of a run: counts, kinds, dtypes, dims by number and by name. */
#include "solve_kit.h"

#include <baton/executor.h>

#include "base/ctx.h"

/* A function whose parameters have these types. */
static bt_module *takes(kit *k, uint32_t n, const bt_type *const *types, uint32_t nvar,
                        const bt_type *const *vars)
{
    static const char *const names[] = { "a", "b", "c" };
    const bt_param *params[3];
    for (uint32_t i = 0; i < n; i++)
        params[i] = param(k, names[i], types[i]);
    begin(k, n, params);
    const bt_block *block = end(k, &params[0]->base);
    define(k, "main", func(k, block, NULL, nvar, vars));
    return finish(k);
}

static bt_object *tensor(kit *k, bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *out = NULL;
    assert_ok(k->ctx, bt_tensor_create(k->ctx, dtype, rank, dims, &out));
    return &out->base;
}
#define TENSOR(k, dtype, ...)                                              \
    tensor(k, dtype, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
           (int64_t[]){ __VA_ARGS__ })

/* Checks and gives the arguments back. */
static bt_status check(kit *k, const bt_module *m, uint32_t n, bt_object *const *args)
{
    bt_status status = bt_check_args(k->ctx, m, bt_module_find(m, "main"), n, args, NULL);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}
#define CHECK(k, m, ...)                                                      \
    check(k, m, sizeof((bt_object *[]){ __VA_ARGS__ }) / sizeof(bt_object *), \
          (bt_object *[]){ __VA_ARGS__ })

static void test_static_types(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = tensor2(&k, num(&k, 2), num(&k, 3));
    bt_module *m = takes(&k, 1, &t, 0, NULL);
    assert_ok(k.ctx, CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 2, 3)));
    assert_error(CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 2, 4)), BT_ERR_ARGUMENT,
                 "@main: argument 0 (%a) has dim 1 = 4, expected 3");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 6)), BT_ERR_ARGUMENT,
                 "has rank 1, expected 2");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_INT64, 2, 3)), BT_ERR_ARGUMENT,
                 "has dtype int64, expected float32");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 2, 3), TENSOR(&k, BT_FLOAT32, 2, 3)),
                 BT_ERR_ARGUMENT, "@main takes 1 argument, found 2");
    assert_error(CHECK(&k, m, NULL), BT_ERR_ARGUMENT, "is missing");
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_named_dims_are_equal_everywhere(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_type_param row = { .kind = BT_KIND_DIM, .low = 2, .high = 8, .step = 2 };
    const bt_type *n = bt_type_var(k.store, &row, "n");
    const bt_type *twice = bt_dim_scale(k.store, n, 2, 1);
    // [2 * n + 1] comes before n is known.
    const bt_type *types[] = { tensor1(&k, twice), tensor1(&k, n), tensor2(&k, n, n) };
    bt_module *m = takes(&k, 3, types, 1, &n);
#define VECTORS(a, b, c, d) \
    TENSOR(&k, BT_FLOAT32, a), TENSOR(&k, BT_FLOAT32, b), TENSOR(&k, BT_FLOAT32, c, d)
    assert_ok(k.ctx, CHECK(&k, m, VECTORS(9, 4, 4, 4)));
    assert_error(CHECK(&k, m, VECTORS(9, 4, 4, 2)), BT_ERR_ARGUMENT,
                 "argument 2 (%c) says by dim 1 that n is 2, which is 4 by dim 0 of "
                 "argument 1 (%b)");
    assert_error(CHECK(&k, m, VECTORS(8, 4, 4, 4)), BT_ERR_ARGUMENT,
                 "argument 0 (%a) has dim 0 = 8, expected 9");
    assert_error(CHECK(&k, m, VECTORS(21, 10, 10, 10)), BT_ERR_ARGUMENT,
                 "argument 1 (%b) has n = 10, outside 2..8");
    assert_error(CHECK(&k, m, VECTORS(7, 3, 3, 3)), BT_ERR_ARGUMENT,
                 "which is no multiple of 2");
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_sums_tell_the_dim_that_is_not_known(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *m = dim_var(&k, "m"), *vars[] = { n, m };
    const bt_type *sum = bt_dim_add(k.store, n, m);
    const bt_type *types[] = { tensor1(&k, sum),
                               tensor1(&k, bt_dim_scale(k.store, m, 3, 1)) };
    bt_module *module = takes(&k, 2, types, 2, vars);
    bt_object *args[] = { TENSOR(&k, BT_FLOAT32, 5), TENSOR(&k, BT_FLOAT32, 7) };
    int64_t dims[2];
    assert_ok(k.ctx, bt_check_args(k.ctx, module, bt_module_find(module, "main"), 2, args,
                                   dims));
    assert_int_equal(dims[0], 3);
    assert_int_equal(dims[1], 2);
    bt_object_unref(args[0]);
    bt_object_unref(args[1]);
    assert_error(CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 5), TENSOR(&k, BT_FLOAT32, 8)),
                 BT_ERR_ARGUMENT,
                 "argument 1 (%b) has dim 0 = 8, which no integer m gives");
    assert_error(CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 1), TENSOR(&k, BT_FLOAT32, 7)),
                 BT_ERR_ARGUMENT, "argument 0 (%a) has n = -1, outside 0..");
    bt_module_unref(module);
    kit_destroy(&k);
}

static void test_a_dim_that_nothing_shows_has_no_value(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *m = dim_var(&k, "m"), *vars[] = { n, m };
    const bt_type *type = tensor1(&k, bt_dim_add(k.store, n, m));
    bt_module *module = takes(&k, 1, &type, 2, vars);
    bt_object *arg = TENSOR(&k, BT_FLOAT32, 5);
    int64_t dims[2];
    assert_ok(k.ctx, bt_check_args(k.ctx, module, bt_module_find(module, "main"), 1, &arg,
                                   dims));
    assert_int_equal(dims[0], -1);
    bt_object_unref(arg);
    bt_module_unref(module);
    kit_destroy(&k);
}

/* Nor is it an error, of which the context would keep one for each call. */
static void test_a_product_that_nothing_shows_is_left_alone(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *m = dim_var(&k, "m"), *vars[] = { n, m };
    const bt_type *type = tensor1(&k, bt_dim_mul(k.store, n, m));
    bt_module *module = takes(&k, 1, &type, 2, vars);
    const void *mark = bt_arena_mark(k.ctx->diags);
    assert_ok(k.ctx, CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 5)));
    assert_ptr_equal(bt_arena_mark(k.ctx->diags), mark);
    bt_module_unref(module);
    kit_destroy(&k);
}

static void test_sizes_that_overflow_others_are_refused(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *m = dim_var(&k, "m"), *vars[] = { n, m };
    const bt_type *square = bt_dim_mul(k.store, m, m);
    const bt_type *fourth = bt_dim_mul(k.store, square, square);
    const bt_type *types[] = { tensor1(&k, m),
                               tensor1(&k, bt_dim_add(k.store, n, fourth)) };
    bt_module *module = takes(&k, 2, types, 2, vars);
    assert_ok(k.ctx,
              CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 3), TENSOR(&k, BT_FLOAT32, 85)));
    assert_error(
        CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 65536), TENSOR(&k, BT_FLOAT32, 5)),
        BT_ERR_ARGUMENT,
        "argument 1 (%b) has dim 0 = 5, where other sizes overflow 64 bits");
    bt_module_unref(module);
    types[1] = tensor1(&k, fourth);
    assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, NULL, &k.module));
    module = takes(&k, 2, types, 2, vars);
    assert_error(
        CHECK(&k, module, TENSOR(&k, BT_FLOAT32, 65536), TENSOR(&k, BT_FLOAT32, 5)),
        BT_ERR_ARGUMENT, "where other sizes overflow 64 bits");
    bt_module_unref(module);
    kit_destroy(&k);
}

static void test_shape_and_dtype_variables(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *s = kind_var(&k, BT_KIND_SHAPE, "s");
    const bt_type *t = kind_var(&k, BT_KIND_DTYPE, "t");
    const bt_type *three = num(&k, 3), *vars[] = { s, t };
    const bt_type *types[] = {
        bt_type_tensor(k.store, s, t),
        bt_type_tensor(k.store, bt_type_shape_rest(k.store, 1, &three, 0, s), t),
    };
    bt_module *m = takes(&k, 2, types, 2, vars);
    assert_ok(k.ctx,
              CHECK(&k, m, TENSOR(&k, BT_INT8, 5, 6), TENSOR(&k, BT_INT8, 5, 6, 3)));
    assert_error(CHECK(&k, m, TENSOR(&k, BT_INT8, 5, 6), TENSOR(&k, BT_INT8, 5, 7, 3)),
                 BT_ERR_ARGUMENT, "has another shape for s than an earlier argument");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_INT8, 5, 6), TENSOR(&k, BT_INT8, 5, 6, 4)),
                 BT_ERR_ARGUMENT, "has dim 2 = 4, expected 3");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_INT8, 5, 6), TENSOR(&k, BT_INT16, 5, 6, 3)),
                 BT_ERR_ARGUMENT, "has dtype int16, expected int8");
    assert_error(CHECK(&k, m, TENSOR(&k, BT_INT8, 5), tensor(&k, BT_INT8, 0, NULL)),
                 BT_ERR_ARGUMENT, "has rank 0, expected at least 1");
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_tuples_and_data_types(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *box;
    bt_ctor ctors[] = { { .name = "Empty" } };
    assert_ok(k.ctx, bt_module_builder_declare_adt(k.module, "Box", 0, 0, NULL, &box));
    assert_ok(k.ctx, bt_module_builder_define_adt(k.module, box, 1, ctors));
    const bt_type *v = tensor1(&k, num(&k, 2)), *fields[] = { v, v };
    const bt_type *types[] = { bt_type_tuple(k.store, 2, fields),
                               bt_type_apply(k.store, box, 0, NULL) };
    bt_module *m = takes(&k, 2, types, 0, NULL);
    bt_object *good = TENSOR(&k, BT_FLOAT32, 2), *bad = TENSOR(&k, BT_FLOAT32, 3);
    bt_object *parts[] = { good, bad };
    bt_tuple *both, *mixed, *one;
    bt_adt *empty, *strange;
    assert_ok(k.ctx, bt_tuple_create(k.ctx, 2, (bt_object *[]){ good, good }, &both));
    assert_ok(k.ctx, bt_tuple_create(k.ctx, 2, parts, &mixed));
    assert_ok(k.ctx, bt_tuple_create(k.ctx, 1, parts, &one));
    assert_ok(k.ctx, bt_adt_create(k.ctx, 0, "Empty", 0, NULL, &empty));
    assert_ok(k.ctx, bt_adt_create(k.ctx, 4, "Strange", 0, NULL, &strange));
#define REFS(a, b) bt_object_ref(&(a)->base), bt_object_ref(&(b)->base)
    assert_ok(k.ctx, CHECK(&k, m, REFS(both, empty)));
    assert_error(CHECK(&k, m, REFS(mixed, empty)), BT_ERR_ARGUMENT,
                 "argument 0 (%a) has dim 0 = 3, expected 2");
    assert_error(CHECK(&k, m, REFS(one, empty)), BT_ERR_ARGUMENT,
                 "is a tuple of 1, expected 2 fields");
    assert_error(CHECK(&k, m, REFS(empty, empty)), BT_ERR_ARGUMENT, "is no tuple");
    assert_error(CHECK(&k, m, REFS(both, both)), BT_ERR_ARGUMENT, "is no value of Box");
    assert_error(CHECK(&k, m, REFS(both, strange)), BT_ERR_ARGUMENT,
                 "it has no such constructor");
    bt_object *all[] = { good,       bad,          &both->base,   &mixed->base,
                         &one->base, &empty->base, &strange->base };
    for (uint32_t i = 0; i < BT_COUNT(all); i++)
        bt_object_unref(all[i]);
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_functions_references_and_unknown_types(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *v = tensor1(&k, num(&k, 2));
    const bt_func_type fields = { .narg = 1, .args = &v, .result = v };
    const bt_type *types[] = { bt_type_func(k.store, &fields), bt_type_ref(k.store, v),
                               NULL };
    for (int i = 0; i < 2; i++) {
        bt_module *m = takes(&k, 1, &types[i], 0, NULL);
        assert_error(CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 2)), BT_ERR_ARGUMENT,
                     i ? "is no reference" : "is no function");
        bt_module_unref(m);
        assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, NULL, &k.module));
    }
    bt_module *m = takes(&k, 1, &types[2], 0, NULL);
    assert_ok(k.ctx, CHECK(&k, m, TENSOR(&k, BT_FLOAT32, 2)));
    bt_module_unref(m);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_static_types),
    cmocka_unit_test(test_named_dims_are_equal_everywhere),
    cmocka_unit_test(test_sums_tell_the_dim_that_is_not_known),
    cmocka_unit_test(test_a_dim_that_nothing_shows_has_no_value),
    cmocka_unit_test(test_a_product_that_nothing_shows_is_left_alone),
    cmocka_unit_test(test_sizes_that_overflow_others_are_refused),
    cmocka_unit_test(test_shape_and_dtype_variables),
    cmocka_unit_test(test_tuples_and_data_types),
    cmocka_unit_test(test_functions_references_and_unknown_types),
};
TEST_MAIN(tests)
