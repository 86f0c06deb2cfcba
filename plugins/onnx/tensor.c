/* The values of TensorProtos: raw bytes, typed lists, external files. */
#include "tensor.h"

#include <string.h>

static const struct data_type {
    bt_dtype dtype;
    uint32_t list, wire; /* field and element type of its typed list */
} data_types[] = {
    [1] = { BT_FLOAT32, 4, WIRE_FIXED32 },  [2] = { BT_UINT8, 5, WIRE_VARINT },
    [3] = { BT_INT8, 5, WIRE_VARINT },      [4] = { BT_UINT16, 5, WIRE_VARINT },
    [5] = { BT_INT16, 5, WIRE_VARINT },     [6] = { BT_INT32, 5, WIRE_VARINT },
    [7] = { BT_INT64, 7, WIRE_VARINT },     [9] = { BT_BOOL, 5, WIRE_VARINT },
    [10] = { BT_FLOAT16, 5, WIRE_VARINT },  [11] = { BT_FLOAT64, 10, WIRE_FIXED64 },
    [12] = { BT_UINT32, 11, WIRE_VARINT },  [13] = { BT_UINT64, 11, WIRE_VARINT },
    [16] = { BT_BFLOAT16, 5, WIRE_VARINT },
};

bt_dtype onnx_dtype(int64_t data_type)
{
    return data_type >= 0 && data_type < (int64_t)BT_COUNT(data_types)
               ? data_types[data_type].dtype
               : 0;
}

static bt_status wrong_size(bt_ctx *ctx, const char *path, const struct onnx_tensor *t,
                            size_t got, size_t wanted)
{
    return bt_fail(ctx, BT_ERR_FORMAT,
                   "%s: tensor %s has %zu bytes of data where its shape needs %zu", path,
                   t->name, got, wanted);
}

/* Little-endian bytes into memory of this machine. */
static bt_status copy_raw(bt_ctx *ctx, const char *path, const struct onnx_tensor *t,
                          struct slice raw, bt_tensor *out)
{
    size_t nbytes = bt_tensor_nbytes(out), item = bt_dtype_nbytes(out->dtype);
    if (raw.nbytes != nbytes)
        return wrong_size(ctx, path, t, raw.nbytes, nbytes);
    const union {
        uint16_t word;
        uint8_t bytes[2];
    } order = { 1 };
    uint8_t *to = out->data;
    if (order.bytes[0] && nbytes)
        memcpy(to, raw.at, nbytes);
    for (size_t i = 0; !order.bytes[0] && i < nbytes; i++)
        to[i] = raw.at[i / item * item + item - 1 - i % item];
    if (out->dtype == BT_BOOL) {
        for (size_t i = 0; i < nbytes; i++)
            to[i] = to[i] != 0;
    }
    return NULL;
}

static void store(bt_tensor *tensor, int64_t i, uint64_t value)
{
    uint16_t half = (uint16_t)value;
    switch (tensor->dtype) {
    case BT_FLOAT32: bt_tensor_set(tensor, i, (double)wire_float(value)); break;
    case BT_FLOAT64: bt_tensor_set(tensor, i, wire_double(value)); break;
    case BT_FLOAT16:
    case BT_BFLOAT16: memcpy((uint8_t *)tensor->data + 2 * i, &half, sizeof(half)); break;
    default: bt_tensor_set_int(tensor, i, (int64_t)value); break;
    }
}

static bt_status copy_lists(bt_ctx *ctx, const char *path, const struct onnx_tensor *t,
                            bt_tensor *out)
{
    const struct data_type *type = &data_types[t->data_type];
    int64_t n = 0;
    for (uint32_t i = 0; i < t->lists.len; i++) {
        const struct field *list = &t->lists.at[i];
        struct slice rest = list->bytes;
        uint64_t value = list->value;
        if (list->number != type->list)
            continue;
        int got = list->type == WIRE_BYTES   ? wire_packed(&rest, type->wire, &value)
                  : list->type == type->wire ? 1
                                             : -1;
        while (got > 0 && n < out->nelem) {
            store(out, n++, value);
            got = list->type == WIRE_BYTES ? wire_packed(&rest, type->wire, &value) : 0;
        }
        if (got)
            return bt_fail(ctx, BT_ERR_FORMAT,
                           "%s: tensor %s has a malformed list of elements, or too many",
                           path, t->name);
    }
    if (n != out->nelem)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s: tensor %s has %lld elements where its shape needs %lld", path,
                       t->name, (long long)n, (long long)out->nelem);
    return NULL;
}

static bt_status copy_external(bt_ctx *ctx, const char *path, const char *folder,
                               const struct onnx_tensor *t, bt_tensor *out)
{
    bt_file *file;
    if (!folder || !t->location)
        return bt_fail(
            ctx, BT_ERR_IO,
            "%s: tensor %s lies in another file, and there is no folder to look in", path,
            t->name);
    BT_TRY(bt_file_read_beneath(ctx, folder, t->location, &file));
    size_t offset = (size_t)t->offset,
           left = file->nbytes < offset ? 0 : file->nbytes - offset;
    struct slice raw = { (const uint8_t *)file->bytes + (left ? offset : 0), left };
    bt_status status = NULL;
    if (t->length >= 0 && (uint64_t)t->length > left)
        status = bt_fail(
            ctx, BT_ERR_FORMAT,
            "%s: tensor %s is to lie at bytes %lld to %lld of %s, which has %zu", path,
            t->name, (long long)t->offset, (long long)t->offset + (long long)t->length,
            t->location, file->nbytes);
    if (t->length >= 0)
        raw.nbytes = (size_t)t->length;
    if (!status)
        status = copy_raw(ctx, path, t, raw, out);
    bt_file_close(ctx, file);
    return status;
}

bt_status onnx_tensor_value(bt_ctx *ctx, const char *path, const char *folder,
                            const struct onnx_tensor *t, bt_tensor **out)
{
    bt_dtype dtype = onnx_dtype(t->data_type);
    bt_tensor *tensor;
    if (!dtype)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: tensor %s has element type %lld, which is not supported",
                       path, t->name, (long long)t->data_type);
    if (t->dims.len > BT_MAX_RANK)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: tensor %s has rank %u; the limit is %u",
                       path, t->name, t->dims.len, BT_MAX_RANK);
    size_t have = t->has_raw ? t->raw.nbytes : 0;
    int64_t nelem = 1;
    for (uint32_t i = 0; i < t->dims.len; i++) {
        if (t->dims.at[i] < 0 || !bt_mul_int64(nelem, t->dims.at[i], &nelem))
            return bt_fail(ctx, BT_ERR_FORMAT, "%s: tensor %s has an impossible shape",
                           path, t->name);
    }
    /* Compared before anything of the declared size is allocated. */
    if (t->has_raw && !t->is_external && have / bt_dtype_nbytes(dtype) != (uint64_t)nelem)
        return wrong_size(ctx, path, t, have, (size_t)nelem * bt_dtype_nbytes(dtype));
    BT_TRY(bt_tensor_create(ctx, dtype, t->dims.len, t->dims.at, &tensor));
    bt_status status = t->is_external ? copy_external(ctx, path, folder, t, tensor)
                       : t->has_raw   ? copy_raw(ctx, path, t, t->raw, tensor)
                                      : copy_lists(ctx, path, t, tensor);
    if (status)
        bt_tensor_unref(tensor);
    else
        *out = tensor;
    return status;
}
