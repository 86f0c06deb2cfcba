/* Building values: operands and regions of each kind, types as one builds, blocks. */
#include "solve_kit.h"

#include "ir/builder.h"

static bt_adt_def *list_adt(kit *k, bt_ctor *ctors)
{
    bt_adt_def *list = NULL;
    const bt_type *a = kind_var(k, BT_KIND_TYPE, "A");
    assert_ok(k->ctx, bt_module_builder_declare_adt(k->module, "List", 0, 1, &a, &list));
    const bt_type *self = bt_type_apply(k->store, list, 1, &a);
    const bt_type *fields[] = { a, self };
    ctors[0] = (bt_ctor){ .name = "Cons", .nfield = 2, .fields = fields };
    ctors[1] = (bt_ctor){ .name = "Nil" };
    assert_ok(k->ctx, bt_module_builder_define_adt(k->module, list, 2, ctors));
    return list;
}

static const bt_pattern *pattern(kit *k, bt_pattern fields)
{
    const bt_pattern *out = bt_pattern_create(k->store, &fields);
    assert_non_null(out);
    return out;
}

static void assert_parts(const bt_value *value, uint32_t noperand, uint32_t nregion)
{
    assert_non_null(value);
    assert_int_equal(bt_value_noperand(value), noperand);
    assert_int_equal(bt_value_nregion(value), nregion);
    for (uint32_t i = 0; i < noperand; i++)
        assert_non_null(bt_value_operand(value, i));
    for (uint32_t i = 0; i < nregion; i++)
        assert_non_null(bt_value_region(value, i));
}

static void test_a_builder_knows_where_it_builds(void **state)
{
    (void)state;
    kit k = kit_create();
    assert_ptr_equal(bt_builder_store(k.b), k.store);
    assert_ptr_equal(bt_builder_ctx(k.b), k.ctx);
    kit_destroy(&k);
}

static void test_operands_and_regions_of_every_kind(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_ctor ctors[2];
    bt_adt_def *list = list_adt(&k, ctors);
    const bt_param *x = param(&k, "x", bt_type_scalar(k.store, BT_BOOL));
    begin(&k, 1, &x);
    const bt_value *v = &x->base, *write, *read, *cell, *match;
    const bt_value *sum = op2(&k, &op_add, v, v);
    assert_parts(sum, 2, 0);
    assert_true(bt_as_op_call(sum, "add") == bt_as_call(sum));
    assert_null(bt_as_op_call(sum, "relu"));
    assert_parts(pair(&k, v, sum), 2, 0);
    assert_parts(proj(&k, pair(&k, v, sum), 1), 1, 0);
    assert_ok(k.ctx, bt_build_ref(k.b, v, &cell));
    assert_parts(cell, 1, 0);
    assert_ok(k.ctx, bt_build_read(k.b, cell, &read));
    assert_parts(read, 1, 0);
    assert_ok(k.ctx, bt_build_write(k.b, cell, v, &write));
    assert_parts(write, 2, 0);
    assert_true(bt_value_operand(write, 0) == cell);
    assert_true(bt_value_operand(write, 1) == v);
    begin(&k, 0, NULL);
    const bt_block *yes = end(&k, v);
    begin(&k, 0, NULL);
    const bt_block *no = end(&k, v);
    const bt_value *choice = choose(&k, v, yes, no);
    assert_parts(choice, 1, 2);
    assert_true(bt_value_region(choice, 0) == yes);
    assert_true(bt_value_region(choice, 1) == no);
    const bt_value *f = closure(&k, func(&k, yes, NULL, 0, NULL));
    assert_parts(f, 0, 1);
    const bt_value *call_f = call1(&k, f, v);
    assert_parts(call_f, 2, 0);
    assert_true(bt_value_operand(call_f, 0) == f);
    assert_true(bt_value_operand(call_f, 1) == v);
    assert_parts(construct(&k, list->ctors[1], 0, NULL), 0, 0);
    bt_clause clause = { pattern(&k, (bt_pattern){ .kind = BT_PATTERN_WILDCARD }), no };
    assert_ok(k.ctx, bt_build_match(k.b, v, 1, &clause, "none for *", &match));
    assert_parts(match, 1, 1);
    assert_string_equal(bt_as_match(match)->otherwise, "none for *");
    const bt_block *block = end(&k, match);
    assert_int_equal(block->nbinding, 12);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        assert_true(bt_value_is_binding(block->bindings[i]));
        if (i > 0)
            assert_true(block->bindings[i]->id > block->bindings[i - 1]->id);
    }
    assert_false(bt_value_is_binding(v));
    assert_string_equal(bt_value_kind_name(BT_VALUE_PROJ), "proj");
    kit_destroy(&k);
}

