/* Integers that int16 holds, by vectors (vectors.h), of what is int16, uint8 or int8: without their
 * zero point. */
#ifndef CPU_SHORTS_H
#define CPU_SHORTS_H

#include "vectors.h"

typedef int16_t short_vector __attribute__((vector_size(VECTOR_NBYTES)));
typedef uint16_t short_bits __attribute__((vector_size(VECTOR_NBYTES))); /* which wrap */

static inline short_vector short_spread(int64_t number)
{
    return (int16_t)number - (short_vector){ 0 };
}

#define SHORTS_OF(name, ELEMENT)                                                   \
    typedef ELEMENT name##_elements                                                \
        __attribute__((vector_size(VECTOR_NBYTES / 2 * sizeof(ELEMENT))));         \
                                                                                   \
    static inline short_vector name##_load(const ELEMENT *from, short_vector zero) \
    {                                                                              \
        name##_elements v;                                                         \
        memcpy(&v, from, sizeof(v));                                               \
        return (short_vector)((short_bits)__builtin_convertvector(v, short_vector) \
                              - (short_bits)zero);                                 \
    }
SHORTS_OF(i16, int16_t)
SHORTS_OF(u8, uint8_t)
SHORTS_OF(s8, int8_t)
#undef SHORTS_OF

#endif
