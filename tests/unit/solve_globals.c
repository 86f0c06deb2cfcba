/* Whole modules: external functions, gradients, constants, data types, lack of memory. */
#include "solve_kit.h"

static void test_extern_question_marks(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *arg = tensor2(&k, any(&k), any(&k)), *result = tensor1(&k, any(&k));
    bt_func_type fields = { .narg = 1, .args = &arg, .result = result };
    bt_global row = { .name = "ext",
                      .kind = BT_GLOBAL_EXTERN,
                      .type = bt_type_func(k.store, &fields) };
    assert_ok(k.ctx, bt_module_builder_set(k.module, &row, 1));
    const bt_param *x = param(&k, "x", tensor2(&k, num(&k, 3), num(&k, 4)));
    begin(&k, 1, &x);
    const bt_value *a = call1(&k, global(&k, "ext"), &x->base);
    const bt_value *b = call1(&k, global(&k, "ext"), &x->base);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func_type *ext = bt_as_func_type(bt_module_find(typed, "ext")->type);
    assert_int_equal(ext->nparam, 2);
    const bt_list_type *both = bt_as_tuple_type(func_of(typed, "main")->result);
    assert_int_equal(bt_tensor_shape(both->at[0])->dims[0]->kind, BT_TYPE_OPAQUE);
    assert_true(both->at[0] != both->at[1]);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_extern_needs_a_type(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_global row = { .name = "ext", .kind = BT_GLOBAL_EXTERN };
    assert_ok(k.ctx, bt_module_builder_set(k.module, &row, 1));
    assert_error(infer_error(&k), BT_ERR_TYPE, "@ext is an external function: its type");
    kit_destroy(&k);
}

/* def @f(%x: Tensor[(n)], %y: Tensor[(n)]) { (add(%x, %y), less(%x)) } and a gradient */
static void declare_gradient(kit *k, bt_gradient_spec spec)
{
    const bt_type *n = dim_var(k, "n");
    const bt_param *params[] = { param(k, "x", tensor1(k, n)),
                                 param(k, "y", tensor1(k, n)) };
    begin(k, 2, params);
    const bt_value *sum = op2(k, &op_add, &params[0]->base, &params[1]->base);
    const bt_value *less = op2(k, &op_less, &params[0]->base, NULL);
    define(k, "f", func(k, end(k, pair(k, sum, less)), NULL, 1, &n));
    const bt_global row = {
        .name = "df", .kind = BT_GLOBAL_GRADIENT, .primal = "f", .gradient = spec
    };
    assert_ok(k->ctx, bt_module_builder_set(k->module, &row, 1));
}

static void test_gradient_is_typed_by_its_primal(void **state)
{
    (void)state;
    kit k = kit_create();
    const int64_t keep[] = { 0 }, wrt[] = { 1 };
    declare_gradient(
        &k, (bt_gradient_spec){ .keep = { 1, keep }, .wrt = { 1, wrt }, .is_seeded = 1 });
    bt_module *typed = infer(&k);
    const bt_func_type *df = bt_as_func_type(bt_module_find(typed, "df")->type);
    assert_int_equal(df->nparam, 1);
    assert_int_equal(df->narg, 3);
    assert_true(df->args[2] == df->args[0]);
    const bt_list_type *result = bt_as_tuple_type(df->result);
    assert_int_equal(result->n, 2);
    assert_true(result->at[0] == df->args[0] && result->at[1] == df->args[1]);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void test_gradient_of_an_integer_fails(void **state)
{
    (void)state;
    kit k = kit_create();
    declare_gradient(&k, (bt_gradient_spec){ .from = 1, .wrt = { BT_NONE_LIST, NULL } });
    assert_error(infer_error(&k), BT_ERR_TYPE,
                 "gradient @df: result 1 of @f is no float tensor");
    kit_destroy(&k);
}

static void test_dim_parameter_needs_a_shape(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *vars[] = { dim_var(&k, "n"), dim_var(&k, "m") };
    const bt_param *x = param(&k, "x", tensor1(&k, vars[0]));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 2, vars));
    assert_error(infer_error(&k), BT_ERR_TYPE, "dim parameter m gets no value");
    kit_destroy(&k);
}

static void test_foreign_variable_is_named(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, dim_var(&k, "n")));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 0, NULL));
    assert_error(infer_error(&k), BT_ERR_NAME, "type parameter n is not declared");
    kit_destroy(&k);
}

/* `type Any { Any(Tensor[(?)]) }`: the dim is forgotten at construction, and another one
 * for each match. */
