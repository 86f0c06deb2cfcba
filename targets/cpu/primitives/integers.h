/*
 * Scalar operators on integers and bool, in the width of the type: int8_add, bool_and. They
 * bear the names of scalars.def: an operator without its function does not compile.
 */
#ifndef CPU_INTEGERS_H
#define CPU_INTEGERS_H

#include <stdint.h>

/* Arithmetic that wraps is done in W, unsigned and at least as wide as int. */
#define I1(t, name, expr)                     \
    static inline t##_el t##_##name(t##_el a) \
    {                                         \
        return (t##_el)(expr);                \
    }
#define I2(t, name, expr)                               \
    static inline t##_el t##_##name(t##_el a, t##_el b) \
    {                                                   \
        return (t##_el)(expr);                          \
    }
#define T1(t, name, expr)                      \
    static inline uint8_t t##_##name(t##_el a) \
    {                                          \
        return (uint8_t)(expr);                \
    }
#define T2(t, name, expr)                                \
    static inline uint8_t t##_##name(t##_el a, t##_el b) \
    {                                                    \
        return (uint8_t)(expr);                          \
    }

/* Of all: the same with and without sign. */
#define COMMON(t, W)                    \
    I2(t, add, (W)a + (W)b)             \
    I2(t, sub, (W)a - (W)b)             \
    I2(t, mul, (W)a *(W)b)              \
    I2(t, max, a > b ? a : b)           \
    I2(t, min, a < b ? a : b)           \
    I2(t, bit_and, a &b)                \
    I2(t, bit_or, a | b)                \
    I2(t, bit_xor, a ^ b)               \
    I1(t, bit_not, ~a)                  \
    I1(t, neg, -(W)a)                   \
    I1(t, floor, a)                     \
    I1(t, ceil, a)                      \
    I1(t, trunc, a)                     \
    I1(t, round, a)                     \
    I1(t, round_even, a)                \
    T1(t, isnan, a & 0)                 \
    T1(t, isinf, a & 0)                 \
    T1(t, isfinite, (a & 0) | 1)        \
    T2(t, eq, a == b)                   \
    T2(t, ne, a != b)                   \
    T2(t, lt, a < b)                    \
    T2(t, le, a <= b)                   \
    static inline W t##_power(W a, W b) \
    {                                   \
        W y = 1;                        \
        for (; b; b >>= 1, a *= a) {    \
            if (b & 1)                  \
                y *= a;                 \
        }                               \
        return y;                       \
    }

/* Shifts by less than the width of `a`, which is `bits`; the amount is looked at first. */
#define SIGNED(t, W, bits)                                                           \
    typedef t##_t t##_el;                                                            \
    COMMON(t, W)                                                                     \
    I2(t, truncdiv, b == 0 ? 0 : b == -1 ? -(W)a : (W)(a / b))                       \
    I2(t, div, t##_truncdiv(a, b))                                                   \
    I2(t, truncmod, b == 0 || b == -1 ? 0 : a % b)                                   \
    I2(t, floordiv,                                                                  \
       (W)t##_truncdiv(a, b) - (t##_truncmod(a, b) != 0 && (a < 0) != (b < 0)))      \
    I2(t, ceildiv,                                                                   \
       (W)t##_truncdiv(a, b) + (t##_truncmod(a, b) != 0 && (a < 0) == (b < 0)))      \
    I2(t, mod,                                                                       \
       t##_truncmod(a, b) + (t##_truncmod(a, b) != 0 && (a < 0) != (b < 0) ? b : 0)) \
    I2(t, pow,                                                                       \
       b >= 0 ? t##_power((W)a, (W)b)                                                \
              : (W)(a == 1    ? 1                                                    \
                    : a == -1 ? (b & 1 ? -1 : 1)                                     \
                              : 0))                                                  \
    I2(t, wrap, a < 0 ? (W)a + (W)b : (W)a)                                          \
    I1(t, abs, a < 0 ? -(W)a : (W)a)                                                 \
    I1(t, sign, (a > 0) - (a < 0))                                                   \
    I2(t, shift_left, ((b < 0) | (b >= bits)) ? 0 : (W)a << (b & (bits - 1)))        \
    I2(t, shift_right, a >> (((b < 0) | (b >= bits)) ? bits - 1 : b))

#define UNSIGNED(t, W, bits)                                    \
    typedef t##_t t##_el;                                       \
    COMMON(t, W)                                                \
    I2(t, truncdiv, b ? a / b : 0)                              \
    I2(t, div, b ? a / b : 0)                                   \
    I2(t, truncmod, b ? a % b : 0)                              \
    I2(t, floordiv, b ? a / b : 0)                              \
    I2(t, ceildiv, b ? (W)(a / b) + (a % b != 0) : 0)           \
    I2(t, mod, b ? a % b : 0)                                   \
    I2(t, pow, t##_power(a, b))                                 \
    I1(t, abs, a)                                               \
    I1(t, sign, a != 0)                                         \
    static inline t##_el t##_wrap(t##_el a, t##_el b)           \
    {                                                           \
        (void)b;                                                \
        return a;                                               \
    }                                                           \
    I2(t, shift_left, b >= bits ? 0 : (W)a << (b & (bits - 1))) \
    I2(t, shift_right, b >= bits ? 0 : a >> (b & (bits - 1)))

SIGNED(int8, uint32_t, 8)
SIGNED(int16, uint32_t, 16)
SIGNED(int32, uint32_t, 32)
SIGNED(int64, uint64_t, 64)
UNSIGNED(uint8, uint32_t, 8)
UNSIGNED(uint16, uint32_t, 16)
UNSIGNED(uint32, uint32_t, 32)
UNSIGNED(uint64, uint64_t, 64)

typedef uint8_t bool_el; // 0 or 1
T2(bool, bit_and, a &b)
T2(bool, bit_or, a | b)
T2(bool, bit_xor, a ^ b)
T1(bool, bit_not, a ^ 1)
T2(bool, eq, a == b)
T2(bool, ne, a != b)
T2(bool, lt, a < b)
T2(bool, le, a <= b)
T2(bool, and, a &b)
T2(bool, or, a | b)
T1(bool, not, a ^ 1)

#undef I1
#undef I2
#undef T1
#undef T2

#endif
