/* Diagnostics: places, notes, rendering, what is reported. */
#include "failing_allocator.h"
#include "setup.h"

#include <baton/ir.h>
#include <jansson.h>

static const char *rendered(bt_status status, int colour)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, colour, &text);
    assert_non_null(bt_text_get(&text));
    return bt_text_get(&text);
}

/* A syntax error with the message "wrong". */
static bt_status wrong_at(const bt_place *place)
{
    return bt_fail_place(ctx, BT_ERR_SYNTAX, place, "wrong");
}

/* ---- records ---- */

static void test_a_record_outlives_what_it_was_made_from(void **state)
{
    (void)state;
    char file[] = "net.txt", line[] = "let x", node[] = "conv1", word[] = "word";
    bt_status status =
        bt_fail_place(ctx, BT_ERR_TYPE,
                      &(bt_place){ .file = file, .line = 1, .text = line, .node = node },
                      "a %s and %d", word, 42);
    memset(file, 'x', sizeof(file) - 1);
    memset(line, 'x', sizeof(line) - 1);
    memset(node, 'x', sizeof(node) - 1);
    memset(word, 'x', sizeof(word) - 1);
    assert_int_equal(status->code, BT_ERR_TYPE);
    assert_string_equal(status->message, "a word and 42");
    assert_string_equal(status->place.file, "net.txt");
    assert_string_equal(status->place.text, "let x");
    assert_string_equal(status->place.node, "conv1");
    assert_null(status->note);
}

static void test_notes_are_added_to_a_copy(void **state)
{
    (void)state;
    bt_status plain = bt_fail(ctx, BT_ERR_TYPE, "wrong");
    bt_status one = bt_note(ctx, plain, NULL, 0, "first");
    bt_status two = bt_note(ctx, one, NULL, 0, "second %d", 2);
    assert_null(plain->note);
    assert_null(one->note->note);
    assert_string_equal(two->message, "wrong");
    assert_string_equal(two->note->message, "first");
    assert_string_equal(two->note->note->message, "second 2");
    assert_ptr_equal(bt_note(ctx, bt_no_memory(), NULL, 0, "x"), bt_no_memory());
    assert_null(bt_note(ctx, NULL, NULL, 0, "x"));
}

static void test_a_span_becomes_a_place(void **state)
{
    (void)state;
    static const char text[] = "one\n\tlet abc = 1\n";
    bt_store *own = bt_store_create(bt_ctx_registry(ctx));
    uint32_t source;
    assert_ok(ctx,
              bt_store_add_source(ctx, own, "net.txt", text, sizeof(text) - 1, &source));
    bt_span span = bt_span_text(own, source, 9, 3);
    bt_status status = bt_fail_at(ctx, BT_ERR_NAME, own, span, "unknown name abc");
    status = bt_note(ctx, status, own, bt_span_text(own, source, 0, 3), "not here");
    bt_store_unref(own);
    assert_string_equal(rendered(status, 0), "net.txt:2:6: error: unknown name abc\n"
                                             "    \tlet abc = 1\n"
                                             "    \t    ^~~\n"
                                             "net.txt:1:1: note: not here\n"
                                             "    one\n"
                                             "    ^~~\n");
    assert_string_equal(rendered(bt_fail_at(ctx, BT_ERR_NAME, NULL, 0, "lost"), 0),
                        "error: lost\n");
}

static void test_reports_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    bt_ctx_limits(ctx)->errors = 3;
    bt_report(ctx, NULL);
    assert_int_equal(bt_ctx_nreport(ctx), 0);
    for (int i = 0; i < 5; i++)
        bt_report(ctx, bt_fail(ctx, BT_ERR_TYPE, "error %d", i));
    assert_int_equal(bt_ctx_nreport(ctx), 5);
    assert_string_equal(bt_ctx_report(ctx, 2)->message, "error 2");
    assert_null(bt_ctx_report(ctx, 3));
    bt_ctx_clear_diags(ctx);
    assert_int_equal(bt_ctx_nreport(ctx), 0);
    assert_null(bt_ctx_report(ctx, 0));
    bt_report(ctx, bt_no_memory());
    assert_string_equal(bt_ctx_report(ctx, 0)->message, "no memory");
}

static void test_remarks_are_kept_apart_from_errors(void **state)
{
    (void)state;
    bt_ctx_limits(ctx)->errors = 3;
    bt_remark(ctx, BT_REMARK_NOTE, NULL);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    for (int i = 0; i < 5; i++)
        bt_remark(ctx, BT_REMARK_DETAIL,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED, "detail %d", i));
    for (int i = 0; i < 2; i++) // the same is said once
        bt_remark(ctx, BT_REMARK_NOTE, bt_fail(ctx, BT_ERR_UNSUPPORTED, "note"));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    bt_remark(ctx, 7, bt_fail(ctx, BT_ERR_UNSUPPORTED, "of no level"));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_DETAIL), 5);
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_DETAIL, 2)->message, "detail 2");
    assert_null(bt_ctx_remark(ctx, BT_REMARK_DETAIL, 3));
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message, "note");
    assert_null(bt_ctx_remark(ctx, 7, 0));
    assert_int_equal(bt_ctx_nremark(ctx, 7), 0);
    assert_int_equal(bt_ctx_nreport(ctx), 0);
    bt_ctx_clear_diags(ctx);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_DETAIL), 0);
    assert_null(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0));
}

