/* First-order programs: operators, dims, errors, contents, joins. */
#include "solve_kit.h"

/* def @main(%x: Tensor[(n, 4)]) { relu(add(%x, %x)) } */
static void test_chain_is_typed(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor2(&k, n, num(&k, 4)));
    begin(&k, 1, &x);
    const bt_value *y = op2(&k, &op_add, &x->base, &x->base);
    const bt_value *z = op2(&k, &op_relu, y, NULL);
    define(&k, "main", func(&k, end(&k, z), NULL, 1, &n));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == tensor2(&k, n, num(&k, 4)));
    assert_int_equal(f->block->nbinding, 2);
    assert_true(f->block->bindings[0]->type == f->result);
    assert_true(f->block->result == f->block->bindings[1]);
    assert_true(bt_as_call(f->block->bindings[0])->args[0] == &f->block->params[0]->base);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* Columns 3 and 4. */
static void test_mismatch_names_operator_and_both_facts(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = {
        param(&k, "x", tensor2(&k, num(&k, 2), num(&k, 3))),
        param(&k, "w", tensor2(&k, num(&k, 5), num(&k, 4))),
    };
    begin(&k, 2, params);
    const bt_value *y = op2(&k, &op_dense, &params[0]->base, &params[1]->base);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE,
                 "dense: columns of data and of weight must be equal, but are 3 and 4");
    assert_int_equal(bt_ctx_nreport(k.ctx), 1);
    kit_destroy(&k);
}

/* An error does not hide another, and what follows from it is silent. */
static void test_several_errors_in_one_run(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = {
        param(&k, "x", tensor2(&k, num(&k, 2), num(&k, 3))),
        param(&k, "w", tensor2(&k, num(&k, 5), num(&k, 4))),
    };
    begin(&k, 2, params);
    const bt_value *y = op2(&k, &op_dense, &params[0]->base, &params[1]->base);
    const bt_value *z = op2(&k, &op_relu, y, NULL);
    op2(&k, &op_add, &params[0]->base, &params[1]->base);
    define(&k, "main", func(&k, end(&k, z), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "dense");
    assert_int_equal(bt_ctx_nreport(k.ctx), 2);
    assert_error(bt_ctx_report(k.ctx, 1), BT_ERR_SHAPE,
                 "add: shapes (2, 3) and (5, 4) do not broadcast");
    kit_destroy(&k);
}

/* Rigid dims that may be equal: the call checks at run time. */
static void test_undecided_dims_become_a_check(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { dim_var(&k, "n"), dim_var(&k, "m") };
    const bt_param *params[] = {
        param(&k, "x", tensor2(&k, num(&k, 2), vars[0])),
        param(&k, "w", tensor2(&k, num(&k, 5), vars[1])),
    };
    begin(&k, 2, params);
    const bt_value *y = op2(&k, &op_dense, &params[0]->base, &params[1]->base);
    define(&k, "main", func(&k, end(&k, y), NULL, 2, vars));
    bt_module *typed = infer(&k);
    const bt_call *dense = bt_as_call(func_of(typed, "main")->block->bindings[0]);
    assert_int_equal(dense->ncheck, 1);
    assert_int_equal(dense->checks[0].relation, BT_CHECK_EQUAL);
    assert_true(dense->checks[0].left == vars[0]);
    assert_true(dense->checks[0].right == vars[1]);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* zeros(shape_of(%x)) has the dims of %x, by name. */
static void test_contents_keep_names(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor2(&k, n, num(&k, 4)));
    begin(&k, 1, &x);
    const bt_value *shape = op2(&k, &op_shape_of, &x->base, NULL);
    const bt_value *y = op2(&k, &op_zeros, shape, NULL);
    define(&k, "main", func(&k, end(&k, y), NULL, 1, &n));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == f->block->params[0]->base.type);
    const bt_call *shape_call = bt_as_call(f->block->bindings[0]);
    assert_non_null(shape_call->contents);
    assert_int_equal(shape_call->contents->n, 2);
    assert_true(shape_call->contents->dims[0] == n);
    // one binding alone, by the contents that its operand keeps
    bt_call again = { .base = { .kind = BT_VALUE_CALL },
                      .callee_kind = BT_CALLEE_OP,
                      .op = &op_zeros,
                      .narg = 1,
                      .args = &f->block->bindings[0] };
    assert_ok(k.ctx, bt__infer_binding(k.ctx, k.store, typed, NULL, NULL, NULL, &again.base));
    assert_true(again.base.type == f->result);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static const bt_block *just(kit *k, const bt_value *value)
{
    begin(k, 0, NULL);
    return end(k, value);
}

/* if (less(%x)) { left } else { right } over %x: Tensor[(a)], %y: Tensor[(b)]. */
static const bt_func *branches(kit *k, const bt_type *a, const bt_type *b, int is_opaque,
                               uint32_t nvar, const bt_type *const *vars)
{
    const bt_param *params[] = { param(k, "x", tensor1(k, a)),
                                 param(k, "y", tensor1(k, b)) };
    begin(k, 2, params);
    const bt_value *c = op2(k, &op_less, &params[0]->base, NULL);
    begin(k, 0, NULL);
    const bt_value *left = &params[0]->base;
    if (is_opaque)
        left = op2(k, &op_unique, left, NULL);
    const bt_block *then_block = end(k, left);
    const bt_value *r = choose(k, c, then_block, just(k, &params[1]->base));
    return func(k, end(k, r), NULL, nvar, vars);
}

static void test_branches_join(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { dim_var(&k, "n"), dim_var(&k, "m") };
    define(&k, "same", branches(&k, vars[0], vars[0], 0, 1, vars));
    define(&k, "opaque", branches(&k, vars[0], vars[1], 1, 2, vars));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "same")->result == tensor1(&k, vars[0]));
    const bt_shape_type *shape = bt_tensor_shape(func_of(typed, "opaque")->result);
    assert_int_equal(shape->dims[0]->kind, BT_TYPE_OPAQUE);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_branches_of_different_dims_fail(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { dim_var(&k, "n"), dim_var(&k, "m") };
    define(&k, "main", branches(&k, vars[0], vars[1], 0, 2, vars));
    assert_error(
        infer_error(&k), BT_ERR_SHAPE,
        "the branches give Tensor[(n), float32] and Tensor[(m), float32]: n is not m");
    kit_destroy(&k);
}

