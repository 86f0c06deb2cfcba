/*
 * Plugins that are wrong are refused by name, each with its own reason, and the others
 * keep working: shared objects (bad/tables.c) and manifests (written here).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include <baton/op.h>
#include <baton/pass.h>

static bt_ctx *open_with(const char *only, const char *use)
{
    bt_registry_options options = { .plugin_only = only,
                                    .plugin_use = use,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    assert_non_null(ctx);
    return ctx;
}

static bt_ctx *open_only(const char *only)
{
    return open_with(only, NULL);
}

static const bt_plugin_handle *find(bt_ctx *ctx, const char *id)
{
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        if (strcmp(bt_plugin_id(bt_plugins_at(ctx, i)), id) == 0)
            return bt_plugins_at(ctx, i);
    }
    fail_msg("plugin %s was not found", id);
    return NULL;
}

/* ---- shared objects ---- */

static const struct {
    const char *name, *part;
} objects[] = {
    { "no_query", "exports no bt_plugin_query" },
    { "other_libbaton", "linked to another copy of libbaton" },
    { "undefined_symbol", "undefined symbol: bad_symbol_of_nobody" },
    { "abi_major", "built for ABI 7.1, this libbaton has 0.1" },
    { "abi_minor", "built for ABI 0.2, this libbaton has 0.1" },
    { "table_small", "the plugin's table has 16 bytes" },
    { "table_huge", "the plugin's table has 4294967295 bytes" },
    { "nested_small", "rows of attributes, inputs and facets have 4, " },
    { "id_null", "the plugin's id is NULL" },
    { "other_id",
      "/id: the manifest says \"bad.other_id\", the plugin says \"somebody.else\"" },
    { "other_version",
      "/version: the manifest says \"1.0.0\", the plugin says \"9.9.9\"" },
    { "tables_null", "the plugin's list of tables is NULL" },
    { "rows_small", "table baton.op/1 has rows of 8 bytes, expected" },
    { "rows_huge", "table baton.op/1 has rows of 1048576 bytes, expected" },
    { "rows_null", "table baton.op/1 has no rows" },
    { "interface_name", "table ops has no interface name like baton.op/1" },
    { "interface_unknown", "table baton.teleport/1 is not known to this libbaton" },
    { "op_without_compute", "op bad.op: nothing computes it" },
    { "op_without_doc", "op bad.op: doc is missing" },
    { "op_without_revision", "op bad.op: revision is missing" },
    { "op_twice", "table baton.op/1 has bad.op twice" },
    { "op_missing", "the manifest provides \"bad.op\", the plugin's tables do not" },
    { "op_unstated",
      "the plugin's tables provide \"bad.other\" (ops), the manifest does not" },
    { "attr_kind", "op bad.op: attribute axis: kind 99 is none of BT_ATTR_..." },
    { "attr_offset", "op bad.op: attribute axis: stands at offset 8, expected 0" },
    { "attr_default", "/provides/ops/0/attrs/0/default: the manifest says \"1\", the "
                      "plugin's table says \"2\"" },
    { "attr_default_kind",
      "a default of op bad.op: attribute `axis`: expected an integer, found `many`" },
    { "doc_encoding", "op bad.op: doc is not UTF-8" },
    { "attrs_nbytes", "the attributes' struct has 24 bytes, the schema's rows make 8" },
    { "effects", "effects has bits that are none of BT_EFFECT_" },
    { "relation_name", "relation \"not a name\" is not a name" },
    { "facet_null", "op bad.op: facet gradient: table is missing" },
    { "pass_without_run", "pass bad-pass: run is missing" },
    { "executor_without_call", "executor bad: one of open, load and write is needed" },
    { "relation_without_relate", "relation Bad: relate is missing" },
    { "target_blind", "target bad: it wants layouts (`layouts`), but says that it "
                      "reads none: set reads_layouts = 1" },
    { "target_half_queue",
      "target bad: wait is missing: open_queue, close_queue, enqueue "
      "and wait go together" },
    { "target_far_queue", "target bad: copy is missing: alloc, free and copy "
                          "(enqueue_copy of queues) go together" },
    { "target_space", "target bad: space is of memory, and alloc is missing" },
};

