/*
 * Decimal to binary and back.
 *
 * strtod and printf write what the process's locale says, and round to double only. Here
 * a decimal becomes an exact fraction of two big integers, whose quotient is cut to the
 * bits that the format keeps; the other way, the shortest of printf's correctly rounded
 * digit strings that reads back is chosen.
 */
#include "value/decimal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "value/elements.h"
#include "value/tensor.h"

enum {
    MAX_LIMBS = 320,  /* 10^1250 and the shifts below fit */
    MAX_DIGITS = 800, /* further digits matter for rounding only where one is not zero */
    MAX_EXPONENT = 400
};

/* ---- unsigned big integers ---- */

typedef struct big {
    uint32_t n; /* limbs in use; the top one is not zero */
    uint32_t at[MAX_LIMBS];
} big;

static void big_trim(big *b)
{
    while (b->n && !b->at[b->n - 1])
        b->n--;
}

static void big_mul_add(big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (uint32_t i = 0; i < b->n; i++) {
        carry += (uint64_t)b->at[i] * factor;
        b->at[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        b->at[b->n++] = (uint32_t)carry;
}

static void big_mul_pow10(big *b, int power)
{
    for (; power >= 9; power -= 9)
        big_mul_add(b, 1000000000u, 0);
    for (; power > 0; power--)
        big_mul_add(b, 10, 0);
}

static int big_bits(const big *b)
{
    if (!b->n)
        return 0;
    int bits = 0;
    for (uint32_t top = b->at[b->n - 1]; top; top >>= 1)
        bits++;
    return bits + 32 * (int)(b->n - 1);
}

static void big_shift_left(big *b, int bits)
{
    if (!b->n || bits <= 0)
        return;
    uint32_t words = (uint32_t)bits / 32, rest = (uint32_t)bits % 32;
    uint32_t n = b->n;
    memmove(b->at + words, b->at, n * sizeof(*b->at));
    memset(b->at, 0, words * sizeof(*b->at));
    b->n = n + words;
    if (!rest)
        return;
    uint32_t carry = 0;
    for (uint32_t i = words; i < b->n; i++) {
        uint64_t wide = (uint64_t)b->at[i] << rest | carry;
        b->at[i] = (uint32_t)wide;
        carry = (uint32_t)(wide >> 32);
    }
    if (carry)
        b->at[b->n++] = carry;
}

static int big_less(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n;
    for (uint32_t i = a->n; i-- > 0;) {
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i];
    }
    return 0;
}

/* a -= b, where a >= b. */
static void big_sub(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t take = (i < b->n ? b->at[i] : 0) + borrow;
        borrow = a->at[i] < take;
        a->at[i] = (uint32_t)(a->at[i] - take);
    }
    big_trim(a);
}

/* ---- decimal to binary ---- */

bt__float_format bt__float_format_of(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT8_E4M3FN: return (bt__float_format){ 4, -6, 448 };
    case BT_FLOAT8_E4M3FNUZ: return (bt__float_format){ 4, -7, 240 };
    case BT_FLOAT8_E5M2: return (bt__float_format){ 3, -14, 57344 };
    case BT_FLOAT8_E5M2FNUZ: return (bt__float_format){ 3, -15, 57344 };
    case BT_FLOAT8_E8M0FNU: return (bt__float_format){ 1, -127, 0x1p127 };
    case BT_FLOAT4_E2M1FN: return (bt__float_format){ 2, 0, 6 };
    case BT_FLOAT16: return (bt__float_format){ 11, -14, 65504 };
    case BT_BFLOAT16: return (bt__float_format){ 8, -126, 0x1.fep127 };
    case BT_FLOAT32: return (bt__float_format){ 24, -126, FLT_MAX };
    default: return (bt__float_format){ 53, -1022, DBL_MAX };
    }
}

double bt_dtype_epsilon(bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) ? ldexp(1, 1 - bt__float_format_of(dtype).precision)
                                    : 0;
}

double bt_dtype_most(bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) ? bt__float_format_of(dtype).most : 0;
}

/* Reads digits * 10^*power; 0 for a zero. Digits beyond MAX_DIGITS leave a trace only. */
static int read_decimal(const char *text, size_t nbytes, big *digits, int *power)
{
    int ndigit = 0, exponent = 0, after_point = 0, lost = 0;
    size_t i = 0;
    digits->n = 0;
    for (; i < nbytes && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after_point = 1;
            continue;
        }
        uint32_t digit = (uint32_t)(text[i] - '0');
        if (ndigit < MAX_DIGITS) {
            big_mul_add(digits, 10, digit);
            ndigit += digits->n != 0;
            exponent -= after_point;
        } else {
            lost |= digit != 0;
            // Beyond this the value is infinite, or zero, whatever follows.
            exponent += !after_point && exponent < 2 * MAX_EXPONENT;
        }
        if (exponent < -100000)
            exponent = -100000;
    }
    if (lost) {
        big_mul_add(digits, 10, 1);
        exponent--;
    }
    int sign = 1, given = 0;
    for (i++; i < nbytes; i++) {
        if (text[i] == '-')
            sign = -1;
        else if (text[i] != '+' && given < 1000000)
            given = given * 10 + (text[i] - '0');
    }
    *power = exponent + sign * given;
    return digits->n != 0;
}

