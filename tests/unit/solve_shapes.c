/* Shapes with variables, broadcasting, checks of dims, escape of dims. */
#include "solve_kit.h"

static const bt_type *shaped(kit *k, uint32_t n, const bt_type *const *dims,
                             uint32_t position, const bt_type *rest)
{
    return bt_type_tensor(k->store, bt_type_shape_rest(k->store, n, dims, position, rest),
                          f32(k));
}
static const bt_type *tensor3(kit *k, const bt_type *a, const bt_type *b,
                              const bt_type *c)
{
    const bt_type *dims[] = { a, b, c };
    return bt_type_tensor(k->store, bt_type_shape(k->store, 3, dims), f32(k));
}

/* def @f<s: Shape>(%x: Tensor[(2, ..s, 3)]) -> Tensor[s], and @main calls it. */
static void call_middle(kit *k, const bt_type *arg)
{
    const bt_type *s = kind_var(k, BT_KIND_SHAPE, "s");
    const bt_type *ends[] = { num(k, 2), num(k, 3) };
    const bt_type *in = shaped(k, 2, ends, 1, s),
                  *out = bt_type_tensor(k->store, s, f32(k));
    bt_global row = { .name = "f",
                      .kind = BT_GLOBAL_EXTERN,
                      .type = bt_func_type_close(k->store, 1, &s, 1, &in, out, 0, NULL) };
    assert_ok(k->ctx, bt_module_builder_set(k->module, &row, 1));
    const bt_param *x = param(k, "x", arg);
    begin(k, 1, &x);
    define(k, "main", func(k, end(k, call1(k, global(k, "f"), &x->base)), NULL, 0, NULL));
}

static void test_shape_variable_takes_the_middle(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *dims[] = { num(&k, 2), num(&k, 5), num(&k, 7), num(&k, 3) };
    call_middle(&k, bt_type_tensor(k.store, bt_type_shape(k.store, 4, dims), f32(&k)));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == tensor2(&k, num(&k, 5), num(&k, 7)));
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_shape_variable_may_be_empty(void **state)
{
    (void)state;
    kit k = kit_create();
    call_middle(&k, tensor2(&k, num(&k, 2), num(&k, 3)));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == bt_type_scalar(k.store, BT_FLOAT32));
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_shape_variable_needs_both_ends(void **state)
{
    (void)state;
    kit k = kit_create();
    call_middle(&k, tensor1(&k, num(&k, 2)));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "argument 1, %x, is");
    kit_destroy(&k);
}

static void test_ends_of_a_shape_are_compared(void **state)
{
    (void)state;
    kit k = kit_create();
    call_middle(&k, tensor3(&k, num(&k, 2), num(&k, 3), num(&k, 4)));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "4 is not 3");
    kit_destroy(&k);
}

/* add of two parameters of these types; the result, or NULL for an error */
static const bt_type *sum_of(kit *k, const bt_type *a, const bt_type *b, uint32_t nvar,
                             const bt_type *const *vars, const bt_call **call_out)
{
    const bt_param *params[] = { param(k, "x", a), param(k, "y", b) };
    bt_module *typed = NULL;
    begin(k, 2, params);
    const bt_value *r = op2(k, &op_add, &params[0]->base, &params[1]->base);
    define(k, "main", func(k, end(k, r), NULL, nvar, vars));
    bt_module *module = finish(k);
    bt_status status = bt_infer(k->ctx, module, &typed);
    const bt_type *result = NULL;
    if (!status) {
        const bt_func *f = func_of(typed, "main");
        result = f->result;
        if (call_out)
            *call_out = bt_as_call(f->block->bindings[0]);
    }
    bt_module_unref(module);
    bt_module_unref(typed);
    return result;
}

static void test_broadcast_of_numbers(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *one = num(&k, 1), *three = num(&k, 3), *four = num(&k, 4);
    assert_true(sum_of(&k, tensor2(&k, three, one), tensor1(&k, four), 0, NULL, NULL) ==
                tensor2(&k, three, four));
    kit_destroy(&k);
    k = kit_create();
    assert_null(
        sum_of(&k, tensor1(&k, num(&k, 3)), tensor1(&k, num(&k, 4)), 0, NULL, NULL));
    kit_destroy(&k);
}

