/* Tokens. */
#include "test.h"

#include "text/lex.h"

/* Checks that `text` lexes as these kinds, up to the end. */
static void check(const char *text, uint32_t n, const uint32_t *kinds)
{
    bt__lexer lexer;
    bt__lexer_init(&lexer, text, (uint32_t)strlen(text));
    for (uint32_t i = 0; i < n; i++) {
        bt__token token = bt__lex(&lexer);
        if (token.kind != kinds[i])
            fail_msg("%s: token %u is %s, expected %s", text, i,
                     bt__token_kind_text(token.kind), bt__token_kind_text(kinds[i]));
    }
    assert_int_equal(bt__lex(&lexer).kind, BT_TOKEN_END);
    assert_int_equal(bt__lex(&lexer).kind, BT_TOKEN_END);
}
#define CHECK(text, ...)                                                \
    check(text, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
          (const uint32_t[]){ __VA_ARGS__ })

enum {
    WORD = BT_TOKEN_WORD,
    LOCAL = BT_TOKEN_LOCAL,
    NUMBER = BT_TOKEN_NUMBER,
    PROJ = BT_TOKEN_PROJ,
    ERROR = BT_TOKEN_ERROR
};

static void test_words_join_at_dots(void **state)
{
    (void)state;
    CHECK("nn.conv2d", WORD);
    CHECK("a.b.c_1 x", WORD, WORD);
    CHECK("a . b", WORD, ERROR, WORD);
    CHECK("a..b", WORD, BT_TOKEN_DOTS, WORD);
    CHECK("relay.Constant][0", WORD, BT_TOKEN_RBRACKET, BT_TOKEN_LBRACKET, NUMBER);
}

static void test_projections_are_no_fractions(void **state)
{
    (void)state;
    CHECK("%t.0.1", LOCAL, PROJ, PROJ);
    CHECK("%0.1", LOCAL, PROJ);
    CHECK("%a.b.2", LOCAL, PROJ);
    CHECK("0.1", NUMBER);
    CHECK("1..512", NUMBER, BT_TOKEN_DOTS, NUMBER);
    CHECK("1.5e-3f16 2i64 3.", NUMBER, NUMBER, NUMBER, ERROR);
    CHECK("1e+x", NUMBER, BT_TOKEN_PLUS, WORD);
}

static void test_names_may_be_quoted(void **state)
{
    (void)state;
    CHECK("%\"a b\" @\"c\\\"d\" @f", LOCAL, BT_TOKEN_GLOBAL, BT_TOKEN_GLOBAL);
    CHECK("%a/b", LOCAL);
    CHECK("%a/2", LOCAL, BT_TOKEN_SLASH, NUMBER);
    CHECK("%a/%b", LOCAL, BT_TOKEN_SLASH, LOCAL);
    CHECK("% x", ERROR, WORD);
    CHECK("\"open", ERROR);
    CHECK("\"line\n\"", ERROR, ERROR);
    CHECK("\"back\\", ERROR);
}

static void test_comments_nest(void **state)
{
    (void)state;
    CHECK("a /* b /* c */ d */ e // f\ng", WORD, WORD, WORD);
    CHECK("a /* b /* c */", WORD, ERROR);
    CHECK("//", BT_TOKEN_END);
    CHECK("/**/a/*/*/*/*/", WORD, ERROR);
}

static void test_every_symbol_is_one_token(void **state)
{
    (void)state;
    CHECK("#[ <= >= == != -> => ( ) { } [ ] < > = , ; : + - * / ? ?a", BT_TOKEN_HEADER,
          BT_TOKEN_LESS_EQUAL, BT_TOKEN_GREATER_EQUAL, BT_TOKEN_EQUAL_EQUAL,
          BT_TOKEN_NOT_EQUAL, BT_TOKEN_ARROW, BT_TOKEN_FAT_ARROW, BT_TOKEN_LPAREN,
          BT_TOKEN_RPAREN, BT_TOKEN_LBRACE, BT_TOKEN_RBRACE, BT_TOKEN_LBRACKET,
          BT_TOKEN_RBRACKET, BT_TOKEN_LESS, BT_TOKEN_GREATER, BT_TOKEN_EQUAL,
          BT_TOKEN_COMMA, BT_TOKEN_SEMICOLON, BT_TOKEN_COLON, BT_TOKEN_PLUS,
          BT_TOKEN_MINUS, BT_TOKEN_STAR, BT_TOKEN_SLASH, BT_TOKEN_ANY, BT_TOKEN_ANY);
}

static void test_what_is_no_token_is_skipped_at_once(void **state)
{
    (void)state;
    CHECK("a \xc3\xa4\xc3\xb6 b $ & c", WORD, ERROR, WORD, ERROR, ERROR, WORD);
    CHECK("#a", ERROR, WORD);
    const char text[] = { 'a', 0, 'b' };
    bt__lexer lexer;
    bt__lexer_init(&lexer, text, 3);
    assert_int_equal(bt__lex(&lexer).kind, WORD);
    assert_int_equal(bt__lex(&lexer).kind, ERROR);
    assert_int_equal(bt__lex(&lexer).kind, WORD);
}

static void test_escapes_are_decoded(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    const char *text = "\"a\\n\\t\\r\\\"\\\\\\x41\\x4g\\q\\x\"";
    bt__lexer lexer;
    size_t nbytes;
    bt__lexer_init(&lexer, text, (uint32_t)strlen(text));
    bt__token token = bt__lex(&lexer);
    assert_int_equal(token.kind, BT_TOKEN_STRING);
    const char *got = bt__token_text(arena, text, &token, &nbytes);
    assert_string_equal(got, "a\n\t\r\"\\Ax4gqx");
    assert_int_equal(nbytes, strlen(got));
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_words_are_told_from_other_names(void **state)
{
    (void)state;
    assert_true(bt__is_word("a"));
    assert_true(bt__is_word("nn.conv2d"));
    assert_true(bt__is_word("_"));
    assert_false(bt__is_word(""));
    assert_false(bt__is_word("0"));
    assert_false(bt__is_word("a.0"));
    assert_false(bt__is_word("a b"));
    assert_false(bt__is_word(" a"));
    assert_false(bt__is_word("a/*b*/"));
    assert_false(bt__is_word("a/b"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_words_join_at_dots),
    cmocka_unit_test(test_projections_are_no_fractions),
    cmocka_unit_test(test_names_may_be_quoted),
    cmocka_unit_test(test_comments_nest),
    cmocka_unit_test(test_every_symbol_is_one_token),
    cmocka_unit_test(test_what_is_no_token_is_skipped_at_once),
    cmocka_unit_test(test_escapes_are_decoded),
    cmocka_unit_test(test_words_are_told_from_other_names),
};
TEST_MAIN(tests)
