/* npy files: what is read, written, refused. */
#include "failing_allocator.h"
#include "setup.h"

#include <baton/value.h>

#include <math.h>

/* The bytes of an npy file, in a block of just their size so that overruns show. */
struct bytes {
    size_t nbytes;
    unsigned char *at;
};

static struct bytes npy(int version, const char *header, const void *data, size_t nbytes)
{
    size_t start = version == 1 ? 10 : 12, length = strlen(header);
    struct bytes b = { .nbytes = start + length + nbytes };
    b.at = malloc(b.nbytes);
    memcpy(b.at, "\x93NUMPY", 6);
    b.at[6] = (unsigned char)version;
    b.at[7] = 0;
    for (size_t i = 8; i < start; i++)
        b.at[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(b.at + start, header, length);
    memcpy(b.at + start + length, data, nbytes);
    return b;
}

static bt_tensor *read_npy(int version, const char *header, const void *data,
                           size_t nbytes)
{
    bt_tensor *t;
    struct bytes b = npy(version, header, data, nbytes);
    assert_ok(ctx, bt_npy_read(ctx, "x.npy", b.at, b.nbytes, &t));
    free(b.at);
    return t;
}

static void assert_refused(const char *header, size_t ndata, uint32_t code,
                           const char *part)
{
    bt_tensor *t;
    static const char data[4096];
    struct bytes b = npy(1, header, data, ndata);
    bt_status status = bt_npy_read(ctx, "x.npy", b.at, b.nbytes, &t);
    assert_error(status, code, part);
    assert_string_equal(status->place.file, "x.npy");
    free(b.at);
}

static void test_versions_and_styles_of_headers_read(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{'shape':(2,3),'descr':'i4','fortran_order':False}",
        "  { \"descr\" : \"=i4\" , \"shape\" : ( 2L , 3L , ) ,\n"
        "\"fortran_order\" : False , } \n",
    };
    const int32_t data[6] = { 1, -2, 3, -4, 5, -6 };
    for (int version = 1; version <= 3; version++) {
        for (uint32_t i = 0; i < BT_COUNT(headers); i++) {
            bt_tensor *t = read_npy(version, headers[i], data, sizeof(data));
            assert_int_equal(t->dtype, BT_INT32);
            assert_int_equal(t->rank, 2);
            assert_int_equal(t->dims[0], 2);
            assert_int_equal(t->dims[1], 3);
            assert_memory_equal(t->data, data, sizeof(data));
            bt_tensor_unref(t);
        }
    }
}

static void test_big_endian_is_turned(void **state)
{
    (void)state;
    const unsigned char data[] = { 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0 };
    bt_tensor *t = read_npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
                            data, sizeof(data));
    assert_true(bt_tensor_get(t, 0) == 1.5);
    assert_true(bt_tensor_get(t, 1) == -2);
    bt_tensor_unref(t);
    t = read_npy(1, "{'descr': '>u8', 'fortran_order': False, 'shape': ()}",
                 "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    assert_int_equal(t->rank, 0);
    assert_int_equal(bt_tensor_get_int(t, 0), 0x0102030405060708);
    bt_tensor_unref(t);
    t = read_npy(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}", data,
                 sizeof(data));
    assert_int_equal(t->dtype, BT_COMPLEX64);
    assert_true(((const float *)t->data)[0] == 1.5f && ((const float *)t->data)[1] == -2);
    bt_tensor_unref(t);
}

static void test_fortran_order_becomes_row_major(void **state)
{
    (void)state;
    const int16_t data[24] = { 0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
                               2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23 };
    bt_tensor *t =
        read_npy(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4)}", data,
                 sizeof(data));
    assert_true(bt_tensor_is_dense(t));
    for (int64_t i = 0; i < 24; i++)
        assert_int_equal(((int16_t *)t->data)[i], i);
    bt_tensor_unref(t);
}

