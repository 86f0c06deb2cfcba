/* Places of JSON values, shapes, nearest names, digests. */
#include "test.h"

#include "base/nearest.h"
#include "plugin/json.h"
#include "plugin/sha256.h"

static int setup(void **state)
{
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .plugin_only = "" });
    *state = r ? bt_ctx_create(r) : NULL;
    bt_registry_unref(r);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    bt_ctx_destroy(*state);
    return 0;
}

static bt__json_doc doc_of(const char *text)
{
    return (bt__json_doc){
        .file = "x.json", .text = text, .nbytes = strlen(text), .code = BT_ERR_MANIFEST
    };
}

/* ---- places ---- */

static void expect_place(bt_ctx *ctx, const bt__json *json, int at_key, uint32_t line,
                         uint32_t column, uint32_t width)
{
    bt_status fault = bt__spot_fail(ctx, bt__json_spot(json, at_key), "here");
    assert_int_equal(fault->place.line, line);
    assert_int_equal(fault->place.column, column);
    assert_int_equal(fault->place.width, width);
}

static void test_values_and_keys_are_found_again(void **state)
{
    bt_ctx *ctx = *state;
    static const char text[] = "{ \"a\" : [1, {\"b/~\": true},\n"
                               "  \"\\\"x\\u00e4\" ],\n"
                               "\t\"\\u0063\": null, \"d\": {}}";
    bt__json_doc doc = doc_of(text);
    bt_map index;
    json_t *tree;
    bt_map_init(&index, bt_ctx_scratch(ctx), 0);
    for (int indexed = 0; indexed < 2; indexed++) {
        if (indexed)
            doc.index = &index;
        assert_ok(ctx, bt__json_parse(ctx, &doc, &tree));
        bt__json root = bt__json_root(&doc, tree);
        bt__json a = bt__json_member(&root, "a");
        bt__json object = bt__json_element(&a, 1);
        bt__json b = bt__json_member(&object, "b/~");
        bt__json string = bt__json_element(&a, 2);
        bt__json c = bt__json_member(&root, "c");
        bt__json d = bt__json_member(&root, "d");
        expect_place(ctx, &root, 0, 1, 1, 1);
        expect_place(ctx, &a, 0, 1, 9, 1);
        expect_place(ctx, &a, 1, 1, 3, 3);
        expect_place(ctx, &object, 0, 1, 13, 1);
        expect_place(ctx, &b, 0, 1, 21, 4);
        expect_place(ctx, &b, 1, 1, 14, 5);
        expect_place(ctx, &string, 0, 2, 3, 11);
        expect_place(ctx, &c, 0, 3, 12, 4);
        expect_place(ctx, &c, 1, 3, 2, 8);
        expect_place(ctx, &d, 0, 3, 23, 1);
        bt_text pointer;
        bt_text_init(&pointer, bt_ctx_scratch(ctx));
        bt__json_pointer(&b, &pointer);
        assert_string_equal(bt_text_get(&pointer), "/a/1/b~1~0");
        json_decref(tree);
    }
}

static void test_an_escape_that_is_no_character_has_a_place(void **state)
{
    bt_ctx *ctx = *state;
    static const char *const texts[] = { "{\"a\": \"\\ud800\"}",
                                         "{\"a\\ud800\": 1, \"b\": 2}",
                                         "{\"a\": [\"\\udc00\"]}" };
    static const uint32_t columns[] = { 7, 2, 8 };
    json_t *tree;
    for (int i = 0; i < 3; i++) {
        const bt__json_doc doc = doc_of(texts[i]);
        bt_status fault = bt__json_parse(ctx, &doc, &tree);
        assert_error(fault, BT_ERR_MANIFEST, "Unicode");
        assert_int_equal(fault->place.column, columns[i]);
    }
}

