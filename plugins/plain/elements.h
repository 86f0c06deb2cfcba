/*
 * Elements of tensors of any dtype, for the functions of this folder. Targets and executors
 * copy what a program calls into its text: a blank line stands between two functions and
 * nowhere else, and a function calls only those above it.
 */

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

/* Whether an element is not 0. */
static inline int plain_is_set(const bt_plain_tensor *t, int64_t i)
{
    const uint64_t bits = plain_bits(t, i), sign = UINT64_C(1) << (8u * t->nbytes - 1u);
    return t->kind == 'f' || t->kind == 'g' ? (bits & ~sign) != 0 : bits != 0;
}

/* What orders elements, ascending: NaN has the greatest key, both zeros the same. */
static inline uint64_t plain_key(const bt_plain_tensor *t, int64_t i)
{
    const uint64_t bits = plain_bits(t, i), sign = UINT64_C(1) << (8u * t->nbytes - 1u);
    const uint32_t mantissa = t->kind == 'g' ? 7 : t->nbytes == 2 ? 10 : t->nbytes == 4 ? 23 : 52;
    const uint64_t infinity = sign - (UINT64_C(1) << mantissa);
    if (t->kind == 'i')
        return bits ^ sign;
    if (t->kind != 'f' && t->kind != 'g')
        return bits;
    if ((bits & ~sign) > infinity)
        return UINT64_MAX;
    if ((bits & ~sign) == 0)
        return sign;
    return bits & sign ? sign - 1u - (bits & ~sign) : bits | sign;
}

/* float16 (10, 15) or bfloat16 (7, 127), digits of the fraction and greatest exponent, as a
 * double: exact. */
static inline double plain_widen(uint32_t bits, uint32_t digits, uint32_t most)
{
    const uint32_t exponent = bits >> digits & (2u * most + 1u);
    const uint64_t fraction = bits & ((1u << digits) - 1u), sign = (uint64_t)(bits >> 15) << 63;
    union {
        uint64_t bits;
        double value;
    } d;
    if (exponent == 0) { // subnormal: as many of the least one
        d.bits = (uint64_t)(1024u - most - digits) << 52;
        return (sign ? -d.value : d.value) * (double)(int64_t)fraction;
    }
    d.bits = sign | fraction << (52u - digits) |
             (exponent == 2u * most + 1u ? UINT64_C(0x7ff) : (uint64_t)(exponent + 1023u - most)) << 52;
    return d.value;
}

/* The other way, to nearest, ties to even; a NaN stays one. */
static inline uint32_t plain_narrow(double value, uint32_t digits, uint32_t most)
{
    union {
        uint64_t bits;
        double value;
    } d;
    uint64_t fraction, lost, half, kept;
    uint32_t exponent, drop, sign;
    const uint32_t infinity = (2u * most + 1u) << digits, least = 1024u - most;
    d.value = value;
    sign = (uint32_t)(d.bits >> 63) << 15;
    exponent = (uint32_t)(d.bits >> 52) & 0x7ffu;
    fraction = d.bits & ((UINT64_C(1) << 52) - 1u);
    if (exponent == 0x7ffu)
        return sign | infinity |
               (fraction ? (uint32_t)(fraction >> (52u - digits)) | 1u << (digits - 1u) : 0u);
    if (exponent > 1023u + most)
        return sign | infinity;
    if (exponent + digits + 1u < least) // below half of the least subnormal
        return sign;
    drop = 52u - digits + (exponent < least ? least - exponent : 0u);
    fraction |= UINT64_C(1) << 52;
    kept = fraction >> drop;
    lost = fraction & ((UINT64_C(1) << drop) - 1u);
    half = UINT64_C(1) << (drop - 1u);
    kept += lost > half || (lost == half && (kept & 1u));
    // a carry moves into the exponent by itself
    return sign | (uint32_t)(((uint64_t)(exponent < least ? 0u : exponent - least) << digits) + kept);
}

/* An element as a double. */
static inline double plain_real(const bt_plain_tensor *t, int64_t i)
{
    if (t->kind == 'u') // by halves: some compilers call a library for a whole one
        return (double)(int64_t)(plain_bits(t, i) >> 32) * 4294967296.0 +
               (double)(int64_t)(plain_bits(t, i) & UINT64_C(0xffffffff));
    if (t->kind == 'i' || t->kind == 'b')
        return (double)plain_get(t, i);
    if (t->nbytes == 2)
        return t->kind == 'g' ? plain_widen((uint32_t)plain_bits(t, i), 7, 127)
                              : plain_widen((uint32_t)plain_bits(t, i), 10, 15);
    return t->nbytes == 4 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

/* Makes an element of floats. */
static inline void plain_set_real(const bt_plain_tensor *t, int64_t i, double value)
{
    if (t->nbytes == 2)
        plain_set_bits(t, i, t->kind == 'g' ? plain_narrow(value, 7, 127) : plain_narrow(value, 10, 15));
    else if (t->nbytes == 4)
        ((float *)t->data)[i] = (float)value;
    else
        ((double *)t->data)[i] = value;
}
