/* What the tests of text share: parse, print, compare. */
#ifndef TEXT_TEST_H
#define TEXT_TEST_H

#include "test.h"

#include <stdlib.h>

#include <baton/op.h>

static bt_registry *registry;
static bt_ctx *ctx;

static int setup(void **state)
{
    (void)state;
#ifdef TEST_OPS
    const bt_registry_options options = { .ignore_environment = 1,
                                          .plugin_only = TEST_OPS };
#else
    const bt_registry_options options = { .ignore_environment = 1 };
#endif
    registry = bt_registry_create(&options);
    ctx = bt_ctx_create(registry);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return 0;
}

static inline bt_module *parse(const char *text)
{
    bt_module *module = NULL;
    assert_ok(ctx, bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module));
    return module;
}

/* The caller frees it. */
static inline char *print_with(const bt_module *module, const bt_print_options *options)
{
    bt_text text;
    bt_arena *arena = bt_arena_create(registry);
    bt_text_init(&text, arena);
    assert_ok(ctx, bt_print(ctx, module, options, &text));
    char *copy = strdup(bt_text_get(&text));
    bt_arena_destroy(arena);
    return copy;
}

static inline char *print(const bt_module *module)
{
    return print_with(module, NULL);
}

/* Printing reads back as an equal module that prints the same. */
static inline void check_round_trip(const char *text)
{
    bt_module *module = parse(text);
    char *first = print(module);
    bt_module *again = parse(first);
    char *second = print(again);
    assert_string_equal(first, second);
    assert_int_equal(module->is_typed, again->is_typed);
    if (!bt_module_equal(module, again))
        fail_msg("not equal to what it was read back as:\n%s", first);
    free(first);
    free(second);
    bt_module_unref(module);
    bt_module_unref(again);
}

/* The text is printed as it is. */
static inline void check_exact(const char *text)
{
    bt_module *module = parse(text);
    char *printed = print(module);
    assert_string_equal(printed, text);
    free(printed);
    bt_module_unref(module);
    check_round_trip(text);
}

/* Parsing `text` prints `expected`. */
static inline void check_prints(const char *text, const char *expected)
{
    bt_module *module = parse(text);
    char *printed = print(module);
    assert_string_equal(printed, expected);
    free(printed);
    bt_module_unref(module);
    check_round_trip(text);
}

/* Parsing fails first with this message part at this place. */
static inline void check_error(const char *text, uint32_t line, uint32_t column,
                               const char *part)
{
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "test.bt", NULL, text, strlen(text), &module);
    assert_non_null(status);
    assert_null(module);
    if (!strstr(status->message, part))
        fail_msg("expected \"%s\" in: %s", part, status->message);
    if (status->place.line != line || status->place.column != column)
        fail_msg("expected the place %u:%u, found %u:%u: %s", line, column,
                 status->place.line, status->place.column, status->message);
    bt_ctx_clear_diags(ctx);
}

#endif
