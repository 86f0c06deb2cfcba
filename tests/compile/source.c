/* Plugins that come as C source: compiled when they are opened, judged as all others. */
#include "compile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <baton/op.h>

/* ---- files ---- */

static const char *folder(void)
{
    static char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/source.%d", (int)getpid());
    return path;
}

static const char *path_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%s", folder(), name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static const char *const names[] = { "swish.c", "swish.baton.json", "other.c",
                                     "help.c",  "help.h",           "out.json",
                                     "link.c",  "help_more.c" };

/* Skips the test before anything is written where there is no compiler. */
static void begin(void)
{
    bt_ctx *ctx = open_plain();
    need(ctx, NULL, NULL);
    bt_ctx_destroy(ctx);
    mkdir(folder(), 0755);
}

static void end(void)
{
    for (size_t i = 0; i < BT_COUNT(names); i++)
        unlink(path_of(names[i]));
    rmdir(folder());
}

#define MANIFEST(sources)                                                            \
    "{ \"id\": \"test.swish\", \"version\": \"1.0.0\", \"license\": \"Apache-2.0\"," \
    " \"abi\": {\"major\": 0, \"needs\": 1, \"built\": 1}," sources                  \
    " \"provides\": {\"ops\": [{\"name\": \"swish\", \"doc\": \"d\","                \
    " \"revision\": 1, \"inputs\": [{\"name\": \"x\", \"type\": \"t[..]\"}],"        \
    " \"relation\": \"(from formula)\", \"computes\": \"formula\","                  \
    " \"formula\": \"y: t[..] = x[..]\"}]} }"
#define SOURCE(formula)                                                         \
    "#include <baton/op.h>\n"                                                   \
    "static const bt_op_input inputs[] = { { .name = \"x\", .type = \"t[..]\" " \
    "}, { 0 } };\n"                                                             \
    "static const bt_op ops[] = { { .name = \"swish\", .revision = 1,\n"        \
    "    .doc = \"d\", .inputs = inputs,\n"                                     \
    "    .formula = \"" formula "\" }, { 0 } };\n"                              \
    "const bt_table bt_swish_swish[] = { BT_OPS(ops), { 0 } };\n"

static bt_ctx *open_source(void)
{
    char manifest[400];
    snprintf(manifest, sizeof(manifest), "%s", path_of("swish.baton.json"));
    const char *const files[] = { manifest, NULL };
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .plugin_files = files };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

static bt_status open_swish(bt_ctx *ctx, const bt_op **op)
{
    return bt_op_get(ctx, "swish", op);
}

static void check_opens(const char *formula)
{
    const bt_op *op;
    bt_ctx *ctx = open_source();
    assert_ok(ctx, open_swish(ctx, &op));
    assert_string_equal(op->formula, formula);
    assert_string_equal(bt_plugin_id(op->plugin), "test.swish");
    assert_ok(ctx, bt_plugin_open(ctx, "test.swish"));
    bt_ctx_destroy(ctx);
}

static void test_a_source_is_compiled_when_it_is_needed(void **state)
{
    (void)state;
    begin();
    write_file("swish.baton.json", MANIFEST("\"sources\": [\"swish.c\"],"));
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    check_opens("y: t[..] = x[..]");
    // Edited, and run again.
    write_file("swish.c", SOURCE("y: t[..] = x[..] * x[..]"));
    check_opens("y: t[..] = x[..] * x[..]");
    end();
}

static void check_by(const char *compiler, const char *options)
{
    bt_ctx *ctx = open_plain();
    char manifest[2000];
    need(ctx, compiler, options);
    bt_ctx_destroy(ctx);
    begin();
    snprintf(manifest, sizeof(manifest),
             MANIFEST("\"sources\": [\"swish.c\"], \"compiler\": \"%s\","), compiler);
    write_file("swish.baton.json", manifest);
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    setenv("BATON_CACHE", "off", 1);
    check_opens("y: t[..] = x[..]");
    unsetenv("BATON_CACHE");
    end();
}