static void test_values_are_built_with_their_types(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_builder_set_infer(k.b, 1);
    const bt_type *row = tensor2(&k, num(&k, 2), num(&k, 4));
    const bt_param *x = param(&k, "x", row);
    begin(&k, 1, &x);
    const bt_value *v = &x->base, *cell, *read, *write;
    const bt_value *sum = op2(&k, &op_add, v, v);
    assert_true(sum->type == row);
    const bt_type *fields[] = { row, row };
    const bt_value *both = pair(&k, v, sum);
    assert_true(both->type == bt_type_tuple(k.store, 2, fields));
    assert_true(proj(&k, both, 1)->type == row);
    assert_ok(k.ctx, bt_build_ref(k.b, v, &cell));
    assert_true(cell->type == bt_type_ref(k.store, row));
    assert_ok(k.ctx, bt_build_read(k.b, cell, &read));
    assert_true(read->type == row);
    assert_ok(k.ctx, bt_build_write(k.b, cell, v, &write));
    assert_true(write->type == bt_type_tuple(k.store, 0, NULL));
    begin(&k, 1, (const bt_param *[]){ param(&k, "y", row) });
    const bt_value *f = closure(&k, func(&k, end(&k, sum), NULL, 0, NULL));
    assert_non_null(bt_as_func_type(f->type));
    assert_true(call1(&k, f, v)->type == row);
    (void)end(&k, read);
    kit_destroy(&k);
}

static void test_a_relation_that_fails_appends_nothing(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_builder_set_infer(k.b, 1);
    const bt_param *params[] = { param(&k, "x", tensor2(&k, num(&k, 2), num(&k, 3))),
                                 param(&k, "w", tensor2(&k, num(&k, 5), num(&k, 4))) };
    begin(&k, 2, params);
    const bt_value *out = NULL, *args[] = { &params[0]->base, &params[1]->base };
    assert_error(bt_build_op(k.b, &op_dense, NULL, 2, args, &out), BT_ERR_SHAPE, "dense");
    assert_null(out);
    assert_int_equal(end(&k, args[0])->nbinding, 0);
    kit_destroy(&k);
}

static void test_presets_reach_bindings(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", NULL);
    begin(&k, 1, &x);
    bt_prov prov = bt_prov_new(k.store, 0);
    bt_builder_at(k.b, 7, prov);
    bt_builder_device(k.b, 2);
    bt_builder_name(k.b, "gpu_0/data:0");
    const bt_value *a = op2(&k, &op_relu, &x->base, NULL);
    const bt_value *b = op2(&k, &op_relu, a, NULL);
    assert_string_equal(a->name, "gpu_0/data:0");
    assert_null(b->name);
    assert_int_equal(b->span, 7);
    assert_int_equal(b->prov, prov);
    assert_int_equal(b->device, 2);
    bt_builder_at(k.b, 0, 0);
    bt_builder_device(k.b, 0);
    bt_builder_like(k.b, a);
    const bt_value *c = op2(&k, &op_relu, b, NULL);
    assert_true(c->name == a->name && c->span == 7 && c->prov == prov && c->device == 2);
    const bt_type *type = bt_type_scalar(k.store, BT_INT8);
    bt_builder_type(k.b, type);
    assert_true(op2(&k, &op_relu, b, NULL)->type == type);
    assert_null(op2(&k, &op_relu, b, NULL)->type);
    (void)end(&k, c);
    kit_destroy(&k);
}

static void test_wrong_use_is_an_error(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_value *out = NULL, *none = NULL;
    const bt_block *block = NULL;
    const bt_param *x = param(&k, "x", NULL);
    assert_error(bt_build_tuple(k.b, 0, NULL, &out), BT_ERR_ARGUMENT, "bt_block_begin");
    assert_error(bt_block_end(k.b, &x->base, &block), BT_ERR_ARGUMENT, "bt_block_begin");
    begin(&k, 1, &x);
    assert_error(bt_build_op(k.b, NULL, NULL, 0, NULL, &out), BT_ERR_ARGUMENT,
                 "operator");
    assert_error(bt_build_op(k.b, &op_relu, NULL, 1, &none, &out), BT_ERR_ARGUMENT,
                 "relu: operand 0");
    assert_error(bt_build_proj(k.b, NULL, 0, &out), BT_ERR_ARGUMENT, "projection");
    assert_error(bt_build_if(k.b, &x->base, NULL, NULL, &out), BT_ERR_ARGUMENT, "block");
    assert_error(bt_build_const(k.b, NULL, &out), BT_ERR_ARGUMENT, "tensor");
    assert_error(bt_block_end(k.b, NULL, &block), BT_ERR_ARGUMENT, "result");
    assert_error(bt_build_again(k.b, &x->base, NULL, NULL, NULL, &out), BT_ERR_ARGUMENT,
                 "param");
    assert_ok(k.ctx, bt_build_closures(k.b, 1, NULL, NULL, &out));
    assert_error(bt_block_end(k.b, &x->base, &block), BT_ERR_ARGUMENT, "has no body");
    kit_destroy(&k);
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_ctx_limits(k.ctx)->depth = 3;
    for (int i = 0; i < 3; i++)
        begin(&k, 0, NULL);
    assert_error(bt_block_begin(k.b, 0, NULL), BT_ERR_LIMIT, "deeper than 3");
    kit_destroy(&k);
}