/* The 64 or 65 leading bits of number / divisor, the last one set too when more follow.
 * *scale: the exponent of the last bit. */
static void divide(big *number, big *divisor, uint64_t *quotient, int *scale)
{
    int shift = big_bits(number) - big_bits(divisor);
    if (shift > 0)
        big_shift_left(divisor, shift);
    else
        big_shift_left(number, -shift);
    // Now number / divisor is in (1/2, 2).
    *quotient = 0;
    int nbit = 0;
    for (; nbit < 63; nbit++) {
        *quotient <<= 1;
        if (!big_less(number, divisor)) {
            big_sub(number, divisor);
            *quotient |= 1;
        }
        big_shift_left(number, 1);
    }
    *quotient |= number->n != 0;
    *scale = shift - (nbit - 1);
}

/* significand * 2^scale rounded to the format; the significand's last bit is sticky. */
static double round_to(uint64_t significand, int scale, bt__float_format format)
{
    int nbit = 0;
    for (uint64_t rest = significand; rest; rest >>= 1)
        nbit++;
    int top = scale + nbit - 1; // exponent of the leading bit
    int keep = format.precision;
    if (top < format.min_exponent)
        keep -= format.min_exponent - top;
    if (keep < 0)
        return 0;
    int drop = nbit - keep;
    if (drop > 0) {
        uint64_t half = (uint64_t)1 << (drop - 1);
        uint64_t rest = significand & (2 * half - 1);
        significand = drop < 64 ? significand >> drop : 0;
        if (rest > half || (rest == half && (significand & 1)))
            significand++;
        scale += drop;
    }
    double value = ldexp((double)significand, scale);
    return value > format.most ? (double)INFINITY : value;
}

double bt__float_read(const char *digits, size_t nbytes, bt__float_format format)
{
    big number, divisor = { .n = 1, .at = { 1 } };
    int power;
    if (!read_decimal(digits, nbytes, &number, &power))
        return 0;
    // The decimal exponent of the leading digit, within one.
    int magnitude = power + big_bits(&number) * 3 / 10;
    if (magnitude > MAX_EXPONENT)
        return (double)INFINITY;
    if (magnitude < -MAX_EXPONENT)
        return 0;
    if (power > 0)
        big_mul_pow10(&number, power);
    else
        big_mul_pow10(&divisor, -power);
    uint64_t quotient;
    int scale;
    divide(&number, &divisor, &quotient, &scale);
    return round_to(quotient, scale, format);
}

