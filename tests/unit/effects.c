/* Effects: of each kind of binding, through calls, parameters and recursion. */
#include "solve_kit.h"

static const bt_op op_print = {
    .name = "print", .inputs = one_input, .relate = relate_relu, .effects = BT_EFFECT_IO
};
static const bt_op op_take = {
    .name = "take", .inputs = one_input, .relate = relate_relu, .effects = BT_EFFECT_FAILS
};

struct fixture {
    kit k;
    const bt_type *t, *to; /* float32, and functions over it */
};

static struct fixture fixture(void)
{
    struct fixture f = { .k = kit_create() };
    f.t = bt_type_scalar(f.k.store, BT_FLOAT32);
    bt_func_type fields = { .narg = 1, .args = &f.t, .result = f.t };
    f.to = bt_type_func(f.k.store, &fields);
    return f;
}

static const bt_func *with_op(struct fixture *f, const bt_op *op)
{
    const bt_param *x = param(&f->k, "x", f->t);
    begin(&f->k, 1, &x);
    const bt_value *y = op2(&f->k, op, &x->base, NULL);
    return func(&f->k, end(&f->k, y), f->t, 0, NULL);
}

/* Effects of the last binding of @main. */
static uint32_t effects_of_main(struct fixture *f, const bt_module *m)
{
    bt_effects *effects = NULL;
    bt_arena *arena = bt_arena_create(f->k.registry);
    assert_ok(f->k.ctx, bt_effects_create(f->k.ctx, m, arena, &effects));
    const bt_block *block = func_of(m, "main")->block;
    uint32_t bits = bt_effects_of(effects, block->bindings[block->nbinding - 1]);
    bt_arena_destroy(arena);
    return bits;
}

static uint32_t run(struct fixture *f)
{
    bt_module *m = infer(&f->k);
    uint32_t bits = effects_of_main(f, m);
    bt_module_unref(m);
    kit_destroy(&f->k);
    return bits;
}

static void define_main(struct fixture *f, const bt_value *result)
{
    define(&f->k, "main", func(&f->k, end(&f->k, result), NULL, 0, NULL));
}

static void test_kinds_have_their_effects(void **state)
{
    (void)state;
    struct fixture f = fixture();
    kit *k = &f.k;
    const bt_param *x = param(k, "x", f.t);
    begin(k, 1, &x);
    const bt_value *v = &x->base, *cell, *read, *write;
    op2(k, &op_add, v, v);
    op2(k, &op_print, v, NULL);
    op2(k, &op_take, v, NULL);
    proj(k, pair(k, v, v), 0);
    assert_ok(k->ctx, bt_build_ref(k->b, v, &cell));
    assert_ok(k->ctx, bt_build_read(k->b, cell, &read));
    assert_ok(k->ctx, bt_build_write(k->b, cell, v, &write));
    closure(k, with_op(&f, &op_print));
    define_main(&f, v);
    bt_module *m = infer(k);
    const bt_block *block = func_of(m, "main")->block;
    uint32_t expected[] = { 0, BT_EFFECT_IO,        BT_EFFECT_FAILS, 0,
                            0, BT_EFFECT_ALLOCATES, BT_EFFECT_READS, BT_EFFECT_WRITES,
                            0 };
    bt_effects *effects;
    bt_arena *arena = bt_arena_create(k->registry);
    assert_ok(k->ctx, bt_effects_create(k->ctx, m, arena, &effects));
    assert_int_equal(block->nbinding, BT_COUNT(expected));
    for (uint32_t i = 0; i < block->nbinding; i++)
        assert_int_equal(bt_effects_of(effects, block->bindings[i]), expected[i]);
    bt_arena_destroy(arena);
    bt_module_unref(m);
    kit_destroy(k);
}

static void test_calls_have_the_effects_of_their_functions(void **state)
{
    (void)state;
    struct fixture f = fixture();
    define(&f.k, "noisy", with_op(&f, &op_print));
    const bt_param *x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    const bt_value *y = call1(&f.k, global(&f.k, "noisy"), &x->base);
    define(&f.k, "middle", func(&f.k, end(&f.k, y), f.t, 0, NULL));
    x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    define_main(&f, call1(&f.k, global(&f.k, "middle"), &x->base));
    assert_int_equal(run(&f), BT_EFFECT_IO);
}

static void test_branches_have_the_effects_of_both_sides(void **state)
{
    (void)state;
    struct fixture f = fixture();
    const bt_param *x = param(&f.k, "x", f.t);
    const bt_param *c = param(&f.k, "c", bt_type_scalar(f.k.store, BT_BOOL));
    begin(&f.k, 2, (const bt_param *[]){ x, c });
    begin(&f.k, 0, NULL);
    const bt_block *yes = end(&f.k, op2(&f.k, &op_print, &x->base, NULL));
    begin(&f.k, 0, NULL);
    const bt_block *no = end(&f.k, op2(&f.k, &op_take, &x->base, NULL));
    define_main(&f, choose(&f.k, &c->base, yes, no));
    assert_int_equal(run(&f), BT_EFFECT_IO | BT_EFFECT_FAILS);
}

