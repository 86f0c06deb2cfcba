/* Type relations derived from formulas, and the patterns of inputs. */
#include "failing_allocator.h"
#include "solve_kit.h"

#include "ir/type_match.h"

struct window {
    int64_t sh, sw, pt;
};
static const bt_attr window_attrs[] = {
    BT_ATTR(struct window, sh, INT, "1", ""),
    BT_ATTR(struct window, sw, INT, "1", ""),
    BT_ATTR(struct window, pt, INT, "0", ""),
    { 0 },
};

#define INPUTS(...) ((const bt_op_input[]){ __VA_ARGS__, { 0 } })

static const bt_op dense = {
    .name = "test.dense",
    .inputs = INPUTS({ "data", "t:number[m, k]", 0, 0, 0 }, { "weight", "t[n, k]", 0, 0, 0 }),
    .formula = "y: t[m, n] = sum(k: data[m, k] * weight[n, k])",
};
/* The same without names for dims in the patterns: reads alone make them equal. */
static const bt_op dense_by_reads = {
    .name = "test.dense_by_reads",
    .inputs = INPUTS({ "data", "t[a, b]", 0, 0, 0 }, { "weight", "t[c, d]", 0, 0, 0 }),
    .formula = "y: t[i, j] = sum(k: data[i, k] * weight[j, k])",
};
static const bt_op relu = {
    .name = "test.relu",
    .inputs = INPUTS({ "data", "t[..]", 0, 0, 0 }),
    .formula = "y: t[..] = max(data[..], 0)",
};
static const bt_op add = {
    .name = "test.add",
    .inputs = INPUTS({ "a", "t[..]", 0, 0, 0 }, { "b", "t[..]", 0, 0, 0 }),
    .formula = "y: t[..] = a[..] + b[..]",
};
static const bt_op pool = {
    .name = "test.pool",
    .inputs = INPUTS({ "data", "t[n, h, w]", 0, 0, 0 }),
    .attrs = window_attrs,
    .attrs_nbytes = sizeof(struct window),
    .formula = "oh = floordiv(h + 2*pt - 3, sh) + 1; ow = ceildiv(w, sw);"
               "y: t[n, i in oh, j in ow] = max(r in 3: data[n, i*sh + r - pt, j*sw] "
               "else 0)",
};
static const bt_op parts = {
    .name = "test.parts",
    .inputs = INPUTS({ "data", "t:float[n, ..]", 0, 0, 0 }),
    .formula = "m: t[..] = max(n: data[n, ..]); f: bool[n, ..] = data[n, ..] == m[..];"
               "-> m, f",
};

static bt_status type_call(kit *k, const bt_op *op, const void *attrs, uint32_t narg,
                           const bt_type *const *types, const bt_type **out)
{
    const bt_param *params[3];
    const bt_value *args[3], *result;
    for (uint32_t i = 0; i < narg; i++) {
        params[i] = param(k, "x", types[i]);
        args[i] = &params[i]->base;
    }
    begin(k, narg, params);
    bt_builder_set_infer(k->b, 1);
    bt_status status = bt_build_op(k->b, op, attrs, narg, args, &result);
    if (status)
        return status;
    *out = result->type;
    (void)end(k, result);
    return NULL;
}

static void test_dims_keep_their_names(void **state)
{
    (void)state;
    const bt_op *ops[] = { &dense, &dense_by_reads };
    for (uint32_t i = 0; i < 2; i++) {
        kit k = kit_create();
        const bt_type *m = dim_var(&k, "m"), *n = dim_var(&k, "n"), *c = dim_var(&k, "c");
        const bt_type *args[] = { tensor2(&k, m, c), tensor2(&k, n, c) }, *out = NULL;
        assert_ok(k.ctx, type_call(&k, ops[i], NULL, 2, args, &out));
        assert_ptr_equal(out, tensor2(&k, m, n));
        kit_destroy(&k);
    }
}

static void test_dims_that_differ_are_refused(void **state)
{
    (void)state;
    const bt_op *ops[] = { &dense, &dense_by_reads };
    for (uint32_t i = 0; i < 2; i++) {
        kit k = kit_create();
        const bt_type *args[] = { tensor2(&k, num(&k, 2), num(&k, 3)),
                                  tensor2(&k, num(&k, 2), num(&k, 4)) };
        const bt_type *out;
        assert_error(type_call(&k, ops[i], NULL, 2, args, &out), BT_ERR_SHAPE,
                     "must be equal, but are 3 and 4");
        kit_destroy(&k);
    }
}

static void test_rest_may_be_a_shape_variable(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *s = kind_var(&k, BT_KIND_SHAPE, "s");
    const bt_type *x = bt_type_tensor(k.store, s, f32(&k)), *out = NULL;
    assert_ok(k.ctx, type_call(&k, &relu, NULL, 1, &x, &out));
    assert_ptr_equal(out, x);
    kit_destroy(&k);
}

static void test_rest_broadcasts(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_type *args[] = { tensor2(&k, n, num(&k, 1)), tensor1(&k, num(&k, 5)) };
    const bt_type *out = NULL;
    assert_ok(k.ctx, type_call(&k, &add, NULL, 2, args, &out));
    assert_ptr_equal(out, tensor2(&k, n, num(&k, 5)));
    kit_destroy(&k);
}