/* A named dim against a number: it is that number or 1, and the result the number. */
static void test_broadcast_of_a_name_and_a_number(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_call *call_out = NULL;
    const bt_type *r =
        sum_of(&k, tensor1(&k, n), tensor1(&k, num(&k, 4)), 1, &n, &call_out);
    assert_true(r == tensor1(&k, num(&k, 4)));
    assert_int_equal(call_out->ncheck, 1);
    assert_int_equal(call_out->checks[0].relation, BT_CHECK_BROADCAST);
    assert_true(call_out->checks[0].left == n);
    kit_destroy(&k);
}

static void test_broadcast_of_two_names(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { dim_var(&k, "n"), dim_var(&k, "m") };
    const bt_call *call_out = NULL;
    const bt_type *r =
        sum_of(&k, tensor1(&k, vars[0]), tensor1(&k, vars[1]), 2, vars, &call_out);
    const bt_type *longest = bt_dim_max(k.store, vars[0], vars[1]);
    assert_true(r == tensor1(&k, longest));
    assert_int_equal(call_out->ncheck, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(call_out->checks[i].relation, BT_CHECK_BROADCAST);
        assert_true(call_out->checks[i].left == vars[i]);
        assert_true(call_out->checks[i].right == longest);
    }
    kit_destroy(&k);
}

/* A name that is not 1 is what another one broadcasts to; beside what is computed a name is
 * no 1. */
static void test_broadcast_of_a_name(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_type_param param = { .kind = BT_KIND_DIM, .low = 2, .high = 9, .step = 1 };
    const bt_call *call_out = NULL;
    const bt_type *vars[] = { dim_var(&k, "n"), NULL };
    vars[1] = bt_type_var(k.store, &param, bt_name_of(k.store, "m"));
    const bt_type *r =
        sum_of(&k, tensor1(&k, vars[0]), tensor1(&k, vars[1]), 2, vars, &call_out);
    assert_true(r == tensor1(&k, vars[1]));
    assert_int_equal(call_out->ncheck, 1);
    assert_int_equal(call_out->checks[0].relation, BT_CHECK_BROADCAST);
    kit_destroy(&k);
    k = kit_create();
    vars[0] = dim_var(&k, "n");
    vars[1] = dim_var(&k, "m");
    const bt_type *twice = bt_dim_scale(k.store, vars[0], 2, 0);
    r = sum_of(&k, tensor1(&k, twice), tensor1(&k, vars[1]), 2, vars, &call_out);
    assert_true(r == tensor1(&k, twice));
    assert_int_equal(call_out->ncheck, 1);
    assert_int_equal(call_out->checks[0].relation, BT_CHECK_EQUAL);
    kit_destroy(&k);
}

/* (..s, 4) + (4): the dims after the variable broadcast; (..s) + (4) is not known. */
static void test_broadcast_of_shape_variables(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *s = kind_var(&k, BT_KIND_SHAPE, "s"), *four = num(&k, 4);
    const bt_type *x = shaped(&k, 1, &four, 0, s);
    assert_true(sum_of(&k, x, tensor1(&k, num(&k, 1)), 1, &s, NULL) == x);
    kit_destroy(&k);
    k = kit_create();
    s = kind_var(&k, BT_KIND_SHAPE, "s");
    x = shaped(&k, 0, NULL, 0, s);
    assert_null(sum_of(&k, x, tensor1(&k, num(&k, 4)), 1, &s, NULL));
    kit_destroy(&k);
    k = kit_create();
    s = kind_var(&k, BT_KIND_SHAPE, "s");
    x = shaped(&k, 0, NULL, 0, s);
    assert_true(sum_of(&k, x, bt_type_scalar(k.store, BT_FLOAT32), 1, &s, NULL) == x);
    kit_destroy(&k);
}