static void test_codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(bt_code_name(BT_ERR_TYPE), "type");
    assert_string_equal(bt_code_name(BT_ERR_INTERNAL), "internal");
    assert_string_equal(bt_code_name(BT_ERR_COUNT), "unknown");
}

/* ---- rendering ---- */

static void test_places_are_written_as_far_as_known(void **state)
{
    (void)state;
    static const struct {
        bt_place place;
        const char *expected;
    } cases[] = {
        { { 0 }, "error: wrong\n" },
        { { .file = "f" }, "f: error: wrong\n" },
        { { .file = "f", .line = 3 }, "f:3: error: wrong\n" },
        { { .file = "f", .line = 3, .column = 7 }, "f:3:7: error: wrong\n" },
        { { .file = "f", .node = "conv1" }, "f: conv1: error: wrong\n" },
        { { .node = "conv1" }, "conv1: error: wrong\n" },
        { { .file = "f", .text = "not shown without a line" }, "f: error: wrong\n" },
    };
    for (uint32_t i = 0; i < BT_COUNT(cases); i++)
        assert_string_equal(rendered(wrong_at(&cases[i].place), 0), cases[i].expected);
    assert_string_equal(rendered(NULL, 0), "");
}

/* Only the source line and the marks below it. */
static void assert_lines(uint32_t column, uint32_t width, const char *text,
                         const char *expected)
{
    bt_place place = {
        .file = "f", .line = 1, .column = column, .width = width, .text = text
    };
    assert_string_equal(strchr(rendered(wrong_at(&place), 0), '\n') + 1, expected);
}

static void test_marks_stand_below_what_they_mean(void **state)
{
    (void)state;
    assert_lines(5, 3, "let abc = 1", "    let abc = 1\n        ^~~\n");
    assert_lines(1, 0, "let", "    let\n    ^\n");
    assert_lines(1, 1, "", "    \n    ^\n");
    assert_lines(4, 1, "let", "    let\n       ^\n");
    assert_lines(99, 9, "let", "    let\n       ^\n");
    assert_lines(2, 99, "let", "    let\n     ^~\n");
    assert_lines(4, 2, "\ta\tbcd", "    \ta\tbcd\n    \t \t^~\n");
    assert_lines(1, UINT32_MAX, "let", "    let\n    ^~~\n");
}

static void test_marks_count_characters_not_bytes(void **state)
{
    (void)state;
    assert_lines(7, 4, "\xc3\xa4\xe2\x82\xac=\xc3\xb6\xc3\xbc;",
                 "    \xc3\xa4\xe2\x82\xac=\xc3\xb6\xc3\xbc;\n       ^~\n");
}

static void test_terminals_get_nothing_to_obey(void **state)
{
    (void)state;
    assert_lines(4, 1,
                 "a\033b\x9b"
                 "c\xc2\x9b\xe2\x80\xae\xe2\x81\xa6",
                 "    a?b?c???\n       ^\n");
    bt_status status = bt_fail_place(ctx, BT_ERR_NAME, &(bt_place){ .file = "a\nb" },
                                     "name \033[31m\r\x7f\xff");
    assert_string_equal(rendered(status, 0), "a?b: error: name ?[31m???\n");
}

static void test_long_lines_are_cut_around_the_column(void **state)
{
    (void)state;
    static char line[100001];
    memset(line, 'a', 100000);
    memcpy(line + 500, "HERE", 4);
    bt_place place = { .file = "f", .line = 1, .column = 501, .width = 4, .text = line };
    const char *shown = strchr(rendered(wrong_at(&place), 0), '\n') + 1;
    const char *here = strstr(shown, "HERE"), *mark = strstr(shown, "^~~~");
    assert_non_null(here);
    assert_non_null(mark);
    assert_int_equal(mark - strchr(shown, '\n') - 1, here - shown);
    assert_int_equal(strncmp(shown, "    ...aaa", 10), 0);
    assert_non_null(strstr(shown, "aaa...\n"));
    assert_true(strlen(shown) < 300);
    // So far out that the record does not keep the line.
    place.column = 90000;
    assert_string_equal(rendered(wrong_at(&place), 0), "f:1:90000: error: wrong\n");
}

