/*
 * npy files, by the description in NumPy's numpy/lib/format.py:
 *
 *     magic "\x93NUMPY", version major and minor, header length (2 bytes little endian in
 *     version 1, else 4), header: a Python dict padded with spaces and a newline, data.
 *
 * The header is parsed by a parser of just that dict; nothing is evaluated.
 */
#include <inttypes.h>
#include <string.h>

#include "base/ctx.h"
#include "value/elements.h"
#include "value/file.h"
#include "value/tensor.h"

#define MAGIC "\x93NUMPY"

enum { MAGIC_NBYTES = 6, ALIGN = 64 };

/* ---- element types ---- */

static const struct descr {
    char kind;
    uint32_t nbytes;
    bt_dtype dtype;
} descrs[] = {
    { 'b', 1, BT_BOOL },           { 'i', 1, BT_INT8 },
    { 'i', 2, BT_INT16 },          { 'i', 4, BT_INT32 },
    { 'i', 8, BT_INT64 },          { 'u', 1, BT_UINT8 },
    { 'u', 2, BT_UINT16 },         { 'u', 4, BT_UINT32 },
    { 'u', 8, BT_UINT64 },         { 'f', 2, BT_FLOAT16 },
    { 'f', 4, BT_FLOAT32 },        { 'f', 8, BT_FLOAT64 },
    { 'c', 8, BT_COMPLEX64 },      { 'c', 16, BT_COMPLEX128 },
    { 'V', 2, BT_BFLOAT16 }, /* as NumPy describes two bytes of an unknown type */
    { 'V', 1, BT_FLOAT8_E4M3FN },  { 'V', 1, BT_FLOAT8_E4M3FNUZ },
    { 'V', 1, BT_FLOAT8_E5M2 },    { 'V', 1, BT_FLOAT8_E5M2FNUZ },
    { 'V', 1, BT_FLOAT8_E8M0FNU }, { 'V', 1, BT_INT4 },
    { 'V', 1, BT_UINT4 },          { 'V', 1, BT_INT2 },
    { 'V', 1, BT_UINT2 },          { 'V', 1, BT_FLOAT4_E2M1FN },
    { 'V', 1, BT_UINT8 }, /* where the last row counts, in reading: the byte is of some type */
};

static int host_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- reading ---- */

struct reader {
    bt_ctx *ctx;
    const char *place;
    const char *at, *end; /* of the header not yet read */
    const struct descr *descr;
    int is_swapped, is_fortran;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
};

static BT_FAILURE bt_status fail(const struct reader *r, uint32_t code,
                                 const char *format, ...) BT_PRINTF(3, 4);
static BT_FAILURE bt_status fail(const struct reader *r, uint32_t code,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status =
        bt_fail_va(r->ctx, code, &(bt_place){ .file = r->place }, format, args);
    va_end(args);
    return status;
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
        r->at++;
}

/* 1 and behind `word`, or 0. */
static int accept(struct reader *r, const char *word)
{
    size_t nbytes = strlen(word);
    skip_space(r);
    if ((size_t)(r->end - r->at) < nbytes || memcmp(r->at, word, nbytes) != 0)
        return 0;
    r->at += nbytes;
    return 1;
}

static BT_FAILURE bt_status fail_needs(const struct reader *r, const char *what)
{
    int nshown = (int)(r->end - r->at < 16 ? r->end - r->at : 16);
    return fail(r, BT_ERR_FORMAT, "npy: the header needs %s before \"%.*s\"", what,
                nshown, r->at);
}

static bt_status expect(struct reader *r, const char *word)
{
    return accept(r, word) ? NULL : fail_needs(r, word);
}

