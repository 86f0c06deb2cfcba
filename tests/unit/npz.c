/* npz files: what is read, written, refused. */
#include "failing_allocator.h"
#include "setup.h"

#include <baton/value.h>

#include "base/crc.h"

static bt_tensor *vector(bt_ctx *own, int64_t n)
{
    bt_tensor *t = NULL;
    if (!ok_or_no_memory(bt_tensor_create(own, BT_INT16, 1, &n, &t)))
        return NULL;
    for (int64_t i = 0; i < n; i++)
        bt_tensor_set_int(t, i, i + n);
    return t;
}

/* An archive of "a" and "layer/b" in a text of the scratch arena. */
static bt_text archive(void)
{
    bt_tensor *a = vector(ctx, 3), *b = vector(ctx, 4);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_npz_write(ctx, 2,
                                (bt_npz_entry[]){ { .name = "a", .tensor = a },
                                                  { .name = "layer/b", .tensor = b } },
                                &text));
    bt_tensor_unref(a);
    bt_tensor_unref(b);
    return text;
}

static void test_checksums_are_those_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(bt__crc32("", 0), 0);
    assert_int_equal(bt__crc32("123456789", 9), 0xcbf43926);
    assert_int_equal(bt__crc32("The quick brown fox jumps over the lazy dog", 43),
                     0x414fa339);
    // Against one bit at a time, for every length around a step.
    unsigned char bytes[67];
    for (size_t n = 0; n < sizeof(bytes); n++) {
        uint32_t crc = UINT32_MAX;
        bytes[n] = (unsigned char)(n * 59 + 7);
        for (size_t i = 0; i < 8 * n; i++) {
            uint32_t bit = (crc ^ bytes[i / 8] >> i % 8) & 1;
            crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
        }
        assert_int_equal(bt__crc32(bytes, n), ~crc);
    }
}

static void test_archives_round_trip_in_order(void **state)
{
    (void)state;
    bt_text text = archive();
    bt_npz *npz;
    assert_ok(ctx, bt_npz_read(ctx, "x.npz", text.at, text.len, &npz));
    assert_int_equal(npz->len, 2);
    assert_string_equal(npz->at[0].name, "a");
    assert_string_equal(npz->at[1].name, "layer/b");
    assert_int_equal(npz->at[1].tensor->nelem, 4);
    assert_int_equal(bt_tensor_get_int(npz->at[1].tensor, 3), 7);
    bt_npz_destroy(ctx, npz);
    bt_npz_destroy(ctx, NULL);
}

static void test_an_archive_may_be_empty_and_follow_other_text(void **state)
{
    (void)state;
    bt_text text;
    bt_npz *npz;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_add(&text, "before", 6);
    assert_ok(ctx, bt_npz_write(ctx, 0, NULL, &text));
    assert_int_equal(text.len, 6 + 22);
    assert_ok(ctx, bt_npz_read(ctx, "x.npz", text.at + 6, text.len - 6, &npz));
    assert_int_equal(npz->len, 0);
    bt_npz_destroy(ctx, npz);
}

static void test_impossible_entries_are_not_written(void **state)
{
    (void)state;
    bt_text text;
    bt_tensor *a = vector(ctx, 1);
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_add(&text, "before", 6);
    bt_npz_entry twice[] = { { .name = "a", .tensor = a }, { .name = "a", .tensor = a } };
    bt_npz_entry nameless = { .name = "", .tensor = a };
    assert_error(bt_npz_write(ctx, 2, twice, &text), BT_ERR_ARGUMENT, "two entries");
    assert_error(bt_npz_write(ctx, 1, &nameless, &text), BT_ERR_ARGUMENT, "name");
    assert_string_equal(bt_text_get(&text), "before");
    bt_tensor_unref(a);
}

/* NumPy opens each member as if it could become large: its own header has sizes of all
 * ones and 20 bytes of zip64 sizes instead; the directory has the true ones. */
