/* Inlining: copies of blocks and functions, their types, parameters and opaque dims. */
#include "rewrite_kit.h"

/* Inlines calls of globals and of closures, `depth` levels deep. */
struct inliner {
    uint32_t depth, limit, ninlined;
};

static const bt_func *callee_func(bt_rewrite *rw, const bt_call *call)
{
    const bt_closure_value *closure = bt_as_closure(call->callee);
    if (closure)
        return closure->func;
    if (!call->callee || call->callee->kind != BT_VALUE_GLOBAL)
        return NULL;
    return bt_module_find(bt_rewrite_call(rw)->module, call->callee->name)->func;
}

static bt_status inline_call(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct inliner *s = bt_rewrite_state(rw);
    const bt_func *f = callee_func(rw, call);
    const bt_value *args[4];
    if (!f || s->depth == s->limit)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rw, call->args[i], &args[i]));
    s->depth++;
    s->ninlined++;
    bt_status status = bt_rewrite_inline_func(rw, f, call->ntype_arg, call->type_args,
                                              call->narg, args, out);
    s->depth--;
    return status;
}
static const bt_rewriter inliner = { .call_ = inline_call };

static bt_module *inline_all(kit *k, const bt_module *m, uint32_t limit,
                             uint32_t *ninlined)
{
    struct inliner s = { .limit = limit };
    bt_module *out = rewrite(k, m, &inliner, &s);
    *ninlined = s.ninlined;
    return out;
}