static void test_depth_is_bounded_before_the_tree_is_made(void **state)
{
    bt_ctx *ctx = *state;
    char text[2 * BT__JSON_MAX_DEPTH + 8];
    json_t *tree;
    for (size_t depth = BT__JSON_MAX_DEPTH; depth <= BT__JSON_MAX_DEPTH + 1; depth++) {
        size_t n = 0;
        n += (size_t)sprintf(text, "{\"a\":");
        for (size_t i = 1; i < depth; i++)
            text[n++] = '[';
        for (size_t i = 1; i < depth; i++)
            text[n++] = ']';
        text[n++] = '}';
        text[n] = 0;
        bt__json_doc doc = doc_of(text);
        bt_status status = bt__json_parse(ctx, &doc, &tree);
        if (depth > BT__JSON_MAX_DEPTH) {
            assert_error(status, BT_ERR_MANIFEST, "nested more than 32 deep");
        } else {
            assert_ok(ctx, status);
            json_decref(tree);
        }
    }
}

/* ---- shapes ---- */

static const bt__shape count = { .kinds = BT__JSON_INT, .low = 1, .high = 3 };
static const bt__shape colour = { .kinds = BT__JSON_STRING, .choices = "red|green|blue" };
static const bt__shape ratio = { .kinds = BT__JSON_REAL };
static const bt__shape counts = { .kinds = BT__JSON_LIST, .items = &count };
static const bt__shape_field fields[] = {
    { "count", &count, 1 },
    { "colour", &colour, 0 },
    { "counts", &counts, 0 },
    { "ratio", &ratio, 0 },
    { 0 },
};
static const bt__shape thing = { .kinds = BT__JSON_OBJECT,
                                 .fields = fields,
                                 .others = &count,
                                 .accepts_key = bt__is_interface };

static bt_status check(bt_ctx *ctx, const char *text, int report_all)
{
    bt__json_doc doc = doc_of(text);
    json_t *tree;
    assert_ok(ctx, bt__json_parse(ctx, &doc, &tree));
    bt__json root = bt__json_root(&doc, tree);
    bt_status status = bt__json_check(ctx, &root, &thing, report_all);
    json_decref(tree);
    return status;
}

static void test_what_fits_its_shape_passes(void **state)
{
    bt_ctx *ctx = *state;
    assert_ok(ctx, check(ctx,
                         "{\"count\": 3, \"colour\": \"green\", \"counts\": [1, 2],"
                         " \"ratio\": 2, \"x.y/12\": 1}",
                         0));
}

static void test_what_does_not_fit_is_named(void **state)
{
    bt_ctx *ctx = *state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "{}", "field \"count\" is missing: an integer in 1..3" },
        { "{\"count\": 4}", "/count: expected an integer in 1..3, found 4" },
        { "{\"count\": 1.5}", "/count: expected an integer in 1..3, found 1.5" },
        { "{\"count\": null}", "/count: expected an integer in 1..3, found null" },
        { "{\"count\": 1, \"colour\": \"greem\"}",
          "/colour: expected one of red|green|blue, found \"greem\"; did you mean "
          "green?" },
        { "{\"count\": 1, \"colour\": \"red|green\"}", "/colour: expected one of" },
        { "{\"count\": 1, \"colour\": \"\"}", "/colour: expected one of" },
        { "{\"count\": 1, \"counts\": {}}",
          "/counts: expected a list ([...]), found an object" },
        { "{\"count\": 1, \"counts\": [1, 9]}",
          "/counts/1: expected an integer in 1..3" },
        { "{\"count\": 1, \"ratio\": \"1\"}", "/ratio: expected a number, found \"1\"" },
        { "{\"count\": 1, \"color\": \"red\"}",
          "unknown field \"color\": expected one of "
          "count, colour, counts, ratio; did you mean "
          "colour" },
        { "{\"count\": 1, \"x.y/a\": 1}", "unknown field \"x.y/a\"" },
        { "{\"count\": 1, \"x.y/1\": 7}", "/x.y~11: expected an integer" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++)
        assert_error(check(ctx, cases[i].text, 0), BT_ERR_MANIFEST, cases[i].part);
}

