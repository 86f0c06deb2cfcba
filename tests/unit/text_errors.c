/* What wrong text gets: an error at its place, several in one run, and no crash. */
#include "text.h"

#define HEADER "#[version = \"baton 0.1\"]\n"
#define RELAY  "#[version = \"0.0.5\"]\n"

static void test_headers_are_checked(void **state)
{
    (void)state;
    check_error("def @f() { 1 }", 1, 1, "expected #[version = \"baton 0.1\"]");
    check_error("#[version = \"9\"]", 1, 13, "of version \"baton 0.1\"");
    check_error("#[version 1]", 1, 11, "expected `=`, found `1`");
    check_error(HEADER "#[nonsense]\n", 2, 3, "expected typed, spans");
    check_error(HEADER "#[weights = \"../x.npz\"]", 2, 13, "without folders");
    check_error(HEADER "hello", 2, 1, "expected a definition");
    check_error("", 1, 1, "the text is empty");
}

static void test_tokens_are_checked(void **state)
{
    (void)state;
    check_error(HEADER "def @f() { $ }", 2, 12, "a character that starts no token");
    check_error(HEADER "def @f() { \"x }", 2, 12, "does not end on its line");
    check_error(HEADER "def @f() { 1 } /* never", 2, 16, "a comment that never ends");
    check_error(HEADER "def @f() { % }", 2, 12, "`%` without a name");
    check_error(HEADER "def @f() { %\"a\\x00b\" }", 2, 12, "zero byte");
}

static void test_syntax_errors_say_what_was_expected_and_found(void **state)
{
    (void)state;
    check_error(HEADER "def @f( { 1 }", 2, 9, "expected a parameter");
    check_error(HEADER "def @f() { }", 2, 12, "expected the result of the block");
    check_error(HEADER "def @f() { %x = 1; }", 2, 20, "expected the result");
    check_error(HEADER "def @f() { 1 2 }", 2, 14, "expected `;`, or `}`");
    check_error(HEADER "def @f(%x) { if (%x) { 1 } }", 2, 28, "expected `else`");
    check_error(HEADER "def @f(%x) { ref(%x, 1) }", 2, 22, "expected `)`");
    check_error(HEADER "def @f() {\n  %x, %y = 1;\n  2 }", 3, 12, "`fn`");
    check_error(HEADER "def @f(%x: Tensor[(2), \"float\"]) { 1 }", 2, 24,
                "expected an element type");
}

static void test_names_are_checked(void **state)
{
    (void)state;
    check_error(HEADER "def @f() { %y }", 2, 12, "`%y` is not defined");
    check_error(HEADER "def @main() { @man() }", 2, 15, "did you mean `@main`");
    check_error(HEADER "def @f() { 1 }\ndef @f() { 2 }", 3, 5, "defined twice");
    check_error(HEADER "type T { A }\ntype T { B }", 3, 1, "T is defined twice");
    check_error(HEADER "type T { A }\ntype U { A }", 3, 10, "T has one of that name");
    check_error(HEADER "type T { A, A }", 2, 13, "is there twice");
    check_error(HEADER "def @f(%x: Lits) { 1 }\ntype List { N }", 2, 12,
                "did you mean `List`?");
    check_error(HEADER "def @f(%x) { match (%x) { Con(_) => { 1 } } }\n"
                       "type T { Cons(T) }",
                2, 27, "did you mean `Cons`?");
    check_error(HEADER "def @f(%x: Tensor[(n), int8]) { 1 }", 2, 20,
                "declare it as a type parameter");
}

static void test_types_and_kinds_are_checked(void **state)
{
    (void)state;
    check_error(HEADER "def @f<n: Dim>(%x: n) { 1 }", 2, 20, "of kind Type");
    check_error(HEADER "type L[A] { N }\ndef @f(%x: L) { 1 }", 3, 12,
                "takes 1 type arguments, 0 given");
    check_error(HEADER "def @f(%x: Tensor[(-1), int8]) { 1 }", 2, 20, "at least 0");
    check_error(HEADER "def @f(%x: Tensor[(_ + 1), int8]) { 1 }", 2, 20, "stands alone");
    check_error(HEADER "def @f<n: Dim in 5..2>() { 1 }", 2, 15, "low..high");
    check_error(HEADER
                "def @f<n: Dim>(%x: Tensor[(n*9223372036854775807*2), int8]) { 1 }",
                2, 28, "overflow");
    check_error(HEADER "def @f<n: Dim, n: Type>(%x: mod(n, 2)) { 1 }", 2, 29, "mod");
    check_error(HEADER "type T { A(int8) }\ndef @f() { A(1, 2) }", 3, 12,
                "takes 1 field, 2 given");
}

