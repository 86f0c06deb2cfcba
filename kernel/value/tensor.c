/* Tensors: creation, views, single elements. */
#include "value/tensor.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/ctx.h"
#include "value/elements.h"
#include "value/object.h"

enum { DATA_ALIGN = 64 };

/* ---- blocks ---- */

static void destroy_tensor(bt_object *object)
{
    struct bt__tensor *t = (struct bt__tensor *)(void *)object;
    bt_registry *r = object->registry;
    bt_object_unref(t->tensor.owner);
    if (t->release)
        t->release(t->foreign);
    bt_free(r, t, t->nbytes);
    bt_registry_unref(r);
}

/* Row-major strides. Where there is no element they may not fit, and do not matter. */
static void set_row_major(uint32_t rank, const int64_t *dims, int64_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = step;
        if (!bt_mul_int64(step, dims[i], &step))
            step = 0;
    }
}

static int find_row_major(const bt_tensor *t)
{
    int64_t step = 1;
    for (uint32_t i = t->nelem ? t->rank : 0; i-- > 0;) {
        if (t->dims[i] != 1 && t->strides[i] != step)
            return 0;
        step *= t->dims[i];
    }
    return 1;
}

struct bt__tensor *bt__tensor_alloc(bt_ctx *ctx, bt_dtype dtype, uint32_t rank,
                                    const int64_t *dims, const int64_t *strides,
                                    int64_t nelem, size_t data_nbytes)
{
    size_t head = sizeof(struct bt__tensor) + 2 * rank * sizeof(int64_t), nbytes;
    // One byte at least behind, so that the data of an empty tensor has an address of its
    // own; some before, so that what is written there by mistake breaks no strides.
    if (!bt_add_size(head + DATA_ALIGN + 1, data_nbytes, &nbytes))
        return NULL;
    struct bt__tensor *t = bt_realloc(ctx->registry, NULL, 0, nbytes);
    if (!t)
        return NULL;
    *t = (struct bt__tensor){ .nbytes = nbytes };
    bt__object_init(&t->tensor.base, BT_OBJECT_TENSOR, ctx->registry, destroy_tensor);
    if (rank)
        memcpy(t->shape, dims, rank * sizeof(*dims));
    if (strides && rank)
        memcpy(t->shape + rank, strides, rank * sizeof(*strides));
    else
        set_row_major(rank, t->shape, t->shape + rank);
    t->tensor.dtype = dtype;
    t->tensor.rank = rank;
    t->tensor.dims = t->shape;
    t->tensor.strides = t->shape + rank;
    t->tensor.nelem = nelem;
    t->is_row_major = !strides || find_row_major(&t->tensor);
    uintptr_t data = (uintptr_t)t + head;
    t->tensor.data = (char *)t + head + DATA_ALIGN - data % DATA_ALIGN;
    return t;
}

bt_status bt__tensor_check(bt_ctx *ctx, bt_dtype dtype, uint32_t rank,
                           const int64_t *dims, int64_t *nelem_out)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (!bt_dtype_is_stored(dtype))
        return bt_fail(ctx, BT_ERR_ARGUMENT, "tensor: element type %s has no storage",
                       bt_dtype_name(dtype, name, sizeof(name)));
    if (rank > BT_MAX_RANK)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "tensor: rank %u is above %d", rank,
                       BT_MAX_RANK);
    int64_t nelem = 1, nbytes;
    int fits = 1, is_empty = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "tensor: dimension %u is %" PRId64 ", below 0", i, dims[i]);
        is_empty |= dims[i] == 0;
        fits = fits && bt_mul_int64(nelem, dims[i], &nelem);
    }
    if (is_empty)
        nelem = 0, fits = 1;
    if (!fits || !bt_elements_nbytes(dtype, nelem, &nbytes) ||
        (uint64_t)nbytes > ctx->limits.bytes || (uint64_t)nbytes > PTRDIFF_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "tensor: more than %" PRIu64 " bytes, the limit of one tensor",
                       ctx->limits.bytes);
    *nelem_out = nelem;
    return NULL;
}

/* ---- creation ---- */

