/* Element conversions by <baton/convert.h>; integer to integer wraps, to bool is nonzero. */
#include "value/elements.h"

#include <string.h>

bt_dtype bt__dtype_part(bt_dtype dtype)
{
    return bt_dtype_nparts(dtype) > 1 ? bt_dtype_carrier(dtype) : dtype;
}

/* ---- one element in memory to a wide type ---- */

#define value_bool(x)            ((x) != 0)
#define value_int8(x)            (x)
#define value_int16(x)           (x)
#define value_int32(x)           (x)
#define value_int64(x)           (x)
#define value_uint8(x)           (x)
#define value_uint16(x)          (x)
#define value_uint32(x)          (x)
#define value_uint64(x)          (x)
#define value_float8_e4m3fn(x)   bt_float8_e4m3fn_to_float(x)
#define value_float8_e4m3fnuz(x) bt_float8_e4m3fnuz_to_float(x)
#define value_float8_e5m2(x)     bt_float8_e5m2_to_float(x)
#define value_float8_e5m2fnuz(x) bt_float8_e5m2fnuz_to_float(x)
#define value_float16(x)         bt__half_to_float(x)
#define value_bfloat16(x)        bt_bfloat_to_float(x)
#define value_float32(x)         (x)
#define value_float64(x)         (x)

#define value_int4(x)            bt_int_of_bits(x, 4)
#define value_uint4(x)           (x)
#define value_int2(x)            bt_int_of_bits(x, 2)
#define value_uint2(x)           (x)
#define value_float8_e8m0fnu(x)  bt_float8_e8m0fnu_to_float(x)
#define value_float4_e2m1fn(x)   bt_float4_e2m1fn_to_float(x)

#define TO_WIDE(name, c_type, wide) \
    for (int64_t i = 0; i < n; i++) \
    out[i] = (wide)value_##name(((const c_type *)at)[first + i * stride])
#define PACKED_TO_WIDE(name, bits, wide) \
    for (int64_t i = 0; i < n; i++)      \
        out[i] = (wide)value_##name(bt_packed_get(at, first + i * stride, bits))

void bt__elements_to_double(bt_dtype dtype, const void *at, int64_t first, int64_t stride,
                            int64_t n, double *out)
{
    switch (dtype) {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    case BT_##UPPER: TO_WIDE(name, c_type, double); break;
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    case BT_##UPPER: PACKED_TO_WIDE(name, bits, double); break;
    case BT_FLOAT8_E8M0FNU: TO_WIDE(float8_e8m0fnu, uint8_t, double); break;
    case BT_COMPLEX64:
        bt__elements_to_double(BT_FLOAT32, at, 2 * first, 2 * stride, n, out);
        break;
    case BT_COMPLEX128:
        bt__elements_to_double(BT_FLOAT64, at, 2 * first, 2 * stride, n, out);
        break;
#include <baton/dtypes.def>
    }
}

static void floats_to_int(bt_dtype dtype, const void *at, int64_t first, int64_t stride,
                          int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        double x;
        bt__elements_to_double(dtype, at, first + i * stride, 1, 1, &x);
        out[i] = bt_double_to_int(x, INT64_MIN, INT64_MAX);
    }
}

void bt__elements_to_int(bt_dtype dtype, const void *at, int64_t first, int64_t stride,
                         int64_t n, int64_t *out)
{
    if (bt_dtype_is_real(dtype)) {
        floats_to_int(dtype, at, first, stride, n, out);
        return;
    }
    switch (dtype) {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    case BT_##UPPER: TO_WIDE(name, c_type, int64_t); break;
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    case BT_##UPPER: PACKED_TO_WIDE(name, bits, int64_t); break;
#include <baton/dtypes.def>
    }
}