static void test_a_partial_match_fails(void **state)
{
    (void)state;
    struct fixture f = fixture();
    const bt_value *match;
    const bt_param *x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    begin(&f.k, 0, NULL);
    bt_pattern wild = { .kind = BT_PATTERN_WILDCARD };
    bt_clause clause = { bt_pattern_create(f.k.store, &wild), end(&f.k, &x->base) };
    assert_ok(f.k.ctx, bt_build_match(f.k.b, &x->base, 1, &clause, "", &match));
    define_main(&f, match);
    assert_int_equal(run(&f), BT_EFFECT_FAILS);
}

/* def @apply(%g: fn, %x) { %g(%x) } */
static void define_apply(struct fixture *f)
{
    const bt_param *g = param(&f->k, "g", f->to), *x = param(&f->k, "x", f->t);
    begin(&f->k, 2, (const bt_param *[]){ g, x });
    const bt_value *y = call1(&f->k, &g->base, &x->base);
    define(&f->k, "apply", func(&f->k, end(&f->k, y), f->t, 0, NULL));
}

static const bt_value *apply(struct fixture *f, const bt_value *g, const bt_value *x)
{
    return call(&f->k, global(&f->k, "apply"), 2, (const bt_value *[]){ g, x });
}

static void test_parameters_that_are_called_are_resolved(void **state)
{
    (void)state;
    const bt_op *ops[] = { &op_relu, &op_print };
    uint32_t expected[] = { 0, BT_EFFECT_IO };
    for (int i = 0; i < 2; i++) {
        struct fixture f = fixture();
        define_apply(&f);
        define(&f.k, "arg", with_op(&f, ops[i]));
        const bt_param *x = param(&f.k, "x", f.t);
        begin(&f.k, 1, &x);
        define_main(&f, apply(&f, global(&f.k, "arg"), &x->base));
        assert_int_equal(run(&f), expected[i]);
        // A closure as the argument, and one more function in between.
        f = fixture();
        define_apply(&f);
        const bt_param *g = param(&f.k, "g", f.to);
        x = param(&f.k, "x", f.t);
        begin(&f.k, 2, (const bt_param *[]){ g, x });
        define(&f.k, "again",
               func(&f.k, end(&f.k, apply(&f, &g->base, &x->base)), f.t, 0, NULL));
        x = param(&f.k, "x", f.t);
        begin(&f.k, 1, &x);
        const bt_value *args[] = { closure(&f.k, with_op(&f, ops[i])), &x->base };
        define_main(&f, call(&f.k, global(&f.k, "again"), 2, args));
        assert_int_equal(run(&f), expected[i]);
    }
}

static void test_unknown_functions_may_do_anything(void **state)
{
    (void)state;
    struct fixture f = fixture();
    const bt_param *g = param(&f.k, "g", f.to), *x = param(&f.k, "x", f.t);
    begin(&f.k, 2, (const bt_param *[]){ g, x });
    define_main(&f, call1(&f.k, &g->base, &x->base));
    assert_int_equal(run(&f), BT_EFFECT_ALL);
    // Out of a tuple, though it was put there as a closure without effects.
    f = fixture();
    x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    const bt_value *h = closure(&f.k, with_op(&f, &op_relu));
    define_main(&f, call1(&f.k, proj(&f.k, pair(&f.k, h, h), 0), &x->base));
    assert_int_equal(run(&f), BT_EFFECT_ALL);
    // An external function.
    f = fixture();
    bt_global row = { .name = "outside", .kind = BT_GLOBAL_EXTERN, .type = f.to };
    assert_ok(f.k.ctx, bt_module_builder_set(f.k.module, &row, 1));
    x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    define_main(&f, call1(&f.k, global(&f.k, "outside"), &x->base));
    assert_int_equal(run(&f), BT_EFFECT_ALL);
}

/* A closure that calls a parameter of the function around it. */
static void test_captured_parameters_are_resolved(void **state)
{
    (void)state;
    struct fixture f = fixture();
    kit *k = &f.k;
    const bt_param *g = param(k, "g", f.to), *x = param(k, "x", f.t);
    begin(k, 2, (const bt_param *[]){ g, x });
    const bt_param *y = param(k, "y", f.t);
    begin(k, 1, &y);
    const bt_block *body = end(k, call1(k, &g->base, &y->base));
    const bt_value *inner = closure(k, func(k, body, f.t, 0, NULL));
    define(k, "apply", func(k, end(k, call1(k, inner, &x->base)), f.t, 0, NULL));
    define(k, "pure", with_op(&f, &op_relu));
    x = param(k, "x", f.t);
    begin(k, 1, &x);
    define_main(&f, apply(&f, global(k, "pure"), &x->base));
    assert_int_equal(run(&f), 0);
}