static void test_damaged_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        uint32_t code;
        const char *part;
    } bad[] = {
        { "", BT_ERR_FORMAT, "needs {" },
        { "{", BT_ERR_FORMAT, "text in quotes" },
        { "{}", BT_ERR_FORMAT, "fields descr" },
        { "{'descr': '<f4', 'shape': (2,)}", BT_ERR_FORMAT, "fields descr" },
        { "{'descr': '<f4'; 'shape': (2,)}", BT_ERR_FORMAT, "needs }" },
        { "{'descr': '<f4', 'descr': '<f4'}", BT_ERR_FORMAT, "two fields descr" },
        { "{'descr': '<f4', 'color': 1}", BT_ERR_FORMAT, "field color" },
        { "{'descr: '<f4'}", BT_ERR_FORMAT, "field descr: " },
        { "{'descr': '<f4", BT_ERR_FORMAT, "does not end" },
        { "{'descr': f4}", BT_ERR_FORMAT, "text in quotes" },
        { "{'descr': [('a', '<f4')]}", BT_ERR_UNSUPPORTED, "records" },
        { "{'descr': '|O'}", BT_ERR_UNSUPPORTED, "Python objects" },
        { "{'descr': '<c4'}", BT_ERR_UNSUPPORTED, "'<c4'" },
        { "{'descr': '<f16'}", BT_ERR_UNSUPPORTED, "'<f16'" },
        { "{'descr': '<i3'}", BT_ERR_UNSUPPORTED, "'<i3'" },
        { "{'descr': ''}", BT_ERR_UNSUPPORTED, "''" },
        { "{'descr': a text in quotes}", BT_ERR_FORMAT, "text in quotes" },
        { "{'fortran_order': True or False}", BT_ERR_FORMAT, "needs }" },
        { "{'fortran_order': 0}", BT_ERR_FORMAT, "True or False" },
        { "{'shape': 3}", BT_ERR_FORMAT, "needs (" },
        { "{'shape': (-1,)}", BT_ERR_FORMAT, "dimension" },
        { "{'shape': (1 2)}", BT_ERR_FORMAT, "needs )" },
        { "{'shape': (99999999999999999999,)}", BT_ERR_LIMIT, "2^63" },
        { "{'shape': "
          "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
          BT_ERR_LIMIT, "32 dimensions" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", BT_ERR_FORMAT,
          "nothing before \"x\"" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
          BT_ERR_LIMIT, "limit" },
    };
    for (uint32_t i = 0; i < BT_COUNT(bad); i++)
        assert_refused(bad[i].header, 0, bad[i].code, bad[i].part);
}

static void test_data_must_be_what_the_shape_needs(void **state)
{
    (void)state;
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    assert_refused(header, 7, BT_ERR_FORMAT, "7 bytes of data where the shape needs 8");
    assert_refused(header, 9, BT_ERR_FORMAT, "9 bytes");
    bt_ctx_limits(ctx)->bytes = 7;
    assert_refused(header, 8, BT_ERR_LIMIT, "limit");
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        struct bytes b =
            npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                "12345678", 8);
        for (size_t nbytes = 0; nbytes < b.nbytes; nbytes++) {
            unsigned char *cut = malloc(nbytes ? nbytes : 1);
            memcpy(cut, b.at, nbytes);
            bt_tensor *t;
            assert_non_null(bt_npy_read(ctx, "x.npy", cut, nbytes, &t));
            free(cut);
        }
        b.at[6] = 4;
        bt_tensor *t;
        assert_error(bt_npy_read(ctx, "x.npy", b.at, b.nbytes, &t), BT_ERR_UNSUPPORTED,
                     "version 4.0");
        free(b.at);
    }
}

