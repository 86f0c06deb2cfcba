/*
 * Elements of tensors of any dtype, for the functions of this folder, which are compiled into
 * the evaluators of their operators and copied into the text of programs that are written as
 * C: a blank line stands between two functions and nowhere else, and a function calls only
 * those above it.
 */
#ifndef PLAIN_ELEMENTS_H
#define PLAIN_ELEMENTS_H

#include <baton/convert.h>
#include <baton/plain.h>

/* Of a tensor. */
static inline int64_t plain_count(const bt_plain_tensor *t)
{
    int64_t n = 1;
    uint32_t i;
    for (i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* The bits of element i. */
static inline uint64_t plain_bits(const bt_plain_tensor *t, int64_t i)
{
    switch (t->nbytes) {
    case 1: return ((const uint8_t *)t->data)[i];
    case 2: return ((const uint16_t *)t->data)[i];
    case 4: return ((const uint32_t *)t->data)[i];
    default: return ((const uint64_t *)t->data)[i];
    }
}

static inline void plain_set_bits(const bt_plain_tensor *t, int64_t i, uint64_t bits)
{
    switch (t->nbytes) {
    case 1: ((uint8_t *)t->data)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)t->data)[i] = bits; break;
    }
}

/* An element of integers or bool. */
static inline int64_t plain_get(const bt_plain_tensor *t, int64_t i)
{
    const uint64_t bits = plain_bits(t, i), sign = UINT64_C(1) << (8u * t->nbytes - 1u);
    return t->kind == 'i' ? (int64_t)((bits ^ sign) - sign) : (int64_t)bits;
}

/* One that is a position, an extent or a code: what int64 does not hold is its greatest number,
 * and so beyond all. */
static inline int64_t plain_index(const bt_plain_tensor *t, int64_t i)
{
    const int64_t index = plain_get(t, i);
    return t->kind == 'u' && index < 0 ? INT64_MAX : index;
}

static inline int plain_is_float(const bt_plain_tensor *t)
{
    return t->kind == 'f' || t->kind == 'g' || t->kind >= 'w';
}

/* Whether an element is not 0. What would be a negative zero is a NaN of two kinds. */
static inline int plain_is_set(const bt_plain_tensor *t, int64_t i)
{
    const uint64_t bits = plain_bits(t, i), sign = UINT64_C(1) << (8u * t->nbytes - 1u);
    return plain_is_float(t) && t->kind != 'x' && t->kind != 'z' ? (bits & ~sign) != 0
                                                                 : bits != 0;
}

/* The greatest code of a float that is no NaN. */
static inline uint64_t plain_most(const bt_plain_tensor *t)
{
    switch (t->kind) {
    case 'g': return 0x7f80;
    case 'w': return 0x7e;
    case 'y': return 0x7c;
    case 'x':
    case 'z': return 0x7f;
    default: break;
    }
    return t->nbytes == 2   ? 0x7c00
           : t->nbytes == 4 ? 0x7f800000
                            : UINT64_C(0x7ff0000000000000);
}

/* What orders elements, ascending: NaN has the greatest key, both zeros the same. */
static inline uint64_t plain_key(const bt_plain_tensor *t, int64_t i)
{
    const uint64_t bits = plain_bits(t, i), sign = UINT64_C(1) << (8u * t->nbytes - 1u);
    if (t->kind == 'i')
        return bits ^ sign;
    if (!plain_is_float(t))
        return bits;
    if ((bits & ~sign) > plain_most(t))
        return UINT64_MAX;
    if ((bits & ~sign) == 0)
        return plain_is_set(t, i) ? UINT64_MAX : sign;
    return bits & sign ? sign - 1u - (bits & ~sign) : bits | sign;
}