static void test_constants_are_held_and_typed(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_tensor *tensor;
    bt_tuple *tuple;
    const bt_value *one, *both, *half;
    int64_t dims[] = { 2, 3 };
    assert_ok(k.ctx, bt_tensor_create(k.ctx, BT_INT32, 2, dims, &tensor));
    bt_object *fields[] = { &tensor->base, &tensor->base };
    assert_ok(k.ctx, bt_tuple_create(k.ctx, 2, fields, &tuple));
    assert_ok(k.ctx, bt_build_const(k.b, &tensor->base, &one));
    assert_ok(k.ctx, bt_build_const(k.b, &tuple->base, &both));
    assert_ok(k.ctx, bt_build_scalar(k.b, BT_FLOAT32, 0.5, &half));
    bt_tensor_unref(tensor);
    bt_object_unref(&tuple->base);
    const bt_type *type = bt_type_tensor_of(k.store, BT_INT32, 2, dims);
    const bt_type *types[] = { type, type };
    assert_true(one->type == type);
    assert_true(both->type == bt_type_tuple(k.store, 2, types));
    assert_true(half->type == bt_type_scalar(k.store, BT_FLOAT32));
    assert_true(bt_tensor_get(bt_const_tensor(half), 0) == 0.5);
    assert_true(bt_const_tensor(one) == tensor);
    assert_null(bt_const_tensor(both));
    kit_destroy(&k);
}

static void test_again_keeps_what_does_not_differ(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", NULL), *y = param(&k, "y", NULL);
    begin(&k, 2, (const bt_param *[]){ x, y });
    bt_builder_name(k.b, "sum");
    const bt_value *sum = op2(&k, &op_add, &x->base, &y->base), *out;
    const bt_value *same[] = { &x->base, &y->base }, *swapped[] = { &y->base, &x->base };
    assert_ok(k.ctx, bt_build_again(k.b, sum, same, NULL, NULL, &out));
    assert_true(out == sum);
    assert_ok(k.ctx, bt_build_again(k.b, sum, swapped, NULL, NULL, &out));
    assert_true(out != sum && out->id > sum->id);
    assert_true(bt_as_op_call(out, "add")->args[0] == &y->base);
    assert_string_equal(out->name, "sum");
    assert_int_equal(end(&k, out)->nbinding, 3);
    kit_destroy(&k);
}

/* match x { (a, b) => ... } with another block: its parameters are the variables. */
static void test_again_gives_patterns_the_new_variables(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", NULL);
    const bt_param *old[] = { param(&k, "a", NULL), param(&k, "b", NULL) };
    const bt_param *now[] = { param(&k, "c", NULL), param(&k, "d", NULL) };
    begin(&k, 1, &x);
    begin(&k, 2, old);
    const bt_block *before = end(&k, &old[1]->base);
    begin(&k, 2, now);
    const bt_block *after = end(&k, &now[1]->base);
    const bt_pattern *vars[2];
    for (int i = 0; i < 2; i++)
        vars[i] = pattern(&k, (bt_pattern){ .kind = BT_PATTERN_VAR, .var = old[i] });
    bt_clause clause = {
        pattern(&k, (bt_pattern){ .kind = BT_PATTERN_TUPLE, .n = 2, .at = vars }), before
    };
    const bt_value *match, *out, *data = &x->base;
    assert_int_equal(bt_pattern_nvar(clause.pattern), 2);
    assert_ok(k.ctx, bt_build_match(k.b, data, 1, &clause, NULL, &match));
    assert_ok(k.ctx, bt_build_again(k.b, match, &data, &after, NULL, &out));
    const bt_pattern *tuple = bt_as_match(out)->clauses[0]->pattern;
    assert_true(tuple->at[0]->var == now[0] && tuple->at[1]->var == now[1]);
    (void)end(&k, out);
    kit_destroy(&k);
}

