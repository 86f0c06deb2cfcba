/* The values of TensorProtos: raw bytes, typed lists, external files. */
#include "tensor.h"

#include <string.h>

enum {
    ANY_NBYTES = 1 << 16
}; /* where only types are asked for: larger ones are not read */

static const struct data_type {
    bt_dtype dtype;
    uint32_t list, wire; /* field and element type of its typed list */
} data_types[] = {
    [1] = { BT_FLOAT32, 4, WIRE_FIXED32 },
    [2] = { BT_UINT8, 5, WIRE_VARINT },
    [3] = { BT_INT8, 5, WIRE_VARINT },
    [4] = { BT_UINT16, 5, WIRE_VARINT },
    [5] = { BT_INT16, 5, WIRE_VARINT },
    [6] = { BT_INT32, 5, WIRE_VARINT },
    [7] = { BT_INT64, 7, WIRE_VARINT },
    [9] = { BT_BOOL, 5, WIRE_VARINT },
    [10] = { BT_FLOAT16, 5, WIRE_VARINT },
    [11] = { BT_FLOAT64, 10, WIRE_FIXED64 },
    [12] = { BT_UINT32, 11, WIRE_VARINT },
    [13] = { BT_UINT64, 11, WIRE_VARINT },
    [14] = { BT_COMPLEX64, 4, WIRE_FIXED32 },
    [15] = { BT_COMPLEX128, 10, WIRE_FIXED64 },
    [16] = { BT_BFLOAT16, 5, WIRE_VARINT },
    [17] = { BT_FLOAT8_E4M3FN, 5, WIRE_VARINT },
    [18] = { BT_FLOAT8_E4M3FNUZ, 5, WIRE_VARINT },
    [19] = { BT_FLOAT8_E5M2, 5, WIRE_VARINT },
    [20] = { BT_FLOAT8_E5M2FNUZ, 5, WIRE_VARINT },
    [21] = { BT_UINT4, 5, WIRE_VARINT },
    [22] = { BT_INT4, 5, WIRE_VARINT },
    [23] = { BT_FLOAT4_E2M1FN, 5, WIRE_VARINT },
    [24] = { BT_FLOAT8_E8M0FNU, 5, WIRE_VARINT },
    [25] = { BT_UINT2, 5, WIRE_VARINT },
    [26] = { BT_INT2, 5, WIRE_VARINT },
};

bt_dtype onnx_dtype(int64_t data_type)
{
    return data_type >= 0 && data_type < (int64_t)BT_COUNT(data_types)
               ? data_types[data_type].dtype
               : 0;
}

static const char *const type_names[] = {
    "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
    "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
    "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
    "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
    "UINT2",          "INT2",
};

const char *onnx_type_name(int64_t data_type)
{
    int is_known = data_type >= 0 && data_type < (int64_t)BT_COUNT(type_names);
    return is_known ? type_names[data_type] : "UNKNOWN";
}

int64_t onnx_type_of(const char *name)
{
    for (uint32_t i = 1; i < BT_COUNT(type_names); i++) {
        if (strcmp(type_names[i], name) == 0)
            return i;
    }
    return 0;
}

struct source {
    bt_ctx *ctx;
    bt_arena *arena;
    struct onnx_files *files;
    const struct onnx_tensor *tensor;
};

void onnx_files_close(bt_ctx *ctx, struct onnx_files *files)
{
    for (uint32_t i = 0; i < files->opened.len; i++)
        bt_file_close(ctx, files->opened.at[i]);
    files->opened.len = 0;
}

bt_status onnx_refuse_pointer(bt_ctx *ctx, const char *path, const void *bytes,
                              size_t nbytes)
{
    static const char head[] = "version https://git-lfs.github.com/spec/";
    if (nbytes < sizeof(head) - 1 || memcmp(bytes, head, sizeof(head) - 1) != 0)
        return NULL;
    return bt_fail(ctx, BT_ERR_FORMAT,
                   "%s is a pointer of Git LFS, not the file itself; `git lfs pull` "
                   "fetches that",
                   path);
}

