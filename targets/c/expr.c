/* Values as C99 text. */
#include "expr.h"

#include <inttypes.h>
#include <string.h>

#include <baton/graph.h>
#include <baton/value.h>

/* Text in the arena; "" and a failed output where there is no memory. */
const char *c_form(struct c_exprs *x, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, x->arena);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *out = bt_text_get(&text);
    x->failed |= !out;
    return out ? out : "";
}

/* ---- types ---- */

static int is_double(const struct c_exprs *x, bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) && (!x->is_single || dtype == BT_FLOAT64);
}

/* Of a value. */
const char *c_value_type(const struct c_exprs *x, bt_dtype dtype)
{
    return !bt_dtype_is_float(dtype) ? "int64_t"
           : is_double(x, dtype)     ? "double"
                                     : "float";
}

const char *c_element_type(bt_dtype dtype)
{
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    if (dtype == BT_##UPPER)                         \
        return #c_type;
#include <baton/dtypes.def>
    return bt_dtype_is_packed(dtype)  ? "uint8_t"
           : bt_dtype_is_moved(dtype) ? c_element_type(bt_dtype_carrier(dtype))
                                      : "void";
}

const char *c_call_of(struct c_exprs *x, bt_dtype dtype, const char *name, const char *a,
                      const char *b)
{
    (void)c_functions_use(x->functions, name);
    const char *call =
        b ? c_form(x, "%s(%s, %s)", name, a, b) : c_form(x, "%s(%s)", name, a);
    return bt_dtype_is_float(dtype) && !is_double(x, dtype) ? c_form(x, "(float)%s", call)
                                                            : call;
}

/* Floats of which memory holds codes, and the functions of them. */
static const struct code {
    bt_dtype dtype;
    const char *widen, *shorten;
} codes[] = {
    { BT_FLOAT16, "bt_half_to_float", "bt_half_from_double" },
    { BT_BFLOAT16, "bt_bfloat_to_float", "bt_bfloat_from_double" },
    { BT_FLOAT8_E4M3FN, "bt_float8_e4m3fn_to_float", "bt_float8_e4m3fn_from_double" },
    { BT_FLOAT8_E4M3FNUZ, "bt_float8_e4m3fnuz_to_float",
      "bt_float8_e4m3fnuz_from_double" },
    { BT_FLOAT8_E5M2, "bt_float8_e5m2_to_float", "bt_float8_e5m2_from_double" },
    { BT_FLOAT8_E5M2FNUZ, "bt_float8_e5m2fnuz_to_float",
      "bt_float8_e5m2fnuz_from_double" },
};

static const struct code *code_of(bt_dtype dtype)
{
    for (uint32_t i = 0; i < BT_COUNT(codes); i++) {
        if (codes[i].dtype == dtype)
            return &codes[i];
    }
    return NULL;
}

/* A code as a value, and the other way. */
static const char *widened(struct c_exprs *x, const struct code *code, const char *bits)
{
    (void)c_functions_use(x->functions, code->widen);
    return c_form(x, x->is_single ? "%s(%s)" : "(double)%s(%s)", code->widen, bits);
}

static const char *shortened(struct c_exprs *x, const struct code *code,
                             const char *value)
{
    return c_call_of(x, BT_FLOAT64, code->shorten, value, NULL);
}

/* A value read from memory. */
const char *c_loaded(struct c_exprs *x, bt_dtype dtype, const char *element)
{
    const struct code *code = code_of(dtype);
    if (code)
        return widened(x, code, element);
    switch (dtype) {
    case BT_FLOAT32: return x->is_single ? element : c_form(x, "(double)%s", element);
    case BT_FLOAT64:
    case BT_INT64: return element;
    default: return c_form(x, "(int64_t)%s", element);
    }
}

/* ... and as it goes there. */
const char *c_stored(struct c_exprs *x, bt_dtype dtype, const char *value)
{
    const struct code *code = code_of(dtype);
    if (code)
        return shortened(x, code, value);
    switch (dtype) {
    case BT_FLOAT64:
    case BT_INT64: return value;
    case BT_FLOAT32:
        if (x->is_single)
            return value;
        break;
    default: break;
    }
    return c_form(x, "(%s)%s", c_element_type(dtype), value);
}

/* An int64 that may have left the dtype. */
const char *c_wrapped(struct c_exprs *x, bt_dtype dtype, const char *value)
{
    if (dtype == BT_INT64 || dtype == BT_UINT64)
        return value;
    if (dtype == BT_BOOL)
        return c_form(x, "(%s & 1)", value);
    return c_form(x, "(int64_t)(%s)%s", c_element_type(dtype), value);
}

/* ---- numbers ---- */

const char *c_integer(struct c_exprs *x, int64_t value)
{
    if (value == INT64_MIN)
        return "(-INT64_C(9223372036854775807) - 1)";
    if (value > INT32_MAX || value < -INT32_MAX)
        return c_form(x, value < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
                      value < 0 ? -value : value);
    return c_form(x, value < 0 ? "(%" PRId64 ")" : "%" PRId64, value);
}

const char *c_real(struct c_exprs *x, double value, bt_dtype dtype)
{
    bt_text digits;
    const char *suffix = is_double(x, dtype) ? "" : "f";
    union {
        double f;
        uint64_t i;
    } bits = { .f = value };
    if ((bits.i >> 52 & 0x7ff) == 0x7ff)
        return c_call_of(x, dtype, "bt_double_of_bits",
                         c_form(x, "UINT64_C(0x%" PRIx64 ")", bits.i), NULL);
    bt_text_init(&digits, x->arena);
    double again = 0;
    for (int precision = 1; precision <= 17; precision++) {
        digits.len = 0;
        bt_text_addf(&digits, "%.*g", precision, value);
        if (digits.failed) {
            x->failed = 1;
            return "";
        }
        bt_number_read(digits.at, &again);
        if (again == value)
            break;
    }
    const char *point = strpbrk(digits.at, ".e") ? "" : ".0";
    return c_form(x, bits.i >> 63 ? "(%s%s%s)" : "%s%s%s", digits.at, point, suffix);
}

/* ---- bounds ---- */

uint64_t c_size_of(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

uint64_t c_most(int64_t low, int64_t high)
{
    return c_size_of(low) > c_size_of(high) ? c_size_of(low) : c_size_of(high);
}

int c_is_safe_product(uint64_t a, uint64_t b, uint64_t *sum)
{
    const uint64_t limit = UINT64_C(1) << C_BITS_SAFE;
    if (a && b > limit / a)
        return 0;
    *sum += a * b;
    return *sum < limit;
}

/* An operator that C has for these operands; NULL: it has none. */
static const char *infix_of(uint32_t which, const struct c_operand *a,
                            const struct c_operand *b)
{
    const int is_float = bt_dtype_is_float(a->dtype), is_u64 = a->dtype == BT_UINT64;
    const int is_short = BT_DTYPE_BITS(a->dtype) <= 32;
    uint64_t sum = 0;
    switch (which) {
    case BT_SCALAR_ADD: return is_float || is_short ? "+" : NULL;
    case BT_SCALAR_SUB: return is_float || is_short ? "-" : NULL;
    case BT_SCALAR_MUL:
        return is_float || (!is_u64 && c_is_safe_product(c_most(a->low, a->high),
                                                         c_most(b->low, b->high), &sum))
                   ? "*"
                   : NULL;
    case BT_SCALAR_DIV:
        if (is_float)
            return "/";
        break;
    case BT_SCALAR_BIT_AND: return "&";
    case BT_SCALAR_BIT_OR: return "|";
    case BT_SCALAR_BIT_XOR: return "^";
    case BT_SCALAR_EQ: return "==";
    case BT_SCALAR_NE: return "!=";
    case BT_SCALAR_LT: return is_u64 ? NULL : "<";
    case BT_SCALAR_LE: return is_u64 ? NULL : "<=";
    case BT_SCALAR_AND: return "&&";
    case BT_SCALAR_OR: return "||";
    default: break;
    }
    if (is_float || is_u64 || !b || a->low < 0 || b->low <= 0)
        return NULL;
    switch (which) {
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV:
    case BT_SCALAR_FLOORDIV: return "/";
    case BT_SCALAR_TRUNCMOD:
    case BT_SCALAR_MOD: return "%";
    default: return NULL;
    }
}

/* Whether an integer's value may leave its dtype by the operator. */
static int may_wrap(uint32_t which)
{
    static const char *const traits[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    traits,
#include <baton/scalars.def>
    };
    return strchr(traits[which], 'w') != NULL;
}

/* Integers have one function for what is the same: quotients are truncated, those of a
 * uint64 at any rounding down. */
static uint32_t function_of(uint32_t which, bt_dtype of)
{
    const int is_u64 = of == BT_UINT64;
    if (bt_dtype_is_float(of))
        return which;
    if (which == BT_SCALAR_DIV || (is_u64 && which == BT_SCALAR_FLOORDIV))
        return BT_SCALAR_TRUNCDIV;
    return is_u64 && which == BT_SCALAR_MOD ? BT_SCALAR_TRUNCMOD : which;
}

static const char *by_function(struct c_exprs *x, uint32_t which, bt_dtype dtype,
                               const struct c_operand *a, const struct c_operand *b)
{
    const bt_dtype of = a->dtype;
    which = function_of(which, of);
    const char *prefix = bt_dtype_is_float(of) ? "f" : of == BT_UINT64 ? "u" : "i";
    const char *name = c_form(x, "%s_%s", prefix, bt_scalar_name(which));
    if (*prefix == 'u' && !c_functions_use(x->functions, name))
        name = c_form(x, "i_%s", bt_scalar_name(which));
    return c_call_of(x, dtype, name, a->text, b ? b->text : NULL);
}

/* What an integer compared with itself gives, of which compilers warn, as they do of
 * variables that nothing reads. NULL: it is no such comparison. */
static const char *with_itself(struct c_exprs *x, uint32_t which,
                               const struct c_operand *a, const struct c_operand *b)
{
    if (!b || bt_dtype_is_float(a->dtype) || strcmp(a->text, b->text) != 0)
        return NULL;
    switch (which) {
    case BT_SCALAR_EQ:
    case BT_SCALAR_LE: return c_form(x, "((0 & %s) + 1)", a->text);
    case BT_SCALAR_NE:
    case BT_SCALAR_LT: return c_form(x, "(0 & %s)", a->text);
    default: return NULL;
    }
}

const char *c_scalar(struct c_exprs *x, uint32_t which, bt_dtype dtype,
                     const struct c_operand *left, const struct c_operand *right)
{
    const bt_dtype of = left->dtype;
    const int is_float = bt_dtype_is_float(of);
    const char *a = left->text, *b = right ? right->text : NULL;
    const char *infix = infix_of(which, left, right),
               *out = with_itself(x, which, left, right);
    if (out)
        return out;
    switch (which) {
    case BT_SCALAR_NOT: return c_form(x, "(!%s)", a);
    case BT_SCALAR_BIT_NOT: out = c_form(x, "(~%s)", a); break;
    case BT_SCALAR_NEG:
        if (is_float)
            return c_form(x, "(-%s)", a);
        break;
    case BT_SCALAR_FLOOR:
    case BT_SCALAR_CEIL:
    case BT_SCALAR_TRUNC:
    case BT_SCALAR_ROUND:
    case BT_SCALAR_ROUND_EVEN:
        if (!is_float)
            return a;
        break;
    case BT_SCALAR_ISNAN:
    case BT_SCALAR_ISINF:
        if (!is_float)
            return "0";
        break;
    case BT_SCALAR_ISFINITE:
        if (!is_float)
            return "1";
        break;
    case BT_SCALAR_ABS:
    case BT_SCALAR_WRAP:
        if (of == BT_UINT64) // never negative
            return a;
        break;
    case BT_SCALAR_SIGN:
        if (of == BT_UINT64)
            return c_form(x, "(%s != 0)", a);
        break;
    default: break;
    }
    if (!out)
        out = infix ? c_form(x, "(%s %s %s)", a, infix, b)
                    : by_function(x, which, dtype, left, right);
    if (bt_dtype_is_small_float(dtype) && is_double(x, dtype))
        return c_form(x, "(double)(float)%s", out);
    return !is_float && may_wrap(which) ? c_wrapped(x, of, out) : out;
}

/* An integer as a float, which is rounded once. */
static const char *float_of_integer(struct c_exprs *x, const struct c_operand *from,
                                    bt_dtype to, const char *value)
{
    const int is_u64 = from->dtype == BT_UINT64;
    const int is_exact = to == BT_FLOAT64 ||
                         (!is_u64 && c_most(from->low, from->high) < UINT64_C(1) << 53);
    if (is_exact && !is_u64)
        return c_form(x, "(double)%s", value);
    return c_call_of(x, BT_FLOAT64,
                     is_exact ? "bt_double_from_uint"
                     : is_u64 ? "bt_sticky_from_uint"
                              : "bt_sticky_from_int",
                     value, NULL);
}

/* A double rounded to a dtype's numbers. */
static const char *rounded(struct c_exprs *x, bt_dtype to, const char *value)
{
    const char *cast = is_double(x, to) ? "(double)" : "";
    if (to == BT_FLOAT64)
        return value;
    if (to == BT_FLOAT32)
        return c_form(x, "%s(float)%s", cast, value);
    const struct code *code = code_of(to);
    return widened(x, code, shortened(x, code, value));
}

static const char *integer_of_float(struct c_exprs *x, bt_dtype to, const char *value)
{
    const uint32_t bits = BT_DTYPE_BITS(to);
    const int is_signed = BT_DTYPE_CLASS(to) == BT_CLASS_INT;
    const int64_t high =
        (int64_t)(UINT64_MAX >> (64 - (is_signed && to != BT_UINT64 ? bits - 1 : bits)));
    if (to == BT_UINT64)
        return c_call_of(x, to, "bt_double_to_uint", value, NULL);
    return c_call_of(
        x, to, "bt_double_to_int", value,
        c_form(x, "%s, %s", c_integer(x, is_signed ? -high - 1 : 0), c_integer(x, high)));
}

const char *c_cast(struct c_exprs *x, bt_dtype to, const struct c_operand *from)
{
    const char *value = from->text;
    const int was_float = bt_dtype_is_float(from->dtype);
    if (to == BT_BOOL)
        return c_form(x, was_float ? "(%s != 0.0)" : "(%s != 0)", value);
    if (!bt_dtype_is_float(to))
        return was_float ? integer_of_float(x, to, value) : c_wrapped(x, to, value);
    if (!was_float)
        return rounded(x, to, float_of_integer(x, from, to, value));
    // a float variable of a float16 may hold more digits; of a float32 it has the right ones
    if (!is_double(x, to) && to == BT_FLOAT32 && !is_double(x, from->dtype))
        return value;
    return to == BT_FLOAT64 && !is_double(x, from->dtype) ? c_form(x, "(double)%s", value)
                                                          : rounded(x, to, value);
}
