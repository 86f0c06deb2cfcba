/*
 * What codes by fixed point take, and how they are rounded, x being a sum by its factor m:
 *
 *     UP          shift_right(x + half, s)
 *     AWAY        the same of x without its sign, which it has after that
 *     EVEN        shift_right(x + max(half - 1, 0) + bit 0 of what stays, s)
 *     GEMMLOWP    AWAY of shift_right(limited(sum << left) * m + 2^30, 31), moved down by max(s - 31, 0):
 *                 limited to int32, left being max(31 - s, 0)
 *
 * HALF is a number below 2^61, or if that is negative, half of 2^s.
 */
#ifndef CPU_FIXED_H
#define CPU_FIXED_H

enum { CPU_FIXED_Y, CPU_FIXED_A, CPU_FIXED_M, CPU_FIXED_SHIFT };
enum {
    CPU_FIXED_COUNT,
    CPU_FIXED_HALF,
    CPU_FIXED_ZERO,
    CPU_FIXED_LOW,
    CPU_FIXED_HIGH,
    CPU_FIXED_ROUNDING,
    CPU_FIXED_NINT
};
enum { CPU_FIXED_UP, CPU_FIXED_AWAY, CPU_FIXED_EVEN, CPU_FIXED_GEMMLOWP };

#endif
