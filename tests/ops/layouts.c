/* The layout that a builder asks for the result of a call. */
#include "kit.h"

static const int64_t data_dims[] = { 1, 4, 2, 2 }, weight_dims[] = { 4, 4, 1, 1 };

static void begin(kit *k, const bt_param **x, const bt_param **w)
{
    const bt_type *data = bt_type_tensor_of(k->store, BT_FLOAT32, 4, data_dims);
    const bt_type *weight = bt_type_tensor_of(k->store, BT_FLOAT32, 4, weight_dims);
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_build_param(k->b, "x", data, x));
    assert_ok(k->ctx, bt_build_param(k->b, "w", weight, w));
    assert_ok(k->ctx, bt_block_begin(k->b, 2, (const bt_param *const[]){ *x, *w }));
}

static const bt_value *build(kit *k, const char *op, const bt_value *x, const bt_value *w,
                             const bt_layout *layout)
{
    const bt_value *out, *args[] = { x, w };
    bt_builder_layout(k->b, layout);
    assert_ok(k->ctx, bt_build(k->b, op, NULL, args, w ? 2 : 1, &out));
    return out;
}

static void test_a_convolution_has_the_layout_that_is_asked_for(void **state)
{
    kit *k = *state;
    const bt_layout *blocks = bt_layout_parse(k->store, "NCHW:NCHW4c");
    const bt_layout *other = bt_layout_parse(k->store, "NCHW:NHWC");
    const bt_param *x, *w;
    const bt_value *again;
    begin(k, &x, &w);
    const bt_value *y = build(k, "nn.conv2d", &x->base, &w->base, blocks);
    assert_ptr_equal(bt_type_layout(y->type), blocks);
    // it holds for one call
    const bt_value *z = build(k, "nn.conv2d", &x->base, &w->base, NULL);
    assert_null(bt_type_layout(z->type));
    // an operator that decides by itself does not heed it
    assert_null(bt_type_layout(build(k, "nn.relu", &x->base, NULL, blocks)->type));
    // a call that is built again with other operands lies as before, or as it is asked for
    const bt_value *operands[] = { z, &w->base };
    assert_ok(k->ctx, bt_build_again(k->b, y, operands, NULL, NULL, &again));
    assert_ptr_equal(bt_type_layout(again->type), blocks);
    bt_builder_layout(k->b, other);
    assert_ok(k->ctx, bt_build_again(k->b, y, operands, NULL, NULL, &again));
    assert_ptr_equal(bt_type_layout(again->type), other);
    // layouts of another rank are refused
    const bt_value *args[] = { &x->base, &w->base };
    bt_builder_layout(k->b, bt_layout_parse(k->store, "NC:NC4c"));
    assert_error(bt_build(k->b, "nn.conv2d", NULL, args, 2, &again), BT_ERR_LIMIT,
                 "an axis for each dim");
}

/* Where types are inferred later, it stands in the annotation, which reads back. */
static void test_an_untyped_program_states_it(void **state)
{
    kit *k = *state;
    const bt_layout *blocks = bt_layout_parse(k->store, "NCHW:NCHW4c");
    const bt_param *x, *w;
    bt_func fields = { .name = "main" };
    bt_global main = { .name = "main", .kind = BT_GLOBAL_FUNC };
    bt_module_builder *b;
    bt_module *module, *typed;
    bt_text text;
    begin(k, &x, &w);
    bt_builder_set_infer(k->b, 0);
    const bt_value *y = build(k, "nn.conv2d", &x->base, &w->base, blocks);
    assert_ok(k->ctx, bt_block_end(k->b, y, &fields.block));
    assert_ok(k->ctx, bt_func_create(k->ctx, k->store, &fields, &main.func));
    assert_ok(k->ctx, bt_module_builder_create(k->ctx, k->store, NULL, &b));
    assert_ok(k->ctx, bt_module_builder_set(b, &main, 1));
    assert_ok(k->ctx, bt_module_builder_finish(b, 0, &module));
    bt_text_init(&text, bt_ctx_scratch(k->ctx));
    assert_ok(k->ctx, bt_print(k->ctx, module, NULL, &text));
    bt_module_unref(module);
    assert_non_null(
        strstr(bt_text_get(&text), "Tensor[_, _, \"NCHW:NCHW4c\"] = nn.conv2d(%x, %w)"));
    typed = read_module(k, bt_text_get(&text));
    const bt_func *func = bt_module_find(typed, "main")->func;
    assert_string_equal(bt_type_layout(func->block->result->type)->text, "NCHW:NCHW4c");
    assert_ok(k->ctx, bt_verify(k->ctx, typed));
    bt_module_unref(typed);
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_a_convolution_has_the_layout_that_is_asked_for),
    TEST(test_an_untyped_program_states_it),
};
// clang-format on
TEST_MAIN(tests)
