/* Tensors from and to other libraries. */
#include "failing_allocator.h"

#include <baton/value.h>

/* The structures as a producer or consumer outside Baton declares them: by DLPack's
 * published C header, major version 1. */
typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef struct {
    int32_t device_type, device_id;
} DLDevice;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

static bt_ctx *ctx;
static struct failing_allocator counter;
static int ndeleted;

static int setup(void **state)
{
    (void)state;
    counter = failing_allocator(0, 0);
    counter.base.self = &counter;
    bt_registry *r =
        bt_registry_create(&(bt_registry_options){ .allocator = &counter.base });
    ctx = bt_ctx_create(r);
    bt_registry_unref(r);
    ndeleted = 0;
    return ctx == NULL;
}

static int teardown(void **state)
{
    (void)state;
    bt_ctx_destroy(ctx);
    assert_int_equal(counter.nblock, 0);
    return 0;
}

static void count_deleted(DLManagedTensorVersioned *m)
{
    assert_ptr_equal(m->manager_ctx, &ndeleted);
    ndeleted++;
}

static int64_t dims[] = { 2, 3 }, column_major[] = { 1, 2 };
static float data[8] = { -1, 1, 2, 3, 4, 5, 6, 7 };

/* A producer's tensor: 2 x 3 floats from data[1] on. */
static DLManagedTensorVersioned produced(void)
{
    return (DLManagedTensorVersioned){
        .version = { 1, 1 },
        .manager_ctx = &ndeleted,
        .deleter = count_deleted,
        .dl_tensor = { .data = data,
                       .device = { 1, 0 },
                       .ndim = 2,
                       .dtype = { 2, 32, 1 },
                       .shape = dims,
                       .byte_offset = sizeof(float) },
    };
}

static void test_a_tensor_comes_in_without_a_copy(void **state)
{
    (void)state;
    DLManagedTensorVersioned m = produced();
    bt_tensor *t, *view;
    assert_ok(ctx, bt_tensor_from_dlpack(ctx, &m, &t));
    assert_ptr_equal(t->data, data + 1);
    assert_int_equal(t->dtype, BT_FLOAT32);
    assert_true(bt_tensor_is_dense(t));
    assert_true(bt_tensor_get(t, 5) == 6);
    assert_ok(ctx,
              bt_tensor_view(ctx, t, 1, (int64_t[]){ 2 }, (int64_t[]){ 3 }, 2, &view));
    bt_tensor_unref(t);
    assert_int_equal(ndeleted, 0);
    assert_true(bt_tensor_get(view, 1) == 6);
    bt_tensor_unref(view);
    assert_int_equal(ndeleted, 1);
}

static void test_strides_are_followed(void **state)
{
    (void)state;
    DLManagedTensorVersioned m = produced();
    m.dl_tensor.strides = column_major;
    m.deleter = NULL;
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_from_dlpack(ctx, &m, &t));
    assert_true(bt_tensor_get(t, 1) == 3);
    assert_true(bt_tensor_get(t, 3) == 2);
    bt_tensor_unref(t);
}

static void test_read_only_memory_is_copied(void **state)
{
    (void)state;
    DLManagedTensorVersioned m = produced();
    m.flags = 1;
    m.dl_tensor.strides = column_major;
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_from_dlpack(ctx, &m, &t));
    assert_int_equal(ndeleted, 1);
    bt_tensor_set(t, 0, 100);
    assert_true(data[1] == 1);
    assert_true(bt_tensor_get(t, 1) == 3);
    bt_tensor_unref(t);
    assert_int_equal(ndeleted, 1);
}

static void test_unaligned_memory_is_copied(void **state)
{
    (void)state;
    DLManagedTensorVersioned m = produced();
    char bytes[25];
    memcpy(bytes + 1, data + 1, 24);
    m.dl_tensor.data = bytes;
    m.dl_tensor.byte_offset = 1;
    if ((uintptr_t)(bytes + 1) % 4 == 0)
        m.dl_tensor.byte_offset = 0, memmove(bytes, bytes + 1, 24);
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_from_dlpack(ctx, &m, &t));
    assert_int_equal(ndeleted, 1);
    for (int64_t i = 0; i < 6; i++)
        assert_true(bt_tensor_get(t, i) == (double)i + 1);
    bt_tensor_unref(t);
}

static void refuse(DLManagedTensorVersioned m, uint32_t code, const char *part)
{
    bt_tensor *t;
    assert_error(bt_tensor_from_dlpack(ctx, &m, &t), code, part);
    assert_int_equal(ndeleted, 0);
}

