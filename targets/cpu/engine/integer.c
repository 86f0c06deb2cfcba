/* Integer arithmetic of programs. */
#include "integer.h"

int64_t cpu_integer_narrow(bt_dtype dtype, int64_t value)
{
    switch (dtype) {
    case BT_BOOL: return value != 0;
    case BT_INT8: return (int8_t)value;
    case BT_INT16: return (int16_t)value;
    case BT_INT32: return (int32_t)value;
    case BT_UINT8: return (uint8_t)value;
    case BT_UINT16: return (uint16_t)value;
    case BT_UINT32: return (uint32_t)value;
    default: return value;
    }
}

int cpu_integer_has(uint32_t scalar, bt_dtype dtype)
{
    switch (dtype) {
    case BT_BOOL:
    case BT_INT8:
    case BT_INT16:
    case BT_INT32:
    case BT_INT64:
    case BT_UINT8:
    case BT_UINT16:
    case BT_UINT32:
    case BT_UINT64: break;
    default: return 0;
    }
    switch (scalar) {
    case BT_SCALAR_ATAN2:
    case BT_SCALAR_SQRT:
    case BT_SCALAR_RSQRT: return 0;
    default:
        return scalar < BT_SCALAR_EXP ||
               (scalar > BT_SCALAR_SIGMOID && scalar < BT_SCALAR_COUNT);
    }
}

/* ---- what wraps is computed in uint64 ---- */

static uint64_t power(uint64_t a, uint64_t b)
{
    uint64_t y = 1;
    for (; b; b >>= 1, a *= a) {
        if (b & 1)
            y *= a;
    }
    return y;
}

static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t signed_power(int64_t a, int64_t b)
{
    if (b >= 0)
        return (int64_t)power((uint64_t)a, (uint64_t)b);
    return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}

static int is_shift(int64_t b)
{
    return b >= 0 && b < 64;
}

/* What differs for uint64; 0: nothing does. */
static int eval_uint64(uint32_t scalar, int64_t x, int64_t z, int64_t *out)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)z, y;
    switch (scalar) {
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV:
    case BT_SCALAR_FLOORDIV: y = b ? a / b : 0; break;
    case BT_SCALAR_CEILDIV: y = b ? a / b + (a % b != 0) : 0; break;
    case BT_SCALAR_TRUNCMOD:
    case BT_SCALAR_MOD: y = b ? a % b : 0; break;
    case BT_SCALAR_MAX: y = a > b ? a : b; break;
    case BT_SCALAR_MIN: y = a < b ? a : b; break;
    case BT_SCALAR_POW: y = power(a, b); break;
    case BT_SCALAR_SHIFT_RIGHT: y = b > 63 ? 0 : a >> b; break;
    case BT_SCALAR_LT: y = a < b; break;
    case BT_SCALAR_LE: y = a <= b; break;
    case BT_SCALAR_ABS:
    case BT_SCALAR_WRAP: y = a; break;
    case BT_SCALAR_SIGN: y = a != 0; break;
    default: return 0;
    }
    *out = (int64_t)y;
    return 1;
}

static int64_t eval(uint32_t scalar, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, z = (uint64_t)b;
    switch (scalar) {
    case BT_SCALAR_ADD: return (int64_t)(x + z);
    case BT_SCALAR_SUB: return (int64_t)(x - z);
    case BT_SCALAR_MUL: return (int64_t)(x * z);
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV: return quotient(a, b);
    case BT_SCALAR_TRUNCMOD: return rest(a, b);
    case BT_SCALAR_FLOORDIV:
        return (int64_t)((uint64_t)quotient(a, b) -
                         (rest(a, b) != 0 && (a < 0) != (b < 0)));
    case BT_SCALAR_CEILDIV:
        return (int64_t)((uint64_t)quotient(a, b) +
                         (rest(a, b) != 0 && (a < 0) == (b < 0)));
    case BT_SCALAR_MOD:
        return rest(a, b) + (rest(a, b) != 0 && (a < 0) != (b < 0) ? b : 0);
    case BT_SCALAR_MAX: return a > b ? a : b;
    case BT_SCALAR_MIN: return a < b ? a : b;
    case BT_SCALAR_POW: return signed_power(a, b);
    case BT_SCALAR_WRAP: return a < 0 ? (int64_t)(x + z) : a;
    case BT_SCALAR_NEG: return (int64_t)(0 - x);
    case BT_SCALAR_ABS: return a < 0 ? (int64_t)(0 - x) : a;
    case BT_SCALAR_SIGN: return (a > 0) - (a < 0);
    case BT_SCALAR_ISNAN:
    case BT_SCALAR_ISINF: return 0;
    case BT_SCALAR_ISFINITE: return 1;
    case BT_SCALAR_BIT_AND:
    case BT_SCALAR_AND: return a & b;
    case BT_SCALAR_BIT_OR:
    case BT_SCALAR_OR: return a | b;
    case BT_SCALAR_BIT_XOR: return a ^ b;
    case BT_SCALAR_BIT_NOT: return ~a;
    case BT_SCALAR_NOT: return !a;
    case BT_SCALAR_SHIFT_LEFT: return is_shift(b) ? (int64_t)(x << b) : 0;
    case BT_SCALAR_SHIFT_RIGHT: return is_shift(b) ? a >> b : a < 0 ? -1 : 0;
    case BT_SCALAR_EQ: return a == b;
    case BT_SCALAR_NE: return a != b;
    case BT_SCALAR_LT: return a < b;
    case BT_SCALAR_LE: return a <= b;
    default: return a; // floor, ceil, trunc, round, round_even
    }
}

int64_t cpu_integer_eval(uint32_t scalar, bt_dtype dtype, int64_t a, int64_t b)
{
    int64_t y;
    if (dtype == BT_UINT64 && eval_uint64(scalar, a, b, &y))
        return y;
    return cpu_integer_narrow(dtype, eval(scalar, a, b));
}