static void round_trip(bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *t, *back;
    assert_ok(ctx, bt_tensor_create(ctx, dtype, rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set_int(t, i, i * 37 - 50);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_add(&text, "before", 6);
    assert_ok(ctx, bt_npy_write(ctx, t, &text));
    assert_memory_equal(text.at, "before", 6);
    assert_int_equal((text.len - 6 - bt_tensor_nbytes(t)) % 64, 0);
    assert_ok(ctx, bt_npy_read(ctx, "x.npy", text.at + 6, text.len - 6, &back));
    // of a float of 8 bits npy says no more than the width
    const int is_float8 = bt_dtype_is_real(dtype) &&
                          BT_DTYPE_BITS(dtype) == 8;
    assert_int_equal(back->dtype, is_float8 ? BT_UINT8 : dtype);
    assert_int_equal(back->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(back->dims[i], dims[i]);
    assert_memory_equal(back->data, t->data, bt_tensor_nbytes(t));
    bt_tensor_unref(back);
    bt_tensor_unref(t);
}

static void test_every_type_and_rank_round_trips(void **state)
{
    (void)state;
    static const bt_dtype dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type) BT_##UPPER,
#define BT_MOVED(UPPER, name, class_, bits, part)    BT_##UPPER,
#include <baton/dtypes.def>
    };
    int64_t ones[BT_MAX_RANK];
    for (uint32_t i = 0; i < BT_MAX_RANK; i++)
        ones[i] = 1;
    for (uint32_t i = 0; i < BT_COUNT(dtypes); i++) {
        round_trip(dtypes[i], 2, (int64_t[]){ 3, 5 });
        round_trip(dtypes[i], 1, (int64_t[]){ 7 });
        round_trip(dtypes[i], 0, NULL);
        round_trip(dtypes[i], 3, (int64_t[]){ 2, 0, 4 });
        round_trip(dtypes[i], BT_MAX_RANK, ones);
    }
}

static void test_a_strided_tensor_is_written_in_order(void **state)
{
    (void)state;
    int32_t data[6] = { 1, 2, 3, 4, 5, 6 };
    bt_tensor *t, *view, *back;
    assert_ok(ctx, bt_tensor_wrap(ctx, BT_INT32, 2, (int64_t[]){ 2, 3 }, data, &t));
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, (int64_t[]){ 3, 2 }, (int64_t[]){ 1, 3 }, 0,
                                  &view));
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_npy_write(ctx, view, &text));
    assert_ok(ctx, bt_npy_read(ctx, "x.npy", text.at, text.len, &back));
    for (int64_t i = 0; i < 6; i++)
        assert_int_equal(bt_tensor_get_int(back, i), 1 + i / 2 + i % 2 * 3);
    bt_tensor_unref(back);
    bt_tensor_unref(view);
    bt_tensor_unref(t);
}

static void test_booleans_become_zero_or_one(void **state)
{
    (void)state;
    bt_tensor *t = read_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}",
                            "\0\xff\1", 3);
    assert_memory_equal(t->data, "\0\1\1", 3);
    bt_tensor_unref(t);
}

/* ---- failing allocation ---- */

static int use_npy(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_arena *arena = own ? bt_arena_create(r) : NULL;
    bt_tensor *t = NULL, *back = NULL;
    bt_text text;
    bt_text_init(&text, arena);
    struct bytes b =
        npy(2, "{'descr': '>i2', 'fortran_order': True, 'shape': (2,2)}", "12345678", 8);
    int succeeded = arena &&
                    ok_or_no_memory(bt_npy_read(own, "x.npy", b.at, b.nbytes, &t)) &&
                    ok_or_no_memory(bt_npy_write(own, t, &text)) &&
                    ok_or_no_memory(bt_npy_read(own, "y", text.at, text.len, &back));
    free(b.at);
    bt_tensor_unref(t);
    bt_tensor_unref(back);
    bt_arena_destroy(arena);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

/* An error that cannot be described is a lack of memory. */
static int refuse_npy(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_tensor *t = NULL;
    int succeeded = 0;
    if (own) {
        bt_status status = bt_npy_read(own, "x.npy", "no npy file", 11, &t);
        assert_true(status->code == BT_ERR_FORMAT || status->code == BT_ERR_MEMORY);
        succeeded = status->code == BT_ERR_FORMAT;
    }
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_npy);
    fail_each_allocation(refuse_npy);
}

static const struct CMUnitTest tests[] = {
    TEST(test_versions_and_styles_of_headers_read),
    TEST(test_big_endian_is_turned),
    TEST(test_fortran_order_becomes_row_major),
    TEST(test_damaged_headers_are_refused),
    TEST(test_data_must_be_what_the_shape_needs),
    TEST(test_every_truncation_is_refused),
    TEST(test_every_type_and_rank_round_trips),
    TEST(test_a_strided_tensor_is_written_in_order),
    TEST(test_booleans_become_zero_or_one),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
