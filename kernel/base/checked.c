/* Integer arithmetic that reports overflow. */
#include <baton/base.h>

int bt_add_int64(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return 0;
    *out = sum;
    return 1;
}

int bt_mul_int64(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return 0;
    *out = product;
    return 1;
}

int64_t bt_gcd_int64(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = b == -1 ? 0 : a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
}

/* The quotient toward zero; INT64_MIN / -1 wraps, as in formulas. */
static int64_t divide(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}

int64_t bt_floordiv_int64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    int64_t r = remainder_of(a, b);
    return divide(a, b) - (r != 0 && (r < 0) != (b < 0));
}

int64_t bt_ceildiv_int64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    int64_t r = remainder_of(a, b);
    return divide(a, b) + (r != 0 && (r < 0) == (b < 0));
}

int64_t bt_mod_int64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    int64_t r = remainder_of(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