static void test_fields_may_forget_a_dim(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *adt = NULL;
    const bt_type *field = tensor1(&k, any(&k));
    bt_ctor ctor = { .name = "Any", .nfield = 1, .fields = &field };
    assert_ok(k.ctx, bt_module_builder_declare_adt(k.module, "Any", 0, 0, NULL, &adt));
    assert_ok(k.ctx, bt_module_builder_define_adt(k.module, adt, 1, &ctor));
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    const bt_value *arg = &x->base, *made = construct(&k, adt->ctors[0], 1, &arg);
    const bt_param *v = param(&k, "v", NULL);
    begin(&k, 1, &v);
    const bt_block *block = end(&k, &v->base);
    bt_pattern var = { .kind = BT_PATTERN_VAR, .var = v };
    const bt_pattern *part = bt_pattern_create(k.store, &var);
    bt_pattern whole = {
        .kind = BT_PATTERN_CTOR, .ctor = adt->ctors[0], .n = 1, .at = &part
    };
    bt_clause clause = { bt_pattern_create(k.store, &whole), block };
    const bt_value *r = NULL;
    assert_ok(k.ctx, bt_build_match(k.b, made, 1, &clause, NULL, &r));
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_int_equal(bt_tensor_shape(f->result)->dims[0]->kind, BT_TYPE_OPAQUE);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* The operator apply{function} gives what its function gives. */
struct function_attrs {
    const bt_value *function;
};
static bt_status relate_apply(bt_solver *s, const bt_relation_call *r)
{
    const struct function_attrs *attrs = r->attrs;
    const bt_func_type *type = bt_as_func_type(attrs->function->type);
    if (!type)
        return bt_relation_fail(s, r, -1, "function has no type");
    return bt_relation_result(s, r, type->result);
}

static void test_function_attributes_are_typed(void **state)
{
    (void)state;
    static const bt_attr schema[] = {
        BT_ATTR(struct function_attrs, function, FUNC, NULL, ""),
        { 0 },
    };
    static const bt_op op = { .name = "apply",
                              .inputs = one_input,
                              .attrs = schema,
                              .attrs_nbytes = sizeof(struct function_attrs),
                              .relate = relate_apply };
    kit k = kit_create();
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    define(&k, "f", func(&k, end(&k, &x->base), NULL, 0, NULL));
    const bt_param *y = param(&k, "y", tensor1(&k, num(&k, 4)));
    begin(&k, 1, &y);
    struct function_attrs attrs = { global(&k, "f") };
    const bt_value *arg = &y->base, *r = NULL;
    assert_ok(k.ctx, bt_build_op(k.b, &op, &attrs, 1, &arg, &r));
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == x->base.type);
    const struct function_attrs *written = bt_as_call(f->block->bindings[0])->attrs;
    assert_true(written->function->type == bt_module_find(typed, "f")->type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* ---- lack of memory ---- */

static struct failing {
    uint64_t n, fail_at;
    int from_then_on;
} failing;

static void *failing_realloc(void *self, void *pointer, size_t old, size_t nbytes)
{
    (void)self;
    (void)old;
    if (!nbytes) {
        free(pointer);
        return NULL;
    }
    failing.n++;
    if (failing.fail_at && (failing.from_then_on ? failing.n >= failing.fail_at
                                                 : failing.n == failing.fail_at))
        return NULL;
    return realloc(pointer, nbytes);
}

/* A closure that generalises, a recursion, contents, a join: 0 when memory lacked while
 * building. */
static int build_program(kit *k, bt_module **out)
{
    const bt_type *n = dim_var(k, "n");
    const bt_param *x = param(k, "x", tensor1(k, n));
    begin(k, 1, &x);
    const bt_param *z = param(k, "z", NULL);
    begin(k, 1, &z);
    const bt_value *r = op2(k, &op_relu, &z->base, NULL);
    const bt_value *f = closure(k, func(k, end(k, r), NULL, 0, NULL));
    const bt_value *y = call1(k, f, &x->base);
    const bt_value *c = op2(k, &op_less, y, NULL);
    begin(k, 0, NULL);
    const bt_block *yes = end(k, op2(k, &op_unique, y, NULL));
    begin(k, 0, NULL);
    const bt_block *no = end(k, op2(k, &op_zeros, op2(k, &op_shape_of, y, NULL), NULL));
    const bt_value *joined = choose(k, c, yes, no);
    define(k, "main", func(k, end(k, pair(k, joined, y)), NULL, 1, &n));
    *out = finish(k);
    return 1;
}

static void fail_each(int from_then_on)
{
    bt_allocator allocator = { NULL, failing_realloc };
    bt_registry_options options = { .allocator = &allocator,
                                    .ignore_environment = 1,
                                    .plugin_only = "/nonexistent",
                                    .arena_single = 1 };
    uint64_t reached = 0;
    for (uint64_t i = 1;; i++) {
        kit k = { 0 };
        bt_module *module = NULL, *typed = NULL;
        failing = (struct failing){ 0 };
        k.registry = bt_registry_create(&options);
        k.ctx = bt_ctx_create(k.registry);
        k.store = bt_store_create(k.registry);
        assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, NULL, &k.module));
        assert_ok(k.ctx, bt_builder_create(k.ctx, k.store, NULL, &k.b));
        bt_builder_set_infer(k.b, 0);
        build_program(&k, &module);
        failing.fail_at = failing.n + i;
        failing.from_then_on = from_then_on;
        bt_status status = bt_infer(k.ctx, module, &typed);
        int done = failing.n < failing.fail_at;
        failing.fail_at = 0;
        if (status)
            assert_int_equal(status->code, BT_ERR_MEMORY);
        else
            assert_non_null(typed);
        reached += status != NULL;
        bt_module_unref(typed);
        bt_module_unref(module);
        kit_destroy(&k);
        if (done)
            break;
    }
    assert_true(reached > 100);
}

static void test_each_allocation_may_fail(void **state)
{
    (void)state;
    fail_each(0);
}

static void test_all_allocations_from_one_on_may_fail(void **state)
{
    (void)state;
    fail_each(1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_extern_question_marks),
    cmocka_unit_test(test_extern_needs_a_type),
    cmocka_unit_test(test_gradient_is_typed_by_its_primal),
    cmocka_unit_test(test_gradient_of_an_integer_fails),
    cmocka_unit_test(test_dim_parameter_needs_a_shape),
    cmocka_unit_test(test_foreign_variable_is_named),
    cmocka_unit_test(test_fields_may_forget_a_dim),
    cmocka_unit_test(test_function_attributes_are_typed),
    cmocka_unit_test(test_each_allocation_may_fail),
    cmocka_unit_test(test_all_allocations_from_one_on_may_fail),
};
TEST_MAIN(tests)