/* An element as a double; a large integer is rounded. */
static inline double plain_real(const bt_plain_tensor *t, int64_t i)
{
    switch (t->kind) {
    case 'u': return bt_double_from_uint((int64_t)plain_bits(t, i));
    case 'g': return (double)bt_bfloat_to_float(((const uint16_t *)t->data)[i]);
    case 'w': return (double)bt_float8_e4m3fn_to_float((uint8_t)plain_bits(t, i));
    case 'x': return (double)bt_float8_e4m3fnuz_to_float((uint8_t)plain_bits(t, i));
    case 'y': return (double)bt_float8_e5m2_to_float((uint8_t)plain_bits(t, i));
    case 'z': return (double)bt_float8_e5m2fnuz_to_float((uint8_t)plain_bits(t, i));
    case 'f': break;
    default: return (double)plain_get(t, i);
    }
    return t->nbytes == 2   ? (double)bt_half_to_float(((const uint16_t *)t->data)[i])
           : t->nbytes == 4 ? (double)((const float *)t->data)[i]
                            : ((const double *)t->data)[i];
}

/* Makes an element of any dtype. */
static inline void plain_set_real(const bt_plain_tensor *t, int64_t i, double value)
{
    const uint64_t most = UINT64_MAX >> (64u - 8u * t->nbytes);
    if (t->kind == 'f' && t->nbytes == 4)
        ((float *)t->data)[i] = (float)value;
    else if (t->kind == 'f' && t->nbytes == 8)
        ((double *)t->data)[i] = value;
    else if (t->kind == 'f')
        plain_set_bits(t, i, bt_half_from_double(value));
    else if (t->kind == 'g')
        plain_set_bits(t, i, bt_bfloat_from_double(value));
    else if (t->kind == 'w')
        plain_set_bits(t, i, bt_float8_e4m3fn_from_double(value));
    else if (t->kind == 'x')
        plain_set_bits(t, i, bt_float8_e4m3fnuz_from_double(value));
    else if (t->kind == 'y')
        plain_set_bits(t, i, bt_float8_e5m2_from_double(value));
    else if (t->kind == 'z')
        plain_set_bits(t, i, bt_float8_e5m2fnuz_from_double(value));
    else if (t->kind == 'b')
        plain_set_bits(t, i, value != 0);
    else if (t->kind == 'u' && t->nbytes == 8)
        plain_set_bits(t, i, (uint64_t)bt_double_to_uint(value));
    else if (t->kind == 'u')
        plain_set_bits(t, i, (uint64_t)bt_double_to_int(value, 0, (int64_t)most));
    else
        plain_set_bits(t, i,
                       (uint64_t)bt_double_to_int(value, -(int64_t)(most >> 1) - 1,
                                                  (int64_t)(most >> 1)));
}

/* A position or a count, 0 or more, as an element of any dtype. */
static inline void plain_set_index(const bt_plain_tensor *t, int64_t i, int64_t index)
{
    if (plain_is_float(t))
        plain_set_real(t, i, (double)index);
    else
        plain_set_bits(t, i, t->kind == 'b' ? index != 0 : (uint64_t)index);
}

/* Makes element k of `to`, of any dtype, of an element of any other. */
static inline void plain_convert(const bt_plain_tensor *from, int64_t i,
                                 const bt_plain_tensor *to, int64_t k)
{
    const int is_real = plain_is_float(to);
    if (plain_is_float(from) || (is_real && to->nbytes == 8))
        plain_set_real(to, k, plain_real(from, i));
    else if (is_real)
        plain_set_real(to, k,
                       from->kind == 'u' ? bt_sticky_from_uint(plain_get(from, i))
                                         : bt_sticky_from_int(plain_get(from, i)));
    else
        plain_set_bits(to, k,
                       to->kind == 'b' ? plain_get(from, i) != 0
                                       : (uint64_t)plain_get(from, i));
}

/* Copies the bits of n elements of the same size. */
static inline void plain_copy(const bt_plain_tensor *from, const bt_plain_tensor *to,
                              int64_t n)
{
    const unsigned char *restrict at = from->data;
    unsigned char *restrict out = to->data;
    int64_t i;
    for (i = 0; i < n * (int64_t)from->nbytes; i++)
        out[i] = at[i];
}

#endif