/* Whether the file holds as much as the shape needs: asked before anything of that size
 * is allocated. */
static bt_status check_size(const struct source *s, uint64_t got, const char *unit,
                            uint64_t wanted)
{
    return got == wanted
               ? NULL
               : bt_fail(s->ctx, BT_ERR_FORMAT,
                         "%s: tensor %s has %llu %s where its shape needs %llu",
                         s->files->path, s->tensor->name, (unsigned long long)got, unit,
                         (unsigned long long)wanted);
}

static bt_status create(const struct source *s, bt_tensor **out)
{
    return bt_tensor_create(s->ctx, onnx_dtype(s->tensor->data_type), s->tensor->dims.len,
                            s->tensor->dims.at, out);
}

/* ---- bytes ---- */

static int is_little_endian(void)
{
    const union {
        uint16_t word;
        uint8_t bytes[2];
    } order = { 1 };
    return order.bytes[0];
}

/* Little-endian bytes into memory of this machine. */
static void copy_bytes(struct slice raw, bt_tensor *out)
{
    size_t nbytes = raw.nbytes;
    const size_t item = bt_dtype_is_packed(out->dtype)
                            ? 1
                            : bt_dtype_nbytes(out->dtype) / bt_dtype_nparts(out->dtype);
    uint8_t *to = out->data;
    int is_little = is_little_endian();
    if (is_little && nbytes)
        memcpy(to, raw.at, nbytes);
    for (size_t i = 0; !is_little && i < nbytes; i++)
        to[i] = raw.at[i / item * item + item - 1 - i % item];
    for (size_t i = 0; out->dtype == BT_BOOL && i < nbytes; i++)
        to[i] = to[i] != 0;
}

/* A file may have any bits behind the last of packed elements. */
static void clear_rest(bt_tensor *t)
{
    const int64_t width = BT_DTYPE_BITS(t->dtype);
    for (int64_t i = t->nelem; bt_dtype_is_packed(t->dtype) && i * width % 8; i++)
        bt_packed_set(t->data, i, (int)width, 0);
}

/* `raw` is of the file, or of none. Truth values are copied: a file may hold others than
 * 0 and 1. */
static bt_status read_raw(const struct source *s, size_t wanted, bt_file *file,
                          struct slice raw, bt_tensor **out)
{
    const struct onnx_tensor *t = s->tensor;
    bt_dtype dtype = onnx_dtype(t->data_type);
    BT_TRY(check_size(s, raw.nbytes, "bytes", wanted));
    if (file && is_little_endian() && dtype != BT_BOOL) {
        size_t offset = (size_t)(raw.at - (const uint8_t *)file->bytes);
        // unread, the numbers may be any: those that begin at the element before
        if (s->files->types_only && wanted > ANY_NBYTES && !bt_dtype_is_packed(dtype))
            offset -= (uintptr_t)raw.at % bt_dtype_nbytes(dtype);
        return bt_file_tensor(s->ctx, file, dtype, t->dims.len, t->dims.at, offset, out);
    }
    BT_TRY(create(s, out));
    copy_bytes(raw, *out);
    clear_rest(*out);
    return NULL;
}

/* ---- typed lists ---- */

static void store(bt_tensor *tensor, int64_t i, uint64_t value)
{
    const uint16_t half = (uint16_t)value;
    const uint8_t byte = (uint8_t)value;
    switch (tensor->dtype) {
    case BT_FLOAT32: bt_tensor_set(tensor, i, (double)wire_float(value)); break;
    case BT_FLOAT64: bt_tensor_set(tensor, i, wire_double(value)); break;
    case BT_FLOAT16:
    case BT_BFLOAT16: memcpy((uint8_t *)tensor->data + 2 * i, &half, sizeof(half)); break;
    case BT_FLOAT8_E4M3FN:
    case BT_FLOAT8_E4M3FNUZ:
    case BT_FLOAT8_E5M2:
    case BT_FLOAT8_E5M2FNUZ:
    case BT_FLOAT8_E8M0FNU: ((uint8_t *)tensor->data)[i] = byte; break;
    case BT_COMPLEX64: ((float *)tensor->data)[i] = wire_float(value); break;
    case BT_COMPLEX128: ((double *)tensor->data)[i] = wire_double(value); break;
    default:
        if (bt_dtype_is_packed(tensor->dtype)) // a byte for each entry
            ((uint8_t *)tensor->data)[i] = byte;
        else
            bt_tensor_set_int(tensor, i, (int64_t)value);
        break;
    }
}

