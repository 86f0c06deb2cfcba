/*
 * DLPack, the exchange of tensors between libraries in one process: the layout of
 * DLManagedTensorVersioned, major version 1, from the public description of the standard.
 *
 * Values of Baton are shared: constants by modules, results by whoever holds them. So
 * what is handed out is flagged read-only, and what comes in with that flag is copied,
 * because a donated input may be written to.
 */
#include <string.h>

#include <baton/value.h>

#include "base/ctx.h"
#include "value/elements.h"
#include "value/tensor.h"

enum {
    MAJOR = 1,
    DEVICE_CPU = 1,
    DEVICE_CUDA_HOST = 3, /* memory of the host, pinned */
    DEVICE_ROCM_HOST = 11
};

#define FLAG_READ_ONLY (UINT64_C(1) << 0)
#define FLAG_PADDED    (UINT64_C(1) << 2) /* elements of fewer bits have a byte each */

struct version {
    uint32_t major, minor;
};
struct device {
    int32_t type, id;
};
struct element {
    uint8_t code, bits; /* codes as in BT_CLASS_... */
    uint16_t lanes;
};
struct array {
    void *data;
    struct device device;
    int32_t rank;
    struct element element;
    int64_t *dims;
    int64_t *strides; /* in elements; NULL: row major */
    uint64_t offset_nbytes;
};
struct DLManagedTensorVersioned {
    struct version version;
    void *manager; /* of the producer */
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    struct array array;
};

/* ---- in ---- */

static bt_status check(bt_ctx *ctx, const struct DLManagedTensorVersioned *m)
{
    char name[BT_DTYPE_NAME_SIZE];
    const struct array *a = &m->array;
    if (m->version.major != MAJOR)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "dlpack: version %u.%u, expected %d.x",
                       m->version.major, m->version.minor, MAJOR);
    if (a->device.type != DEVICE_CPU && a->device.type != DEVICE_CUDA_HOST &&
        a->device.type != DEVICE_ROCM_HOST)
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "dlpack: memory of device type %d; copy the tensor to the CPU first",
            a->device.type);
    bt_dtype dtype = BT_DTYPE(a->element.code, a->element.bits, a->element.lanes);
    if (!bt_dtype_is_stored(dtype))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "dlpack: elements of %s have no storage",
                       bt_dtype_name(dtype, name, sizeof(name)));
    if (bt_dtype_is_packed(dtype) && (m->flags & FLAG_PADDED))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "dlpack: %s with a byte for each element; expected was the packed "
                       "form",
                       bt_dtype_name(dtype, name, sizeof(name)));
    if (a->rank < 0 || (a->rank > 0 && !a->dims))
        return bt_fail(ctx, BT_ERR_ARGUMENT, "dlpack: rank %d without a shape", a->rank);
    return NULL;
}

static void release_managed(void *foreign)
{
    struct DLManagedTensorVersioned *m = foreign;
    if (m->deleter)
        m->deleter(m);
}

/* Byte by byte, since the elements may stand anywhere. */
static void copy_unaligned(const bt_tensor *layout, const char *data, bt_tensor *to)
{
    int64_t item = (int64_t)bt_dtype_nbytes(to->dtype);
    const int width = (int)BT_DTYPE_BITS(to->dtype);
    for (int64_t i = 0; !item && i < to->nelem; i++)
        bt_packed_set(
            to->data, i, width,
            bt_packed_get((const uint8_t *)data, bt__tensor_offset(layout, i), width));
    for (int64_t i = 0; item && i < to->nelem; i++)
        memcpy((char *)to->data + i * item, data + bt__tensor_offset(layout, i) * item,
               (size_t)item);
}

bt_status bt_tensor_from_dlpack(bt_ctx *ctx, struct DLManagedTensorVersioned *m,
                                bt_tensor **out)
{
    int64_t nelem;
    BT_TRY(check(ctx, m));
    const struct array *a = &m->array;
    bt_dtype dtype = BT_DTYPE(a->element.code, a->element.bits, a->element.lanes);
    uint32_t rank = (uint32_t)a->rank;
    BT_TRY(bt__tensor_check(ctx, dtype, rank, a->dims, &nelem));
    if (nelem > 0 && !a->data)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "dlpack: no data");
    struct bt__tensor *t =
        bt__tensor_alloc(ctx, dtype, rank, a->dims, a->strides, nelem, 0);
    if (!t)
        return bt_no_memory();
    char *data = nelem ? (char *)a->data + a->offset_nbytes : NULL;
    // of packed ones, the bits behind the last element may be any
    int is_aligned =
        bt_dtype_nbytes(dtype) && (uintptr_t)data % bt_dtype_nbytes(dtype) == 0;
    if (is_aligned && !(m->flags & FLAG_READ_ONLY)) {
        t->tensor.data = data;
        t->release = release_managed;
        t->foreign = m;
        *out = &t->tensor;
        return NULL;
    }
    bt_tensor *copy = NULL;
    bt_status status = bt_tensor_create(ctx, dtype, rank, a->dims, &copy);
    if (!status) {
        copy_unaligned(&t->tensor, data, copy);
        release_managed(m);
        *out = copy;
    }
    bt_tensor_unref(&t->tensor);
    return status;
}

/* ---- out ---- */

struct exported {
    struct DLManagedTensorVersioned managed;
    const bt_tensor *tensor;
    int64_t shape[]; /* dims, then strides: the consumer's pointers are not const */
};

static size_t exported_nbytes(const bt_tensor *t)
{
    return sizeof(struct exported) + 2 * t->rank * sizeof(int64_t);
}

static void delete_exported(struct DLManagedTensorVersioned *m)
{
    struct exported *e = m->manager;
    const bt_tensor *t = e->tensor;
    bt_registry *r = bt_registry_ref(t->base.registry);
    bt_free(r, e, exported_nbytes(t));
    bt_tensor_unref(t);
    bt_registry_unref(r);
}

bt_status bt_tensor_to_dlpack(bt_ctx *ctx, const bt_tensor *t,
                              struct DLManagedTensorVersioned **out)
{
    (void)ctx;
    struct exported *e = bt_alloc(t->base.registry, exported_nbytes(t));
    if (!e)
        return bt_no_memory();
    e->tensor = bt_tensor_ref(t);
    if (t->rank) {
        memcpy(e->shape, t->dims, t->rank * sizeof(int64_t));
        memcpy(e->shape + t->rank, t->strides, t->rank * sizeof(int64_t));
    }
    e->managed = (struct DLManagedTensorVersioned){
        .version = { .major = MAJOR },
        .manager = e,
        .deleter = delete_exported,
        .flags = FLAG_READ_ONLY,
        .array = {
            .data = t->data,
            .device = { .type = DEVICE_CPU },
            .rank = (int32_t)t->rank,
            .element = { .code = (uint8_t)BT_DTYPE_CLASS(t->dtype),
                         .bits = (uint8_t)BT_DTYPE_BITS(t->dtype),
                         .lanes = (uint16_t)BT_DTYPE_LANES(t->dtype) },
            .dims = e->shape,
            .strides = e->shape + t->rank,
        },
    };
    *out = &e->managed;
    return NULL;
}