static void test_constants_are_checked(void **state)
{
    (void)state;
    check_error(HEADER "def @f() { 3000000000 }", 2, 12,
                "beyond int32, -2147483648..2147483647; write the type");
    check_error(HEADER "def @f() { 128i8 }", 2, 12, "beyond int8");
    check_error(HEADER "def @f() { 9i4 }", 2, 12, "beyond int4, -8..7");
    check_error(HEADER "def @f() { -1u64 }", 2, 12,
                "beyond uint64, 0..18446744073709551615");
    check_error(HEADER "def @f() { const[(1), int4]{9} }", 2, 29,
                "not a value of int4, -8..7");
    check_error(HEADER "def @f() { 3.5i4 }", 2, 12,
                "`3.5i4` is no integer, and its suffix is of integers");
    check_error(HEADER "def @f() { 1e39f }", 2, 12, "infinity is written inf");
    check_error(HEADER "def @f() { 1x }", 2, 12, "unknown suffix");
    check_error(HEADER "def @f() { 99999999999999999999i64 }", 2, 12, "beyond 64 bits");
    check_error(HEADER "def @f() { const[(2), int8]{1} }", 2, 12,
                "1 element is given for a shape of 2");
    check_error(HEADER "def @f() { const[(2), int8]{\"AA==\"} }", 2, 12,
                "1 byte is given");
    check_error(HEADER "def @f() { const[(2), int8]{\"A\"} }", 2, 29, "not base64");
    check_error(HEADER "def @f() { const[(2), int8]{data \"c\"} }", 2, 34,
                "neither #[data] nor");
    check_error(HEADER
                "#[weights = \"x.npz\"]\ndef @f() { const[(2), int8]{data \"c\"} }",
                3, 34, "not allowed here");
    check_error(HEADER "def @f() { const[(4611686018427387904, 4), int8]{0 ..} }", 2, 40,
                "beyond 64 bits");
    check_error(HEADER "def @f() { const[(4611686018427387904), int8]{\"\"} }", 2, 12,
                "0 bytes are given");
}

static void test_several_errors_come_in_one_run(void **state)
{
    (void)state;
    const char *text = HEADER "def @f(%x: flaot32) { 1 }\n"
                              "def @g() {\n"
                              "    %a = %nothing;\n"
                              "    %b: Tensor[(2, float32] = %a;\n"
                              "    %c = if (%b) { 1 +; 2 } else { %d };\n"
                              "    (%a, %b, %c)\n"
                              "}\n"
                              "type T { A(Tensr), }\n"
                              "def @h() { %z }\n";
    static const uint32_t places[][2] = { { 2, 12 }, { 4, 10 }, { 5, 20 }, { 6, 23 },
                                          { 6, 36 }, { 9, 12 }, { 10, 12 } };
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module);
    assert_non_null(status);
    assert_int_equal(bt_ctx_nreport(ctx), BT_COUNT(places));
    assert_ptr_equal(bt_ctx_report(ctx, 0), status);
    for (uint32_t i = 0; i < BT_COUNT(places); i++) {
        const bt_place *place = &bt_ctx_report(ctx, i)->place;
        assert_int_equal(place->line, places[i][0]);
        assert_int_equal(place->column, places[i][1]);
        assert_string_equal(place->file, "test.bt");
        assert_non_null(place->text);
    }
}

/* The number of errors in a text. */
static uint32_t count_errors(const char *text)
{
    bt_module *module = NULL;
    assert_non_null(bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module));
    uint32_t n = bt_ctx_nreport(ctx);
    bt_ctx_clear_diags(ctx);
    return n;
}

static void test_one_mistake_is_one_error(void **state)
{
    (void)state;
    assert_int_equal(count_errors(HEADER "def @f() { %0 = const[(2), int8]{x}; 1 }"), 1);
    assert_int_equal(count_errors(HEADER
                                  "type T { A, B }\n"
                                  "def @f(%x: T) {\n"
                                  "  %y = match (%x) { C => { 1; 2 } B => { 3 } };\n"
                                  "  (%y, 1)\n"
                                  "}\n"
                                  "def @g() { 1 }\n"),
                     1);
    assert_int_equal(count_errors(HEADER "def @f(%x) {\n"
                                         "  %y = fn (%a: { %a };\n"
                                         "  %z = if (%x) { %y } else { { %x } ;\n"
                                         "  (%y, %z)\n"
                                         "}\n"
                                         "def @g() { 1 }\n"),
                     2); // the brace that is missing makes `;` lack
    assert_int_equal(count_errors(HEADER "type T { A(, }\ntype U { B(T) }\n"
                                         "def @f(%x: U) { %x }\n"),
                     1);
}

static void test_what_follows_from_a_syntax_error_is_not_told(void **state)
{
    (void)state;
    assert_int_equal(count_errors(HEADER "def @f(%x) {\n %y = %x\n (%y, %y)\n}"), 1);
    assert_int_equal(
        count_errors(HEADER "def @f(%x) {\n %y = %x\n %z = %y;\n (%z, %y)\n}"), 1);
    assert_int_equal(count_errors(HEADER "type L { N, C(L }\n"
                                         "def @f(%x: L) { match (%x) { C(%y) => N } }"),
                     1);
}