static void test_projection_beyond_the_tuple_fails(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    const bt_value *r = proj(&k, pair(&k, &x->base, &x->base), 2);
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_TYPE, "has 2 fields");
    kit_destroy(&k);
}

/* `?` of parameters: dim parameters without a name, which calls fill. */
static void test_question_mark_is_a_parameter(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor2(&k, any(&k), any(&k)));
    begin(&k, 1, &x);
    const bt_value *r = op2(&k, &op_relu, &x->base, NULL);
    define(&k, "f", func(&k, end(&k, r), NULL, 0, NULL));
    const bt_param *y = param(&k, "y", tensor2(&k, num(&k, 3), num(&k, 4)));
    begin(&k, 1, &y);
    const bt_value *called = call1(&k, global(&k, "f"), &y->base);
    define(&k, "main", func(&k, end(&k, called), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    assert_int_equal(func_of(typed, "f")->nvar, 2);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == y->base.type);
    const bt_call *use = bt_as_call(f->block->bindings[0]);
    assert_int_equal(use->ntype_arg, 2);
    assert_true(use->type_args[0] == num(&k, 3));
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* What a function gives with `?` differs from call to call. */
static void test_opaque_results_differ_by_call(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, any(&k)));
    begin(&k, 1, &x);
    const bt_value *r = op2(&k, &op_unique, &x->base, NULL);
    define(&k, "f", func(&k, end(&k, r), NULL, 0, NULL));
    const bt_param *y = param(&k, "y", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &y);
    const bt_value *a = call1(&k, global(&k, "f"), &y->base);
    const bt_value *b = call1(&k, global(&k, "f"), &y->base);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_list_type *both = bt_as_tuple_type(func_of(typed, "main")->result);
    assert_true(both->at[0] != both->at[1]);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chain_is_typed),
    cmocka_unit_test(test_mismatch_names_operator_and_both_facts),
    cmocka_unit_test(test_several_errors_in_one_run),
    cmocka_unit_test(test_undecided_dims_become_a_check),
    cmocka_unit_test(test_contents_keep_names),
    cmocka_unit_test(test_branches_join),
    cmocka_unit_test(test_branches_of_different_dims_fail),
    cmocka_unit_test(test_projection_beyond_the_tuple_fails),
    cmocka_unit_test(test_question_mark_is_a_parameter),
    cmocka_unit_test(test_opaque_results_differ_by_call),
};
TEST_MAIN(tests)
