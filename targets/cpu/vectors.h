/*
 * Vectors as wide as the registers of the set that a source is compiled for. Products
 * and sums are fused where the set has that.
 */
#ifndef CPU_VECTORS_H
#define CPU_VECTORS_H

#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR_NBYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VECTOR_NBYTES 32
#else
#define VECTOR_NBYTES 16
#endif

typedef float float_vector __attribute__((vector_size(VECTOR_NBYTES)));
typedef double double_vector __attribute__((vector_size(VECTOR_NBYTES)));

/* a * b + c */
static inline float_vector float_multiply_add(float_vector a, float_vector b,
                                              float_vector c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double_vector double_multiply_add(double_vector a, double_vector b,
                                                double_vector c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_pd(a, b, c);
#else
    return a * b + c;
#endif
}

#endif