/* Bytes of so many elements, which were counted before. */
static size_t nbytes_of(bt_dtype dtype, int64_t nelem)
{
    int64_t nbytes = 0;
    (void)bt_elements_nbytes(dtype, nelem, &nbytes);
    return (size_t)nbytes;
}

size_t bt_tensor_nbytes(const bt_tensor *t)
{
    return nbytes_of(t->dtype, t->nelem);
}

/* What the address of an element is a multiple of. */
static size_t align_of(bt_dtype dtype)
{
    const size_t nbytes = bt_dtype_nbytes(bt__dtype_part(dtype));
    return nbytes ? nbytes : 1;
}

bt_status bt_tensor_create_raw(bt_ctx *ctx, bt_dtype dtype, uint32_t rank,
                               const int64_t *dims, bt_tensor **out)
{
    int64_t nelem;
    BT_TRY(bt__tensor_check(ctx, dtype, rank, dims, &nelem));
    const size_t nbytes = nbytes_of(dtype, nelem);
    struct bt__tensor *t = bt__tensor_alloc(ctx, dtype, rank, dims, NULL, nelem, nbytes);
    if (!t)
        return bt_fail(ctx, BT_ERR_MEMORY, "no memory for a tensor of %zu bytes", nbytes);
    // the bits behind the last element are 0, whoever writes the others one by one
    if (bt_dtype_is_packed(dtype) && nbytes)
        ((char *)t->tensor.data)[nbytes - 1] = 0;
    *out = &t->tensor;
    return NULL;
}

bt_status bt_tensor_create(bt_ctx *ctx, bt_dtype dtype, uint32_t rank,
                           const int64_t *dims, bt_tensor **out)
{
    BT_TRY(bt_tensor_create_raw(ctx, dtype, rank, dims, out));
    memset((*out)->data, 0, bt_tensor_nbytes(*out));
    return NULL;
}

bt_status bt_tensor_wrap(bt_ctx *ctx, bt_dtype dtype, uint32_t rank, const int64_t *dims,
                         void *data, bt_tensor **out)
{
    int64_t nelem;
    BT_TRY(bt__tensor_check(ctx, dtype, rank, dims, &nelem));
    if (nelem && !data)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "tensor: no data for %" PRId64 " elements",
                       nelem);
    if ((uintptr_t)data % align_of(dtype) != 0)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "tensor: data is not aligned to its element, %zu bytes",
                       align_of(dtype));
    struct bt__tensor *t = bt__tensor_alloc(ctx, dtype, rank, dims, NULL, nelem, 0);
    if (!t)
        return bt_no_memory();
    t->tensor.data = data;
    *out = &t->tensor;
    return NULL;
}

/* Least and greatest offset from element 0 of any element: 1, or 0 where they
 * overflow. */
static int span_of(uint32_t rank, const int64_t *dims, const int64_t *strides,
                   int64_t *least, int64_t *most)
{
    *least = *most = 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t reach;
        if (!bt_mul_int64(dims[i] - 1, strides[i], &reach) ||
            !bt_add_int64(reach < 0 ? *least : *most, reach, reach < 0 ? least : most))
            return 0;
    }
    return 1;
}

static int lies_within(const bt_tensor *owner, const bt_tensor *view, int64_t offset)
{
    int64_t least, most, owner_least, owner_most;
    if (view->nelem == 0)
        return 1;
    return owner->nelem > 0 &&
           span_of(view->rank, view->dims, view->strides, &least, &most) &&
           span_of(owner->rank, owner->dims, owner->strides, &owner_least, &owner_most) &&
           bt_add_int64(least, offset, &least) && bt_add_int64(most, offset, &most) &&
           least >= owner_least && most <= owner_most;
}

struct bt__bytes bt__tensor_bytes(const bt_tensor *t)
{
    const int64_t nbits = bt_dtype_nbits(t->dtype);
    const uintptr_t data = (uintptr_t)t->data;
    int64_t least, most;
    if (!t->nelem)
        return (struct bt__bytes){ 0, 0 };
    if (bt__tensor_is_row_major(t)) // as most are
        return (struct bt__bytes){ data, data + bt_tensor_nbytes(t) };
    if (!span_of(t->rank, t->dims, t->strides, &least, &most) ||
        !bt_mul_int64(least, nbits, &least) || !bt_mul_int64(most, nbits, &most))
        return (struct bt__bytes){ 0, UINTPTR_MAX };
    return (struct bt__bytes){ data + (uintptr_t)(least >> 3),
                               data + (uintptr_t)((most + nbits - 1) >> 3) + 1 };
}

