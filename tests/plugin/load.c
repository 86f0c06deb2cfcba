/* Plugins are found, listed without being opened, opened by need, and checked. */
#include <pthread.h>
#include <stdlib.h>

#include "failing_allocator.h"
#include "test.h"

#include <baton/op.h>
#include <baton/pass.h>

static int setup(void **state)
{
    bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    *state = ctx;
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    bt_ctx_destroy(*state);
    return 0;
}

static void test_listing_opens_nothing(void **state)
{
    bt_ctx *ctx = *state;
    assert_ok(ctx, bt_plugins_scan(ctx));
    assert_int_equal(bt_plugins_len(ctx), 1);
    const bt_plugin_handle *plugin = bt_plugins_at(ctx, 0);
    assert_ok(ctx, bt_plugin_refusal(plugin));
    assert_string_equal(bt_plugin_id(plugin), "test.good");
    assert_string_equal(bt_plugin_version(plugin), "0.1.0");
    assert_int_equal(bt_provided_len(ctx, "op"), 2);
    bt_provided item;
    assert_ok(ctx, bt_provided_at(ctx, "op", 0, &item));
    assert_string_equal(item.name, "test.twice");
    assert_string_equal(item.doc, "Double a tensor.");
    assert_non_null(strstr(item.json, "\"revision\":2"));
    assert_int_equal(bt_plugin_state(plugin), BT_PLUGIN_FOUND);
}

static void test_an_operator_is_completed_by_its_plugin(void **state)
{
    bt_ctx *ctx = *state;
    const bt_op *op, *again;
    assert_ok(ctx, bt_op_get(ctx, "test.twice", &op));
    assert_ok(ctx, bt_op_get(ctx, "test.twice", &again));
    assert_ptr_equal(op, again);
    assert_int_equal(op->revision, 2);
    assert_non_null(op->eval);
    assert_string_equal(bt_plugin_id(op->plugin), "test.good");
    assert_int_equal(bt_plugin_state(op->plugin), BT_PLUGIN_OPEN);
    uint32_t nrequired;
    assert_int_equal(bt_op_ninput(op, &nrequired), 2);
    assert_int_equal(nrequired, 1);
    assert_ok(ctx, bt_op_get(ctx, "test.zero", &op));
    assert_int_equal(bt_op_ninput(op, NULL), 0);
}

static void test_facets_are_found_by_name(void **state)
{
    bt_ctx *ctx = *state;
    const bt_op *op;
    const void *table;
    assert_ok(ctx, bt_op_get(ctx, "test.twice", &op));
    assert_ok(ctx, bt_op_facet(ctx, op, "cases", &table));
    assert_string_equal(((const bt_cases_facet *)table)->text, "float32[2]");
    assert_ok(ctx, bt_op_facet(ctx, op, "gradient", &table));
    assert_null(table);
}

/* The text of a "cases" facet, under a choice of the user's. */
static const char *cases_of(bt_ctx *ctx, const char *name, bt_status *fault)
{
    const bt_op *op;
    const void *table = NULL;
    assert_ok(ctx, bt_op_get(ctx, name, &op));
    *fault = bt_op_facet(ctx, op, "cases", &table);
    return *fault ? NULL : ((const bt_cases_facet *)table)->text;
}

