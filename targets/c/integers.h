/*
 * As floats.h, behind it: scalars.def of integers.
 *
 * i_ integers, in int64_t; u_ uint64, whose bits an int64_t holds
 */

/* ---- integers: arithmetic in uint64_t, which wraps ---- */

static int64_t i_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t i_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t i_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t i_neg(int64_t a)
{
    return (int64_t)(0 - (uint64_t)a);
}

static int64_t i_abs(int64_t a)
{
    return a < 0 ? i_neg(a) : a;
}

static int64_t i_sign(int64_t a)
{
    return (a > 0) - (a < 0);
}

static int64_t i_truncdiv(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? i_neg(a) : a / b;
}

static int64_t i_truncmod(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t i_floordiv(int64_t a, int64_t b)
{
    return i_truncdiv(a, b) - (i_truncmod(a, b) != 0 && (a < 0) != (b < 0));
}

static int64_t i_ceildiv(int64_t a, int64_t b)
{
    return i_truncdiv(a, b) + (i_truncmod(a, b) != 0 && (a < 0) == (b < 0));
}

static int64_t i_mod(int64_t a, int64_t b)
{
    const int64_t rest = i_truncmod(a, b);
    return rest != 0 && (a < 0) != (b < 0) ? rest + b : rest;
}

static int64_t i_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t i_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t i_wrap(int64_t a, int64_t b)
{
    return a < 0 ? i_add(a, b) : a;
}

static int64_t i_shift_left(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}

static int64_t i_shift_right(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}

static int64_t u_pow(int64_t x, int64_t z)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)z, y = 1;
    for (; b; b >>= 1, a *= a) {
        if (b & 1)
            y *= a;
    }
    return (int64_t)y;
}

static int64_t i_pow(int64_t a, int64_t b)
{
    if (b >= 0)
        return u_pow(a, b);
    return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}

static int64_t u_truncdiv(int64_t a, int64_t b)
{
    return b ? (int64_t)((uint64_t)a / (uint64_t)b) : 0;
}

static int64_t u_truncmod(int64_t a, int64_t b)
{
    return b ? (int64_t)((uint64_t)a % (uint64_t)b) : 0;
}

static int64_t u_ceildiv(int64_t a, int64_t b)
{
    return u_truncdiv(a, b) + (u_truncmod(a, b) != 0);
}

static int64_t u_lt(int64_t a, int64_t b)
{
    return (uint64_t)a < (uint64_t)b;
}

static int64_t u_le(int64_t a, int64_t b)
{
    return (uint64_t)a <= (uint64_t)b;
}

static int64_t u_max(int64_t a, int64_t b)
{
    return u_lt(b, a) ? a : b;
}

static int64_t u_min(int64_t a, int64_t b)
{
    return u_lt(a, b) ? a : b;
}

static int64_t u_shift_right(int64_t a, int64_t b)
{
    return (uint64_t)b > 63 ? 0 : (int64_t)((uint64_t)a >> b);
}
