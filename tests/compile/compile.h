/* What the tests of compilers share. */
#ifndef COMPILE_H
#define COMPILE_H

#include <stdlib.h>

#include "test.h"

#include <baton/compiler.h>

static inline bt_ctx *open_plain(void)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

/* Skips the test where the compiler does not work, saying why; there is no excuse where
 * all packages are installed. */
static inline void need(bt_ctx *ctx, const char *compiler, const char *options)
{
    bt_status status = bt_c_probe(ctx, compiler, options);
    const char *ci = getenv("CI");
    if (!status)
        return;
    if (ci && strcmp(ci, "true") == 0)
        fail_msg("%s", status->message);
    printf("skipped: %s\n", status->message);
    bt_ctx_destroy(ctx);
    skip();
}

static inline bt_status try_compile(bt_ctx *ctx, const char *compiler,
                                    const char *options, const char *text,
                                    bt_text *object)
{
    const bt_c_source source = { .name = "text.c", .text = text, .nbytes = strlen(text) };
    bt_text_init(object, bt_ctx_scratch(ctx));
    return bt_c_compile(ctx, compiler, options, &source, object);
}

static inline bt_status load_object(bt_ctx *ctx, const bt_text *object,
                                    const bt_symbol *symbols, bt_code **out)
{
    const bt_code_object part = { "text.o", object->at, object->len };
    return bt_code_load(ctx, 1, &part, symbols, out);
}

/* The options keep the tests out of the user's cache. */
static inline bt_code *build(bt_ctx *ctx, const char *compiler, const char *options,
                             const char *text, const bt_symbol *symbols)
{
    bt_text object;
    bt_code *code = NULL;
    assert_ok(ctx, try_compile(ctx, compiler, options, text, &object));
    assert_ok(ctx, load_object(ctx, &object, symbols, &code));
    return code;
}

static inline bt_function get(const bt_code *code, const char *name)
{
    bt_function f = bt_code_find(code, name);
    if (!f)
        fail_msg("there is no function %s", name);
    return f;
}

/* The compilers under test. */
static const struct {
    const char *name, *options;
} compilers[] = {
    { "tcc", NULL },
    { "cc", "cache=\"off\"" },
};

#endif
