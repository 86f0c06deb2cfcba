/*
 * Weights of few bits, in blocks with a scale and a zero point each; a byte holds several
 * numbers, the first in its lowest bits.
 *
 *     byte   b1 b0                 4 bits
 *     weight (b0 - zero) * scale, (b1 - zero) * scale
 *
 * source  ONNX Runtime, docs/ContribOperators.md
 */
#include <string.h>

#include "arith.h"
#include "quantize.h"

/* The numbers in bytes, as many times more along the last axis as a byte holds. */
static const bt_value *unpacked(bt_onnx_node *n, const bt_value *bytes, int64_t bits)
{
    uint32_t rank = value_rank(n, bytes), count = (uint32_t)(8 / bits);
    const bt_value *parts[8];
    if (count == 1 || n->status)
        return bytes;
    for (uint32_t i = 0; i < count; i++) {
        const bt_value *low = emit2(n, "right_shift", NULL, bytes,
                                    scalar_like(n, bytes, (double)(i * bits)));
        parts[i] = emit2(n, "bitwise_and", NULL, low,
                         scalar_like(n, bytes, (double)((1 << bits) - 1)));
    }
    const bt_value *all =
        emit_list(n, "stack", node_format(n, "axis=%u", rank), count, parts);
    if (n->status)
        return NULL;
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = dim_of(n, bytes, i);
    dims[rank - 1] = dims_product(n, all, rank - 1, rank + 1);
    return reshaped(n, all, rank, dims);
}

static int64_t read_bits(bt_onnx_node *n)
{
    int64_t bits = node_int(n, "bits", 4);
    if (bits != 2 && bits != 4 && bits != 8)
        node_fail(n, BT_ERR_UNSUPPORTED, "weights of %lld bits; 2, 4 and 8 are known",
                  (long long)bits);
    return n->status ? 8 : bits;
}

/* Whole numbers of that type, [rows, blocks]; bytes hold several, and those of a row end
 * with whole bytes. */
static const bt_value *zeros_of(bt_onnx_node *n, const bt_value *zero, int64_t bits,
                                const bt_type *const dims[2])
{
    int64_t blocks;
    if (value_dtype(zero) != BT_UINT8 || bits == 8)
        return reshaped(n, zero, 2, dims);
    if (!bt_dim_is_const(dims[1], &blocks)) {
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the number of blocks is symbolic: bind it with --dim");
        return NULL;
    }
    const bt_type *packed[2] = { dims[0], dim_number(n, (blocks * bits + 7) / 8) };
    return sliced(n, unpacked(n, reshaped(n, zero, 2, packed), bits), 1, 0, blocks);
}

/* Weights in blocks: [rows, blocks] of bytes, scales, and zero points or NULL. */
struct nbits {
    const bt_value *bytes, *scale, *zero;
    int64_t bits, rows, blocks, size;
};

/* A constant of bytes as numbers of 2 or 4 bits in rows of `width`, as they lie. NULL: it is none. */
static const bt_value *packed(bt_onnx_node *n, const bt_value *bytes, int64_t bits,
                              int64_t rows, int64_t width)
{
    const bt_tensor *from = bytes && !n->status ? known_tensor(n, bytes) : NULL;
    const int64_t dims[] = { rows, width };
    bt_tensor *dense = NULL, *to = NULL;
    if (!from || bits == 8 || from->dtype != BT_UINT8 ||
        from->nelem != rows * (width * bits / 8))
        return NULL;
    n->status = bt_tensor_dense(n->ctx, from, &dense);
    if (!n->status)
        n->status =
            bt_tensor_create_raw(n->ctx, bits == 4 ? BT_UINT4 : BT_UINT2, 2, dims, &to);
    if (!n->status)
        memcpy(to->data, dense->data, (size_t)dense->nelem);
    bt_tensor_unref(dense);
    return n->status ? NULL : emit_const(n, to);
}

/* Weights [rows, blocks * size] of constants, which stay as they are. NULL: they are none. */
static const bt_value *packed_weights(bt_onnx_node *n, const struct nbits *w,
                                      bt_dtype dtype)
{
    const int64_t each = 8 / w->bits;
    const bt_type *dims[2] = { dim_number(n, w->rows), dim_number(n, w->blocks) };
    const bt_value *codes = packed(n, w->bytes, w->bits, w->rows, w->blocks * w->size);
    if (!codes || dtype != BT_FLOAT32 || value_dtype(w->scale) != dtype)
        return NULL;
    // each row of zero points ends with a whole byte
    const bt_value *zero =
        w->zero
            ? packed(n, w->zero, w->bits, w->rows, (w->blocks + each - 1) / each * each)
            : emit_scalar(n, value_dtype(codes), (double)(1 << (w->bits - 1)));
    if (zero && w->zero)
        zero = sliced(n, zero, 1, 0, w->blocks);
    return zero ? dequantized(
                      n, codes, reshaped(n, w->scale, 2, dims), zero,
                      node_format(n, "axis=1, block_size=%lld", (long long)w->size))
                : NULL;
}

