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

/* An element as a double: of integers, and of floats of 32 and 64 bits. */
static inline double plain_real(const bt_plain_tensor *t, int64_t i)
{
    if (t->kind == 'u') // by halves: some compilers call a library for a whole one
        return (double)(int64_t)(plain_bits(t, i) >> 32) * 4294967296.0 +
               (double)(int64_t)(plain_bits(t, i) & UINT64_C(0xffffffff));
    if (t->kind == 'i' || t->kind == 'b')
        return (double)plain_get(t, i);
    return t->nbytes == 4 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}
