/* x * 2^-n, rounded once. */
#ifndef NPU_ROUND_H
#define NPU_ROUND_H

#include <stdint.h>

/* n from -31 to 62; |x| below 2^31 where n is negative, else at most 2^62. Halves go up, or to the
 * even neighbour. */
static inline int64_t npu_shift(int64_t x, int32_t n, int is_even)
{
    if (n <= 0)
        return x * ((int64_t)1 << -n);
    // shifts of negative numbers are not of the language: floor by way of the complement
    const int64_t floor = x < 0 ? ~(~x >> n) : x >> n;
    const int64_t rest = x - floor * ((int64_t)1 << n), half = (int64_t)1 << (n - 1);
    return floor + (rest > half || (rest == half && (!is_even || floor % 2 != 0)));
}

#endif