static void test_the_headers_of_numpy_read(void **state)
{
    (void)state;
    bt_text text;
    bt_npz *npz;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_tensor *t = vector(ctx, 3);
    assert_ok(ctx,
              bt_npz_write(ctx, 1, &(bt_npz_entry){ .name = "a", .tensor = t }, &text));
    bt_tensor_unref(t);
    size_t head = 30 + 5, end = text.len - 22;
    unsigned char *bytes = malloc(text.len + 20);
    memcpy(bytes, text.at, head);
    memset(bytes + 18, 0xff, 8);
    bytes[28] = 20;
    memcpy(bytes + head, "\1\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    memcpy(bytes + head + 20, text.at + head, text.len - head);
    bytes[end + 20 + 16] += 20; // where the directory starts
    assert_ok(ctx, bt_npz_read(ctx, "x.npz", bytes, text.len + 20, &npz));
    assert_int_equal(npz->len, 1);
    assert_int_equal(bt_tensor_get_int(npz->at[0].tensor, 2), 5);
    bt_npz_destroy(ctx, npz);
    free(bytes);
}

#ifdef BT_ZLIB
/* An archive of one member, "a", deflated as one block that is stored within: 5 bytes more.
 * Its bytes, malloc'd. */
static unsigned char *deflated(size_t *nbytes)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_tensor *t = vector(ctx, 3);
    assert_ok(ctx,
              bt_npz_write(ctx, 1, &(bt_npz_entry){ .name = "a", .tensor = t }, &text));
    bt_tensor_unref(t);
    size_t head = 30 + 5, directory = text.len - 22 - (46 + 5), n = directory - head;
    unsigned char *bytes = malloc(text.len + 5), *entry = bytes + directory + 5;
    memcpy(bytes, text.at, head);
    bytes[head] = 1; // the last block, stored
    bytes[head + 1] = (unsigned char)n, bytes[head + 2] = (unsigned char)(n >> 8);
    bytes[head + 3] = (unsigned char)~n, bytes[head + 4] = (unsigned char)(~n >> 8);
    memcpy(bytes + head + 5, text.at + head, text.len - head);
    bytes[8] = entry[10] = 8;
    entry[20] = (unsigned char)(n + 5), entry[21] = (unsigned char)((n + 5) >> 8);
    bytes[text.len + 5 - 22 + 16] += 5; // where the directory starts
    *nbytes = text.len + 5;
    return bytes;
}

static void test_compressed_members_read(void **state)
{
    (void)state;
    size_t nbytes;
    bt_npz *npz;
    unsigned char *bytes = deflated(&nbytes), *entry = bytes + nbytes - 22 - (46 + 5);
    assert_ok(ctx, bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz));
    assert_int_equal(bt_tensor_get_int(npz->at[0].tensor, 2), 5);
    bt_npz_destroy(ctx, npz);
    entry[24]++;
    assert_error(bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz), BT_ERR_FORMAT,
                 "does not inflate to");
    entry[24]--;
    entry[27] = 1;
    assert_error(bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz), BT_ERR_FORMAT,
                 "is too small for");
    entry[27] = 0;
    entry[16]++;
    assert_error(bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz), BT_ERR_FORMAT,
                 "checksum");
    bt_ctx_limits(ctx)->bytes = 20;
    assert_error(bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz), BT_ERR_LIMIT,
                 "the limit is 20");
    free(bytes);
}
#endif

/* ---- damage ---- */

static void assert_refused(const unsigned char *bytes, size_t nbytes, uint32_t code,
                           const char *part)
{
    bt_npz *npz;
    unsigned char *copy = malloc(nbytes ? nbytes : 1);
    memcpy(copy, bytes, nbytes);
    assert_error(bt_npz_read(ctx, "x.npz", copy, nbytes, &npz), code, part);
    free(copy);
}

/* Writes `value` at `offset` from the start of the directory's first entry, or from the
 * end of directory, and expects a refusal. */