/* A quoted text without escapes. */
static bt_status read_text(struct reader *r, const char **out, size_t *nbytes_out)
{
    skip_space(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
        return fail_needs(r, "a text in quotes");
    const char *start = r->at + 1;
    const char *end = memchr(start, *r->at, (size_t)(r->end - start));
    if (!end)
        return fail(r, BT_ERR_FORMAT, "npy: a text in the header does not end");
    *out = start;
    *nbytes_out = (size_t)(end - start);
    r->at = end + 1;
    return NULL;
}

static bt_status read_descr(struct reader *r)
{
    const char *text;
    size_t nbytes;
    if (accept(r, "["))
        return fail(r, BT_ERR_UNSUPPORTED,
                    "npy: records are not supported; save each field as an array");
    BT_TRY(read_text(r, &text, &nbytes));
    const char *end = text + nbytes, *at = text;
    char order = nbytes && strchr("<>|=", *at) ? *at++ : '=';
    char kind = at < end ? *at++ : 0;
    uint32_t item = 0;
    for (; item < 10 && at < end && *at >= '0' && *at <= '9'; at++)
        item = 10 * item + (uint32_t)(*at - '0');
    item = at == end ? item : 0;
    for (uint32_t i = 0; i < BT_COUNT(descrs); i++) {
        if (descrs[i].kind == kind && descrs[i].nbytes == item)
            r->descr = &descrs[i];
    }
    if (!r->descr && kind == 'O')
        return fail(r, BT_ERR_UNSUPPORTED, "npy: an array of Python objects");
    if (!r->descr)
        return fail(
            r, BT_ERR_UNSUPPORTED,
            "npy: element type '%.*s' is none of bool, int, uint, float and complex",
            (int)(nbytes < 40 ? nbytes : 40), text);
    r->is_swapped = order == (host_is_big() ? '<' : '>');
    return NULL;
}

static bt_status read_dim(struct reader *r)
{
    int64_t dim = 0;
    skip_space(r);
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return fail_needs(r, "a dimension");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (!bt_mul_int64(dim, 10, &dim) || !bt_add_int64(dim, *r->at - '0', &dim))
            return fail(r, BT_ERR_LIMIT, "npy: a dimension above 2^63");
    }
    (void)accept(r, "L"); // Python 2
    if (r->rank == BT_MAX_RANK)
        return fail(r, BT_ERR_LIMIT, "npy: more than %d dimensions", BT_MAX_RANK);
    r->dims[r->rank++] = dim;
    return NULL;
}

static bt_status read_shape(struct reader *r)
{
    BT_TRY(expect(r, "("));
    while (!accept(r, ")")) {
        BT_TRY(read_dim(r));
        if (!accept(r, ",")) {
            BT_TRY(expect(r, ")"));
            break;
        }
    }
    return NULL;
}

static bt_status read_order(struct reader *r)
{
    if (accept(r, "True"))
        r->is_fortran = 1;
    else if (!accept(r, "False"))
        return fail_needs(r, "True or False");
    return NULL;
}

static bt_status read_field(struct reader *r, uint32_t *seen)
{
    static const struct {
        const char *name;
        bt_status (*read)(struct reader *);
    } fields[] = { { "descr", read_descr },
                   { "fortran_order", read_order },
                   { "shape", read_shape } };
    const char *name;
    size_t nbytes;
    BT_TRY(read_text(r, &name, &nbytes));
    for (uint32_t i = 0; i < BT_COUNT(fields); i++) {
        if (strlen(fields[i].name) != nbytes || memcmp(fields[i].name, name, nbytes) != 0)
            continue;
        if (*seen & 1u << i)
            return fail(r, BT_ERR_FORMAT, "npy: the header has two fields %s",
                        fields[i].name);
        *seen |= 1u << i;
        BT_TRY(expect(r, ":"));
        return fields[i].read(r);
    }
    return fail(r, BT_ERR_FORMAT, "npy: the header has a field %.*s",
                (int)(nbytes < 40 ? nbytes : 40), name);
}

static bt_status read_header(struct reader *r)
{
    uint32_t seen = 0;
    BT_TRY(expect(r, "{"));
    while (!accept(r, "}")) {
        BT_TRY(read_field(r, &seen));
        if (!accept(r, ",")) {
            BT_TRY(expect(r, "}"));
            break;
        }
    }
    skip_space(r);
    if (r->at < r->end)
        return fail_needs(r, "nothing");
    if (seen != 7)
        return fail(r, BT_ERR_FORMAT,
                    "npy: the header needs the fields descr, fortran_order and shape");
    return NULL;
}

/* Finds the header: *data_out is where it ends. */
static bt_status open_header(struct reader *r, const char *bytes, size_t nbytes,
                             size_t *data_out)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (nbytes < 10 || memcmp(bytes, MAGIC, MAGIC_NBYTES) != 0)
        return fail(r, BT_ERR_FORMAT,
                    "npy: no npy file: it does not start with "
                    "\"\\x93NUMPY\"");
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return fail(r, BT_ERR_UNSUPPORTED, "npy: version %d.%d is none of 1.0, 2.0, 3.0",
                    b[6], b[7]);
    size_t start = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1 && nbytes >= 12)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (nbytes < start || length > nbytes - start)
        return fail(r, BT_ERR_FORMAT, "npy: the file ends within its header");
    r->at = bytes + start;
    r->end = r->at + length;
    *data_out = start + length;
    return NULL;
}

static void swap_bytes(char *at, int64_t nelem, size_t item)
{
    for (int64_t i = 0; i < nelem; i++, at += item) {
        for (size_t k = 0; k < item / 2; k++) {
            char byte = at[k];
            at[k] = at[item - 1 - k];
            at[item - 1 - k] = byte;
        }
    }
}