/* Whether an element type has what its list says: int32_data is wider than most of those
 * that it is for. */
static int fits(const struct data_type *type, uint64_t value)
{
    const int is_packed = bt_dtype_is_packed(type->dtype);
    const uint32_t bits = is_packed ? 8 : BT_DTYPE_BITS(type->dtype);
    if (type->wire != WIRE_VARINT || type->dtype == BT_BOOL || bits == 64)
        return 1;
    if (BT_DTYPE_CLASS(type->dtype) == BT_CLASS_INT && !is_packed)
        value += UINT64_C(1) << (bits - 1);
    return value >> bits == 0;
}

/* Entries of a list: elements, or their parts, or bytes of packed ones. */
static int64_t nentry(const bt_tensor *t)
{
    return bt_dtype_is_packed(t->dtype) ? (int64_t)bt_tensor_nbytes(t)
                                        : t->nelem * bt_dtype_nparts(t->dtype);
}

/* Elements of a list field, packed or alone; MALFORMED or BEYOND. Stored where `to` is
 * given, from position `at` on, as many as there is room for. */
enum { MALFORMED = -1, BEYOND = -2 };
static int64_t read_list(const struct field *list, const struct data_type *type,
                         bt_tensor *to, int64_t at)
{
    struct slice rest = list->bytes;
    uint64_t value = list->value;
    int64_t n = 0;
    const int64_t room = to ? nentry(to) : 0;
    if (list->type != WIRE_BYTES) {
        if (list->type != type->wire)
            return MALFORMED;
        if (at < room)
            store(to, at, value);
        return fits(type, value) ? 1 : BEYOND;
    }
    for (;;) {
        int got = wire_packed(&rest, type->wire, &value);
        if (got <= 0)
            return got < 0 ? MALFORMED : n;
        if (!fits(type, value))
            return BEYOND;
        if (at + n < room)
            store(to, at + n, value);
        n++;
    }
}

/* A packed list of floats is the same as raw bytes. */
static int is_raw(const struct onnx_tensor *t)
{
    const struct data_type *type = &data_types[t->data_type];
    return type->wire != WIRE_VARINT && t->lists.len == 1 &&
           t->lists.at[0].number == type->list && t->lists.at[0].type == WIRE_BYTES;
}

static bt_status read_lists(const struct source *s, int64_t nentries, bt_tensor **out)
{
    const struct onnx_tensor *t = s->tensor;
    const struct data_type *type = &data_types[t->data_type];
    int64_t n = 0;
    for (uint32_t i = 0; i < t->lists.len; i++) {
        int64_t here = t->lists.at[i].number == type->list
                           ? read_list(&t->lists.at[i], type, NULL, 0)
                           : 0;
        if (here == BEYOND)
            return bt_fail(s->ctx, BT_ERR_FORMAT,
                           "%s: tensor %s has an element that is none of %s",
                           s->files->path, t->name, onnx_type_name(t->data_type));
        if (here < 0)
            return bt_fail(s->ctx, BT_ERR_FORMAT,
                           "%s: tensor %s has a malformed list of elements",
                           s->files->path, t->name);
        n += here;
    }
    BT_TRY(check_size(s, (uint64_t)n, "elements", (uint64_t)nentries));
    BT_TRY(create(s, out));
    n = 0;
    for (uint32_t i = 0; i < t->lists.len; i++) {
        if (t->lists.at[i].number == type->list)
            n += read_list(&t->lists.at[i], type, *out, n);
    }
    clear_rest(*out);
    return NULL;
}