int bt_tensor_overlaps(const bt_tensor *a, const bt_tensor *b)
{
    return bt__bytes_meet(bt__tensor_bytes(a), bt__tensor_bytes(b));
}

static void copy_elements(const bt_tensor *from, int64_t first, bt_tensor *to)
{
    const int width = (int)BT_DTYPE_BITS(from->dtype);
    for (int64_t i = 0; i < to->nelem; i++)
        bt_packed_set(
            to->data, i, width,
            bt_packed_get(from->data, first + bt__tensor_offset(from, i), width));
}

/* Whether the view can have the owner's bytes: it begins with one, and those that it has all
 * to itself end with one. */
static int shares_bytes(const bt_tensor *owner, const struct bt__tensor *view,
                        int64_t offset)
{
    const int64_t each = 8 / BT_DTYPE_BITS(owner->dtype);
    return !bt_dtype_is_packed(owner->dtype) ||
           (offset % each == 0 &&
            (!view->is_row_major || view->tensor.nelem % each == 0 ||
             view->tensor.nelem == owner->nelem));
}

bt_status bt_tensor_view(bt_ctx *ctx, const bt_tensor *owner, uint32_t rank,
                         const int64_t *dims, const int64_t *strides,
                         int64_t offset_nelem, bt_tensor **out)
{
    bt_status status;
    int64_t nelem;
    BT_TRY(bt__tensor_check(ctx, owner->dtype, rank, dims, &nelem));
    struct bt__tensor *t =
        bt__tensor_alloc(ctx, owner->dtype, rank, dims, strides, nelem, 0);
    if (!t)
        return bt_no_memory();
    if (!lies_within(owner, &t->tensor, offset_nelem)) {
        bt_tensor_unref(&t->tensor);
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "tensor: a view from element %" PRId64 " leaves its owner's data",
                       offset_nelem);
    }
    t->tensor.data = owner->data;
    if (nelem && !shares_bytes(owner, t, offset_nelem)) {
        status = bt_tensor_create_raw(ctx, owner->dtype, rank, dims, out);
        if (!status)
            copy_elements(&t->tensor, offset_nelem, *out);
        bt_tensor_unref(&t->tensor);
        return status;
    }
    if (nelem)
        t->tensor.data = (char *)owner->data +
                         offset_nelem * (int64_t)bt_dtype_nbits(owner->dtype) / 8;
    // Views of views hold the first owner, so that chains do not grow.
    t->tensor.owner = bt_object_ref(owner->owner ? owner->owner : &owner->base);
    *out = &t->tensor;
    return NULL;
}

/* ---- order in memory ---- */

int bt__tensor_is_aligned(const bt_tensor *t)
{
    return t->nelem == 0 || (uintptr_t)t->data % align_of(t->dtype) == 0;
}

int bt__tensor_is_row_major(const bt_tensor *t)
{
    return ((const struct bt__tensor *)t)->is_row_major;
}

int bt_tensor_is_dense(const bt_tensor *t)
{
    return bt__tensor_is_aligned(t) && bt__tensor_is_row_major(t);
}

int64_t bt__tensor_offset(const bt_tensor *t, int64_t position)
{
    int64_t offset = 0;
    for (uint32_t i = t->rank; i-- > 0;) {
        offset += position % t->dims[i] * t->strides[i];
        position /= t->dims[i];
    }
    return offset;
}

/* A tensor as rows along its last axis: `nrow` rows of `length` elements, `stride` apart.
 * A tensor without gaps is one row. */
struct rows {
    int64_t nrow, length, stride;
};

static struct rows rows_of(const bt_tensor *t)
{
    if (t->nelem == 0)
        return (struct rows){ 0 };
    if (bt__tensor_is_row_major(t))
        return (struct rows){ .nrow = 1, .length = t->nelem, .stride = 1 };
    int64_t length = t->dims[t->rank - 1];
    return (struct rows){ .nrow = t->nelem / length,
                          .length = length,
                          .stride = t->strides[t->rank - 1] };
}