/* The range and step of a dim parameter: proved, refuted, checked. */
static void test_ranges_of_dim_parameters(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_type_param range = { .kind = BT_KIND_DIM, .low = 8, .high = 64, .step = 8 };
    const bt_type *n = bt_type_var(k.store, &range, bt_name_of(k.store, "n"));
    const bt_type *m = dim_var(&k, "m");
    const bt_param *x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 1, &n));
    const bt_type *dims[] = { num(&k, 16), m };
    const char *names[] = { "sixteen", "some" };
    for (int i = 0; i < 2; i++) {
        const bt_param *y = param(&k, "y", tensor1(&k, dims[i]));
        begin(&k, 1, &y);
        const bt_value *r = call1(&k, global(&k, "f"), &y->base);
        define(&k, names[i], func(&k, end(&k, r), NULL, i ? 1 : 0, &m));
    }
    bt_module *typed = infer(&k);
    assert_int_equal(bt_as_call(func_of(typed, "sixteen")->block->bindings[0])->ncheck,
                     0);
    assert_int_equal(bt_as_call(func_of(typed, "some")->block->bindings[0])->ncheck, 3);
    bt_module_unref(typed);
    kit_destroy(&k);
    k = kit_create();
    n = bt_type_var(k.store, &range, bt_name_of(k.store, "n"));
    x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 1, &n));
    const bt_param *y = param(&k, "y", tensor1(&k, num(&k, 12)));
    begin(&k, 1, &y);
    define(&k, "main",
           func(&k, end(&k, call1(&k, global(&k, "f"), &y->base)), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "a multiple of 8");
    kit_destroy(&k);
}

/* let %r = ref(fn () { %x }): a closure writes what only it knows the dim of. */
static void test_dims_of_a_closure_do_not_escape(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    const bt_param *r = param(&k, "r", NULL);
    const bt_value *done = NULL, *got = NULL;
    begin(&k, 1, &x);
    begin(&k, 1, &r);
    begin(&k, 0, NULL);
    const bt_value *u = op2(&k, &op_unique, &x->base, NULL);
    assert_ok(k.ctx, bt_build_write(k.b, &r->base, u, &done));
    closure(&k, func(&k, end(&k, done), NULL, 0, NULL));
    assert_ok(k.ctx, bt_build_read(k.b, &r->base, &got));
    closure(&k, func(&k, end(&k, got), NULL, 0, NULL));
    define(&k, "main", func(&k, end(&k, &x->base), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE,
                 "known only while the function inside runs");
    kit_destroy(&k);
}

/* An annotation takes the place of what is computed; ?a is one dim in a function. */
static void test_annotations_of_bindings(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *a = bt_dim_opaque(k.store, bt_name_of(k.store, "a"));
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    bt_builder_type(k.b, tensor1(&k, a));
    const bt_value *u = op2(&k, &op_unique, &x->base, NULL);
    bt_builder_type(k.b, tensor1(&k, a));
    const bt_value *y = op2(&k, &op_relu, u, NULL);
    const bt_value *sum = op2(&k, &op_add, u, y);
    define(&k, "main", func(&k, end(&k, sum), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == f->block->bindings[0]->type);
    assert_int_equal(bt_as_call(f->block->bindings[2])->ncheck, 0);
    bt_module_unref(typed);
    kit_destroy(&k);
    k = kit_create();
    x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    bt_builder_type(k.b, tensor1(&k, num(&k, 4)));
    y = op2(&k, &op_relu, &x->base, NULL);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "is annotated as");
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shape_variable_takes_the_middle),
    cmocka_unit_test(test_shape_variable_may_be_empty),
    cmocka_unit_test(test_shape_variable_needs_both_ends),
    cmocka_unit_test(test_ends_of_a_shape_are_compared),
    cmocka_unit_test(test_broadcast_of_numbers),
    cmocka_unit_test(test_broadcast_of_a_name_and_a_number),
    cmocka_unit_test(test_broadcast_of_two_names),
    cmocka_unit_test(test_broadcast_of_a_name),
    cmocka_unit_test(test_broadcast_of_shape_variables),
    cmocka_unit_test(test_ranges_of_dim_parameters),
    cmocka_unit_test(test_dims_of_a_closure_do_not_escape),
    cmocka_unit_test(test_annotations_of_bindings),
};
TEST_MAIN(tests)
