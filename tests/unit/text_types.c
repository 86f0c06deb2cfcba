/* Types, operands and functions alone, as messages show them. */
#include "text.h"

static const char *type_text(const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_print_type(ctx, type, &text);
    return bt_text_get(&text);
}

static void check_type(const char *text, const char *expected)
{
    bt_store *store = bt_store_create(registry);
    const bt_type *type, *again;
    assert_ok(ctx, bt_parse_type(ctx, store, text, &type));
    const char *printed = type_text(type);
    assert_string_equal(printed, expected);
    assert_ok(ctx, bt_parse_type(ctx, store, printed, &again));
    assert_ptr_equal(type, again);
    bt_store_unref(store);
}

static void test_types_read_back(void **state)
{
    (void)state;
    check_type("float32", "float32");
    check_type("Tensor[(), float32]", "float32");
    check_type("Tensor[(2, 3,), int8]", "Tensor[(2, 3), int8]");
    check_type("Tensor[_, _]", "Tensor[_, _]");
    check_type("Tensor[(?, 3), bool]", "Tensor[(_, 3), bool]");
    check_type("Tensor[(1, 16), int8, \"NC:NC4c\"]",
               "Tensor[(1, 16), int8, \"NC:NC4c\"]");
    check_type("()", "()");
    check_type("((int8))", "int8");
    check_type("(int8,)", "(int8,)");
    check_type("(_, (bool, int4))", "(_, (bool, int4))");
    check_type("Ref[Ref[int8]]", "Ref[Ref[int8]]");
    check_type("ref(int8)", "Ref[int8]");
    check_type("fn () -> fn (int8) -> ()", "fn () -> fn (int8) -> ()");
}

static void test_parameters_of_function_types_get_names(void **state)
{
    (void)state;
    check_type("fn <X, Y: Dim in 2..9 step 3>(fn <Z>(X, Z) -> Tensor[(Y), int8]) -> X",
               "fn <A, n: Dim in 2..9 step 3>(fn <B>(A, B) -> Tensor[(n), int8]) -> A");
    check_type("fn [A, B: Shape, C: DType](Tensor[B, C], A) -> Tensor[(4, ..B), C]",
               "fn <A, s: Shape, t: DType>(Tensor[s, t], A) -> Tensor[(4, ..s), t]");
    check_type("fn <n: Dim, m: Dim>(Tensor[(n*m + 2, n - m), int8]) -> int8",
               "fn <n: Dim, m: Dim>(Tensor[(m*n + 2, n - m), int8]) -> int8");
}

static void test_errors_of_types_are_returned_only(void **state)
{
    (void)state;
    bt_store *store = bt_store_create(registry);
    const bt_type *type = NULL;
    assert_error(bt_parse_type(ctx, store, "Tensor[(2, 3), flot32]", &type),
                 BT_ERR_SYNTAX, "expected an element type");
    assert_error(bt_parse_type(ctx, store, "Tensr[(2), int8]", &type), BT_ERR_NAME,
                 "did you mean `Tensor`?");
    assert_error(bt_parse_type(ctx, store, "int8 int8", &type), BT_ERR_SYNTAX,
                 "the end of the type");
    assert_error(bt_parse_type(ctx, store, "", &type), BT_ERR_SYNTAX, "expected a type");
    assert_null(type);
    assert_int_equal(bt_ctx_nreport(ctx), 0);
    bt_store_unref(store);
}

static const char *operand_text(const bt_value *value)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_print_operand(value, &text);
    return bt_text_get(&text);
}

static void test_operands_are_named_for_messages(void **state)
{
    (void)state;
    bt_module *module = parse("#[version = \"baton 0.1\"]\n"
                              "type T { C(int8) }\n"
                              "def @main(%x, %\"a b\") {\n"
                              "  %y = %x(@main, 1f);\n"
                              "  let %0 = (%y, %\"a b\");\n"
                              "  C(1i8)\n"
                              "}");
    const bt_block *block = bt_module_find(module, "main")->func->block;
    const bt_call *call = bt_as_call(block->bindings[0]);
    assert_string_equal(operand_text(&block->params[0]->base), "%x");
    assert_string_equal(operand_text(&block->params[1]->base), "%\"a b\"");
    assert_string_equal(operand_text(&call->base), "%y");
    assert_string_equal(operand_text(call->args[0]), "@main");
    assert_string_equal(operand_text(call->args[1]), "a constant");
    assert_string_equal(operand_text(block->bindings[1]), "a tuple");
    assert_string_equal(operand_text(block->bindings[2]), "C");
    bt_module_unref(module);
}

static const struct CMUnitTest tests[] = {
    TEST(test_types_read_back),
    TEST(test_parameters_of_function_types_get_names),
    TEST(test_errors_of_types_are_returned_only),
    TEST(test_operands_are_named_for_messages),
};
TEST_MAIN(tests)
