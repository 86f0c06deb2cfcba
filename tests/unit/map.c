/* Maps: order, growth, keys of both kinds. */
#include "failing_allocator.h"

static void test_entries_keep_their_order(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_map map;
    bt_map_init(&map, arena, 1);
    static int values[5000];
    for (uint32_t i = 0; i < 5000; i++) {
        char name[32];
        int n = snprintf(name, sizeof(name), "name_%u", i * 7919u);
        assert_true(bt_map_put(&map, bt_arena_text(arena, name, (size_t)n), &values[i]));
    }
    assert_int_equal(map.len, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "name_%u", i * 7919u);
        assert_string_equal(map.at[i].key, name);
        assert_ptr_equal(bt_map_find(&map, name), &values[i]);
        name[0] = 'N';
        assert_null(bt_map_entry_find(&map, name));
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_put_replaces_the_value(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_map map;
    int one, two;
    bt_map_init(&map, arena, 1);
    assert_null(bt_map_find(&map, "a"));
    assert_true(bt_map_put(&map, "a", &one));
    assert_true(bt_map_put(&map, "", NULL));
    assert_true(bt_map_put(&map, "a", &two));
    assert_int_equal(map.len, 2);
    assert_ptr_equal(bt_map_find(&map, "a"), &two);
    assert_null(bt_map_find(&map, ""));
    assert_non_null(bt_map_entry_find(&map, ""));
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

/* Texts of every length around the words that are hashed at once, equal but for one
 * byte. */
static void test_texts_are_told_apart(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_map map;
    bt_map_init(&map, arena, 1);
    for (size_t nbytes = 0; nbytes < 40; nbytes++) {
        char text[41] = { 0 };
        memset(text, 'x', nbytes);
        assert_true(bt_map_put(&map, bt_arena_text(arena, text, nbytes), NULL));
        for (size_t at = 0; at < nbytes; at++) {
            text[at] = 'y';
            assert_null(bt_map_entry_find(&map, text));
            assert_true(bt_map_put(&map, bt_arena_text(arena, text, nbytes), NULL));
            text[at] = 'x';
        }
    }
    assert_int_equal(map.len, 40 + 39 * 40 / 2);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_addresses_are_keys(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_map map;
    static char bytes[3000];
    bt_map_init(&map, arena, 0);
    for (uint32_t i = 0; i < 3000; i += 2)
        assert_true(bt_map_put(&map, &bytes[i], &bytes[i]));
    for (uint32_t i = 0; i < 3000; i++)
        assert_ptr_equal(bt_map_find(&map, &bytes[i]), i % 2 ? NULL : &bytes[i]);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

/* A map that could not grow still has what it had. */
static int fill_map(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_arena *arena = r ? bt_arena_create(r) : NULL;
    static int values[100];
    int succeeded = arena != NULL;
    bt_map map;
    bt_map_init(&map, arena, 0);
    for (uint32_t i = 0; i < 100 && succeeded; i++) {
        succeeded = bt_map_put(&map, &values[i], &values[i]);
        for (uint32_t k = 0; k < 100; k++)
            assert_ptr_equal(bt_map_find(&map, &values[k]),
                             k < i + (uint32_t)succeeded ? &values[k] : NULL);
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
    return succeeded;
}

static void test_failed_growth_loses_nothing(void **state)
{
    (void)state;
    fail_each_allocation(fill_map);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_entries_keep_their_order),
    cmocka_unit_test(test_put_replaces_the_value),
    cmocka_unit_test(test_texts_are_told_apart),
    cmocka_unit_test(test_addresses_are_keys),
    cmocka_unit_test(test_failed_growth_loses_nothing),
};
TEST_MAIN(tests)
