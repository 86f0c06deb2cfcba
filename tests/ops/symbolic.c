/* Types of calls on symbolic shapes: named dims go in, and the same names come out. */
#include "kit.h"

typedef struct names {
    const bt_type *n, *m;
} names;

static names begin(kit *k)
{
    const bt_type_param free_dim = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    names d = { bt_type_var(k->store, &free_dim, "n"),
                bt_type_var(k->store, &free_dim, "m") };
    assert_non_null(d.n);
    assert_non_null(d.m);
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    return d;
}

static void finish(kit *k)
{
    bt_builder_destroy(k->b);
    k->b = NULL;
}

static const bt_type *number(kit *k, int64_t n)
{
    const bt_type *dim = bt_dim(k->store, n);
    assert_non_null(dim);
    return dim;
}

static const bt_type *tensor(kit *k, bt_dtype dtype, uint32_t rank,
                             const bt_type *const *dims)
{
    const bt_type *shape = bt_type_shape(k->store, rank, dims);
    const bt_type *type = bt_type_tensor(k->store, shape, bt_type_dtype(k->store, dtype));
    assert_non_null(type);
    return type;
}
#define DIMS(...)         ((const bt_type *[]){ __VA_ARGS__ })
#define FLOATS(k, n, ...) tensor((k), BT_FLOAT32, (n), DIMS(__VA_ARGS__))

static const bt_value *param(kit *k, const bt_type *type)
{
    const bt_param *value;
    assert_ok(k->ctx, bt_build_param(k->b, "x", type, &value));
    return &value->base;
}

static const bt_value *constant(kit *k, const char *text)
{
    bt_tensor *t = read_tensor(k, &text);
    const bt_value *value = const_of(k, t);
    bt_tensor_unref(t);
    return value;
}

static const bt_value *call(kit *k, const char *op, const char *attrs, uint32_t narg,
                            const bt_value *const *args)
{
    const bt_value *value;
    assert_ok(k->ctx, bt_build(k->b, op, attrs, args, narg, &value));
    return value;
}
#define ARGS(...) ((const bt_value *[]){ __VA_ARGS__ })

static const bt_value *pair(kit *k, const bt_value *a, const bt_value *b)
{
    const bt_value *tuple;
    assert_ok(k->ctx, bt_build_tuple(k->b, 2, ARGS(a, b), &tuple));
    return tuple;
}

static const bt_contents *contents_of(const bt_value *value)
{
    return bt_as_call(value)->contents;
}

/* ---- shapes ---- */

static void test_reshape_keeps_what_it_does_not_touch(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, d.n, number(k, 6)));
    const bt_value *y = call(k, "reshape", "newshape=[-1, 2, 3]", 1, &x);
    assert_ptr_equal(y->type, FLOATS(k, 3, d.n, number(k, 2), number(k, 3)));
    x = param(k, FLOATS(k, 3, d.n, number(k, 3), d.m));
    y = call(k, "reshape", "newshape=[0, -1]", 1, &x);
    assert_ptr_equal(y->type, FLOATS(k, 2, d.n, bt_dim_scale(k->store, d.m, 3, 0)));
    y = call(k, "reshape", "newshape=[-3, -2]", 1, &x);
    assert_ptr_equal(y->type, FLOATS(k, 2, bt_dim_scale(k->store, d.n, 3, 0), d.m));
    y = call(k, "reshape", "newshape=[-1]", 1, &x);
    const bt_type *all = bt_dim_scale(k->store, bt_dim_mul(k->store, d.n, d.m), 3, 0);
    assert_ptr_equal(y->type, FLOATS(k, 1, all));
    finish(k);
}

static void test_broadcast_and_reduce_keep_names(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, d.n, number(k, 1)));
    const bt_value *y = param(k, FLOATS(k, 1, d.m));
    const bt_value *sum = call(k, "add", NULL, 2, ARGS(x, y));
    assert_ptr_equal(sum->type, FLOATS(k, 2, d.n, d.m));
    assert_int_equal(bt_as_call(sum)->ncheck, 0);
    const bt_value *less = call(k, "less", NULL, 2, ARGS(sum, sum));
    assert_ptr_equal(less->type, tensor(k, BT_BOOL, 2, DIMS(d.n, d.m)));
    const bt_value *row = call(k, "max", "axis=[0], keepdims=True", 1, &sum);
    assert_ptr_equal(row->type, FLOATS(k, 2, number(k, 1), d.m));
    const bt_value *at = call(k, "argmax", "axis=[1]", 1, &sum);
    assert_ptr_equal(at->type, tensor(k, BT_INT32, 1, DIMS(d.n)));
    finish(k);
}

static void test_extents_add_up_and_divide(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, d.n, number(k, 3)));
    const bt_value *y = param(k, FLOATS(k, 2, d.m, number(k, 3))), *tuple = pair(k, x, y);
    const bt_value *both = call(k, "concatenate", "axis=0", 1, &tuple);
    assert_ptr_equal(both->type,
                     FLOATS(k, 2, bt_dim_add(k->store, d.n, d.m), number(k, 3)));
    const bt_value *twice = call(k, "repeat", "repeats=2, axis=0", 1, &x);
    const bt_value *halves = call(k, "split", "indices_or_sections=2", 1, &twice);
    assert_ptr_equal(bt_as_tuple_type(halves->type)->at[1], x->type);
    assert_int_equal(bt_as_call(halves)->ncheck, 0);
    const bt_value *tiled = call(k, "tile", "reps=[2, 1]", 1, &x);
    assert_ptr_equal(tiled->type, twice->type);
    finish(k);
}