static void test_extents_are_terms_of_dims_and_attributes(void **state)
{
    (void)state;
    kit k = kit_create();
    struct window a = { 2, 3, 1 };
    const bt_type *h = dim_var(&k, "h"), *w = dim_var(&k, "w"), *out = NULL;
    const bt_type *dims[] = { num(&k, 4), h, w };
    const bt_type *x = bt_type_tensor(k.store, bt_type_shape(k.store, 3, dims), f32(&k));
    assert_ok(k.ctx, type_call(&k, &pool, &a, 1, &x, &out));
    const bt_shape_type *shape = bt_tensor_shape(out);
    assert_non_null(shape);
    assert_int_equal(shape->n, 3);
    assert_ptr_equal(shape->dims[0], num(&k, 4));
    const bt_type *inside = bt_dim_scale(k.store, h, 1, -1);
    const bt_type *oh =
        bt_dim_scale(k.store, bt_dim_floordiv(k.store, inside, num(&k, 2)), 1, 1);
    assert_ptr_equal(shape->dims[1], oh);
    assert_ptr_equal(shape->dims[2], bt_dim_ceildiv(k.store, w, num(&k, 3)));
    kit_destroy(&k);
}

static void test_several_results_are_a_tuple(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *out = NULL;
    const bt_type *x = tensor2(&k, n, num(&k, 7));
    assert_ok(k.ctx, type_call(&k, &parts, NULL, 1, &x, &out));
    const bt_list_type *tuple = bt_as_tuple_type(out);
    assert_non_null(tuple);
    assert_int_equal(tuple->n, 2);
    assert_ptr_equal(tuple->at[0], tensor1(&k, num(&k, 7)));
    assert_int_equal(bt_tensor_dtype(tuple->at[1]), BT_BOOL);
    assert_ptr_equal(bt_tensor_shape(tuple->at[1])->dims[0], n);
    kit_destroy(&k);
}

static void test_patterns_refuse_ranks_and_dtypes(void **state)
{
    (void)state;
    const bt_type *out;
    kit k = kit_create();
    const bt_type *args[] = { tensor1(&k, num(&k, 3)),
                              tensor2(&k, num(&k, 2), num(&k, 3)) };
    assert_error(type_call(&k, &dense, NULL, 2, args, &out), BT_ERR_TYPE,
                 "data has 1 dim, but must have 2");
    kit_destroy(&k);
    k = kit_create();
    const bt_type *flags =
        bt_type_tensor_of(k.store, BT_BOOL, 2, (const int64_t[]){ 2, 3 });
    const bt_type *both[] = { flags, flags };
    assert_error(type_call(&k, &dense, NULL, 2, both, &out), BT_ERR_TYPE,
                 "elements of data are bool, but must be number");
    kit_destroy(&k);
    k = kit_create();
    const bt_type *mixed[] = { tensor2(&k, num(&k, 2), num(&k, 3)),
                               bt_type_tensor_of(k.store, BT_INT8, 2,
                                                 (const int64_t[]){ 2, 3 }) };
    assert_error(type_call(&k, &dense, NULL, 2, mixed, &out), BT_ERR_TYPE,
                 "dtypes of data and of weight");
    kit_destroy(&k);
}

/* ---- without memory ---- */

static bt_status build_calls(bt_builder *b, bt_store *store)
{
    struct window a = { 2, 3, 1 };
    const bt_param *x, *v;
    const bt_value *y;
    const bt_type *n = bt_dim_opaque(store, NULL), *dims[3] = { n, n, n };
    const bt_type *dtype = bt_type_dtype(store, BT_FLOAT32);
    const bt_type *square = n ? bt_type_shape(store, 2, dims) : NULL;
    const bt_type *cubic = n ? bt_type_shape(store, 3, dims) : NULL;
    const bt_type *matrix = square && dtype ? bt_type_tensor(store, square, dtype) : NULL;
    const bt_type *cube = cubic && dtype ? bt_type_tensor(store, cubic, dtype) : NULL;
    if (!matrix || !cube)
        return bt_no_memory();
    BT_TRY(bt_build_param(b, "x", matrix, &x));
    BT_TRY(bt_build_param(b, "v", cube, &v));
    BT_TRY(bt_block_begin(b, 2, (const bt_param *[]){ x, v }));
    const bt_value *pair[2] = { &x->base, &x->base }, *single = &v->base;
    BT_TRY(bt_build_op(b, &dense, NULL, 2, pair, &y));
    BT_TRY(bt_build_op(b, &add, NULL, 2, pair, &y));
    BT_TRY(bt_build_op(b, &parts, NULL, 1, &pair[0], &y));
    return bt_build_op(b, &pool, &a, 1, &single, &y);
}

static int relate_all(const bt_allocator *allocator)
{
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_store *store = registry ? bt_store_create(registry) : NULL;
    bt_builder *b = NULL;
    int ok = ctx && store && ok_or_no_memory(bt_builder_create(ctx, store, NULL, &b)) &&
             ok_or_no_memory(build_calls(b, store));
    bt_builder_destroy(b);
    bt_store_unref(store);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return ok;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation(relate_all);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_dims_keep_their_names),
    cmocka_unit_test(test_dims_that_differ_are_refused),
    cmocka_unit_test(test_rest_may_be_a_shape_variable),
    cmocka_unit_test(test_rest_broadcasts),
    cmocka_unit_test(test_extents_are_terms_of_dims_and_attributes),
    cmocka_unit_test(test_several_results_are_a_tuple),
    cmocka_unit_test(test_patterns_refuse_ranks_and_dtypes),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
