/*
 * Strips of exp by vectors of sets that have more than C says of floats: the bits of f32_exp, in two
 * thirds of the instructions. Compilers compute apart what is beyond its limits, and have no word for
 * a product by a power of two.
 */
#ifndef CPU_STRIP_EXP_H
#define CPU_STRIP_EXP_H

#include "strip_math.h"
#include "vectors.h"

EXP_PARTS(float_vector, _of_vector)

#if defined(__AVX512F__)
#define EXP_CALL(name) _mm512_##name
static inline float_vector scale_vector(float_vector x, float_vector whole)
{
    return _mm512_scalef_ps(x, whole - WHOLE_F);
}
#else
#define EXP_CALL(name) _mm256_##name
/* As scale_f. */
static inline float_vector scale_vector(float_vector x, float_vector whole)
{
    typedef uint32_t bits __attribute__((vector_size(VECTOR_NBYTES)));
    const bits k = (bits)whole - (0x4b400000u - 512), half = k >> 1;
    return x * (float_vector)((half + (127 - 256)) << 23) *
           (float_vector)((k - half + (127 - 256)) << 23);
}
#endif

static inline float_vector exp_vector(float_vector a)
{
    const float_vector least = (float_vector){ 0 } - 104.0f;
    const float_vector most = (float_vector){ 0 } + 89.0f;
    // the second operand where one is NaN
    const float_vector x = EXP_CALL(min_ps)(most, EXP_CALL(max_ps)(least, a));
    const float_vector whole = x * (float)LOG2_E + WHOLE_F;
    const float_vector r = exp_reduced_of_vector(x, whole - WHOLE_F);
    return scale_vector(1.0f + (r + exp_rest_of_vector(r)), whole);
}

static inline float_vector exp_load(const float32_at *from)
{
    float_vector v;
    memcpy(&v, from, sizeof(v));
    return v;
}

/* The strip of exp(value), of whole vectors; `rest` does what is left. a and b go along with the
 * result where their steps are 1, and are one element where these are 0, which the result may lie on. */
#define EXP_STRIP(name, rest, b_address, a_step, b_step, value)             \
    STRIP(name)                                                             \
    {                                                                       \
        enum { LANES = VECTOR_NBYTES / sizeof(float) };                     \
        const int64_t whole = n[0] / LANES * LANES, left = n[0] - whole;    \
        float32_at *out = p[0];                                             \
        float32_at *a = p[1], *b = p[b_address];                            \
        float a_first = a_step ? 0 : *a, b_first = b_step ? 0 : *b;         \
        const float_vector a_one = (float_vector){ 0 } + a_first;           \
        const float_vector b_one = (float_vector){ 0 } + b_first;           \
        for (int64_t i = 0; i < whole; i += LANES) {                        \
            const float_vector x = a_step ? exp_load(a + i) : a_one;        \
            const float_vector y = b_step ? exp_load(b + i) : b_one;        \
            const float_vector v = exp_vector(value);                       \
            (void)y;                                                        \
            memcpy(out + i, &v, sizeof(v));                                 \
        }                                                                   \
        return rest((void *[]){ out + whole, a_step ? a + whole : &a_first, \
                                b_step ? b + whole : &b_first },            \
                    &left);                                                 \
    }

#endif