int bt__int_read(const char *digits, size_t nbytes, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

size_t bt_number_read(const char *text, double *out)
{
    const size_t sign = text[0] == '-' || text[0] == '+';
    const char *digits = text + sign;
    size_t whole = digits_of(digits), n = whole;
    if (strncmp(digits, "inf", 3) == 0 || strncmp(digits, "nan", 3) == 0) {
        *out = *digits == 'i' ? (double)INFINITY : (double)NAN;
        n = 3;
    } else {
        if (digits[n] == '.')
            n += 1 + digits_of(digits + n + 1);
        if (n == 0 || (n == 1 && !whole))
            return 0;
        if (digits[n] == 'e' || digits[n] == 'E') {
            const size_t signs = digits[n + 1] == '-' || digits[n + 1] == '+';
            const size_t exponent = digits_of(digits + n + 1 + signs);
            n += exponent ? 1 + signs + exponent : 0;
        }
        *out = bt__float_read(digits, n, bt__float_format_of(BT_FLOAT64));
    }
    if (*text == '-')
        *out = -*out;
    return sign + n;
}

/* ---- binary to decimal ---- */

/* The first `ndigit` significant digits of a positive value, rounded, and the exponent of
 * the first. Whatever a locale makes of the point is skipped. */
static int take_digits(double value, int ndigit, char digits[32])
{
    char text[64];
    snprintf(text, sizeof(text), "%.*e", ndigit - 1, value);
    const char *mark = strchr(text, 'e');
    int n = 0, exponent = 0;
    for (const char *at = text; at < mark; at++)
        if (*at >= '0' && *at <= '9' && n < ndigit)
            digits[n++] = *at;
    for (const char *at = mark + 2; *at; at++)
        exponent = exponent * 10 + (*at - '0');
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    return mark[1] == '-' ? -exponent : exponent;
}

static void write_digits(bt_text *out, const char *digits, int exponent)
{
    int n = (int)strlen(digits);
    if (exponent < -4 || exponent >= 16) {
        bt_text_addf(out, n > 1 ? "%c.%s" : "%c%s", digits[0], digits + 1);
        bt_text_addf(out, "e%c%02d", exponent < 0 ? '-' : '+',
                     exponent < 0 ? -exponent : exponent);
    } else if (exponent < 0) {
        bt_text_addf(out, "0.%.*s%s", -exponent - 1, "0000", digits);
    } else if (exponent >= n - 1) {
        bt_text_addf(out, "%s%.*s", digits, exponent - (n - 1), "000000000000000");
    } else {
        bt_text_addf(out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
    }
}

void bt__float_write(bt_text *out, double value, bt__float_format format)
{
    char digits[32];
    if (isnan(value)) {
        bt_text_addf(out, "nan");
        return;
    }
    if (signbit(value))
        bt_text_addf(out, "-");
    value = fabs(value);
    if (isinf(value)) {
        bt_text_addf(out, "inf");
        return;
    }
    if (value == 0) {
        bt_text_addf(out, "0");
        return;
    }
    for (int ndigit = 1;; ndigit++) {
        int exponent = take_digits(value, ndigit, digits);
        char text[48];
        int n = snprintf(text, sizeof(text), "%se%d", digits,
                         exponent - (int)strlen(digits) + 1);
        if (ndigit == 17 || bt__float_read(text, (size_t)n, format) == value) {
            write_digits(out, digits, exponent);
            return;
        }
    }
}

/* ---- suffixes: of those of one type, the first is written ---- */

// clang-format off
static const struct suffix {
    const char *text;
    bt_dtype dtype;
} suffixes[] = {
    { "", BT_INT32 },      { "", BT_BOOL },       { "f", BT_FLOAT32 },    { "f16", BT_FLOAT16 },
    { "f64", BT_FLOAT64 }, { "f32", BT_FLOAT32 }, { "bf16", BT_BFLOAT16 }, { "i8", BT_INT8 },
    { "i16", BT_INT16 },   { "i64", BT_INT64 },   { "i32", BT_INT32 },    { "i", BT_INT32 },
    { "u8", BT_UINT8 },    { "u16", BT_UINT16 },  { "u32", BT_UINT32 },   { "u64", BT_UINT64 },
    { "f8e4m3fn", BT_FLOAT8_E4M3FN }, { "f8e4m3fnuz", BT_FLOAT8_E4M3FNUZ },
    { "f8e5m2", BT_FLOAT8_E5M2 },     { "f8e5m2fnuz", BT_FLOAT8_E5M2FNUZ },
    { "i4", BT_INT4 },     { "u4", BT_UINT4 },    { "i2", BT_INT2 },     { "u2", BT_UINT2 },
    { "f4e2m1fn", BT_FLOAT4_E2M1FN }, { "f8e8m0fnu", BT_FLOAT8_E8M0FNU },
};
// clang-format on

const char *bt__suffix_of(bt_dtype dtype)
{
    for (size_t i = 0; i < BT_COUNT(suffixes); i++) {
        if (suffixes[i].dtype == dtype)
            return suffixes[i].text;
    }
    return "";
}

bt_dtype bt__suffix_read(const char *suffix, size_t nbytes)
{
    for (size_t i = 0; nbytes && i < BT_COUNT(suffixes); i++) {
        if (strlen(suffixes[i].text) == nbytes &&
            !memcmp(suffixes[i].text, suffix, nbytes))
            return suffixes[i].dtype;
    }
    return 0;
}

/* As Python does: 1+2j. */
static void write_complex(bt_text *out, const bt_tensor *tensor, int64_t position)
{
    uint64_t cell[2];
    double parts[2];
    const bt_dtype part = bt__dtype_part(tensor->dtype);
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    const bt__float_format format = bt__float_format_of(part);
    bt__elements_to_double(part, bt__tensor_load(tensor, position, cell), 0, 1, nparts,
                           parts);
    bt__float_write(out, parts[0], format);
    bt_text_addf(out, "%s", !isnan(parts[1]) && signbit(parts[1]) ? "" : "+");
    bt__float_write(out, parts[1], format);
    bt_text_addf(out, "j");
}

void bt__element_write(bt_text *out, const bt_tensor *tensor, int64_t position)
{
    switch (BT_DTYPE_CLASS(tensor->dtype)) {
    case BT_CLASS_COMPLEX: write_complex(out, tensor, position); break;
    case BT_CLASS_BOOL:
        bt_text_addf(out, "%s", bt_tensor_get_int(tensor, position) ? "True" : "False");
        break;
    case BT_CLASS_INT:
        bt_text_addf(out, "%" PRId64, bt_tensor_get_int(tensor, position));
        break;
    case BT_CLASS_UINT:
        bt_text_addf(out, "%" PRIu64, (uint64_t)bt_tensor_get_int(tensor, position));
        break;
    default:
        bt__float_write(out, bt_tensor_get(tensor, position),
                        bt__float_format_of(tensor->dtype));
        break;
    }
}
