/* Registries, contexts, texts, checked arithmetic. */
#include "failing_allocator.h"

#include "base/ctx.h"
#include "base/utf8.h"

/* ---- registry and context ---- */

static void test_a_context_keeps_its_registry(void **state)
{
    (void)state;
    struct failing_allocator a = failing_allocator(0, 0);
    a.base.self = &a;
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .allocator = &a.base });
    bt_ctx *ctx = bt_ctx_create(r), *other = bt_ctx_create(bt_ctx_registry(ctx));
    bt_registry_unref(r);
    bt_ctx_destroy(ctx);
    assert_non_null(bt_arena_alloc(bt_ctx_scratch(other), 1, 100));
    bt_ctx_destroy(other);
    bt_ctx_destroy(NULL);
    bt_registry_unref(NULL);
    assert_int_equal(a.nblock, 0);
}

static void test_options_are_copied(void **state)
{
    (void)state;
    char path[] = "/a:/b", file[] = "x.baton.json", only[] = "/c";
    const char *files[] = { file, file, NULL };
    bt_registry *r = bt_registry_create(&(bt_registry_options){
        .plugin_files = files, .plugin_path = path, .plugin_only = only });
    path[0] = file[0] = only[0] = '?';
    files[0] = NULL;
    assert_string_equal(r->plugin_path, "/a:/b");
    assert_string_equal(r->plugin_only, "/c");
    assert_string_equal(r->plugin_files[1], "x.baton.json");
    assert_null(r->plugin_files[2]);
    bt_registry_unref(r);
}

static void test_limits_have_defaults(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_ctx *ctx = bt_ctx_create(r);
    assert_int_equal(bt_ctx_limits(ctx)->bytes, UINT64_C(1) << 34);
    assert_int_equal(bt_ctx_limits(ctx)->errors, 20);
    assert_false(bt_ctx_cancelled(ctx));
    bt_ctx_cancel(ctx);
    assert_true(bt_ctx_cancelled(ctx));
    bt_ctx_destroy(ctx);
    bt_registry_unref(r);
}

static void test_empty_blocks_are_blocks(void **state)
{
    (void)state;
    struct failing_allocator a = failing_allocator(0, 0);
    a.base.self = &a;
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .allocator = &a.base });
    size_t nblock = a.nblock;
    char *empty = bt_alloc(r, 0);
    assert_non_null(empty);
    char *grown = bt_realloc(r, empty, 0, 5);
    grown[4] = 'x';
    grown = bt_realloc(r, grown, 5, 0);
    assert_non_null(grown);
    assert_int_equal(a.nblock, nblock + 1);
    bt_free(r, grown, 0);
    bt_free(r, NULL, 0);
    assert_int_equal(a.nblock, nblock);
    bt_registry_unref(r);
}

/* Blocks that the system may have in large pages keep what is in them, whatever they become. */
static void test_large_blocks_keep_what_they_have(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    static const size_t sizes[] = { 3 * MIB + 5, 9 * MIB, 2 * MIB - 1, 2 * MIB };
    bt_registry *r = bt_registry_create(NULL);
    unsigned char *block = bt_alloc(r, MIB);
    size_t now = MIB;
    for (size_t k = 0; k < now; k++)
        block[k] = (unsigned char)(k % 251);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t kept = now < sizes[i] ? now : sizes[i];
        block = bt_realloc(r, block, now, sizes[i]);
        assert_non_null(block);
        for (size_t k = 0; k < kept; k++)
            assert_int_equal(block[k], k % 251);
        now = sizes[i];
        for (size_t k = kept; k < now; k++)
            block[k] = (unsigned char)(k % 251);
    }
    bt_free(r, block, now);
    bt_registry_unref(r);
}

static int create_all(const bt_allocator *allocator)
{
    const char *files[] = { "a", "b", NULL };
    bt_registry *r = bt_registry_create(&(bt_registry_options){ .allocator = allocator,
                                                                .plugin_files = files,
                                                                .plugin_path = "/a",
                                                                .plugin_only = "/b",
                                                                .arena_single = 1 });
    bt_ctx *ctx = r ? bt_ctx_create(r) : NULL;
    bt_registry_unref(r);
    bt_ctx_destroy(ctx);
    return ctx != NULL;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(create_all);
}

/* ---- text ---- */