/* def @twice<n: Dim>(%x: Tensor[(n)]) { add(relu(%x), %x) } called with n = 4 */
static void test_type_parameters_are_replaced(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    const bt_value *y = op2(&k, &op_add, op2(&k, &op_relu, &x->base, NULL), &x->base);
    define(&k, "twice", func(&k, end(&k, y), NULL, 1, &n));
    const bt_param *a = param(&k, "a", vec(&k, 4));
    begin(&k, 1, &a);
    y = call1(&k, global(&k, "twice"), call1(&k, global(&k, "twice"), &a->base));
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t ninlined;
    bt_module *out = inline_all(&k, m, 1, &ninlined);
    const bt_block *block = func_of(out, "main")->block;
    assert_int_equal(ninlined, 2);
    assert_string_equal(op_names(&k, block), "relu add relu add");
    for (uint32_t i = 0; i < 4; i++)
        assert_true(block->bindings[i]->type == vec(&k, 4));
    assert_true(func_of(out, "twice") == func_of(m, "twice"));
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* Provenance of a copy: the binding it was copied from, and the call. */
static void test_copies_know_where_they_come_from(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_prov body = bt_prov_new(k.store, 1), here = bt_prov_new(k.store, 2);
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    bt_builder_at(k.b, 1, body);
    define(&k, "f", func(&k, end(&k, op2(&k, &op_relu, &x->base, NULL)), NULL, 0, NULL));
    const bt_param *a = param(&k, "a", vec(&k, 4));
    begin(&k, 1, &a);
    bt_builder_at(k.b, 2, here);
    const bt_value *y = call1(&k, global(&k, "f"), &a->base);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t ninlined;
    bt_module *out = inline_all(&k, m, 1, &ninlined);
    const bt_value *copy = func_of(out, "main")->block->bindings[0];
    assert_int_equal(copy->prov, bt_prov_join(k.store, body, here));
    assert_int_equal(copy->span, 1);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static const bt_type *result_dim(const bt_value *value)
{
    return bt_tensor_shape(value->type)->dims[0];
}

/* Each copy of unique(x) has a length of its own. */
static void test_opaque_dims_of_copies_differ(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    const bt_value *u = op2(&k, &op_unique, &x->base, NULL);
    define(&k, "f", func(&k, end(&k, op2(&k, &op_relu, u, NULL)), NULL, 0, NULL));
    const bt_param *a = param(&k, "a", vec(&k, 4));
    begin(&k, 1, &a);
    const bt_value *once = call1(&k, global(&k, "f"), &a->base);
    const bt_value *y = pair(&k, once, call1(&k, global(&k, "f"), &a->base));
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t ninlined;
    bt_module *out = inline_all(&k, m, 1, &ninlined);
    const bt_block *block = func_of(out, "main")->block;
    assert_string_equal(op_names(&k, block), "unique relu unique relu tuple");
    const bt_type *first = result_dim(block->bindings[0]);
    const bt_type *second = result_dim(block->bindings[2]);
    assert_true(first->kind == BT_TYPE_OPAQUE && second->kind == BT_TYPE_OPAQUE);
    assert_true(first != second);
    assert_true(result_dim(block->bindings[1]) == first);
    assert_true(result_dim(block->bindings[3]) == second);
    const bt_type *old = result_dim(func_of(m, "f")->block->bindings[0]);
    assert_true(first != old && second != old);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* A closure that captures, called twice: its copies see what is around it, but have
 * parameters and inner closures of their own. */
static void test_closures_are_inlined_with_their_captures(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    const bt_value *captured = op2(&k, &op_relu, &x->base, NULL);
    const bt_param *y = param(&k, "y", vec(&k, 4));
    begin(&k, 1, &y);
    const bt_param *z = param(&k, "z", vec(&k, 4));
    begin(&k, 1, &z);
    const bt_value *inner_body = op2(&k, &op_add, &z->base, &y->base);
    const bt_value *inner = closure(&k, func(&k, end(&k, inner_body), NULL, 0, NULL));
    const bt_value *body = pair(&k, inner, op2(&k, &op_add, &y->base, captured));
    const bt_value *f = closure(&k, func(&k, end(&k, body), NULL, 0, NULL));
    const bt_value *with_x = call1(&k, f, &x->base);
    const bt_value *both = pair(&k, with_x, call1(&k, f, captured));
    define(&k, "main", func(&k, end(&k, both), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t ninlined;
    bt_module *out = inline_all(&k, m, 1, &ninlined);
    const bt_block *block = func_of(out, "main")->block;
    assert_int_equal(ninlined, 2);
    assert_string_equal(op_names(&k, block),
                        "relu closure closure add tuple closure add tuple tuple");
    const bt_func *first = bt_as_closure(block->bindings[2])->func;
    const bt_func *second = bt_as_closure(block->bindings[5])->func;
    assert_true(first->block->params[0] != second->block->params[0]);
    assert_true(bt_value_operand(first->block->bindings[0], 1) ==
                &func_of(out, "main")->block->params[0]->base);
    assert_true(bt_value_operand(second->block->bindings[0], 1) == block->bindings[0]);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* def @f(%x) { let g = fn<a>(%y: a) { @f(%x); %y }; g(%x) }, inlined into itself three
 * levels deep: copies nest, and their type variables stay apart. */
static void test_a_function_is_inlined_into_itself(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = vec(&k, 4), *a = kind_var(&k, BT_KIND_TYPE, "a");
    const bt_param *x = param(&k, "x", t), *y = param(&k, "y", a);
    begin(&k, 1, &x);
    begin(&k, 1, &y);
    call1(&k, global(&k, "f"), &x->base);
    const bt_value *g = closure(&k, func(&k, end(&k, &y->base), a, 1, &a));
    define(&k, "f", func(&k, end(&k, call1(&k, g, &x->base)), t, 0, NULL));
    bt_module *m = infer(&k);
    for (uint32_t limit = 1; limit < 4; limit++) {
        uint32_t ninlined;
        bt_module *out = inline_all(&k, m, limit, &ninlined);
        assert_true(ninlined >= limit);
        assert_true(func_of(out, "f") != func_of(m, "f"));
        bt_module_unref(out);
    }
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_endless_inlining_is_an_error(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = vec(&k, 4);
    const bt_param *x = param(&k, "x", t);
    begin(&k, 1, &x);
    const bt_value *y = call1(&k, global(&k, "f"), &x->base);
    define(&k, "f", func(&k, end(&k, y), t, 0, NULL));
    bt_module *m = infer(&k);
    struct inliner s = { .limit = UINT32_MAX };
    bt_ctx_limits(k.ctx)->depth = 40;
    assert_error(rewrite_error(&k, m, &inliner, &s), BT_ERR_LIMIT,
                 "test-pass: blocks and inlined functions are nested deeper than 40");
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- branches ---- */

/* if (c) { a } else { b } -> a and b one after the other, and a again */
static bt_status both_branches(bt_rewrite *rw, const bt_if *old, const bt_value **out)
{
    const bt_value *yes[2], *no, *fields[3];
    BT_TRY(bt_rewrite_inline(rw, old->then_block, 0, NULL, &yes[0]));
    BT_TRY(bt_rewrite_inline(rw, old->else_block, 0, NULL, &no));
    BT_TRY(bt_rewrite_inline(rw, old->then_block, 0, NULL, &yes[1]));
    fields[0] = yes[0];
    fields[1] = no;
    fields[2] = yes[1];
    const bt_value *sum;
    BT_TRY(bt_build_op(bt_rewrite_builder(rw), &op_add, NULL, 2, fields, &sum));
    fields[0] = sum;
    fields[1] = fields[2];
    return bt_build_op(bt_rewrite_builder(rw), &op_add, NULL, 2, fields, out);
}

static bt_status remove_relu(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    return bt_as_op_call(&call->base, "relu") ? bt_rewrite_operand(rw, call->args[0], out)
                                              : NULL;
}

static bt_module *branches(kit *k)
{
    const bt_param *x = param(k, "x", vec(k, 4));
    const bt_param *c = param(k, "c", bt_type_scalar(k->store, BT_BOOL));
    begin(k, 2, (const bt_param *[]){ x, c });
    begin(k, 0, NULL);
    begin(k, 0, NULL);
    const bt_block *inner = end(k, op2(k, &op_relu, &x->base, NULL));
    begin(k, 0, NULL);
    const bt_block *other = end(k, &x->base);
    const bt_block *yes = end(k, choose(k, &c->base, inner, other));
    begin(k, 0, NULL);
    const bt_block *no = end(k, op2(k, &op_add, &x->base, &x->base));
    define(k, "main", func(k, end(k, choose(k, &c->base, yes, no)), NULL, 0, NULL));
    return infer(k);
}

/* The inner if is inlined as well: slots see what is copied. */
static void test_blocks_are_copied_more_than_once(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = branches(&k);
    bt_rewriter r = { .if_ = both_branches };
    bt_module *out = rewrite(&k, m, &r, NULL);
    assert_string_equal(op_names(&k, func_of(out, "main")->block),
                        "relu relu add add add relu relu add add add add");
    r.call_ = remove_relu;
    bt_module *plain = rewrite(&k, m, &r, NULL);
    assert_string_equal(op_names(&k, func_of(plain, "main")->block),
                        "add add add add add add add");
    bt_module_unref(plain);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static bt_status wrong_count(bt_rewrite *rw, const bt_if *old, const bt_value **out)
{
    const bt_value *none = NULL;
    return bt_rewrite_inline(rw, old->then_block, 1, &none, out);
}

static void test_wrong_counts_are_errors(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = branches(&k);
    bt_rewriter r = { .if_ = wrong_count };
    assert_error(rewrite_error(&k, m, &r, NULL), BT_ERR_INTERNAL,
                 "test-pass inlines with the wrong number of arguments: 1 instead of 0");
    bt_module_unref(m);
    kit_destroy(&k);
}

/* A slot may put the copy of a block into one of its own. */
static bt_status into_a_block(bt_rewrite *rw, const bt_if *old, const bt_value **out)
{
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value *condition, *result;
    const bt_block *yes, *no;
    BT_TRY(bt_rewrite_operand(rw, old->condition, &condition));
    BT_TRY(bt_block_begin(b, 0, NULL));
    BT_TRY(bt_rewrite_inline(rw, old->else_block, 0, NULL, &result));
    BT_TRY(bt_block_end(b, result, &yes));
    BT_TRY(bt_block_begin(b, 0, NULL));
    BT_TRY(bt_rewrite_inline(rw, old->then_block, 0, NULL, &result));
    BT_TRY(bt_block_end(b, result, &no));
    return bt_build_if(b, condition, yes, no, out);
}

static void test_copies_go_into_the_open_block(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = branches(&k);
    bt_rewriter r = { .if_ = into_a_block };
    bt_module *out = rewrite(&k, m, &r, NULL);
    const bt_block *block = func_of(out, "main")->block;
    assert_string_equal(op_names(&k, block), "if");
    assert_string_equal(op_names(&k, bt_value_region(block->bindings[0], 0)), "add");
    const bt_block *inner = bt_value_region(block->bindings[0], 1);
    assert_string_equal(op_names(&k, inner), "if");
    assert_string_equal(op_names(&k, bt_value_region(inner->bindings[0], 1)), "relu");
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_type_parameters_are_replaced),
    cmocka_unit_test(test_copies_know_where_they_come_from),
    cmocka_unit_test(test_opaque_dims_of_copies_differ),
    cmocka_unit_test(test_closures_are_inlined_with_their_captures),
    cmocka_unit_test(test_a_function_is_inlined_into_itself),
    cmocka_unit_test(test_endless_inlining_is_an_error),
    cmocka_unit_test(test_blocks_are_copied_more_than_once),
    cmocka_unit_test(test_wrong_counts_are_errors),
    cmocka_unit_test(test_copies_go_into_the_open_block),
};
TEST_MAIN(tests)