static void test_the_manifest_names_the_compiler(void **state)
{
    (void)state;
    check_by("tcc", NULL);
    check_by("cc", NULL);
}

static void check_refused(uint32_t code, const char *part)
{
    const bt_op *op;
    bt_ctx *ctx = open_source();
    assert_error(open_swish(ctx, &op), code, part);
    bt_ctx_destroy(ctx);
}

static void test_a_compiler_that_is_absent_is_named(void **state)
{
    (void)state;
    begin();
    write_file("swish.baton.json",
               MANIFEST("\"sources\": [\"swish.c\"], \"compiler\": \"acc\","));
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    check_refused(BT_ERR_PLUGIN,
                  "plugin test.swish comes as C source: no compiler is named \"acc\"");
    end();
}

static void test_files_share_functions_and_headers(void **state)
{
    (void)state;
    begin();
    write_file(
        "swish.baton.json",
        MANIFEST(
            "\"sources\": [\"swish.c\", \"other.c\", \"help.c\", \"help_more.c\"],"));
    write_file("help.h", "#include <string.h>\nextern const char *const help_doc;\n"
                         "const char *help_me(void);\nconst char *help_more(void);\n");
    write_file("help.c", "#include \"help.h\"\nconst char *const help_doc = \"d\";\n"
                         "const char *help_me(void) { return help_more(); }\n");
    write_file("help_more.c", "#include \"help.h\"\n"
                              "const char *help_more(void) { return help_doc; }\n");
    write_file("other.c", "#include <baton/op.h>\n#include \"help.h\"\n"
                          "const bt_table bt_swish_other[] = { { 0 } };\n"
                          "const char *other_name(void);\n"
                          "const char *other_name(void) { return help_me(); }\n");
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    check_opens("y: t[..] = x[..]");
    // Without its header the helper is no helper.
    unlink(path_of("help.h"));
    write_file("help.c", "int help_me(void);\nint help_me(void) { return 1; }\n");
    write_file("help_more.c",
               "int help_more(void);\nint help_more(void) { return 1; }\n");
    write_file("other.c", "#include <baton/op.h>\n"
                          "const bt_table bt_swish_other[] = { { 0 } };\n");
    check_refused(BT_ERR_PLUGIN, "expected `const bt_table bt_swish_help[]`");
    end();
}

static void test_a_binary_goes_first_and_sources_stand_in(void **state)
{
    (void)state;
    begin();
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    write_file("swish.baton.json",
               MANIFEST("\"binaries\": [{\"path\": \"m.so\", \"os\": \"plan9\", "
                        "\"arch\": \"mips\"}], \"sources\": [\"swish.c\"],"));
    check_opens("y: t[..] = x[..]");
    end();
}

static void test_libbaton_is_all_that_a_source_may_call(void **state)
{
    (void)state;
    const bt_op *op;
    begin();
    write_file("swish.baton.json", MANIFEST("\"sources\": [\"swish.c\"],"));
    write_file(
        "swish.c",
        SOURCE("y: t[..] = x[..]") "int system(const char *); int bt_nothing(void);\n"
                                   "int call(void) { return system(\"true\") + "
                                   "bt_nothing(); }\n"
                                   "bt_status fine(bt_ctx *ctx) { return bt_fail(ctx, 1, "
                                   "\"%d\", 2); }\n");
    bt_ctx *ctx = open_source();
    bt_status status = open_swish(ctx, &op);
    assert_error(status, BT_ERR_PLUGIN, "nothing defines system, bt_nothing");
    assert_null(strstr(status->message, "bt_fail"));
    bt_ctx_destroy(ctx);
    end();
}

static void test_what_differs_from_the_manifest_is_refused(void **state)
{
    (void)state;
    begin();
    write_file("swish.baton.json", MANIFEST("\"sources\": [\"swish.c\"],"));
    write_file("swish.c", SOURCE("y: t[..] = x[..]\", .relation = \"Other"));
    check_refused(BT_ERR_PLUGIN, "/provides/ops/0/relation: the manifest says "
                                 "\"(from formula)\", the plugin's table says \"Other\"");
    write_file("swish.c", "#include <baton/op.h>\n"
                          "const bt_table bt_swish_swish[] = { { 0 } };\n");
    check_refused(BT_ERR_PLUGIN,
                  "the manifest provides \"swish\", the plugin's tables do not");
    end();
}

