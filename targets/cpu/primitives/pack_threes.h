/*
 * Three planes of bytes, place by place, as an image has its colours: of 16 places three vectors, each
 * of whose bytes is of one plane. For machines with byte shuffles; PACK_HAS_THREES says whether the
 * source has them.
 */
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <tmmintrin.h>

#define PACK_HAS_THREES() __builtin_cpu_supports("ssse3")

/* Where byte i of vector v comes from in its plane, if that is `plane`. */
#define THREES_FROM(v, plane, i) \
    ((char)((16 * (v) + (i)) % 3 == (plane) ? (16 * (v) + (i)) / 3 : -1))
#define THREES_MASK(v, plane)                                                            \
    _mm_setr_epi8(                                                                       \
        THREES_FROM(v, plane, 0), THREES_FROM(v, plane, 1), THREES_FROM(v, plane, 2),    \
        THREES_FROM(v, plane, 3), THREES_FROM(v, plane, 4), THREES_FROM(v, plane, 5),    \
        THREES_FROM(v, plane, 6), THREES_FROM(v, plane, 7), THREES_FROM(v, plane, 8),    \
        THREES_FROM(v, plane, 9), THREES_FROM(v, plane, 10), THREES_FROM(v, plane, 11),  \
        THREES_FROM(v, plane, 12), THREES_FROM(v, plane, 13), THREES_FROM(v, plane, 14), \
        THREES_FROM(v, plane, 15))
#define THREES_STORE(v)                                                                 \
    _mm_storeu_si128((__m128i *)(void *)(to + 3 * k) + (v),                             \
                     _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, THREES_MASK(v, 0)),  \
                                               _mm_shuffle_epi8(b, THREES_MASK(v, 1))), \
                                  _mm_shuffle_epi8(c, THREES_MASK(v, 2))))

__attribute__((target("ssse3"))) static void pack_threes(uint8_t *to, const uint8_t *from,
                                                         int64_t count, int64_t stride)
{
    int64_t k = 0;
    for (; k + 16 <= count; k += 16) {
        const __m128i a = _mm_loadu_si128((const void *)(from + k)),
                      b = _mm_loadu_si128((const void *)(from + k + stride)),
                      c = _mm_loadu_si128((const void *)(from + k + 2 * stride));
        THREES_STORE(0);
        THREES_STORE(1);
        THREES_STORE(2);
    }
    for (; k < count; k++) {
        for (int i = 0; i < 3; i++)
            to[3 * k + i] = from[k + i * stride];
    }
}
#else
#define PACK_HAS_THREES() 0

static void pack_threes(uint8_t *to, const uint8_t *from, int64_t count, int64_t stride)
{
    (void)to, (void)from, (void)count, (void)stride;
}
#endif