/* The first element of a row, in elements from element 0. */
static int64_t row_offset(const bt_tensor *t, const struct rows *rows, int64_t row)
{
    return bt__tensor_offset(t, row * rows->length);
}

void bt__tensor_copy(const bt_tensor *from, bt_tensor *to)
{
    const int64_t item = (int64_t)bt_dtype_nbytes(from->dtype);
    struct rows rows = rows_of(from);
    char *at = to->data;
    if (!item && !bt__tensor_is_row_major(from)) {
        copy_elements(from, 0, to);
        return;
    }
    if (!item && from->nelem) {
        memcpy(to->data, from->data, bt_tensor_nbytes(from));
        return;
    }
    for (int64_t i = 0; i < rows.nrow; i++) {
        bt__elements_copy((size_t)item,
                          (const char *)from->data + row_offset(from, &rows, i) * item,
                          rows.stride, rows.length, at);
        at += rows.length * item;
    }
}

static bt_status ref_or_copy(bt_ctx *ctx, const bt_tensor *t, int is_fit, bt_tensor **out)
{
    if (is_fit) {
        *out = bt_tensor_ref(t);
        return NULL;
    }
    BT_TRY(bt_tensor_create_raw(ctx, t->dtype, t->rank, t->dims, out));
    bt__tensor_copy(t, *out);
    bt_tensor_forget(t); // the copy is read instead
    return NULL;
}

bt_status bt_tensor_dense(bt_ctx *ctx, const bt_tensor *t, bt_tensor **out)
{
    return ref_or_copy(ctx, t, bt_tensor_is_dense(t), out);
}

int bt_tensor_is_plain(const bt_tensor *t)
{
    return t->nelem == 0 ||
           ((uintptr_t)t->data % DATA_ALIGN == 0 && bt__tensor_is_row_major(t));
}

bt_status bt_tensor_plain(bt_ctx *ctx, const bt_tensor *t, bt_tensor **out)
{
    return ref_or_copy(ctx, t, bt_tensor_is_plain(t), out);
}

/* ---- elements ---- */

const void *bt__tensor_load(const bt_tensor *t, int64_t position, uint64_t cell[2])
{
    const size_t nbytes = bt_dtype_nbytes(t->dtype);
    const int64_t offset = bt__tensor_offset(t, position);
    cell[0] = cell[1] = 0;
    if (nbytes)
        return memcpy(cell, (const char *)t->data + offset * (int64_t)nbytes, nbytes);
    *(uint8_t *)cell = bt_packed_get(t->data, offset, (int)BT_DTYPE_BITS(t->dtype));
    return cell;
}

double bt_tensor_get(const bt_tensor *t, int64_t position)
{
    double out = 0;
    uint64_t cell[2];
    bt__elements_to_double(t->dtype, bt__tensor_load(t, position, cell), 0, 1, 1, &out);
    return out;
}

int64_t bt_tensor_get_int(const bt_tensor *t, int64_t position)
{
    int64_t out = 0;
    uint64_t cell[2];
    bt__elements_to_int(t->dtype, bt__tensor_load(t, position, cell), 0, 1, 1, &out);
    return out;
}

int64_t bt_tensor_get_index(const bt_tensor *t, int64_t position)
{
    const int64_t out = bt_tensor_get_int(t, position);
    return t->dtype == BT_UINT64 && out < 0 ? INT64_MAX : out;
}

void bt_tensor_set(bt_tensor *t, int64_t position, double value)
{
    bt__elements_from_double(t->dtype, &value, 1, t->data,
                             bt__tensor_offset(t, position));
}

void bt_tensor_set_int(bt_tensor *t, int64_t position, int64_t value)
{
    int is_unsigned = t->dtype == BT_UINT64;
    bt__elements_from_int(t->dtype, &value, is_unsigned, 1, t->data,
                          bt__tensor_offset(t, position));
}

bt_status bt_tensor_scalar(bt_ctx *ctx, bt_dtype dtype, double value, bt_tensor **out)
{
    BT_TRY(bt_tensor_create_raw(ctx, dtype, 0, NULL, out));
    bt_tensor_set(*out, 0, value);
    return NULL;
}