static void test_patterns_nest_to_a_limit(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_pattern *at = pattern(&k, (bt_pattern){ .kind = BT_PATTERN_WILDCARD });
    for (int i = 1; i < 256; i++)
        at = pattern(&k, (bt_pattern){ .kind = BT_PATTERN_TUPLE, .n = 1, .at = &at });
    bt_pattern deeper = { .kind = BT_PATTERN_TUPLE, .n = 1, .at = &at };
    assert_null(bt_pattern_create(k.store, &deeper));
    assert_error(bt_store_why(k.ctx, k.store), BT_ERR_LIMIT, "pattern");
    kit_destroy(&k);
}

/* Two closures that call each other. */
static void test_closures_of_a_group_refer_to_each_other(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_builder_set_infer(k.b, 1);
    const bt_type *f32s = bt_type_scalar(k.store, BT_FLOAT32);
    const bt_func_type fields = { .narg = 1, .args = &f32s, .result = f32s };
    const bt_type *type = bt_type_func(k.store, &fields);
    const bt_type *types[] = { type, type };
    const char *names[] = { "even", "odd" };
    const bt_param *x = param(&k, "x", f32s);
    begin(&k, 1, &x);
    const bt_value *group[2];
    assert_ok(k.ctx, bt_build_closures(k.b, 2, names, types, group));
    for (int i = 0; i < 2; i++) {
        const bt_param *n = param(&k, "n", f32s);
        begin(&k, 1, &n);
        const bt_block *body = end(&k, call1(&k, group[1 - i], &n->base));
        assert_ok(k.ctx,
                  bt_build_closure_body(k.b, group[i], func(&k, body, f32s, 0, NULL)));
    }
    const bt_func *again = bt_as_closure(group[0])->func;
    assert_error(bt_build_closure_body(k.b, group[0], again), BT_ERR_ARGUMENT, "%even");
    const bt_block *block = end(&k, call1(&k, group[0], &x->base));
    assert_int_equal(block->nbinding, 3);
    const bt_closure_group *g = bt_as_closure(group[0])->group;
    assert_true(g == bt_as_closure(group[1])->group && g->n == 2);
    assert_true(block->bindings[0] == &g->at[0]->base);
    assert_string_equal(group[1]->name, "odd");
    kit_destroy(&k);
}

static void test_bindings_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", bt_type_scalar(k.store, BT_FLOAT32));
    const bt_value *v = &x->base, *args[] = { v, v }, *out;
    const bt_block *inner;
    bt_ctx_limits(k.ctx)->nodes = 3;
    begin(&k, 1, &x);
    op2(&k, &op_add, v, v);
    begin(&k, 0, NULL);
    op2(&k, &op_add, v, v);
    inner = end(&k, v);
    assert_non_null(inner);
    op2(&k, &op_add, v, v);
    assert_error(bt_build_op(k.b, &op_add, NULL, 2, args, &out), BT_ERR_LIMIT,
                 "more than 3 bindings (limits.nodes)");
    assert_int_equal(end(&k, v)->nbinding, 2);
    kit_destroy(&k);
}

static void test_bindings_go_where_the_builder_is_told(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", NULL);
    begin(&k, 1, &x);
    begin(&k, 0, NULL);
    uint32_t before = bt__builder_select(k.b, 0);
    const bt_value *outer = op2(&k, &op_relu, &x->base, NULL);
    begin(&k, 0, NULL);
    const bt_value *nested = op2(&k, &op_relu, outer, NULL);
    assert_int_equal(end(&k, nested)->nbinding, 1);
    (void)bt__builder_select(k.b, before);
    const bt_value *inner = op2(&k, &op_relu, outer, NULL);
    const bt_block *block = end(&k, inner);
    assert_true(block->nbinding == 1 && block->bindings[0] == inner);
    block = end(&k, outer);
    assert_true(block->nbinding == 1 && block->bindings[0] == outer);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_builder_knows_where_it_builds),
    cmocka_unit_test(test_operands_and_regions_of_every_kind),
    cmocka_unit_test(test_values_are_built_with_their_types),
    cmocka_unit_test(test_a_relation_that_fails_appends_nothing),
    cmocka_unit_test(test_presets_reach_bindings),
    cmocka_unit_test(test_wrong_use_is_an_error),
    cmocka_unit_test(test_nesting_is_limited),
    cmocka_unit_test(test_constants_are_held_and_typed),
    cmocka_unit_test(test_again_keeps_what_does_not_differ),
    cmocka_unit_test(test_again_gives_patterns_the_new_variables),
    cmocka_unit_test(test_patterns_nest_to_a_limit),
    cmocka_unit_test(test_closures_of_a_group_refer_to_each_other),
    cmocka_unit_test(test_bindings_beyond_the_limit_are_refused),
    cmocka_unit_test(test_bindings_go_where_the_builder_is_told),
};
TEST_MAIN(tests)