static void test_wrong_objects_are_refused_by_name(void **state)
{
    (void)state;
    bt_ctx *ctx = open_only(TEST_BAD);
    for (size_t i = 0; i < BT_COUNT(objects); i++) {
        char id[64];
        snprintf(id, sizeof(id), "bad.%s", objects[i].name);
        const bt_plugin_handle *plugin = find(ctx, id);
        assert_ok(ctx, bt_plugin_refusal(plugin)); // its manifest is well
        bt_status status = bt_plugin_open(ctx, id);
        if (!status)
            fail_msg("%s was opened", id);
        assert_error(status, BT_ERR_PLUGIN, objects[i].part);
        assert_non_null(strstr(status->message, id));
        assert_int_equal(bt_plugin_state(plugin), BT_PLUGIN_REFUSED);
        assert_non_null(strstr(bt_plugin_refusal(plugin)->message, objects[i].part));
        // The second time the kept reason is given.
        assert_error(bt_plugin_open(ctx, id), BT_ERR_PLUGIN, objects[i].part);
    }
    assert_int_equal(bt_plugins_len(ctx), BT_COUNT(objects) + 1);
    assert_ok(ctx, bt_plugin_open(ctx, "bad.none"));
    bt_ctx_destroy(ctx);
}

static void test_a_refused_plugin_leaves_the_name_to_another(void **state)
{
    (void)state;
    const bt_op *op;
    bt_ctx *ctx =
        open_only(TEST_BAD "/none.baton.json:" TEST_BAD "/op_missing.baton.json");
    assert_error(bt_op_get(ctx, "bad.op", &op), BT_ERR_PLUGIN,
                 "op \"bad.op\" is provided twice, by bad.none (");
    assert_int_equal(bt_plugin_open(ctx, "bad.op_missing")->code, BT_ERR_PLUGIN);
    assert_ok(ctx, bt_op_get(ctx, "bad.op", &op));
    assert_string_equal(bt_plugin_id(op->plugin), "bad.none");
    bt_ctx_destroy(ctx);
}

static void test_a_tie_is_settled_by_the_user(void **state)
{
    (void)state;
    static const char only[] =
        TEST_BAD "/none.baton.json:" TEST_BAD "/op_missing.baton.json";
    const bt_op *op;
    bt_ctx *ctx = open_with(only, "x=y , bad.op=bad.none");
    assert_ok(ctx, bt_op_get(ctx, "bad.op", &op));
    assert_string_equal(bt_plugin_id(op->plugin), "bad.none");
    bt_text why;
    bt_text_init(&why, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_plugin_why(ctx, "bad.op", &why));
    assert_non_null(strstr(bt_text_get(&why), "bad.none is used: it was chosen"));
    bt_ctx_destroy(ctx);
    ctx = open_with(only, "bad.op=bad.op_missing"); // chosen, so not passed over
    assert_error(bt_op_get(ctx, "bad.op", &op), BT_ERR_PLUGIN,
                 "plugin bad.op_missing is refused");
    bt_ctx_destroy(ctx);
    ctx = open_with(only, "bad.op=nobody,bad.op,=z");
    assert_error(bt_op_get(ctx, "bad.op", &op), BT_ERR_PLUGIN,
                 "is to be used from plugin nobody, which does not provide it");
    assert_int_equal(bt_ctx_nreport(ctx), 2); // what is no NAME=PLUGIN
    bt_ctx_destroy(ctx);
}

static void test_wrong_ones_do_not_disturb_the_good(void **state)
{
    (void)state;
    const bt_op *op;
    bt_ctx *ctx = open_only(TEST_BAD ":" TEST_PLUGINS);
    assert_ok(ctx, bt_op_get(ctx, "test.twice", &op));
    bt_ctx_destroy(ctx);
}

/* ---- manifests ---- */

#define HEAD "{\"id\": \"m\", \"version\": \"1.0.0\", \"license\": \"MIT\",\n"
#define ABI  "\"abi\": {\"major\": 0, \"needs\": 1, \"built\": 1},\n"
#define SO \
    "\"binaries\": [{\"path\": \"m.so\", \"os\": \"linux\", \"arch\": \"" ARCH "\"}],\n"
#define OPS "\"provides\": {\"relations\": [{\"name\": \"M\", \"doc\": \"Holds.\"}]}"
#if defined(__x86_64__)
#define ARCH "x86_64"
#else
#define ARCH "aarch64"
#endif