static void refuse_changed(const char *magic, size_t offset, const char *value,
                           size_t nbytes, uint32_t code, const char *part)
{
    bt_text text = archive();
    unsigned char *bytes = malloc(text.len);
    memcpy(bytes, text.at, text.len);
    size_t at = 0;
    while (memcmp(bytes + at, magic, 4) != 0)
        at++;
    memcpy(bytes + at + offset, value, nbytes);
    assert_refused(bytes, text.len, code, part);
    free(bytes);
}

static void test_what_is_not_supported_is_named(void **state)
{
    (void)state;
    refuse_changed("PK\1\2", 10, "\x09", 1, BT_ERR_UNSUPPORTED, "method 9");
    refuse_changed("PK\1\2", 8, "\1", 1, BT_ERR_UNSUPPORTED, "encrypted");
    refuse_changed("PK\1\2", 20, "\xff\xff\xff\xff\xff\xff\xff\xff", 8,
                   BT_ERR_UNSUPPORTED, "zip64");
    refuse_changed("PK\5\6", 16, "\xff\xff\xff\xff", 4, BT_ERR_UNSUPPORTED, "zip64");
    refuse_changed("PK\5\6", 4, "\1", 1, BT_ERR_UNSUPPORTED, "several parts");
}

static void test_damage_is_named(void **state)
{
    (void)state;
    assert_refused((const unsigned char *)"no zip", 6, BT_ERR_FORMAT, "no zip file");
    refuse_changed("PK\1\2", 16, "\1\2\3\4", 4, BT_ERR_FORMAT, "checksum");
    refuse_changed("PK\1\2", 24, "\1", 1, BT_ERR_FORMAT, "two sizes");
    refuse_changed("PK\1\2", 42, "\1", 1, BT_ERR_FORMAT, "not where");
    refuse_changed("PK\1\2", 46, "b", 1, BT_ERR_FORMAT, "another name");
    refuse_changed("PK\1\2", 46, "\0", 1, BT_ERR_FORMAT, "NUL");
    refuse_changed("PK\1\2", 47, "x", 1, BT_ERR_FORMAT, "no .npy");
    refuse_changed("PK\1\2", 28, "\xff\xff", 2, BT_ERR_FORMAT, "within a member");
    refuse_changed("PK\5\6", 16, "\xff\xff\xff", 3, BT_ERR_FORMAT, "outside the file");
    refuse_changed("PK\5\6", 8, "\x09\0\x09", 3, BT_ERR_FORMAT, "too small");
    refuse_changed("PK\5\6", 8, "\1\0\1", 3, BT_ERR_FORMAT, "more than 1 members");
    refuse_changed("PK\1\2", 3, "\3", 1, BT_ERR_FORMAT, "before its last member");
    refuse_changed("PK\3\4", 28, "\xff\xff", 2, BT_ERR_FORMAT, "outside the file");
    refuse_changed("PK\3\4", 36 + 8, "x", 1, BT_ERR_FORMAT, "checksum");
}

/* Both entries of the directory stand for the first member. */
static void test_members_may_not_share_data(void **state)
{
    (void)state;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_tensor *t = vector(ctx, 4000);
    bt_npz_entry e = { .name = "a", .tensor = t };
    assert_ok(ctx, bt_npz_write(ctx, 1, &e, &text));
    bt_tensor_unref(t);
    size_t end = text.len - 22, directory = end - (46 + 5);
    unsigned char *bytes = malloc(text.len + 51);
    memcpy(bytes, text.at, end);
    memcpy(bytes + end, text.at + directory, 51);
    memcpy(bytes + end + 51, text.at + end, 22);
    memcpy(bytes + end + 51 + 8, "\2\0\2\0\x66\0\0\0", 8);
    assert_refused(bytes, text.len + 51, BT_ERR_FORMAT, "two members are named a.npy");
    free(bytes);
}