bt_status bt_tensor_scalar_int(bt_ctx *ctx, bt_dtype dtype, int64_t value,
                               bt_tensor **out)
{
    BT_TRY(bt_tensor_create_raw(ctx, dtype, 0, NULL, out));
    bt_tensor_set_int(*out, 0, value);
    return NULL;
}

/* ---- casts ---- */

enum { STRIP = 256 };

/* One row, a strip at a time, through the wide type that holds every value of the
 * source. */
static void cast_row(const bt_tensor *t, int64_t first, int64_t stride, int64_t length,
                     bt_tensor *out, int64_t to)
{
    for (int64_t i = 0; i < length; i += STRIP) {
        const int64_t n = length - i < STRIP ? length - i : STRIP;
        const int64_t at = first + i * stride;
        if (bt_dtype_is_real(t->dtype)) {
            double wide[STRIP];
            bt__elements_to_double(t->dtype, t->data, at, stride, n, wide);
            bt__elements_from_double(out->dtype, wide, n, out->data, to + i);
        } else {
            int64_t wide[STRIP];
            bt__elements_to_int(t->dtype, t->data, at, stride, n, wide);
            bt__elements_from_int(out->dtype, wide, t->dtype == BT_UINT64, n, out->data,
                                  to + i);
        }
    }
}

static bt_status cast(bt_ctx *ctx, const bt_tensor *t, bt_dtype dtype, bt_tensor **out)
{
    BT_TRY(bt_tensor_create_raw(ctx, dtype, t->rank, t->dims, out));
    struct rows rows = rows_of(t);
    for (int64_t i = 0; i < rows.nrow; i++)
        cast_row(t, row_offset(t, &rows, i), rows.stride, rows.length, *out,
                 i * rows.length);
    return NULL;
}

bt_status bt_tensor_cast(bt_ctx *ctx, const bt_tensor *t, bt_dtype dtype, bt_tensor **out)
{
    bt_tensor *dense;
    if (t->dtype != dtype && bt__tensor_is_aligned(t))
        return cast(ctx, t, dtype, out);
    BT_TRY(bt_tensor_dense(ctx, t, &dense));
    if (t->dtype == dtype) {
        *out = dense;
        return NULL;
    }
    bt_status status = cast(ctx, dense, dtype, out);
    bt_tensor_unref(dense);
    return status;
}

/* ---- bits ---- */

static int has_name(bt_dtype dtype)
{
    return (!bt_dtype_is_small_float(dtype) || dtype == BT_FLOAT16) &&
           dtype != BT_FLOAT8_E8M0FNU;
}

bt_status bt_tensor_of_bits(bt_ctx *ctx, const bt_tensor *bits, bt_dtype dtype,
                            uint32_t rank, const int64_t *dims, bt_tensor **out)
{
    const int is_packed = bt_dtype_is_packed(dtype);
    int64_t nelem, nbytes = -1;
    bt_tensor *dense;
    *out = NULL;
    if ((!is_packed && has_name(dtype)) ||
        bits->dtype != (align_of(dtype) == 1 ? BT_UINT8 : BT_UINT16))
        return NULL;
    if (is_packed) {
        BT_TRY(bt__tensor_check(ctx, dtype, rank, dims, &nelem));
        nbytes = (int64_t)nbytes_of(dtype, nelem);
    } else {
        rank = bits->rank;
        dims = bits->dims;
    }
    if (is_packed && (bits->rank != 1 || bits->nelem != nbytes))
        return NULL;
    BT_TRY(bt_tensor_dense(ctx, bits, &dense));
    bt_status status = bt_tensor_create_raw(ctx, dtype, rank, dims, out);
    if (!status && dense->nelem)
        memcpy((*out)->data, dense->data, bt_tensor_nbytes(dense));
    if (!status)
        bt__tensor_trim(*out);
    bt_tensor_unref(dense);
    return status;
}

void bt__tensor_trim(bt_tensor *t)
{
    const int64_t width = BT_DTYPE_BITS(t->dtype);
    int64_t last = t->nelem;
    if (!bt_dtype_is_packed(t->dtype))
        return;
    for (; last * width % 8; last++)
        bt_packed_set(t->data, last, (int)width, 0);
}