uint64_t bt__element_bits(bt_dtype dtype, const void *at, int64_t i)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    const char *from = (const char *)at + i * (int64_t)bt_dtype_nbytes(dtype);
    switch (bt_dtype_nbits(dtype)) {
    case 8: memcpy(&one, from, 1); return one;
    case 16: memcpy(&two, from, 2); return two;
    case 32: memcpy(&four, from, 4); return four;
    case 64: memcpy(&eight, from, 8); return eight;
    default: return bt_packed_get(at, i, (int)BT_DTYPE_BITS(dtype));
    }
}

/* ---- a wide type to one element in memory ---- */

#define from_double_bool(x)            ((x) != 0)
#define from_double_int8(x)            bt_double_to_int(x, INT8_MIN, INT8_MAX)
#define from_double_int16(x)           bt_double_to_int(x, INT16_MIN, INT16_MAX)
#define from_double_int32(x)           bt_double_to_int(x, INT32_MIN, INT32_MAX)
#define from_double_int64(x)           bt_double_to_int(x, INT64_MIN, INT64_MAX)
#define from_double_uint8(x)           bt_double_to_int(x, 0, UINT8_MAX)
#define from_double_uint16(x)          bt_double_to_int(x, 0, UINT16_MAX)
#define from_double_uint32(x)          bt_double_to_int(x, 0, UINT32_MAX)
#define from_double_uint64(x)          bt_double_to_uint(x)
#define from_double_float8_e4m3fn(x)   bt__float8_from_double(x, BT_FLOAT8_E4M3FN)
#define from_double_float8_e4m3fnuz(x) bt__float8_from_double(x, BT_FLOAT8_E4M3FNUZ)
#define from_double_float8_e5m2(x)     bt__float8_from_double(x, BT_FLOAT8_E5M2)
#define from_double_float8_e5m2fnuz(x) bt__float8_from_double(x, BT_FLOAT8_E5M2FNUZ)
#define from_double_float16(x)         bt__short_from_double(x, BT_FLOAT16)
#define from_double_bfloat16(x)        bt__short_from_double(x, BT_BFLOAT16)
#define from_double_float32(x)         (x)
#define from_double_float64(x)         (x)
#define from_double_int4(x)            bt_double_to_int(x, -8, 7)
#define from_double_uint4(x)           bt_double_to_int(x, 0, 15)
#define from_double_int2(x)            bt_double_to_int(x, -2, 1)
#define from_double_uint2(x)           bt_double_to_int(x, 0, 3)
#define from_double_float8_e8m0fnu(x)  bt__float8_from_double(x, BT_FLOAT8_E8M0FNU)
#define from_double_float4_e2m1fn(x)   bt__float8_from_double(x, BT_FLOAT4_E2M1FN)

#define FROM_WIDE(name, c_type, wide) \
    for (int64_t i = 0; i < n; i++)   \
        ((c_type *)at)[first + i] = (c_type)from_##wide##_##name(from[i])