static void test_files_outside_the_folder_are_refused(void **state)
{
    (void)state;
    begin();
    write_file("swish.baton.json", MANIFEST("\"sources\": [\"link.c\"],"));
    assert_int_equal(symlink("/etc/passwd", path_of("link.c")), 0);
    check_refused(BT_ERR_PLUGIN, "is a link to /etc/passwd, outside the folder of");
    unlink(path_of("link.c"));
    check_refused(BT_ERR_PLUGIN, "there is no such file, which ");
    end();
}

/* ---- the message that most will see ---- */

static void test_a_typo_is_shown_with_its_line(void **state)
{
    (void)state;
    const bt_op *op;
    bt_ctx *ctx = open_plain();
    char expected[1000];
    bt_text text;
    need(ctx, "tcc", NULL);
    bt_ctx_destroy(ctx);
    begin();
    write_file("swish.baton.json",
               MANIFEST("\"sources\": [\"swish.c\"], \"compiler\": \"tcc\","));
    write_file("swish.c", "#include <baton/op.h>\n\n"
                          "static int twice(int x)\n{\n    return x * tow;\n}\n");
    snprintf(expected, sizeof(expected),
             "error: plugin test.swish is refused: its C source does not compile\n"
             "%s:5:16: note: 'tow' undeclared\n"
             "        return x * tow;\n"
             "                   ^~~\n",
             path_of("swish.c"));
    ctx = open_source();
    for (int i = 0; i < 2; i++) { // the second time the kept reason is given
        bt_status status = open_swish(ctx, &op);
        assert_non_null(status);
        bt_text_init(&text, bt_ctx_scratch(ctx));
        bt_diag_render(status, 0, &text);
        assert_string_equal(bt_text_get(&text), expected);
    }
    bt_ctx_destroy(ctx);
    end();
}

/* ---- describing ---- */

static void test_a_manifest_is_written_from_the_source(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text text;
    need(ctx, NULL, NULL);
    begin();
    write_file("swish.c", SOURCE("y: t[..] = x[..]"));
    write_file("swish.baton.json",
               "{ \"id\": \"test.swish\", \"version\": \"1.0.0\", \"license\": \"MIT\", "
               "\"sources\": [\"swish.c\"], \"provides\": {\"passes\": [1]} }");
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_plugin_describe_sources(ctx, path_of("swish.baton.json"), &text));
    assert_non_null(strstr(bt_text_get(&text), "\"license\": \"MIT\""));
    assert_null(strstr(bt_text_get(&text), "passes"));
    assert_null(strstr(bt_text_get(&text), "binaries"));
    write_file("swish.baton.json", bt_text_get(&text));
    check_opens("y: t[..] = x[..]");
    write_file("swish.baton.json", "{ \"id\": \"a\", \"version\": \"1.0.0\" }");
    assert_error(bt_plugin_describe_sources(ctx, path_of("swish.baton.json"), &text),
                 BT_ERR_MANIFEST, "field \"sources\" is missing");
    bt_ctx_destroy(ctx);
    end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_source_is_compiled_when_it_is_needed),
    cmocka_unit_test(test_the_manifest_names_the_compiler),
    cmocka_unit_test(test_a_compiler_that_is_absent_is_named),
    cmocka_unit_test(test_files_share_functions_and_headers),
    cmocka_unit_test(test_a_binary_goes_first_and_sources_stand_in),
    cmocka_unit_test(test_libbaton_is_all_that_a_source_may_call),
    cmocka_unit_test(test_what_differs_from_the_manifest_is_refused),
    cmocka_unit_test(test_files_outside_the_folder_are_refused),
    cmocka_unit_test(test_a_typo_is_shown_with_its_line),
    cmocka_unit_test(test_a_manifest_is_written_from_the_source),
};
TEST_MAIN(tests)