static void test_slices_stay_inside(void **state)
{
    kit *k = *state;
    const bt_type_param some = { .kind = BT_KIND_DIM, .low = 4, .high = 64, .step = 1 };
    begin(k);
    const bt_type *n = bt_type_var(k->store, &some, "n");
    const bt_value *x = param(k, FLOATS(k, 1, n));
    const bt_value *y = call(k, "strided_slice", "begin=[1], end=[-1]", 1, &x);
    assert_ptr_equal(y->type, FLOATS(k, 1, bt_dim_scale(k->store, n, 1, -2)));
    y = call(k, "strided_slice", "begin=[0], end=[9223372036854775807], strides=[2]", 1,
             &x);
    assert_ptr_equal(y->type, FLOATS(k, 1, bt_dim_ceildiv(k->store, n, number(k, 2))));
    y = call(k, "strided_slice", "begin=[-3], end=[9223372036854775807]", 1, &x);
    assert_ptr_equal(y->type, FLOATS(k, 1, number(k, 3)));
    y = call(k, "strided_slice", "begin=[-1], end=[-9223372036854775807], strides=[-1]",
             1, &x);
    assert_ptr_equal(y->type, x->type);
    finish(k);
}

/* ---- contents ---- */

static void test_a_shape_computed_from_shapes_keeps_its_names(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 3, d.n, number(k, 4), d.m));
    // what an importer makes of view(x.size(0), -1)
    const bt_value *shape = call(k, "shape_of", "dtype=\"int64\"", 1, &x);
    const bt_value *zero = constant(k, "int64[] 0"), *rest = constant(k, "int64[1] -1");
    const bt_value *rows = call(k, "take", "axis=0", 2, ARGS(shape, zero));
    rows = call(k, "expand_dims", "axis=0", 1, &rows);
    const bt_value *tuple = pair(k, rows, rest);
    const bt_value *target = call(k, "concatenate", "axis=0", 1, &tuple);
    assert_int_equal(contents_of(target)->n, 2);
    assert_ptr_equal(contents_of(target)->dims[0], d.n);
    const bt_value *y = call(k, "dyn.reshape", NULL, 2, ARGS(x, target));
    assert_ptr_equal(y->type, FLOATS(k, 2, d.n, bt_dim_scale(k->store, d.m, 4, 0)));
    finish(k);
}

static void test_arithmetic_on_shapes_stays_symbolic(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, d.n, d.m));
    const bt_value *shape = call(k, "shape_of", NULL, 1, &x);
    const bt_value *two = constant(k, "int32[] 2"), *one = constant(k, "int32[1] 1");
    const bt_value *scaled = call(k, "multiply", NULL, 2, ARGS(shape, two));
    const bt_value *more = call(k, "add", NULL, 2, ARGS(scaled, one));
    const bt_value *wide = call(k, "cast", "dtype=\"int64\"", 1, &more);
    const bt_value *last = call(k, "strided_slice", "begin=[-1], end=[2]", 1, &wide);
    const bt_value *zeros = call(k, "dyn.zeros", NULL, 1, &last);
    assert_ptr_equal(zeros->type, FLOATS(k, 1, bt_dim_scale(k->store, d.m, 2, 1)));
    const bt_value *half = call(k, "floor_divide", NULL, 2, ARGS(scaled, two));
    const bt_value *same = call(k, "dyn.ones", NULL, 1, &half);
    assert_ptr_equal(same->type, x->type);
    finish(k);
}

static void test_a_slice_up_to_an_extent_has_that_extent(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, bt_dim_add(k->store, d.n, d.m), d.m));
    const bt_value *y = param(k, FLOATS(k, 1, d.n));
    const bt_value *zero = constant(k, "int32[1] 0"), *one = constant(k, "int32[1] 1");
    const bt_value *end = call(k, "shape_of", NULL, 1, &y);
    const bt_value *part = call(k, "dyn.strided_slice", NULL, 4, ARGS(x, zero, end, one));
    assert_ptr_equal(part->type, FLOATS(k, 2, d.n, d.m));
    part = call(k, "dyn.strided_slice", NULL, 4,
                ARGS(x, end, constant(k, "int32[1] 2147483647"), one));
    assert_ptr_equal(part->type, FLOATS(k, 2, d.m, d.m));
    const bt_value *all = call(k, "shape_of", NULL, 1, &x);
    const bt_value *size = call(k, "prod", "keepdims=True", 1, &all);
    const bt_value *flat = call(k, "dyn.reshape", NULL, 2, ARGS(x, size));
    assert_ptr_equal(flat->type, call(k, "reshape", "newshape=[-1]", 1, &x)->type);
    finish(k);
}

