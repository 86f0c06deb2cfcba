/*
 * The greater and the smaller of two vectors of V bytes, element by element; what is not a number
 * is beyond all numbers, either way.
 *
 *     max_float32_V(y, x)    x where it is greater than y or not a number, else y; min_, float64
 *
 * The instruction gives its second operand where one of them is not a number. Of x that is asked
 * apart, so that a chain of these waits for little more than one instruction each.
 */
#ifndef CPU_STRIP_BEST_H
#define CPU_STRIP_BEST_H

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define BEST_VECTORS(V)                                               \
    typedef float float32_##V __attribute__((vector_size(V)));        \
    typedef double float64_##V __attribute__((vector_size(V)));       \
    typedef int32_t float32_mask_##V __attribute__((vector_size(V))); \
    typedef int64_t float64_mask_##V __attribute__((vector_size(V)));
#define BEST_ALL(V)           \
    BEST(max, float32, ps, V) \
    BEST(min, float32, ps, V) \
    BEST(max, float64, pd, V) \
    BEST(min, float64, pd, V)

#if defined(__AVX512F__)
#define BEST(name, type, s, V)                                                    \
    static inline type##_##V name##_##type##_##V(type##_##V y, type##_##V x)      \
    {                                                                             \
        return _mm512_mask_mov_##s(_mm512_##name##_##s(x, y),                     \
                                   _mm512_cmp_##s##_mask(x, x, _CMP_UNORD_Q), x); \
    }
BEST_VECTORS(64)
BEST_ALL(64)
#undef BEST
#endif
#if defined(__AVX2__)
#define BEST_BLEND(name, type, s, V, call)                                   \
    static inline type##_##V name##_##type##_##V(type##_##V y, type##_##V x) \
    {                                                                        \
        return call##_blendv_##s(call##_##name##_##s(x, y), x,               \
                                 call##_cmp_##s(x, x, _CMP_UNORD_Q));        \
    }
#define BEST(name, type, s, V) BEST_BLEND(name, type, s, V, _mm256)
BEST_VECTORS(32)
BEST_ALL(32)
#undef BEST
#define BEST(name, type, s, V) BEST_BLEND(name, type, s, V, _mm)
#else
#define BEYOND_max >
#define BEYOND_min <
#define BEST(name, type, s, V)                                                       \
    static inline type##_##V name##_##type##_##V(type##_##V y, type##_##V x)         \
    {                                                                                \
        const type##_mask_##V is = (x BEYOND_##name y) | (x != x);                   \
        return (type##_##V)(((type##_mask_##V)x & is) | ((type##_mask_##V)y & ~is)); \
    }
#endif
BEST_VECTORS(16)
BEST_ALL(16)

#endif