static void test_all_faults_are_reported_on_request(void **state)
{
    bt_ctx *ctx = *state;
    static const char text[] =
        "{\"count\": 0, \"colour\": 1, \"counts\": [0, 1, 0], \"z\": 1}";
    bt_status first = check(ctx, text, 1);
    assert_int_equal(bt_ctx_nreport(ctx), 5);
    assert_ptr_equal(bt_ctx_report(ctx, 0), first);
    bt_ctx_clear_diags(ctx);
    bt_ctx_limits(ctx)->errors = 2;
    assert_non_null(check(ctx, text, 1));
    assert_int_equal(bt_ctx_nreport(ctx), 2);
}

static void test_grammars_of_strings(void **state)
{
    (void)state;
    static const struct {
        int (*accepts)(const char *);
        const char *yes[5], *no[9];
    } cases[] = {
        { bt__is_name,
          { "nn.conv2d", "fold-constant", "_x", "Broadcast" },
          { "", "2d", "nn.", "a b", "-x", "a/b", "a-", ".a" } },
        { bt__is_interface,
          { "quant.scheme/1", "a/12" },
          { "a", "a/", "a/b", "/1", "a/1x" } },
        { bt__is_version,
          { "0.1.0", "1.22.333", "1.2.3-rc.1" },
          { "1", "1.2", "1.2.3.4", "1.2.3-", "v1.2.3", "1..3", "1.2.3+x" } },
        { bt__is_path,
          { "a", "a/b.so", "..a/b..", "a b" },
          { "", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a/." } },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++) {
        for (const char *const *text = cases[i].yes; *text; text++) {
            if (!cases[i].accepts(*text))
                fail_msg("%s is refused", *text);
        }
        for (const char *const *text = cases[i].no; *text; text++) {
            if (cases[i].accepts(*text))
                fail_msg("%s is accepted", *text);
        }
    }
}

/* ---- nearest names ---- */

static const char *nearest(bt_ctx *ctx, const char *name, const char *known)
{
    bt__nearest n;
    bt__nearest_init(&n, name);
    bt__nearest_offer_words(&n, bt_ctx_scratch(ctx), known, ' ');
    return bt__nearest_text(&n, bt_ctx_scratch(ctx));
}

static void test_nearest_names(void **state)
{
    bt_ctx *ctx = *state;
    static const char known[] = "nn.relu nn.prelu nn.conv2d add subtract int";
    assert_string_equal(nearest(ctx, "nn.rleu", known),
                        "; did you mean nn.relu or nn.prelu?");
    assert_string_equal(nearest(ctx, "relu", known), "; did you mean nn.relu?");
    assert_string_equal(nearest(ctx, "integer", known), "; did you mean int?");
    assert_string_equal(nearest(ctx, "sub", known), "; did you mean subtract?");
    assert_string_equal(nearest(ctx, "teleport", known), "");
    assert_string_equal(nearest(ctx, "", known), "");
}

/* ---- digests ---- */

/* The examples of FIPS 180-4 and lengths around the padding's edges. */
static void test_sha256_of_known_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *digest;
    } cases[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "0123456789012345678901234567890123456789012345678901234567890123",
          "9674d9e078535b7cec43284387a6ee39956188e735a85452b0050b55341cda56" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++) {
        char digest[65];
        bt_digest(cases[i].text, strlen(cases[i].text), digest);
        assert_string_equal(digest, cases[i].digest);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(test_values_and_keys_are_found_again),
    TEST(test_an_escape_that_is_no_character_has_a_place),
    TEST(test_depth_is_bounded_before_the_tree_is_made),
    TEST(test_what_fits_its_shape_passes),
    TEST(test_what_does_not_fit_is_named),
    TEST(test_all_faults_are_reported_on_request),
    TEST(test_grammars_of_strings),
    TEST(test_nearest_names),
    TEST(test_sha256_of_known_texts),
};
TEST_MAIN(tests)