/* A member whose data holds a whole member, which the directory lists too. */
static void test_members_may_not_nest(void **state)
{
    (void)state;
    bt_text inner, outer;
    bt_text_init(&inner, bt_ctx_scratch(ctx));
    bt_tensor *t = vector(ctx, 4000);
    bt_npz_entry e = { .name = "b", .tensor = t };
    assert_ok(ctx, bt_npz_write(ctx, 1, &e, &inner));
    bt_tensor_unref(t);
    size_t ninner = inner.len - 22, local_at = 35 + 128;
    assert_ok(ctx, bt_tensor_wrap(ctx, BT_UINT8, 1, (int64_t[]){ (int64_t)ninner },
                                  inner.at, &t));
    e = (bt_npz_entry){ .name = "a", .tensor = t };
    bt_text_init(&outer, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_npz_write(ctx, 1, &e, &outer));
    bt_tensor_unref(t);
    assert_memory_equal(outer.at + local_at, "PK\3\4", 4);
    // The inner directory entry is made the outer's second.
    size_t end = outer.len - 22;
    unsigned char *bytes = malloc(outer.len + 51);
    memcpy(bytes, outer.at, end);
    memcpy(bytes + end, inner.at + ninner - 51, 51);
    bytes[end + 42] = (unsigned char)local_at;
    memcpy(bytes + end + 51, outer.at + end, 22);
    memcpy(bytes + end + 51 + 8, "\2\0\2\0\x66\0\0\0", 8);
    assert_refused(bytes, outer.len + 51, BT_ERR_FORMAT, "members overlap");
    free(bytes);
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    bt_text text = archive();
    for (size_t nbytes = 0; nbytes < text.len; nbytes++)
        assert_refused((unsigned char *)text.at, nbytes, BT_ERR_FORMAT, "npz");
}

/* Whatever bit is turned: an error, or two arrays. */
static void test_every_turned_bit_is_survived(void **state)
{
    (void)state;
    bt_text text = archive();
    unsigned char *bytes = malloc(text.len);
    uint32_t naccepted = 0;
    memcpy(bytes, text.at, text.len);
    for (size_t i = 0; i < 8 * text.len; i++) {
        bt_npz *npz;
        bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        if (!bt_npz_read(ctx, "x.npz", bytes, text.len, &npz)) {
            assert_int_equal(npz->len, 2);
            bt_npz_destroy(ctx, npz);
            naccepted++;
        }
        bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        bt_ctx_clear_diags(ctx);
    }
    // Times, versions and attributes say nothing about the arrays.
    assert_in_range(naccepted, 1, 2 * 8 * (26 + 30));
    free(bytes);
}

/* ---- failing allocation ---- */

static int use_npz(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_arena *arena = own ? bt_arena_create(r) : NULL;
    bt_tensor *a = arena ? vector(own, 3) : NULL;
    bt_tensor *b = a ? vector(own, 5) : NULL;
    bt_npz_entry entries[] = { { .name = "a", .tensor = a },
                               { .name = "b", .tensor = b } };
    bt_npz *npz = NULL;
    bt_text text;
    bt_text_init(&text, arena);
    int succeeded = b && ok_or_no_memory(bt_npz_write(own, 2, entries, &text)) &&
                    ok_or_no_memory(bt_npz_read(own, "x", text.at, text.len, &npz));
    bt_npz_destroy(own, npz);
    bt_tensor_unref(a);
    bt_tensor_unref(b);
    bt_arena_destroy(arena);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_npz);
}

static const struct CMUnitTest tests[] = {
    TEST(test_checksums_are_those_of_the_standard),
    TEST(test_archives_round_trip_in_order),
    TEST(test_an_archive_may_be_empty_and_follow_other_text),
    TEST(test_impossible_entries_are_not_written),
    TEST(test_the_headers_of_numpy_read),
#ifdef BT_ZLIB
    TEST(test_compressed_members_read),
#endif
    TEST(test_what_is_not_supported_is_named),
    TEST(test_damage_is_named),
    TEST(test_members_may_not_share_data),
    TEST(test_members_may_not_nest),
    TEST(test_every_truncation_is_refused),
    TEST(test_every_turned_bit_is_survived),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