static const struct {
    const char *text;
    uint32_t line, column;
    const char *part;
} manifests[] = {
    { "", 1, 1, "expected an object, found the end" },
    { "[1]", 1, 1, "expected an object, found \"[\"" },
    { HEAD, 1, 50, "expected a string in double quotes, found the end" },
    { HEAD ABI SO OPS, 4, 60, "expected \",\" or \"}\", found the end" },
    { HEAD ABI SO OPS "} x", 4, 62, "expected nothing after the object, found \"x\"" },
    { HEAD "\"abi\" {}}", 2, 7, "expected \":\" after the key, found \"{\"" },
    { HEAD "\"abi\": yes}", 2, 8, "expected a value" },
    { HEAD "\"id\": \"n\"}", 2, 1, "this key is given twice" },
    { HEAD "\"doc\": \"a\nb\"}", 2, 10,
      "expected the end of the string before the end of" },
    { HEAD "\"doc\": \"\\u0000\"}", 2, 9, "expected a text without NUL, found \"\\\"" },
    { HEAD "\"doc\": \"\xff\"}", 2, 9, "expected UTF-8, found byte 0xff" },
    { HEAD "\"abi\": 99999999999999999999}", 2, 8, "too big integer" },
    { "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]}", 1, 37,
      "lists and objects are nested more than 32 deep" },
    { "{\"version\": \"1.0.0\", \"license\": \"MIT\", " ABI SO OPS "}", 1, 1,
      "field \"id\" is missing: a plugin's id" },
    { "{\"id\": 7, \"version\": \"1.0.0\", \"license\": \"MIT\", " ABI SO OPS "}", 1, 8,
      "/id: expected a plugin's id, as in org.example.gelu, found 7" },
    { "{\"id\": \"m\", \"version\": \"1.0\", \"license\": \"MIT\", " ABI SO OPS "}", 1,
      24, "/version: expected a version, as in 0.1.0, found \"1.0\"" },
    { HEAD ABI SO OPS ", \"docs\": \"x\"}", 4, 62,
      "unknown field \"docs\": expected one of id, version, license, doc" },
    { HEAD "\"abi\": {\"major\": 3, \"needs\": 1, \"built\": 1},\n" SO OPS "}", 2, 18,
      "/abi/major: the plugin has ABI 3.1, this libbaton has 0.1" },
    { HEAD "\"abi\": {\"major\": 0, \"needs\": 1, \"built\": 2},\n" SO OPS "}", 2, 42,
      "/abi/built: the plugin has ABI 0.2, this libbaton has 0.1, and below 1.0 they "
      "must" },
    { HEAD "\"abi\": {\"major\": 0, \"needs\": 2, \"built\": 1},\n" SO OPS "}", 2, 30,
      "/abi/needs: needs 2 is above 1" },
    { HEAD ABI
      "\"binaries\": [{\"path\": \"../m.so\", \"os\": \"linux\", \"arch\": \"x\"}],\n" OPS
      "}",
      3, 23, "/binaries/0/path: expected a relative path beneath the manifest's folder" },
    { HEAD ABI
      "\"binaries\": [{\"path\": \"/m.so\", \"os\": \"linux\", \"arch\": \"x\"}],\n" OPS
      "}",
      3, 23, "/binaries/0/path: expected a relative path" },
    { HEAD ABI
      "\"binaries\": [{\"path\": \"m.so\", \"os\": \"plan9\", \"arch\": \"mips\"}],\n" OPS
      "}",
      3, 13, "/binaries: expected a binary for linux/" ARCH ", found plan9/mips" },
    { HEAD ABI "\"binaries\": [{\"path\": \"m.so\", \"os\": \"linux\", \"arch\": \"x\", "
               "\"sha256\": "
               "\"12\"}],\n" OPS "}",
      3, 69, "/binaries/0/sha256: expected 64 hexadecimal digits" },
    { HEAD ABI "\"sources\": [\"/m.c\"],\n" OPS "}", 3, 13,
      "/sources/0: expected a relative path" },
    { HEAD ABI "\"sources\": [\"m.c\"], \"compiler\": \"a b\",\n" OPS "}", 3, 33,
      "/compiler: expected a compiler's name, as in tcc, found \"a b\"" },
    { HEAD ABI OPS "}", 1, 1, "field \"binaries\" is missing" },
    { HEAD ABI SO "\"provides\": {\"opps\": []}}", 4, 14,
      "unknown field \"opps\": expected one of ops, relations" },
    { HEAD ABI SO "\"provides\": {\"relations\": [{\"name\": \"M\"}]}}", 4, 28,
      "/provides/relations/0: field \"doc\" is missing: a sentence" },
    { HEAD ABI SO "\"provides\": {\"relations\": [{\"name\": \"M\", \"doc\": \"a\"},\n"
                  "{\"name\": \"M\", \"doc\": \"b\"}]}}",
      5, 1, "/provides/relations/1: \"M\" is provided twice" },
    { HEAD ABI SO
      "\"provides\": {\"ops\": [{\"name\": \"m\", \"doc\": \"d\", \"revision\": 1, "
      "\"inputs\": [],\n\"attrs\": [{\"name\": \"a\", \"kind\": \"integer\"}], "
      "\"relation\": \"(own)\", \"computes\": \"c\"}]}}",
      5, 33, "\"integer\"; did you mean int" },
    { HEAD ABI SO OPS ",\n\"contributes\": [{\"pass\": \"p\"}]}", 5, 17,
      "/contributes/0: field \"slot\" is missing" },
    { HEAD ABI SO OPS
      ",\n\"contributes\": [{\"slot\": \"s\", \"pass\": \"p\", \"level\": \"x\"}]}",
      5, 53, "/contributes/0/level: expected an integer in 0..4, found \"x\"" },
};

