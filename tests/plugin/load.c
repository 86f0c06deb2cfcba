/* Plugins are found, listed without being opened, opened by need, and checked. */
#include <stdlib.h>

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
    assert_int_equal(bt_op_input_index(op, "bias"), 1);
    assert_int_equal(bt_op_input_index(op, "y"), -1);
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_listing_opens_nothing, setup, teardown),
    cmocka_unit_test_setup_teardown(test_an_operator_is_completed_by_its_plugin, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(test_facets_are_found_by_name, setup, teardown),
    cmocka_unit_test_setup_teardown(test_an_unknown_name_gets_its_neighbours, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(test_rows_of_any_interface_grow_with_zeros, setup,
                                    teardown),
};
TEST_MAIN(tests)