/* ---- other files ---- */

/* The file of that name, opened when it is first asked for. */
static bt_status get_file(const struct source *s, const char *name, bt_file **out)
{
    struct onnx_files *files = s->files;
    bt_file *file;
    for (uint32_t i = 0; i < files->opened.len; i++) {
        *out = files->opened.at[i];
        if (strcmp((*out)->path, name) == 0)
            return NULL;
    }
    BT_TRY(bt_file_read_beneath(s->ctx, files->folder, name, &file));
    if (!BT_PUSH(s->arena, &files->opened, file)) {
        bt_file_close(s->ctx, file);
        return bt_no_memory();
    }
    *out = file;
    return onnx_refuse_pointer(s->ctx, name, file->bytes, file->nbytes);
}

/* Compares what is declared with what the file has before memory is taken. */
static bt_status read_external(const struct source *s, size_t wanted, bt_tensor **out)
{
    const struct onnx_tensor *t = s->tensor;
    bt_file *file;
    if (!s->files->folder || !t->location)
        return bt_fail(
            s->ctx, BT_ERR_IO,
            "%s: tensor %s lies in another file, and there is no folder to look in",
            s->files->path, t->name);
    BT_TRY(get_file(s, t->location, &file));
    uint64_t offset = (uint64_t)t->offset,
             left = offset <= file->nbytes ? file->nbytes - offset : 0,
             length = t->length >= 0 ? (uint64_t)t->length : wanted;
    if (offset > file->nbytes || length > left)
        return bt_fail(s->ctx, BT_ERR_FORMAT,
                       "%s: tensor %s is to lie at byte %lld of %s, %llu bytes long; the "
                       "file has %zu bytes",
                       s->files->path, t->name, (long long)t->offset, t->location,
                       (unsigned long long)length, file->nbytes);
    struct slice raw = { (const uint8_t *)file->bytes + offset, (size_t)length };
    return read_raw(s, wanted, file, raw, out);
}

/* ---- any tensor ---- */

static bt_status check_tensor(const struct source *s, int64_t *nelem, int64_t *nbytes)
{
    const struct onnx_tensor *t = s->tensor;
    bt_dtype dtype = onnx_dtype(t->data_type);
    if (!dtype)
        return bt_fail(s->ctx, BT_ERR_UNSUPPORTED,
                       "%s: tensor %s has element type %s, which is not supported",
                       s->files->path, t->name, onnx_type_name(t->data_type));
    if (t->dims.len > BT_MAX_RANK)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "%s: tensor %s has rank %u; the limit is %u",
                       s->files->path, t->name, t->dims.len, BT_MAX_RANK);
    int is_possible = 1;
    *nelem = 1;
    for (uint32_t i = 0; i < t->dims.len; i++)
        is_possible &= t->dims.at[i] >= 0 && bt_mul_int64(*nelem, t->dims.at[i], nelem);
    if (!is_possible || !bt_elements_nbytes(dtype, *nelem, nbytes))
        return bt_fail(s->ctx, BT_ERR_FORMAT, "%s: tensor %s has an impossible shape",
                       s->files->path, t->name);
    return NULL;
}

bt_status onnx_tensor_value(bt_ctx *ctx, bt_arena *arena, struct onnx_files *files,
                            const struct onnx_tensor *t, bt_tensor **out)
{
    struct source s = { ctx, arena, files, t };
    int64_t nelem, nbytes;
    BT_TRY(check_tensor(&s, &nelem, &nbytes));
    if (t->is_external)
        return read_external(&s, (size_t)nbytes, out);
    if (t->has_raw || is_raw(t))
        return read_raw(&s, (size_t)nbytes, files->model,
                        t->has_raw ? t->raw : t->lists.at[0].bytes, out);
    const int is_packed = bt_dtype_is_packed(onnx_dtype(t->data_type));
    return read_lists(&s, is_packed ? nbytes : nelem * bt_dtype_nparts(onnx_dtype(t->data_type)),
                      out);
}
