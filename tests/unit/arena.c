/* Arenas: zeroed objects, marks, growing vectors. */
#include "failing_allocator.h"

static bt_registry *create(uint32_t single)
{
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .arena_single = single });
    assert_non_null(r);
    return r;
}

/* Objects of odd sizes are zeroed, aligned and keep their content while others come. */
static void fill_arena(uint32_t single)
{
    bt_registry *r = create(single);
    bt_arena *arena = bt_arena_create(r);
    unsigned char *objects[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        objects[i] = bt_arena_alloc(arena, i % 97, 1 + i % 13);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 16, 0);
        for (size_t k = 0; k < (size_t)(i % 97) * (1 + i % 13); k++) {
            assert_int_equal(objects[i][k], 0);
            objects[i][k] = (unsigned char)i;
        }
    }
    for (uint32_t i = 0; i < 1000; i++) {
        for (size_t k = 0; k < (size_t)(i % 97) * (1 + i % 13); k++)
            assert_int_equal(objects[i][k], (unsigned char)i);
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_objects_are_zeroed_and_apart(void **state)
{
    (void)state;
    fill_arena(0);
    fill_arena(1);
}

static void test_size_overflow_is_no_memory(void **state)
{
    (void)state;
    bt_registry *r = create(0);
    bt_arena *arena = bt_arena_create(r);
    assert_false(bt_arena_has_failed(arena));
    assert_null(bt_arena_alloc(arena, SIZE_MAX / 2, 3));
    assert_true(bt_arena_has_failed(arena));
    assert_null(bt_arena_alloc(arena, SIZE_MAX, 1));
    assert_null(bt_arena_text(arena, "x", SIZE_MAX));
    assert_non_null(bt_arena_alloc(arena, 0, 8));
    assert_non_null(bt_arena_alloc(arena, 8, 0));
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

/* Memory behind a mark is given back, and is zeroed when it comes again. */
static void mark_and_release(uint32_t single)
{
    bt_registry *r = create(single);
    bt_arena *arena = bt_arena_create(r);
    for (uint32_t round = 0; round < 3; round++) {
        assert_null(bt_arena_mark(arena));
        char *kept = bt_arena_alloc(arena, 100, 1);
        memset(kept, 'k', 100);
        const void *mark = bt_arena_mark(arena);
        for (uint32_t i = 0; i < 3000; i++)
            memset(bt_arena_alloc(arena, 100, 1), 'x', 100);
        bt_arena_release(arena, mark);
        assert_ptr_equal(bt_arena_mark(arena), mark);
        const char *again = bt_arena_alloc(arena, 1000, 1);
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(again[i], 0);
        for (uint32_t i = 0; i < 100; i++)
            assert_int_equal(kept[i], 'k');
        bt_arena_release(arena, NULL);
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_release_goes_back_to_the_mark(void **state)
{
    (void)state;
    mark_and_release(0);
    mark_and_release(1);
}

/* Scratch memory is taken and released in loops: these must not go to the allocator. */
static void test_a_loop_of_mark_and_release_keeps_its_memory(void **state)
{
    (void)state;
    struct failing_allocator a = failing_allocator(0, 0);
    a.base.self = &a;
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .allocator = &a.base });
    bt_arena *arena = bt_arena_create(r);
    uint64_t ncall = 0;
    for (uint32_t round = 0; round < 100; round++) {
        const void *mark = bt_arena_mark(arena);
        assert_non_null(bt_arena_alloc(arena, 1, 3000));
        bt_arena_release(arena, mark);
        if (round == 0)
            ncall = a.ncall;
    }
    assert_int_equal(a.ncall, ncall);
    // A block that is larger than any chunk is not kept.
    assert_non_null(bt_arena_alloc(arena, 1, 1 << 24));
    bt_arena_release(arena, NULL);
    assert_true(a.nbytes < 1 << 21);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
    assert_int_equal(a.nblock, 0);
}

static void test_vectors_grow(void **state)
{
    (void)state;
    bt_registry *r = create(0);
    bt_arena *arena = bt_arena_create(r);
    bt_vec(int64_t) dims = { 0 };
    bt_vec(char) text = { 0 };
    for (int64_t i = 0; i < 10000; i++) {
        assert_true(BT_PUSH(arena, &dims, i * i));
        if (i % 3 == 0)
            assert_true(BT_PUSH(arena, &text, (char)i));
    }
    assert_int_equal(dims.len, 10000);
    for (int64_t i = 0; i < 10000; i++)
        assert_int_equal(dims.at[i], i * i);
    for (uint32_t i = 0; i < text.len; i++)
        assert_int_equal(text.at[i], (char)(3 * i));
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

/* A vector that could not grow keeps its items; release works between failures. */
static int fill_vector(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_arena *arena = r ? bt_arena_create(r) : NULL;
    bt_vec(uint32_t) items = { 0 };
    int succeeded = arena != NULL;
    const void *mark = arena ? bt_arena_mark(arena) : NULL;
    for (uint32_t i = 0; i < 100 && succeeded; i++) {
        succeeded = BT_PUSH(arena, &items, i);
        for (uint32_t k = 0; k < items.len; k++)
            assert_int_equal(items.at[k], k);
    }
    if (arena)
        bt_arena_release(arena, mark);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
    return succeeded;
}

static void test_failed_growth_loses_nothing(void **state)
{
    (void)state;
    fail_each_allocation(fill_vector);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_objects_are_zeroed_and_apart),
    cmocka_unit_test(test_size_overflow_is_no_memory),
    cmocka_unit_test(test_release_goes_back_to_the_mark),
    cmocka_unit_test(test_a_loop_of_mark_and_release_keeps_its_memory),
    cmocka_unit_test(test_vectors_grow),
    cmocka_unit_test(test_failed_growth_loses_nothing),
};
TEST_MAIN(tests)