#define PACKED_FROM_WIDE(name, bits, wide) \
    for (int64_t i = 0; i < n; i++)        \
        bt_packed_set(at, first + i, bits, (uint8_t)from_##wide##_##name(from[i]))

void bt__elements_from_double(bt_dtype dtype, const double *from, int64_t n, void *at,
                              int64_t first)
{
    switch (dtype) {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    case BT_##UPPER: FROM_WIDE(name, c_type, double); break;
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    case BT_##UPPER: PACKED_FROM_WIDE(name, bits, double); break;
    case BT_FLOAT8_E8M0FNU: FROM_WIDE(float8_e8m0fnu, uint8_t, double); break;
    case BT_COMPLEX64:
    case BT_COMPLEX128:
        for (int64_t i = 0; i < n; i++)
            bt__elements_from_double(bt_dtype_carrier(dtype),
                                     (const double[]){ from[i], 0 }, 2, at,
                                     2 * (first + i));
        break;
#include <baton/dtypes.def>
    }
}

#define STICKY(x)                   (is_unsigned ? bt_sticky_from_uint(x) : bt_sticky_from_int(x))
#define from_int_bool(x)            ((x) != 0)
#define from_int_int8(x)            (uint64_t)(x)
#define from_int_int16(x)           (uint64_t)(x)
#define from_int_int32(x)           (uint64_t)(x)
#define from_int_int64(x)           (x)
#define from_int_uint8(x)           (x)
#define from_int_uint16(x)          (x)
#define from_int_uint32(x)          (x)
#define from_int_uint64(x)          (x)
#define from_int_float8_e4m3fn(x)   bt__float8_from_double(STICKY(x), BT_FLOAT8_E4M3FN)
#define from_int_float8_e4m3fnuz(x) bt__float8_from_double(STICKY(x), BT_FLOAT8_E4M3FNUZ)
#define from_int_float8_e5m2(x)     bt__float8_from_double(STICKY(x), BT_FLOAT8_E5M2)
#define from_int_float8_e5m2fnuz(x) bt__float8_from_double(STICKY(x), BT_FLOAT8_E5M2FNUZ)
#define from_int_float16(x)         bt__short_from_double(STICKY(x), BT_FLOAT16)
#define from_int_bfloat16(x)        bt__short_from_double(STICKY(x), BT_BFLOAT16)
#define from_int_float32(x)         (is_unsigned ? (float)(uint64_t)(x) : (float)(x))
#define from_int_float64(x)         (is_unsigned ? (double)(uint64_t)(x) : (double)(x))
#define from_int_int4(x)            (x)
#define from_int_uint4(x)           (x)
#define from_int_int2(x)            (x)
#define from_int_uint2(x)           (x)
#define from_int_float8_e8m0fnu(x)  bt__float8_from_double(STICKY(x), BT_FLOAT8_E8M0FNU)
#define from_int_float4_e2m1fn(x)   bt__float8_from_double(STICKY(x), BT_FLOAT4_E2M1FN)

void bt__elements_from_int(bt_dtype dtype, const int64_t *from, int is_unsigned,
                           int64_t n, void *at, int64_t first)
{
    switch (dtype) {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    case BT_##UPPER: FROM_WIDE(name, c_type, int); break;
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    case BT_##UPPER: PACKED_FROM_WIDE(name, bits, int); break;
    case BT_FLOAT8_E8M0FNU: FROM_WIDE(float8_e8m0fnu, uint8_t, int); break;
    case BT_COMPLEX64:
    case BT_COMPLEX128:
        for (int64_t i = 0; i < n; i++)
            bt__elements_from_int(bt_dtype_carrier(dtype),
                                  (const int64_t[]){ from[i], 0 }, is_unsigned, 2, at,
                                  2 * (first + i));
        break;
#include <baton/dtypes.def>
    }
}

/* One element many times: what is there is copied behind itself. */
static void fill(size_t nbytes, const void *from, size_t n, char *to)
{
    memcpy(to, from, nbytes);
    for (size_t done = nbytes, all = nbytes * n; done < all;) {
        const size_t more = done < all - done ? done : all - done;
        memcpy(to + done, to, more);
        done += more;
    }
}

/* `from` may lie at any byte. */
#define COPY(T)                                                                   \
    for (int64_t i = 0; i < n; i++)                                               \
        memcpy((T *)to + i, (const char *)from + i * stride * (int64_t)sizeof(T), \
               sizeof(T));

void bt__elements_copy(size_t nbytes, const void *from, int64_t stride, int64_t n,
                       void *to)
{
    if (stride == 1 && n > 0) {
        memcpy(to, from, nbytes * (size_t)n);
        return;
    }
    if (stride == 0 && n > 0) {
        fill(nbytes, from, (size_t)n, to);
        return;
    }
    switch (nbytes) {
    case 1: COPY(uint8_t) break;
    case 2: COPY(uint16_t) break;
    case 4: COPY(uint32_t) break;
    case 8: COPY(uint64_t) break;
    case 16: COPY(struct { uint64_t halves[2]; }) break;
    }
}