static char folder[256];

static void write_file(const char *name, const char *text, size_t nbytes)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "%s/refuse-XXXXXX", TEST_FOLDER);
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* The one manifest in the folder is refused with this. */
static void expect_refusal(uint32_t code, uint32_t line, uint32_t column,
                           const char *part)
{
    bt_ctx *ctx = open_only(folder);
    assert_ok(ctx, bt_plugins_scan(ctx));
    assert_int_equal(bt_plugins_len(ctx), 1);
    const bt_plugin_handle *plugin = bt_plugins_at(ctx, 0);
    assert_int_equal(bt_plugin_state(plugin), BT_PLUGIN_REFUSED);
    bt_status status = bt_plugin_refusal(plugin);
    assert_error(status, code, part);
    if (status->place.line != line || status->place.column != column)
        fail_msg("expected %u:%u, found %u:%u for %s", line, column, status->place.line,
                 status->place.column, part);
    assert_non_null(strstr(status->place.file, "m.baton.json"));
    bt_ctx_destroy(ctx);
}

static void test_wrong_manifests_are_refused_with_a_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(manifests); i++) {
        write_file("m.baton.json", manifests[i].text, strlen(manifests[i].text));
        expect_refusal(BT_ERR_MANIFEST, manifests[i].line, manifests[i].column,
                       manifests[i].part);
    }
    remove_file("m.baton.json");
}