/* A dense tensor of the file's elements in the file's order. */
static bt_status read_data(const struct reader *r, const int64_t *dims, const void *data,
                           bt_tensor **out)
{
    bt_tensor *t;
    const uint32_t nparts = bt_dtype_nparts(r->descr->dtype);
    BT_TRY(bt_tensor_create(r->ctx, r->descr->dtype, r->rank, dims, &t));
    if (t->nelem)
        memcpy(t->data, data, bt_tensor_nbytes(t));
    if (r->is_swapped)
        swap_bytes(t->data, t->nelem * nparts, r->descr->nbytes / nparts);
    if (r->descr->dtype == BT_BOOL) {
        for (int64_t i = 0; i < t->nelem; i++)
            ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
    }
    *out = t;
    return NULL;
}

/* In Fortran order the file holds the transposed array: read that and turn it. */
static bt_status read_fortran(const struct reader *r, const void *data, bt_tensor **out)
{
    int64_t dims[BT_MAX_RANK], strides[BT_MAX_RANK];
    bt_tensor *file, *view = NULL;
    for (uint32_t i = 0; i < r->rank; i++)
        dims[i] = r->dims[r->rank - 1 - i];
    BT_TRY(read_data(r, dims, data, &file));
    for (uint32_t i = 0; i < r->rank; i++)
        strides[i] = file->strides[r->rank - 1 - i];
    bt_status status = bt_tensor_view(r->ctx, file, r->rank, r->dims, strides, 0, &view);
    if (!status)
        status = bt_tensor_create(r->ctx, file->dtype, r->rank, r->dims, out);
    if (!status)
        bt__tensor_copy(view, *out);
    bt_tensor_unref(view);
    bt_tensor_unref(file);
    return status;
}

bt_status bt_npy_read(bt_ctx *ctx, const char *place, const void *bytes, size_t nbytes,
                      bt_tensor **out)
{
    struct reader r = { .ctx = ctx, .place = place };
    size_t start;
    int64_t nelem;
    BT_TRY(open_header(&r, bytes, nbytes, &start));
    BT_TRY(read_header(&r));
    bt_status status = bt__tensor_check(ctx, r.descr->dtype, r.rank, r.dims, &nelem);
    if (status)
        return fail(&r, status->code, "npy: %s", status->message);
    uint64_t expected = (uint64_t)nelem * r.descr->nbytes, found = nbytes - start;
    if (expected != found)
        return fail(&r, BT_ERR_FORMAT,
                    "npy: %" PRIu64 " bytes of data where the shape needs %" PRIu64,
                    found, expected);
    const char *data = (const char *)bytes + start;
    return r.is_fortran && r.rank > 1 ? read_fortran(&r, data, out)
                                      : read_data(&r, r.dims, data, out);
}

/* ---- writing ---- */

uint64_t bt__npy_nbytes(bt_ctx *ctx, const void *begun, size_t nbytes)
{
    struct reader r = { .ctx = ctx, .place = "" };
    size_t start;
    int64_t nelem;
    int is_known = !open_header(&r, begun, nbytes, &start) && !read_header(&r) &&
                   !bt__tensor_check(ctx, r.descr->dtype, r.rank, r.dims, &nelem);
    return is_known ? (uint64_t)nelem * r.descr->nbytes + start : 0;
}

static void add_header(bt_text *out, const bt_tensor *t)
{
    size_t start = out->len;
    const struct descr *d = descrs;
    while (d->dtype != t->dtype)
        d++;
    char order = d->nbytes == 1 || d->kind == 'V' ? '|' : host_is_big() ? '>' : '<';
    bt_text_add(out, MAGIC "\1\0\0\0", MAGIC_NBYTES + 4);
    bt_text_addf(out, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (", order,
                 d->kind, d->nbytes);
    // packed elements are their bytes
    const int64_t packed[] = { (int64_t)bt_tensor_nbytes(t) };
    const uint32_t rank = bt_dtype_is_packed(t->dtype) ? 1 : t->rank;
    const int64_t *dims = bt_dtype_is_packed(t->dtype) ? packed : t->dims;
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(out, "%s%" PRId64, i ? ", " : "", dims[i]);
    bt_text_addf(out, "%s), }", rank == 1 ? "," : "");
    while ((out->len - start) % ALIGN != ALIGN - 1 && !out->failed)
        bt_text_add(out, " ", 1);
    bt_text_add(out, "\n", 1);
    if (out->failed)
        return;
    // At most 32 dimensions of 19 digits: two bytes hold the length.
    size_t length = out->len - start - MAGIC_NBYTES - 4;
    out->at[start + 8] = (char)(length & 0xff);
    out->at[start + 9] = (char)(length >> 8);
}

bt_status bt_npy_write(bt_ctx *ctx, const bt_tensor *t, bt_text *out)
{
    bt_tensor *dense;
    BT_TRY(bt_tensor_dense(ctx, t, &dense));
    add_header(out, dense);
    bt_text_add(out, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    return out->failed ? bt_no_memory() : NULL;
}