/* Weights [rows, blocks * size] of anything. */
static const bt_value *computed_weights(bt_onnx_node *n, const struct nbits *w,
                                        bt_dtype dtype)
{
    const bt_type *bytes[3] = { dim_number(n, w->rows), dim_number(n, w->blocks),
                                dim_number(n, w->size * w->bits / 8) },
                  *flat[2] = { bytes[0], dim_number(n, w->blocks * w->size) };
    const bt_value *q = unpacked(n, reshaped(n, w->bytes, 3, bytes), w->bits);
    const bt_value *zero = w->zero
                               ? cast_to(n, zeros_of(n, w->zero, w->bits, bytes), dtype)
                               : emit_scalar(n, dtype, (double)(1 << (w->bits - 1)));
    if (zero && value_rank(n, zero))
        zero = with_axes(n, zero, 2, 1);
    const bt_value *scale =
        with_axes(n, reshaped(n, cast_to(n, w->scale, dtype), 2, bytes), 2, 1);
    return reshaped(n, times(n, minus(n, cast_to(n, q, dtype), zero), scale), 2, flat);
}

/* Inputs: data, weights [N, blocks, bytes of a block], scales, zero points, the order of
 * groups, bias. */
static void matmul_nbits(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1),
                   *scale = node_need(n, 2), *zero = node_in(n, 3), *bias = node_in(n, 5);
    int64_t k = node_int(n, "K", 0), rows = node_int(n, "N", 0),
            size = node_int(n, "block_size", 0), bits = read_bits(n);
    if (node_in(n, 4))
        node_fail(n, BT_ERR_UNSUPPORTED, "g_idx, an order of groups, is not supported");
    if (node_int(n, "weight_prepacked", 0))
        node_fail(n, BT_ERR_UNSUPPORTED, "prepacked weights are not supported");
    if (k < 1 || rows < 1 || size < 1 || k > INT32_MAX || size > INT32_MAX ||
        size * bits % 8)
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "K is %lld, N %lld, block_size %lld: numbers from 1 are expected, and "
                  "blocks of whole bytes",
                  (long long)k, (long long)rows, (long long)size);
    if (n->status)
        return;
    const struct nbits of = {
        weight, scale, zero, bits, rows, (k + size - 1) / size, size
    };
    const bt_value *w = packed_weights(n, &of, value_dtype(x));
    if (!w)
        w = computed_weights(n, &of, value_dtype(x));
    w = of.blocks * size == k ? w : sliced(n, w, 1, 0, k);
    const bt_value *y = matrix_product(n, x, emit1(n, "transpose", "axes=[1, 0]", w));
    node_out(n, 0, bias ? plus(n, y, bias) : y);
}

/* Inputs: bytes, whose last axis is in blocks, rows to take, scales, zero points. */
static void gather_block_quantized(bt_onnx_node *n)
{
    const bt_value *data = node_need(n, 0), *rows = node_need(n, 1),
                   *scale = node_need(n, 2), *zero = node_in(n, 3);
    uint32_t rank = value_rank(n, data),
             axis = node_axis(n, node_int(n, "gather_axis", 0), rank),
             blocks = node_axis(n, node_int(n, "quantize_axis", 1), rank);
    int64_t size = node_int(n, "block_size", 128), bits = read_bits(n);
    if (n->status)
        return;
    if (value_dtype(data) != BT_UINT8 || axis != 0 || rank < 2 || blocks + 1 != rank)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "only data of element type uint8 is known, with gather_axis 0 and the "
                  "last axis as quantize_axis");
    int64_t width = value_dim(n, data, rank - 1) * (8 / bits);
    if (width < 1 || size < 1)
        node_fail(n, BT_ERR_FORMAT,
                  "block_size is %lld and the rows of the data have %lld elements; both "
                  "must be numbers from 1",
                  (long long)size, (long long)width);
    const char *take = "axis=0, mode=\"fast\"";
    const bt_value *q = unpacked(n, emit2(n, "take", take, data, rows), bits);
    scale = emit2(n, "take", take, scale, rows);
    uint32_t last = value_rank(n, q) - 1;
    int64_t count = value_dim(n, scale, last);
    if (zero)
        zero = sliced(n, unpacked(n, emit2(n, "take", take, zero, rows), bits), last, 0,
                      count);
    const char *repeats = node_format(n, "repeats=%lld, axis=%u", (long long)size, last);
    bt_dtype dtype = value_dtype(scale);
    zero = zero ? cast_to(n, sliced(n, emit1(n, "repeat", repeats, zero), last, 0, width),
                          dtype)
                : scalar_like(n, scale, (double)(1 << (bits - 1)));
    scale = sliced(n, emit1(n, "repeat", repeats, scale), last, 0, width);
    node_out(n, 0, times(n, minus(n, cast_to(n, q, dtype), zero), scale));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "com.microsoft.MatMulNBits-1", matmul_nbits, NULL }, { "com.microsoft.GatherBlockQuantized-1", gather_block_quantized, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_nbits[] = { BT_ONNX_OPERATORS(operators), { 0 } };