static void test_messages_say_what_was_meant(void **state)
{
    (void)state;
    check_error(HEADER "def main() { 1 }", 2, 5,
                "names of globals begin with @: def @main");
    check_error(HEADER "type M { Layer(M) }\ndef @f(%x) { Layr(%x) }", 3, 14,
                "did you mean `Layer`?");
    check_error(HEADER "def @f(%x) { -%x }", 2, 14, "write negative(...)");
    check_error(HEADER "def @f(%x: Tensor[(2, 3)]) { %x }", 2, 25,
                "expected `,` and a dtype, as in Tensor[(2, 3), float32]");
}

static void test_errors_stop_at_their_limit(void **state)
{
    (void)state;
    char text[4096] = HEADER;
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "def @f%d() { %%x }\n", i);
    bt_module *module = NULL;
    bt_ctx_limits(ctx)->errors = 5;
    assert_non_null(bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module));
    assert_int_equal(bt_ctx_nreport(ctx), 5);
}

/* A text of n repetitions between a head and a tail. */
static char *repeat(const char *head, const char *part, size_t n, const char *tail)
{
    size_t nbytes = strlen(part);
    char *text = malloc(strlen(head) + n * nbytes + strlen(tail) + 1);
    char *at = text;
    at += sprintf(at, "%s", head);
    for (size_t i = 0; i < n; i++, at += nbytes)
        memcpy(at, part, nbytes);
    strcpy(at, tail);
    return text;
}

static void check_depth(const char *head, const char *part)
{
    char *text = repeat(head, part, 100000, "");
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module);
    assert_non_null(status);
    if (status->code != BT_ERR_LIMIT || !strstr(status->message, "nested"))
        fail_msg("%s: %s", part, status->message);
    bt_ctx_clear_diags(ctx);
    free(text);
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    check_depth(HEADER "def @f() { ", "(");
    check_depth(HEADER "def @f() { ", "{");
    check_depth(HEADER "def @f(%x) { ", "if (%x) {");
    check_depth(HEADER "def @f(%x) { if (%x) { 1 } else ", "if (%x) { 1 } else ");
    check_depth(HEADER "def @f(%x) { ", "fn () {");
    check_depth(HEADER "def @f(%x) { ", "match (%x) { _ => {");
    check_depth(HEADER "def @f(%x) { ", "match (%x) { _ => ");
    check_depth(HEADER "def @f(%x) { match (%x) { ", "(");
    check_depth(HEADER "def @f(%x) { ", "ref(");
    check_depth(HEADER "def @f(%x) { ", "%x(");
    check_depth(HEADER "def @f(%x: ", "(");
    check_depth(HEADER "def @f(%x: ", "fn (");
    check_depth(HEADER "def @f(%x: ", "Ref[");
    check_depth(HEADER "def @f(%x: Tensor[(", "(");
    check_depth(HEADER "def @f(%x: Tensor[(", "min(");
    check_depth(HEADER "const @c = ", "const(");
}

static void test_chains_of_any_length_cost_no_stack(void **state)
{
    (void)state;
    static const char *const parts[] = { ".0", "()", "(1)(2)" };
    for (size_t i = 0; i < 3; i++) {
        char *text = repeat(HEADER "def @f(%x) { %x", parts[i], 100000, " }");
        bt_module *module = parse(text);
        bt_module_unref(module);
        free(text);
    }
    char *text =
        repeat(RELAY "def @f(%x) { let %y = (%x,);", "let %y = %y.0;", 100000, "%y }");
    bt_module_unref(parse(text));
    free(text);
    text = repeat(RELAY "def @f(%x) { %0 = (%x,);", "%0 = %0.0;", 100000, "%0 }");
    bt_module_unref(parse(text));
    free(text);
}

static void test_nodes_are_bounded(void **state)
{
    (void)state;
    bt_ctx_limits(ctx)->nodes = 100;
    char *text = repeat(HEADER "def @f(%x) { %x", ".0", 200, " }");
    bt_module *module = NULL;
    assert_error(bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module),
                 BT_ERR_LIMIT, "limits.nodes");
    free(text);
}

static void test_graph_nodes_must_see_their_operands(void **state)
{
    (void)state;
    check_error(RELAY "def @f(%c) {\n"
                      "  %1 = if (%c) { let %a = (1,); %0 = %a.0; %0 } else { %0 };\n"
                      "  %1\n"
                      "}",
                3, 33, "%a is not visible");
}

static const struct CMUnitTest tests[] = {
    TEST(test_headers_are_checked),
    TEST(test_tokens_are_checked),
    TEST(test_syntax_errors_say_what_was_expected_and_found),
    TEST(test_names_are_checked),
    TEST(test_types_and_kinds_are_checked),
    TEST(test_constants_are_checked),
    TEST(test_several_errors_come_in_one_run),
    TEST(test_one_mistake_is_one_error),
    TEST(test_what_follows_from_a_syntax_error_is_not_told),
    TEST(test_messages_say_what_was_meant),
    TEST(test_errors_stop_at_their_limit),
    TEST(test_nesting_is_bounded),
    TEST(test_chains_of_any_length_cost_no_stack),
    TEST(test_nodes_are_bounded),
    TEST(test_graph_nodes_must_see_their_operands),
};
TEST_MAIN(tests)
