/*
 * What dims call in generated C: where a number would be beyond INT64_MAX or -INT64_MAX, it
 * is that. As in floats.h, a blank line stands between two functions and nowhere else.
 */
#include <stdint.h>

static int64_t dim_add(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    return b < 0 && a < -INT64_MAX - b ? -INT64_MAX : a + b;
}

static int64_t dim_mul(int64_t a, int64_t b)
{
    const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
    if (x != 0 && y > INT64_MAX / x)
        return (a < 0) == (b < 0) ? INT64_MAX : -INT64_MAX;
    return a * b;
}

static int64_t dim_floordiv(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t dim_ceildiv(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

static int64_t dim_mod(int64_t a, int64_t b)
{
    const int64_t rest = b == 0 ? 0 : a % b;
    return rest != 0 && (a < 0) != (b < 0) ? rest + b : rest;
}

static int64_t dim_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t dim_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