static void test_texts_grow(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_text text, other;
    bt_text_init(&text, arena);
    bt_text_init(&other, arena);
    assert_string_equal(bt_text_get(&text), "");
    for (int i = 0; i < 1000; i++) {
        bt_text_addf(&text, "%d,", i);
        bt_text_add(&other, "xy", 2); // so that neither is always the arena's last
    }
    bt_text_addf(&text, "%1000s|", "");
    const char *at = bt_text_get(&text);
    assert_int_equal(strlen(at), text.len);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(strtol(at, NULL, 10), i);
        at = strchr(at, ',') + 1;
    }
    assert_int_equal(strspn(at, " "), 1000);
    assert_string_equal(at + 1000, "|");
    assert_int_equal(other.len, 2000);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_a_text_may_hold_any_byte(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_add(&text, NULL, 0);
    bt_text_add(&text, "a\0b", 3);
    assert_int_equal(text.len, 3);
    assert_memory_equal(bt_text_get(&text), "a\0b", 4);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static int write_text(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_arena *arena = r ? bt_arena_create(r) : NULL;
    int succeeded = 0;
    if (arena) {
        bt_text text;
        bt_text_init(&text, arena);
        bt_text_addf(&text, "%d", 1);
        bt_text_addf(&text, "%100s", "x");
        bt_text_add(&text, "yz", 2);
        succeeded = bt_text_get(&text) != NULL;
        // A failure sticks: nothing is missing in the middle.
        assert_true(!succeeded || text.len == 103);
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
    return succeeded;
}

static void test_a_text_without_memory_says_so(void **state)
{
    (void)state;
    fail_each_allocation(write_text);
}

/* ---- UTF-8 ---- */

static void test_every_code_point_is_read(void **state)
{
    (void)state;
    for (uint32_t c = 1; c < 0x110000; c++) {
        char t[4];
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const uint32_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        for (size_t i = n; i-- > 1;)
            t[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
        t[0] = (char)(lead[n] | c >> 6 * (n - 1));
        uint32_t read = 0;
        int is_surrogate = c >= 0xd800 && c < 0xe000;
        if (bt__utf8_read(t, n, &read) != (is_surrogate ? 0 : n) ||
            (!is_surrogate && read != c) || bt__utf8_read(t, n - 1 + (n == 1), &read) > n)
            fail_msg("code point %x", c);
        for (size_t cut = 1; cut < n; cut++)
            assert_int_equal(bt__utf8_read(t, cut, &read), 0);
    }
}

static void test_damaged_utf8_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = { "\x80",
                                       "\xbf",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xe0\x9f\xbf",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "\xc3(",
                                       "\xe2\x82(" };
    uint32_t c;
    for (uint32_t i = 0; i < BT_COUNT(bad); i++)
        assert_int_equal(bt__utf8_read(bad[i], strlen(bad[i]), &c), 0);
}

/* ---- arithmetic ---- */

static void test_overflow_is_seen(void **state)
{
    (void)state;
    int64_t out = 7;
    size_t size = 7;
    assert_false(bt_add_int64(INT64_MAX, 1, &out));
    assert_false(bt_add_int64(INT64_MIN, -1, &out));
    assert_false(bt_mul_int64(INT64_MIN, -1, &out));
    assert_false(bt_mul_int64(INT64_C(1) << 32, INT64_C(1) << 31, &out));
    assert_false(bt_add_size(SIZE_MAX, 1, &size));
    assert_false(bt_mul_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_int_equal(out, 7);
    assert_int_equal(size, 7);
    assert_true(bt_mul_int64(-(INT64_C(1) << 32), INT64_C(1) << 31, &out));
    assert_true(out == INT64_MIN);
    assert_true(bt_add_int64(INT64_MAX, INT64_MIN, &out));
    assert_int_equal(out, -1);
    assert_true(bt_mul_size(0, SIZE_MAX, &size));
    assert_int_equal(size, 0);
}

static void test_division_rounds_as_it_says(void **state)
{
    (void)state;
    for (int64_t a = -20; a <= 20; a++) {
        for (int64_t b = -7; b <= 7; b++) {
            int64_t floor = bt_floordiv_int64(a, b), ceil = bt_ceildiv_int64(a, b);
            int64_t mod = bt_mod_int64(a, b);
            if (b == 0) {
                assert_true(floor == 0 && ceil == 0 && mod == 0);
                continue;
            }
            assert_true(floor * b + mod == a);
            assert_true(b > 0 ? mod >= 0 && mod < b : mod <= 0 && mod > b);
            assert_true(ceil == floor + (mod != 0));
        }
    }
    assert_true(bt_floordiv_int64(INT64_MIN, -1) == INT64_MIN);
    assert_true(bt_ceildiv_int64(INT64_MIN, -1) == INT64_MIN);
    assert_true(bt_mod_int64(INT64_MIN, -1) == 0);
    assert_true(bt_floordiv_int64(INT64_MIN, INT64_MAX) == -2);
}

static void test_common_divisors_are_not_negative(void **state)
{
    (void)state;
    assert_true(bt_gcd_int64(0, 0) == 0 && bt_gcd_int64(0, -7) == 7);
    assert_true(bt_gcd_int64(12, 18) == 6 && bt_gcd_int64(-12, 18) == 6);
    assert_true(bt_gcd_int64(INT64_MIN, 6) == 2 && bt_gcd_int64(INT64_MIN, -1) == 1);
}

static void test_the_clock_goes_forward(void **state)
{
    (void)state;
    uint64_t first = bt_now_ns(), last = first;
    for (int i = 0; i < 1000; i++) {
        uint64_t now = bt_now_ns();
        assert_true(now >= last);
        last = now;
    }
    while (bt_now_ns() == first)
        ;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_context_keeps_its_registry),
    cmocka_unit_test(test_options_are_copied),
    cmocka_unit_test(test_limits_have_defaults),
    cmocka_unit_test(test_empty_blocks_are_blocks),
    cmocka_unit_test(test_large_blocks_keep_what_they_have),
    cmocka_unit_test(test_each_failing_allocation_is_reported),
    cmocka_unit_test(test_texts_grow),
    cmocka_unit_test(test_a_text_may_hold_any_byte),
    cmocka_unit_test(test_a_text_without_memory_says_so),
    cmocka_unit_test(test_every_code_point_is_read),
    cmocka_unit_test(test_damaged_utf8_is_none),
    cmocka_unit_test(test_overflow_is_seen),
    cmocka_unit_test(test_division_rounds_as_it_says),
    cmocka_unit_test(test_common_divisors_are_not_negative),
    cmocka_unit_test(test_the_clock_goes_forward),
};
TEST_MAIN(tests)