static void test_a_cut_leaves_characters_whole(void **state)
{
    (void)state;
    char line[301] = { 0 };
    for (int i = 0; i < 300; i += 3)
        memcpy(line + i, "\xe2\x82\xac", 3);
    for (uint32_t column = 1; column <= 301; column++) {
        bt_place place = { .file = "f", .line = 1, .column = column, .text = line };
        assert_null(strchr(strchr(rendered(wrong_at(&place), 0), '\n'), '?'));
    }
}

static void test_colour_is_only_added(void **state)
{
    (void)state;
    bt_place place = {
        .file = "f", .line = 1, .column = 5, .width = 3, .text = "let abc"
    };
    bt_status status = bt_note(ctx, wrong_at(&place), NULL, 0, "why");
    const char *plain = rendered(status, 0), *coloured = rendered(status, 1);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[31m"));
    // Without its escapes it is the plain text.
    char bare[512];
    size_t n = 0;
    for (const char *at = coloured; *at; at++) {
        if (*at == '\033')
            at = strchr(at, 'm');
        else
            bare[n++] = *at;
    }
    bare[n] = 0;
    assert_string_equal(bare, plain);
}

static void test_json_holds_the_same(void **state)
{
    (void)state;
    bt_place place = { .file = "a\"b\\\n",
                       .line = 3,
                       .column = 5,
                       .width = 2,
                       .text = "\t\xc3\xa4 \xff",
                       .node = "n" };
    bt_status status = bt_note(ctx, wrong_at(&place), NULL, 0, "why");
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render_json(status, &text);
    json_error_t error;
    json_t *json = json_loads(bt_text_get(&text), 0, &error);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "code")), "syntax");
    assert_string_equal(json_string_value(json_object_get(json, "message")), "wrong");
    assert_string_equal(json_string_value(json_object_get(json, "file")), "a\"b\\\n");
    assert_string_equal(json_string_value(json_object_get(json, "node")), "n");
    assert_string_equal(json_string_value(json_object_get(json, "text")),
                        "\t\xc3\xa4 \xef\xbf\xbd");
    assert_int_equal(json_integer_value(json_object_get(json, "line")), 3);
    assert_int_equal(json_integer_value(json_object_get(json, "column")), 5);
    assert_int_equal(json_integer_value(json_object_get(json, "width")), 2);
    json_t *notes = json_object_get(json, "notes");
    assert_int_equal(json_array_size(notes), 1);
    json_t *note = json_array_get(notes, 0);
    assert_string_equal(json_string_value(json_object_get(note, "message")), "why");
    json_decref(json);
}

/* ---- failing allocation ---- */

static int use_diags(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_arena *arena = own ? bt_arena_create(r) : NULL;
    int succeeded = 0;
    if (arena) {
        bt_place place = { .file = "f", .line = 1, .text = "text", .node = "n" };
        bt_status status = bt_fail_place(own, BT_ERR_TYPE, &place, "wrong");
        succeeded = status != bt_no_memory();
        bt_status noted = bt_note(own, status, NULL, 0, "note");
        succeeded = succeeded && noted != status;
        bt_report(own, noted);
        assert_int_equal(bt_ctx_nreport(own), 1);
        succeeded = succeeded && bt_ctx_report(own, 0) == noted;
        bt_text text;
        bt_text_init(&text, arena);
        bt_diag_render(noted, 1, &text);
        bt_diag_render_json(noted, &text);
        succeeded = succeeded && bt_text_get(&text);
    }
    bt_arena_destroy(arena);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *name = malloc(N + 1);
    assert_non_null(name);
    for (size_t i = 0; i < N; i++)
        name[i] = i % 2 ? "\xc3\xa4"[1] : "\xc3\xa4"[0];
    name[N] = 0;
    for (size_t offset = 0; offset < 2; offset++) {
        bt_status status = bt_fail(ctx, BT_ERR_NAME, "no %.*s%s", (int)offset, "x", name);
        size_t n = strlen(status->message);
        assert_in_range(n, 4000, 4200);
        assert_string_equal(status->message + n - 5, "\xc3\xa4...");
    }
    memset(name, 0x80, N); // no characters at all
    assert_in_range(strlen(bt_fail(ctx, BT_ERR_NAME, "%s", name)->message), 4000, 4200);
    free(name);
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_diags);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_record_outlives_what_it_was_made_from),
    TEST(test_notes_are_added_to_a_copy),
    TEST(test_a_span_becomes_a_place),
    TEST(test_reports_beyond_the_limit_are_counted),
    TEST(test_remarks_are_kept_apart_from_errors),
    TEST(test_codes_have_names),
    TEST(test_places_are_written_as_far_as_known),
    TEST(test_marks_stand_below_what_they_mean),
    TEST(test_marks_count_characters_not_bytes),
    TEST(test_terminals_get_nothing_to_obey),
    TEST(test_long_lines_are_cut_around_the_column),
    TEST(test_a_cut_leaves_characters_whole),
    TEST(test_long_messages_are_cut_between_characters),
    TEST(test_colour_is_only_added),
    TEST(test_json_holds_the_same),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