static bt_ctx *open_both(const char *use)
{
    bt_registry_options options = { .plugin_only = TEST_PLUGINS ":" TEST_MORE,
                                    .plugin_use = use,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    assert_non_null(ctx);
    return ctx;
}

static void test_other_plugins_add_facets_by_priority(void **state)
{
    (void)state;
    const bt_op *op;
    const void *colour;
    bt_status fault;
    bt_ctx *ctx = open_both(NULL);
    assert_string_equal(cases_of(ctx, "test.twice", &fault), "float32[7]");
    assert_null(cases_of(ctx, "test.zero", &fault));
    assert_error(
        fault, BT_ERR_PLUGIN,
        "facet cases of test.zero is given twice with priority 0, by test.good (");
    assert_ok(ctx, bt_op_get(ctx, "test.zero", &op));
    assert_ok(ctx, bt_op_facet(ctx, op, "test.colour", &colour));
    int64_t numbers[2]; // what the table lacks reads as zero
    memcpy(numbers, colour, sizeof(numbers));
    assert_true(numbers[0] == 42 && numbers[1] == 0);
    bt_ctx_destroy(ctx);
    ctx = open_both("test.zero:cases=test.more test.twice:cases=test.good");
    assert_string_equal(cases_of(ctx, "test.zero", &fault), "float32[8]");
    assert_string_equal(cases_of(ctx, "test.twice", &fault), "float32[2]");
    bt_ctx_destroy(ctx);
}

static void test_an_unknown_name_gets_its_neighbours(void **state)
{
    bt_ctx *ctx = *state;
    const bt_op *op;
    assert_error(bt_op_get(ctx, "test.twise", &op), BT_ERR_NAME,
                 "no op is named \"test.twise\"; did you mean test.twice?");
    assert_error(bt_op_get(ctx, "zero", &op), BT_ERR_NAME, "did you mean test.zero?");
}

static void test_rows_of_any_interface_grow_with_zeros(void **state)
{
    bt_ctx *ctx = *state;
    struct {
        const char *name, *text, *later;
    } greeting;
    const void *row;
    assert_ok(ctx,
              bt_registry_row(ctx, "test.greeting/1", "hello", sizeof(greeting), &row));
    memcpy(&greeting, row, sizeof(greeting));
    assert_string_equal(greeting.text, "good day");
    assert_null(greeting.later);
}

/* ---- threads and memory ---- */

static void *look_up(void *registry)
{
    bt_ctx *ctx = bt_ctx_create(registry);
    const bt_op *op = NULL;
    const void *table;
    if (!ctx || bt_op_get(ctx, "test.twice", &op) ||
        bt_op_facet(ctx, op, "cases", &table) || bt_provided_len(ctx, "op") != 2)
        op = NULL;
    bt_ctx_destroy(ctx);
    return (void *)(uintptr_t)op;
}

static void test_a_registry_serves_several_threads(void **state)
{
    pthread_t threads[8];
    bt_registry *registry = bt_ctx_registry(*state);
    void *first, *other;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, registry), 0);
    assert_int_equal(pthread_join(threads[0], &first), 0);
    assert_non_null(first);
    for (size_t i = 1; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], &other), 0);
        assert_ptr_equal(first, other);
    }
}

/* What fails for lack of memory works at the second try. */
static int use_plugins(bt_ctx *ctx)
{
    const bt_op *op;
    const void *row, *table;
    bt_provided item;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    return ok_or_no_memory(bt_plugins_scan(ctx)) &&
           ok_or_no_memory(bt_provided_at(ctx, "op", 0, &item)) &&
           ok_or_no_memory(bt_op_get(ctx, "test.twice", &op)) &&
           ok_or_no_memory(bt_op_facet(ctx, op, "cases", &table)) &&
           ok_or_no_memory(bt_registry_row(ctx, "test.greeting/1", "hello", 64, &row)) &&
           ok_or_no_memory(bt_plugin_why(ctx, "test.twice", &text)) &&
           ok_or_no_memory(bt_plugins_add(ctx, TEST_BAD "/none.baton.json")) &&
           ok_or_no_memory(bt_op_get(ctx, "bad.op", &op));
}

static int plugins_body(const bt_allocator *allocator)
{
    bt_registry *registry =
        bt_registry_create(&(bt_registry_options){ .allocator = allocator,
                                                   .arena_single = 1,
                                                   .plugin_only = TEST_PLUGINS,
                                                   .ignore_environment = 1 });
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int ok = ctx && use_plugins(ctx);
    if (ctx && !ok && ((const struct failing_allocator *)allocator)->from_then_on == 0)
        assert_true(use_plugins(ctx));
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return ok;
}

static void test_lack_of_memory_is_an_error_and_passes(void **state)
{
    (void)state;
    fail_each_allocation(plugins_body);
}

static const struct CMUnitTest tests[] = {
    TEST(test_listing_opens_nothing),
    TEST(test_an_operator_is_completed_by_its_plugin),
    TEST(test_facets_are_found_by_name),
    cmocka_unit_test(test_other_plugins_add_facets_by_priority),
    TEST(test_an_unknown_name_gets_its_neighbours),
    TEST(test_a_registry_serves_several_threads),
    cmocka_unit_test(test_lack_of_memory_is_an_error_and_passes),
    TEST(test_rows_of_any_interface_grow_with_zeros),
};
TEST_MAIN(tests)
