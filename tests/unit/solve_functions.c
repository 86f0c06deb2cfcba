/* Functions: calls, recursion, closures, generalisation, wheres. */
#include "solve_kit.h"

/* fn (%z) { relu(%z) } is polymorphic: its relation waits for the argument's type. */
static const bt_value *relu_closure(kit *k)
{
    const bt_param *z = param(k, "z", NULL);
    begin(k, 1, &z);
    const bt_value *r = op2(k, &op_relu, &z->base, NULL);
    return closure(k, func(k, end(k, r), NULL, 0, NULL));
}

static void test_closure_generalises_with_where(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = {
        param(&k, "x", tensor1(&k, num(&k, 3))),
        param(&k, "y", tensor2(&k, num(&k, 5), num(&k, 6))),
    };
    begin(&k, 2, params);
    const bt_value *f = relu_closure(&k);
    const bt_value *a = call1(&k, f, &params[0]->base);
    const bt_value *b = call1(&k, f, &params[1]->base);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *main_func = func_of(typed, "main");
    const bt_list_type *both = bt_as_tuple_type(main_func->result);
    assert_true(both->at[0] == params[0]->base.type);
    assert_true(both->at[1] == params[1]->base.type);
    const bt_closure_value *c = bt_as_closure(main_func->block->bindings[0]);
    const bt_func_type *type = bt_as_func_type(c->base.type);
    assert_int_equal(type->nparam, 2);
    assert_int_equal(type->nwhere, 1);
    assert_true(type->wheres[0]->op == &op_relu);
    assert_int_equal(c->func->nwhere, 1);
    assert_true(bt_func_type_of(k.store, c->func) == c->base.type);
    const bt_call *use = bt_as_call(main_func->block->bindings[1]);
    assert_int_equal(use->ntype_arg, 2);
    assert_true(use->type_args[0] == params[0]->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* A hole that the function around shares stays one type. */
static void test_environment_does_not_generalise(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    const bt_param *outer = param(&k, "e", NULL);
    begin(&k, 1, &x);
    // fn (%e) { let %g = fn () { %e }; add(%g(), %e) }
    begin(&k, 1, &outer);
    begin(&k, 0, NULL);
    const bt_value *g = closure(&k, func(&k, end(&k, &outer->base), NULL, 0, NULL));
    const bt_value *sum = op2(&k, &op_add, call(&k, g, 0, NULL), &outer->base);
    const bt_value *h = closure(&k, func(&k, end(&k, sum), NULL, 0, NULL));
    const bt_value *r = call1(&k, h, &x->base);
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == x->base.type);
    const bt_closure_value *c = bt_as_closure(f->block->bindings[0]);
    const bt_closure_value *inner = bt_as_closure(c->func->block->bindings[0]);
    assert_int_equal(bt_as_func_type(inner->base.type)->nparam, 0);
    assert_true(bt_as_func_type(inner->base.type)->result ==
                c->func->block->params[0]->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* A projection waits for a tuple of which no type can speak: monomorphic. */
static void test_projection_keeps_a_closure_monomorphic(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    const bt_param *t = param(&k, "t", NULL);
    begin(&k, 1, &t);
    const bt_value *first = proj(&k, &t->base, 0);
    const bt_value *f = closure(&k, func(&k, end(&k, first), NULL, 0, NULL));
    const bt_value *r = call1(&k, f, pair(&k, &x->base, &x->base));
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *main_func = func_of(typed, "main");
    assert_true(main_func->result == x->base.type);
    assert_int_equal(bt_as_func_type(main_func->block->bindings[0]->type)->nparam, 0);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* def @apply<A, B>(%f: fn (A) -> B, %x: A) -> B { %f(%x) } */
static void define_apply(kit *k)
{
    const bt_type *vars[] = { kind_var(k, BT_KIND_TYPE, "A"),
                              kind_var(k, BT_KIND_TYPE, "B") };
    bt_func_type fields = { .narg = 1, .args = vars, .result = vars[1] };
    const bt_param *params[] = { param(k, "f", bt_type_func(k->store, &fields)),
                                 param(k, "x", vars[0]) };
    begin(k, 2, params);
    const bt_value *r = call1(k, &params[0]->base, &params[1]->base);
    define(k, "apply", func(k, end(k, r), vars[1], 2, vars));
}

static void test_closure_flows_into_a_parameter(void **state)
{
    (void)state;
    kit k = kit_create();
    define_apply(&k);
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    const bt_value *args[] = { relu_closure(&k), &x->base };
    const bt_value *r = call(&k, global(&k, "apply"), 2, args);
    define(&k, "main", func(&k, end(&k, r), NULL, 1, &n));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == x->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* Unannotated parameters of a global become type parameters. */
static void test_global_generalises(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = { param(&k, "x", NULL), param(&k, "y", NULL) };
    begin(&k, 2, params);
    const bt_value *sum = op2(&k, &op_add, &params[0]->base, &params[1]->base);
    const bt_value *r = op2(&k, &op_relu, sum, NULL);
    define(&k, "f", func(&k, end(&k, r), NULL, 0, NULL));
    const bt_param *a = param(&k, "a", tensor2(&k, num(&k, 3), num(&k, 1)));
    const bt_param *b = param(&k, "b", tensor1(&k, num(&k, 4)));
    const bt_param *both[] = { a, b };
    begin(&k, 2, both);
    const bt_value *args[] = { &a->base, &b->base };
    const bt_value *use = call(&k, global(&k, "f"), 2, args);
    define(&k, "main", func(&k, end(&k, use), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    assert_int_equal(func_of(typed, "f")->nvar, 4);
    assert_int_equal(func_of(typed, "f")->nwhere, 2);
    assert_true(func_of(typed, "main")->result == tensor2(&k, num(&k, 3), num(&k, 4)));
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* The relation a caller breaks is reported at the call. */
static void test_where_fails_at_the_call(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = { param(&k, "x", NULL), param(&k, "y", NULL) };
    begin(&k, 2, params);
    const bt_value *sum = op2(&k, &op_add, &params[0]->base, &params[1]->base);
    define(&k, "f", func(&k, end(&k, sum), NULL, 0, NULL));
    const bt_param *a = param(&k, "a", tensor1(&k, num(&k, 3)));
    const bt_param *b = param(&k, "b", tensor1(&k, num(&k, 4)));
    const bt_param *both[] = { a, b };
    begin(&k, 2, both);
    const bt_value *args[] = { &a->base, &b->base };
    const bt_value *use = call(&k, global(&k, "f"), 2, args);
    define(&k, "main", func(&k, end(&k, use), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_SHAPE,
                 "add: shapes (3) and (4) do not broadcast");
    kit_destroy(&k);
}

/* def @loop(%x: Tensor[(n)], %more) -> result { if (..) { @loop(grow(%x)) } else { %x }
 * } */
static const bt_func *loop(kit *k, const bt_type *n, const bt_type *result, int grows)
{
    const bt_param *x = param(k, "x", tensor1(k, n));
    begin(k, 1, &x);
    const bt_value *c = op2(k, &op_less, &x->base, NULL);
    begin(k, 0, NULL);
    const bt_value *next = op2(k, grows ? &op_unique : &op_relu, &x->base, NULL);
    const bt_block *again = end(k, call1(k, global(k, "loop"), next));
    begin(k, 0, NULL);
    const bt_block *stop = end(k, &x->base);
    return func(k, end(k, choose(k, c, again, stop)), result, 1, &n);
}

static void test_recursion_without_annotation(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    define(&k, "loop", loop(&k, n, NULL, 0));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "loop");
    assert_true(f->result == tensor1(&k, n));
    const bt_if *branch = bt_as_if(f->block->bindings[1]);
    const bt_call *again = bt_as_call(branch->then_block->bindings[1]);
    assert_int_equal(again->ntype_arg, 1);
    assert_true(again->type_args[0] == n);
    assert_true(again->callee->type == bt_func_type_of(k.store, f));
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_polymorphic_recursion_needs_an_annotation(void **state)
{
    (void)state;
    kit k = kit_create();
    define(&k, "loop", loop(&k, dim_var(&k, "n"), NULL, 1));
    assert_error(infer_error(&k), BT_ERR_SHAPE, "its result needs a type");
    kit_destroy(&k);
}

static void test_polymorphic_recursion_with_annotation(void **state)
{
    (void)state;
    kit k = kit_create();
    define(&k, "loop", loop(&k, dim_var(&k, "n"), tensor1(&k, any(&k)), 1));
    bt_module *typed = infer(&k);
    const bt_shape_type *shape = bt_tensor_shape(func_of(typed, "loop")->result);
    assert_int_equal(shape->dims[0]->kind, BT_TYPE_OPAQUE);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* Mutual recursion without any annotation. */
static void test_mutual_recursion(void **state)
{
    (void)state;
    kit k = kit_create();
    for (int i = 0; i < 2; i++) {
        const bt_param *x = param(&k, "x", NULL);
        begin(&k, 1, &x);
        const bt_value *c = op2(&k, &op_less, &x->base, NULL);
        begin(&k, 0, NULL);
        const bt_value *r = op2(&k, &op_relu, &x->base, NULL);
        const bt_block *again = end(&k, call1(&k, global(&k, i ? "even" : "odd"), r));
        begin(&k, 0, NULL);
        const bt_block *stop = end(&k, &x->base);
        define(&k, i ? "odd" : "even",
               func(&k, end(&k, choose(&k, c, again, stop)), NULL, 0, NULL));
    }
    const bt_param *y = param(&k, "y", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &y);
    const bt_value *use = call1(&k, global(&k, "even"), &y->base);
    define(&k, "main", func(&k, end(&k, use), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == y->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* Shape and DType parameters: def @twice<s: Shape, t: DType>(%x: Tensor[s, t]) { relu(..)
 * } needs the rank; add does not. */
static void test_shape_and_dtype_parameters(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { kind_var(&k, BT_KIND_SHAPE, "s"),
                              kind_var(&k, BT_KIND_DTYPE, "t") };
    const bt_param *x = param(&k, "x", bt_type_tensor(k.store, vars[0], vars[1]));
    begin(&k, 1, &x);
    const bt_value *r = op2(&k, &op_add, &x->base, &x->base);
    define(&k, "twice", func(&k, end(&k, r), NULL, 2, vars));
    const bt_param *y = param(&k, "y", tensor2(&k, num(&k, 3), num(&k, 4)));
    begin(&k, 1, &y);
    const bt_value *use = call1(&k, global(&k, "twice"), &y->base);
    define(&k, "main", func(&k, end(&k, use), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "twice")->result == x->base.type);
    assert_true(func_of(typed, "main")->result == y->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* n + 1 of a parameter against 5: n is 4; against m: n is m - 1, which must not be
 * negative. */
static void test_sum_in_a_parameter_is_solved(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n"), *m = dim_var(&k, "m");
    const bt_type *sum = bt_dim_add(k.store, n, num(&k, 1));
    const bt_param *x = param(&k, "x", tensor1(&k, sum));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), tensor1(&k, sum), 1, &n));
    const bt_param *params[] = { param(&k, "y", tensor1(&k, num(&k, 5))),
                                 param(&k, "z", tensor1(&k, m)) };
    begin(&k, 2, params);
    const bt_value *a = call1(&k, global(&k, "f"), &params[0]->base);
    const bt_value *b = call1(&k, global(&k, "f"), &params[1]->base);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 1, &m));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    const bt_call *first = bt_as_call(f->block->bindings[0]);
    const bt_call *second = bt_as_call(f->block->bindings[1]);
    assert_true(first->type_args[0] == num(&k, 4));
    assert_int_equal(first->ncheck, 0);
    assert_true(second->type_args[0] == bt_dim_sub(k.store, m, num(&k, 1)));
    assert_int_equal(second->ncheck, 1);
    assert_int_equal(second->checks[0].relation, BT_CHECK_LESS_EQUAL);
    assert_true(second->base.type == params[1]->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* if (..) { fn (%z) { relu(%z) } } else { fn (%z: Tensor[(n)]) { %z } }: of one type. */
static void test_branches_of_functions_are_instantiated(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    const bt_value *c = op2(&k, &op_less, &x->base, NULL);
    begin(&k, 0, NULL);
    const bt_block *left = end(&k, relu_closure(&k));
    begin(&k, 0, NULL);
    const bt_param *z = param(&k, "z", x->base.type);
    begin(&k, 1, &z);
    const bt_value *same = closure(&k, func(&k, end(&k, &z->base), NULL, 0, NULL));
    const bt_block *right = end(&k, same);
    const bt_value *r = call1(&k, choose(&k, c, left, right), &x->base);
    define(&k, "main", func(&k, end(&k, r), NULL, 1, &n));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == x->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_unknown_type_is_reported(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    const bt_param *t = param(&k, "t", NULL);
    begin(&k, 1, &t);
    const bt_value *first = proj(&k, &t->base, 0);
    closure(&k, func(&k, end(&k, first), NULL, 0, NULL));
    define(&k, "main", func(&k, end(&k, &x->base), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_TYPE, "the type of %t cannot be inferred");
    assert_int_equal(bt_ctx_nreport(k.ctx), 1);
    kit_destroy(&k);
}

static void test_wrong_arguments_are_reported(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 0, NULL));
    const bt_param *y = param(&k, "y", tensor1(&k, num(&k, 4)));
    begin(&k, 1, &y);
    const bt_value *args[] = { &y->base, &y->base };
    call(&k, global(&k, "f"), 2, args);
    call1(&k, global(&k, "f"), &y->base);
    call1(&k, &y->base, &y->base);
    call1(&k, global(&k, "absent"), &y->base);
    define(&k, "main", func(&k, end(&k, &y->base), NULL, 0, NULL));
    infer_error(&k);
    assert_int_equal(bt_ctx_nreport(k.ctx), 4);
    assert_error(bt_ctx_report(k.ctx, 0), BT_ERR_TYPE,
                 "takes 1 argument, but is given 2");
    assert_error(bt_ctx_report(k.ctx, 1), BT_ERR_SHAPE, "argument 1, %y, is");
    assert_error(bt_ctx_report(k.ctx, 2), BT_ERR_TYPE, "which cannot be called");
    assert_error(bt_ctx_report(k.ctx, 3), BT_ERR_NAME, "there is no global @absent");
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_closure_generalises_with_where),
    cmocka_unit_test(test_environment_does_not_generalise),
    cmocka_unit_test(test_projection_keeps_a_closure_monomorphic),
    cmocka_unit_test(test_closure_flows_into_a_parameter),
    cmocka_unit_test(test_global_generalises),
    cmocka_unit_test(test_where_fails_at_the_call),
    cmocka_unit_test(test_recursion_without_annotation),
    cmocka_unit_test(test_polymorphic_recursion_needs_an_annotation),
    cmocka_unit_test(test_polymorphic_recursion_with_annotation),
    cmocka_unit_test(test_mutual_recursion),
    cmocka_unit_test(test_shape_and_dtype_parameters),
    cmocka_unit_test(test_sum_in_a_parameter_is_solved),
    cmocka_unit_test(test_branches_of_functions_are_instantiated),
    cmocka_unit_test(test_unknown_type_is_reported),
    cmocka_unit_test(test_wrong_arguments_are_reported),
};
TEST_MAIN(tests)