static void test_a_range_over_an_extent_has_that_extent(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 1, d.n));
    const bt_value *size = call(k, "ndarray_size", NULL, 1, &x);
    const bt_value *zero = constant(k, "int32[] 0"), *one = constant(k, "int32[] 1");
    const bt_value *range = call(k, "arange", NULL, 3, ARGS(zero, size, one));
    assert_ptr_equal(range->type, tensor(k, BT_INT32, 1, DIMS(d.n)));
    finish(k);
}

static void test_an_unknown_shape_gives_opaque_dims(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 1, d.n));
    const bt_value *shape = param(k, tensor(k, BT_INT64, 1, DIMS(number(k, 2))));
    const bt_value *y = call(k, "dyn.reshape", NULL, 2, ARGS(x, shape));
    const bt_shape_type *dims = bt_tensor_shape(y->type);
    assert_int_equal(dims->n, 2);
    assert_int_equal(dims->dims[0]->kind, BT_TYPE_OPAQUE);
    assert_ptr_not_equal(dims->dims[0], dims->dims[1]);
    const bt_value *values = call(k, "unique", NULL, 1, ARGS(shape));
    const bt_list_type *fields = bt_as_tuple_type(values->type);
    assert_int_equal(bt_tensor_shape(fields->at[0])->dims[0]->kind, BT_TYPE_OPAQUE);
    assert_ptr_equal(bt_tensor_shape(fields->at[0])->dims[0],
                     bt_tensor_shape(fields->at[1])->dims[0]);
    finish(k);
}

/* ---- runs of symbolic calls ---- */

/* Computes the call made from parameters on these tensors. */
static void run_symbolic(kit *k, const bt_value *value, const char *const *args,
                         uint32_t narg, const char *expected)
{
    const bt_call *c = bt_as_call(value);
    const bt_type *types[MAX_ARG];
    bt_tensor *in[MAX_ARG], *out;
    bt_compute *compute;
    const call_row row = { .op = c->op->name };
    for (uint32_t i = 0; i < narg; i++) {
        const char *text = args[i];
        in[i] = read_tensor(k, &text);
        types[i] = c->args[i]->type;
    }
    bt_formula_call formula = { c->op, c->attrs, narg, types, value->type };
    assert_ok(k->ctx, bt_compute_create(k->ctx, &formula, &compute));
    assert_ok(k->ctx,
              bt_compute_run(k->ctx, compute, narg, (const bt_tensor *const *)in, &out));
    check_leaf(k, &row, out, expected);
    bt_tensor_unref(out);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < narg; i++)
        bt_tensor_unref(in[i]);
}

static void test_symbolic_calls_run_at_any_extent(void **state)
{
    kit *k = *state;
    names d = begin(k);
    const bt_value *x = param(k, FLOATS(k, 2, d.n, d.m)),
                   *v = param(k, FLOATS(k, 1, d.m));
    const char *const matrix[] = { "float32[2, 3] 1 2 3 4 5 6" };
    const char *const both[] = { "float32[2, 3] 1 2 3 4 5 6", "float32[3] 0 0 0" };
    run_symbolic(k, call(k, "reshape", "newshape=[-1]", 1, &x), matrix, 1,
                 "float32[6] 1 2 3 4 5 6");
    run_symbolic(k, call(k, "strided_slice", "begin=[-1], end=[9], axes=[1]", 1, &x),
                 matrix, 1, "float32[2, 1] 3 6");
    run_symbolic(k, call(k, "collapse_sum_like", NULL, 2, ARGS(x, v)), both, 2,
                 "float32[3] 5 7 9");
    run_symbolic(k, call(k, "mean", "axis=[0]", 1, &x), matrix, 1,
                 "float32[3] 2.5 3.5 4.5");
    run_symbolic(k, call(k, "shape_of", NULL, 1, &x), matrix, 1, "int32[2] 2 3");
    run_symbolic(k, call(k, "broadcast_to_like", NULL, 2, ARGS(v, x)),
                 (const char *const[]){ "float32[3] 1 2 3", matrix[0] }, 2,
                 "float32[2, 3] 1 2 3 1 2 3");
    run_symbolic(k, call(k, "tile", "reps=[2, 1]", 1, &x), matrix, 1,
                 "float32[4, 3] 1 2 3 4 5 6 1 2 3 4 5 6");
    run_symbolic(k, call(k, "argmax", NULL, 1, &x), matrix, 1, "int32[] 5");
    finish(k);
}

static const struct CMUnitTest tests[] = {
    TEST(test_reshape_keeps_what_it_does_not_touch),
    TEST(test_broadcast_and_reduce_keep_names),
    TEST(test_extents_add_up_and_divide),
    TEST(test_slices_stay_inside),
    TEST(test_a_shape_computed_from_shapes_keeps_its_names),
    TEST(test_arithmetic_on_shapes_stays_symbolic),
    TEST(test_a_slice_up_to_an_extent_has_that_extent),
    TEST(test_a_range_over_an_extent_has_that_extent),
    TEST(test_an_unknown_shape_gives_opaque_dims),
    TEST(test_symbolic_calls_run_at_any_extent),
};
TEST_MAIN(tests)