static void test_odd_files_are_refused(void **state)
{
    (void)state;
    char path[512];
    static char large[300 << 10];
    memset(large, ' ', sizeof(large));
    write_file("m.baton.json", large, sizeof(large));
    expect_refusal(BT_ERR_LIMIT, 0, 0, "exceeds the limit of 262144 bytes");
    write_file("m.baton.json", "{\"id\": \0}", 9);
    expect_refusal(BT_ERR_MANIFEST, 1, 8, "found a NUL byte");
    remove_file("m.baton.json");
    snprintf(path, sizeof(path), "%s/m.baton.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal(BT_ERR_IO, 0, 0, "is not a regular file");
    remove_file("m.baton.json");
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refusal(BT_ERR_IO, 0, 0, "is not a regular file");
    rmdir(path);
    assert_int_equal(symlink("nowhere", path), 0);
    expect_refusal(BT_ERR_IO, 0, 0, "there is no such file");
    remove_file("m.baton.json");
}

/* Opening the one plugin in the folder fails with this. */
static void expect_closed(const char *part)
{
    bt_ctx *ctx = open_only(folder);
    assert_error(bt_plugin_open(ctx, "m"), BT_ERR_PLUGIN, part);
    bt_ctx_destroy(ctx);
}

static void test_odd_binaries_are_refused(void **state)
{
    (void)state;
    char path[512];
    static const char text[] = HEAD ABI SO OPS "}";
    static const char sealed[] = HEAD ABI
        "\"binaries\": [{\"path\": \"m.so\", \"os\": \"linux\", \"arch\": \"" ARCH
        "\", \"sha256\": \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b785"
        "2b855\"}]," OPS "}";
    write_file("m.baton.json", text, strlen(text));
    expect_closed("m.so: there is no such file, which ");
    write_file("m.so", "not a shared object", 19);
    expect_closed("cannot be loaded: ");
    write_file("m.so", "", 0);
    expect_closed("cannot be loaded: ");
    remove_file("m.so");
    snprintf(path, sizeof(path), "%s/m.so", folder);
    assert_int_equal(symlink(TEST_BAD "/none.so", path), 0);
    expect_closed("is a link to " TEST_BAD "/none.so, outside the folder of ");
    remove_file("m.so");
    write_file("m.baton.json", sealed, strlen(sealed));
    write_file("m.so", "x", 1);
    expect_closed("its SHA-256 is "
                  "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, ");
    write_file("m.so", "", 0);
    expect_closed("cannot be loaded: "); // the digest of an empty file is right
    remove_file("m.so");
    remove_file("m.baton.json");
}

/* ---- more than one ---- */

static void test_one_id_twice_in_a_folder_is_a_tie(void **state)
{
    (void)state;
    static const char text[] = HEAD ABI SO OPS "}";
    write_file("a.baton.json", text, strlen(text));
    write_file("b.baton.json", text, strlen(text));
    bt_ctx *ctx = open_only(folder);
    const bt_relation *relation;
    assert_int_equal(bt_plugins_len(ctx), 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_error(bt_plugin_refusal(bt_plugins_at(ctx, i)), BT_ERR_PLUGIN,
                     "plugin m is stated twice, by ");
    assert_error(bt_relation_get(ctx, "M", &relation), BT_ERR_PLUGIN, "b.baton.json");
    bt_ctx_destroy(ctx);
    remove_file("a.baton.json");
    remove_file("b.baton.json");
}

static void test_the_place_searched_first_wins_and_why_says_so(void **state)
{
    (void)state;
    static const char text[] =
        "{\"id\": \"bad.none\", \"version\": \"2.0.0\", \"license\": \"MIT\",\n" ABI SO
            OPS "}";
    char only[1024];
    bt_text why;
    write_file("m.baton.json", text, strlen(text));
    snprintf(only, sizeof(only), "%s:relative::%s/none.baton.json", folder, TEST_BAD);
    bt_ctx *ctx = open_only(only);
    assert_int_equal(bt_plugins_len(ctx), 2);
    assert_string_equal(bt_plugin_version(bt_plugins_at(ctx, 0)), "2.0.0");
    assert_ok(ctx, bt_plugin_refusal(bt_plugins_at(ctx, 0)));
    assert_error(bt_plugin_refusal(bt_plugins_at(ctx, 1)), BT_ERR_PLUGIN,
                 "plugin bad.none is hidden by ");
    bt_text_init(&why, bt_ctx_scratch(ctx));
    assert_error(bt_plugin_why(ctx, "bad.op", &why), BT_ERR_NAME,
                 "no plugin found provides \"bad.op\"");
    const char *said = bt_text_get(&why);
    assert_non_null(strstr(said, "no plugin found provides \"bad.op\""));
    assert_non_null(strstr(said,
                           "2. relative (BATON_PLUGIN_ONLY, which replaces all other "
                           "folders): refused: the path is relative"));
    assert_non_null(strstr(said,
                           "3.  (BATON_PLUGIN_ONLY, which replaces all other folders): "
                           "refused: an empty element"));
    bt_text_init(&why, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_plugin_why(ctx, "bad.none", &why));
    assert_non_null(strstr(bt_text_get(&why), "because   plugin bad.none is hidden by "));
    assert_int_equal(bt_ctx_nreport(ctx), 2); // the two elements of the path
    bt_ctx_destroy(ctx);
    remove_file("m.baton.json");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wrong_objects_are_refused_by_name),
    cmocka_unit_test(test_a_refused_plugin_leaves_the_name_to_another),
    cmocka_unit_test(test_a_tie_is_settled_by_the_user),
    cmocka_unit_test(test_wrong_ones_do_not_disturb_the_good),
    TEST(test_wrong_manifests_are_refused_with_a_place),
    TEST(test_odd_files_are_refused),
    TEST(test_odd_binaries_are_refused),
    TEST(test_one_id_twice_in_a_folder_is_a_tie),
    TEST(test_the_place_searched_first_wins_and_why_says_so),
};
TEST_MAIN(tests)