/* Two functions that call each other, one of them noisy. */
static void test_recursion_diverges_and_shares_effects(void **state)
{
    (void)state;
    struct fixture f = fixture();
    const char *names[] = { "a", "b" };
    for (int i = 0; i < 2; i++) {
        const bt_param *x = param(&f.k, "x", f.t);
        begin(&f.k, 1, &x);
        const bt_value *y = &x->base;
        if (i == 1)
            y = op2(&f.k, &op_print, y, NULL);
        y = call1(&f.k, global(&f.k, names[1 - i]), y);
        define(&f.k, names[i], func(&f.k, end(&f.k, y), f.t, 0, NULL));
    }
    const bt_param *x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    define_main(&f, call1(&f.k, global(&f.k, "a"), &x->base));
    assert_int_equal(run(&f), BT_EFFECT_IO | BT_EFFECT_DIVERGES);
}

static void test_recursive_closures_diverge(void **state)
{
    (void)state;
    struct fixture f = fixture();
    kit *k = &f.k;
    const bt_value *loop;
    const bt_param *x = param(k, "x", f.t), *y = param(k, "y", f.t);
    begin(k, 1, &x);
    assert_ok(k->ctx, bt_build_closures(k->b, 1, NULL, &f.to, &loop));
    begin(k, 1, &y);
    const bt_block *body = end(k, call1(k, loop, op2(k, &op_take, &y->base, NULL)));
    assert_ok(k->ctx, bt_build_closure_body(k->b, loop, func(k, body, f.t, 0, NULL)));
    define_main(&f, call1(k, loop, &x->base));
    assert_int_equal(run(&f), BT_EFFECT_FAILS | BT_EFFECT_DIVERGES);
}

/* Operators may call the functions that they are given. */
static bt_status relate_any(bt_solver *s, const bt_relation_call *r)
{
    return bt_relation_result(s, r, bt_type_scalar(bt_relation_store(s), BT_FLOAT32));
}
static const bt_op op_fold = { .name = "fold",
                               .inputs = one_input,
                               .relate = relate_any };

static void test_functions_given_to_operators_count(void **state)
{
    (void)state;
    struct fixture f = fixture();
    const bt_param *x = param(&f.k, "x", f.t);
    begin(&f.k, 1, &x);
    const bt_value *g = closure(&f.k, with_op(&f, &op_print));
    define_main(&f, op2(&f.k, &op_fold, g, NULL));
    assert_int_equal(run(&f), BT_EFFECT_IO);
}

static void test_values_built_later_are_known_too(void **state)
{
    (void)state;
    struct fixture f = fixture();
    kit *k = &f.k;
    define(k, "noisy", with_op(&f, &op_print));
    const bt_param *x = param(k, "x", f.t);
    begin(k, 1, &x);
    define_main(&f, &x->base);
    bt_module *m = infer(k);
    bt_effects *effects;
    bt_arena *arena = bt_arena_create(k->registry);
    assert_ok(k->ctx, bt_effects_create(k->ctx, m, arena, &effects));
    bt_builder *b;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, m, &b));
    bt_builder_destroy(k->b);
    k->b = b;
    x = param(k, "x", f.t);
    begin(k, 1, &x);
    assert_int_equal(bt_effects_of(effects, op2(k, &op_take, &x->base, NULL)),
                     BT_EFFECT_FAILS);
    assert_int_equal(bt_effects_of(effects, call1(k, global(k, "noisy"), &x->base)),
                     BT_EFFECT_IO);
    const bt_value *g = closure(k, with_op(&f, &op_relu));
    assert_int_equal(bt_effects_of(effects, g), 0);
    assert_int_equal(bt_effects_of(effects, call1(k, g, &x->base)), BT_EFFECT_ALL);
    (void)end(k, &x->base);
    bt_arena_destroy(arena);
    bt_module_unref(m);
    kit_destroy(k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kinds_have_their_effects),
    cmocka_unit_test(test_calls_have_the_effects_of_their_functions),
    cmocka_unit_test(test_branches_have_the_effects_of_both_sides),
    cmocka_unit_test(test_a_partial_match_fails),
    cmocka_unit_test(test_parameters_that_are_called_are_resolved),
    cmocka_unit_test(test_unknown_functions_may_do_anything),
    cmocka_unit_test(test_captured_parameters_are_resolved),
    cmocka_unit_test(test_recursion_diverges_and_shares_effects),
    cmocka_unit_test(test_recursive_closures_diverge),
    cmocka_unit_test(test_functions_given_to_operators_count),
    cmocka_unit_test(test_values_built_later_are_known_too),
};
TEST_MAIN(tests)