static void test_what_does_not_fit_stays_the_producers(void **state)
{
    (void)state;
    DLManagedTensorVersioned m = produced();
    m.version.major = 2;
    refuse(m, BT_ERR_UNSUPPORTED, "version 2.1");
    m = produced();
    m.dl_tensor.device.device_type = 2;
    refuse(m, BT_ERR_UNSUPPORTED, "device type 2");
    m = produced();
    m.dl_tensor.dtype.lanes = 4;
    refuse(m, BT_ERR_UNSUPPORTED, "float32x4");
    m = produced();
    m.dl_tensor.dtype.code = 5;
    refuse(m, BT_ERR_UNSUPPORTED, "complex32");
    m = produced();
    m.dl_tensor.ndim = 33;
    refuse(m, BT_ERR_ARGUMENT, "rank 33");
    m = produced();
    m.dl_tensor.ndim = -1;
    refuse(m, BT_ERR_ARGUMENT, "rank -1");
    m = produced();
    m.dl_tensor.data = NULL;
    refuse(m, BT_ERR_ARGUMENT, "no data");
    int64_t bad[] = { -1, 3 };
    m = produced();
    m.dl_tensor.shape = bad;
    refuse(m, BT_ERR_ARGUMENT, "below 0");
}

static void test_an_exported_tensor_outlives_its_owner(void **state)
{
    (void)state;
    bt_tensor *t;
    DLManagedTensorVersioned *m;
    assert_ok(ctx, bt_tensor_create(ctx, BT_BFLOAT16, 2, (int64_t[]){ 2, 3 }, &t));
    for (int64_t i = 0; i < 6; i++)
        bt_tensor_set_int(t, i, i);
    assert_ok(ctx, bt_tensor_to_dlpack(ctx, t, &m));
    bt_tensor_unref(t);
    assert_int_equal(m->version.major, 1);
    assert_int_equal(m->flags & 1, 1);
    assert_int_equal(m->dl_tensor.device.device_type, 1);
    assert_int_equal(m->dl_tensor.ndim, 2);
    assert_int_equal(m->dl_tensor.dtype.code, 4);
    assert_int_equal(m->dl_tensor.dtype.bits, 16);
    assert_int_equal(m->dl_tensor.dtype.lanes, 1);
    assert_int_equal(m->dl_tensor.shape[1], 3);
    assert_int_equal(m->dl_tensor.strides[0], 3);
    assert_int_equal(m->dl_tensor.byte_offset, 0);
    assert_int_equal(((uint16_t *)m->dl_tensor.data)[1], 0x3f80);
    m->deleter(m);
}

static void test_what_goes_out_comes_in_again(void **state)
{
    (void)state;
    static const bt_dtype dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type)  BT_##UPPER,
#define BT_PACKED(UPPER, name, class_, bits, carrier) BT_##UPPER,
#define BT_MOVED(UPPER, name, class_, bits, part)     BT_##UPPER,
#include <baton/dtypes.def>
    };
    for (uint32_t i = 0; i < BT_COUNT(dtypes); i++) {
        bt_tensor *t, *back;
        DLManagedTensorVersioned *m;
        assert_ok(ctx, bt_tensor_scalar_int(ctx, dtypes[i], 1, &t));
        assert_ok(ctx, bt_tensor_to_dlpack(ctx, t, &m));
        assert_ok(ctx, bt_tensor_from_dlpack(ctx, m, &back));
        assert_int_equal(back->dtype, dtypes[i]);
        assert_int_equal(bt_tensor_get_int(back, 0), 1);
        bt_tensor_unref(back);
        bt_tensor_unref(t);
    }
}

static void test_packed_elements_come_packed(void **state)
{
    (void)state;
    bt_tensor *t, *back;
    DLManagedTensorVersioned *m;
    assert_ok(ctx, bt_tensor_create(ctx, BT_INT4, 1, (int64_t[]){ 5 }, &t));
    for (int64_t i = 0; i < 5; i++)
        bt_tensor_set_int(t, i, i - 2);
    assert_ok(ctx, bt_tensor_to_dlpack(ctx, t, &m));
    assert_int_equal(m->dl_tensor.dtype.bits, 4);
    m->flags |= UINT64_C(1) << 2;
    assert_error(bt_tensor_from_dlpack(ctx, m, &back), BT_ERR_UNSUPPORTED,
                 "int4 with a byte for each element");
    m->flags &= ~(UINT64_C(1) << 2);
    assert_ok(ctx, bt_tensor_from_dlpack(ctx, m, &back));
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(bt_tensor_get_int(back, i), i - 2);
    bt_tensor_unref(back);
    bt_tensor_unref(t);
}

static int use_dlpack(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_tensor *t = NULL, *back = NULL;
    DLManagedTensorVersioned *out = NULL;
    int succeeded = own && ok_or_no_memory(bt_tensor_scalar_int(own, BT_INT8, 1, &t)) &&
                    ok_or_no_memory(bt_tensor_to_dlpack(own, t, &out)) &&
                    ok_or_no_memory(bt_tensor_from_dlpack(own, out, &back));
    if (out && !back)
        out->deleter(out);
    bt_tensor_unref(t);
    bt_tensor_unref(back);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_dlpack);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_tensor_comes_in_without_a_copy),
    TEST(test_strides_are_followed),
    TEST(test_read_only_memory_is_copied),
    TEST(test_unaligned_memory_is_copied),
    TEST(test_what_does_not_fit_stays_the_producers),
    TEST(test_an_exported_tensor_outlives_its_owner),
    TEST(test_what_goes_out_comes_in_again),
    TEST(test_packed_elements_come_packed),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
