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

struct source {
    bt_ctx *ctx;
    const char *path, *folder;
    const struct onnx_tensor *tensor;
};

/* Whether the file holds as much as the shape needs: asked before anything of that size
 * is allocated. */
static bt_status check_size(const struct source *s, uint64_t got, const char *unit,
                            uint64_t wanted)
{
    return got == wanted ? NULL
                         : bt_fail(s->ctx, BT_ERR_FORMAT,
                                   "%s: tensor %s has %llu %s where its shape needs %llu",
                                   s->path, s->tensor->name, (unsigned long long)got,
                                   unit, (unsigned long long)wanted);
}

static bt_status create(const struct source *s, bt_tensor **out)
{
    return bt_tensor_create(s->ctx, onnx_dtype(s->tensor->data_type), s->tensor->dims.len,
                            s->tensor->dims.at, out);
}

/* ---- bytes ---- */

/* Little-endian bytes into memory of this machine. */
static void copy_bytes(struct slice raw, bt_tensor *out)
{
    size_t nbytes = raw.nbytes, item = bt_dtype_nbytes(out->dtype);
    const union {
        uint16_t word;
        uint8_t bytes[2];
    } order = { 1 };
    uint8_t *to = out->data;
    if (order.bytes[0] && nbytes)
        memcpy(to, raw.at, nbytes);
    for (size_t i = 0; !order.bytes[0] && i < nbytes; i++)
        to[i] = raw.at[i / item * item + item - 1 - i % item];
    for (size_t i = 0; out->dtype == BT_BOOL && i < nbytes; i++)
        to[i] = to[i] != 0;
}

static bt_status read_raw(const struct source *s, size_t wanted, struct slice raw,
                          bt_tensor **out)
{
    BT_TRY(check_size(s, raw.nbytes, "bytes", wanted));
    BT_TRY(create(s, out));
    copy_bytes(raw, *out);
    return NULL;
}

/* ---- typed lists ---- */

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

/* Elements of a list field, packed or alone; -1: malformed. Stored where `to` is given,
 * from position `at` on, as many as there is room for. */
static int64_t read_list(const struct field *list, uint32_t wire, bt_tensor *to,
                         int64_t at)
{
    struct slice rest = list->bytes;
    uint64_t value = list->value;
    int64_t n = 0;
    if (list->type != WIRE_BYTES) {
        if (to && at < to->nelem)
            store(to, at, value);
        return list->type == wire ? 1 : -1;
    }
    for (;;) {
        int got = wire_packed(&rest, wire, &value);
        if (got <= 0)
            return got < 0 ? -1 : n;
        if (to && at + n < to->nelem)
            store(to, at + n, value);
        n++;
    }
}

static bt_status read_lists(const struct source *s, int64_t nelem, bt_tensor **out)
{
    const struct onnx_tensor *t = s->tensor;
    const struct data_type *type = &data_types[t->data_type];
    int64_t n = 0;
    for (uint32_t i = 0; i < t->lists.len; i++) {
        int64_t here = t->lists.at[i].number == type->list
                           ? read_list(&t->lists.at[i], type->wire, NULL, 0)
                           : 0;
        if (here < 0)
            return bt_fail(s->ctx, BT_ERR_FORMAT,
                           "%s: tensor %s has a malformed list of elements", s->path,
                           t->name);
        n += here;
    }
    BT_TRY(check_size(s, (uint64_t)n, "elements", (uint64_t)nelem));
    BT_TRY(create(s, out));
    n = 0;
    for (uint32_t i = 0; i < t->lists.len; i++) {
        if (t->lists.at[i].number == type->list)
            n += read_list(&t->lists.at[i], type->wire, *out, n);
    }
    return NULL;
}

/* ---- other files ---- */

static bt_status cut_external(const struct source *s, const bt_file *file,
                              struct slice *out)
{
    const struct onnx_tensor *t = s->tensor;
    uint64_t offset = (uint64_t)t->offset,
             left = offset <= file->nbytes ? file->nbytes - offset : 0;
    if (offset > file->nbytes || (t->length >= 0 && (uint64_t)t->length > left))
        return bt_fail(s->ctx, BT_ERR_FORMAT,
                       "%s: tensor %s is to lie at byte %lld of %s, which has %zu",
                       s->path, t->name, (long long)t->offset, t->location, file->nbytes);
    out->at = (const uint8_t *)file->bytes + offset;
    out->nbytes = t->length >= 0 ? (size_t)t->length : (size_t)left;
    return NULL;
}

static bt_status read_external(const struct source *s, size_t wanted, bt_tensor **out)
{
    bt_file *file;
    struct slice raw;
    if (!s->folder || !s->tensor->location)
        return bt_fail(
            s->ctx, BT_ERR_IO,
            "%s: tensor %s lies in another file, and there is no folder to look in",
            s->path, s->tensor->name);
    BT_TRY(bt_file_read_beneath(s->ctx, s->folder, s->tensor->location, &file));
    bt_status status = cut_external(s, file, &raw);
    if (!status)
        status = read_raw(s, wanted, raw, out);
    bt_file_close(s->ctx, file);
    return status;
}

/* ---- any tensor ---- */

static bt_status check_tensor(const struct source *s, int64_t *nelem, int64_t *nbytes)
{
    const struct onnx_tensor *t = s->tensor;
    bt_dtype dtype = onnx_dtype(t->data_type);
    if (!dtype)
        return bt_fail(s->ctx, BT_ERR_UNSUPPORTED,
                       "%s: tensor %s has element type %lld, which is not supported",
                       s->path, t->name, (long long)t->data_type);
    if (t->dims.len > BT_MAX_RANK)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "%s: tensor %s has rank %u; the limit is %u",
                       s->path, t->name, t->dims.len, BT_MAX_RANK);
    *nelem = 1;
    *nbytes = (int64_t)bt_dtype_nbytes(dtype);
    for (uint32_t i = 0; i < t->dims.len; i++) {
        if (t->dims.at[i] < 0 || !bt_mul_int64(*nelem, t->dims.at[i], nelem) ||
            !bt_mul_int64(*nbytes, t->dims.at[i], nbytes))
            return bt_fail(s->ctx, BT_ERR_FORMAT, "%s: tensor %s has an impossible shape",
                           s->path, t->name);
    }
    return NULL;
}

bt_status onnx_tensor_value(bt_ctx *ctx, const char *path, const char *folder,
                            const struct onnx_tensor *t, bt_tensor **out)
{
    struct source s = { ctx, path, folder, t };
    int64_t nelem, nbytes;
    BT_TRY(check_tensor(&s, &nelem, &nbytes));
    if (t->is_external)
        return read_external(&s, (size_t)nbytes, out);
    return t->has_raw ? read_raw(&s, (size_t)nbytes, t->raw, out)
                      : read_lists(&s, nelem, out);
}
