/* Values as OpenCL C text. */
#include "expr.h"

#include <inttypes.h>
#include <string.h>

#include <baton/graph.h>
#include <baton/value.h>

const char *ocl_form(struct ocl_exprs *x, const char *format, ...)
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

/* In which functions.cl has functions of a value, and its type. */
static const struct family {
    const char *prefix, *type, *make_unsigned;
} i32 = { "i32", "int", "uint" }, u32 = { "u32", "uint", "uint" },
  i64 = { "i64", "long", "ulong" }, u64 = { "u64", "ulong", "ulong" },
  f32 = { "f32", "float", "" }, f64 = { "f64", "double", "" };

static const struct family *family_of(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT64: return &f64;
    case BT_INT64: return &i64;
    case BT_UINT64: return &u64;
    case BT_UINT32: return &u32;
    default: return bt_dtype_is_float(dtype) ? &f32 : &i32;
    }
}

const char *ocl_value_type(bt_dtype dtype)
{
    return family_of(dtype)->type;
}

/* Elements in memory. Floats that are neither float nor double are codes. */
static const struct element {
    bt_dtype dtype;
    const char *type, *integer, *code; /* in C; in names of conversions to it; of codes */
} elements[] = {
    { BT_BOOL, "uchar", "u8", NULL },
    { BT_INT8, "char", "i8", NULL },
    { BT_INT16, "short", "i16", NULL },
    { BT_INT32, "int", "i32", NULL },
    { BT_INT64, "long", "i64", NULL },
    { BT_UINT8, "uchar", "u8", NULL },
    { BT_UINT16, "ushort", "u16", NULL },
    { BT_UINT32, "uint", "u32", NULL },
    { BT_UINT64, "ulong", "u64", NULL },
    { BT_FLOAT16, "half", NULL, "float16" },
    { BT_BFLOAT16, "ushort", NULL, "bfloat16" },
    { BT_FLOAT8_E4M3FN, "uchar", NULL, "float8_e4m3fn" },
    { BT_FLOAT8_E4M3FNUZ, "uchar", NULL, "float8_e4m3fnuz" },
    { BT_FLOAT8_E5M2, "uchar", NULL, "float8_e5m2" },
    { BT_FLOAT8_E5M2FNUZ, "uchar", NULL, "float8_e5m2fnuz" },
    { BT_FLOAT32, "float", NULL, NULL },
    { BT_FLOAT64, "double", NULL, NULL },
};

static const struct element *element_of(bt_dtype dtype)
{
    uint32_t i = 0;
    while (i + 1 < BT_COUNT(elements) && elements[i].dtype != dtype)
        i++;
    return &elements[i];
}

const char *ocl_element_type(const struct ocl_exprs *x, bt_dtype dtype)
{
    return dtype == BT_FLOAT16 && x->is_cpu ? "ushort" : element_of(dtype)->type;
}

int ocl_is_int(int64_t low, int64_t high)
{
    return low >= -INT32_MAX && high <= INT32_MAX;
}

const char *ocl_load_element(struct ocl_exprs *x, bt_dtype dtype, const char *array,
                             const char *at)
{
    const struct element *element = element_of(dtype);
    if (dtype == BT_FLOAT16 && !x->is_cpu)
        return ocl_form(x, "vload_half(%s, %s)", at, array);
    if (element->code)
        return ocl_form(x, "f32_of_%s(%s[%s])", element->code, array, at);
    return ocl_form(x, "%s[%s]", array, at);
}

const char *ocl_store_element(struct ocl_exprs *x, bt_dtype dtype, const char *array,
                              const char *at, const char *value)
{
    const struct element *element = element_of(dtype);
    if (dtype == BT_FLOAT16 && !x->is_cpu)
        return ocl_form(x, "vstore_half_rte(%s, %s, %s);", value, at, array);
    if (element->code)
        return ocl_form(x, "%s[%s] = f32_to_%s(%s);", array, at, element->code, value);
    return ocl_form(x, "%s[%s] = %s;", array, at, value);
}

/* ---- numbers ---- */

const char *ocl_integer(struct ocl_exprs *x, int64_t value, bt_dtype dtype)
{
    if (dtype == BT_UINT64)
        return ocl_form(x, "0x%" PRIx64 "UL", (uint64_t)value);
    if (dtype == BT_UINT32)
        return ocl_form(x, "%" PRIu32 "u", (uint32_t)value);
    if (value == INT64_MIN)
        return "(-9223372036854775807L - 1)";
    if (value == INT32_MIN)
        return "(-2147483647 - 1)";
    return ocl_form(x, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value,
                    ocl_is_int(value, value) ? "" : "L");
}

const char *ocl_real(struct ocl_exprs *x, double value, bt_dtype dtype)
{
    const int is_double = dtype == BT_FLOAT64;
    double again = 0;
    if (value != value)
        return is_double ? "(double)NAN" : "NAN";
    if (value - value != 0)
        return ocl_form(x, "(%s%sINFINITY)", value < 0 ? "-" : "",
                        is_double ? "(double)" : "");
    bt_text digits;
    bt_text_init(&digits, x->arena);
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
    return ocl_form(x, digits.at[0] == '-' ? "(%s%s%s)" : "%s%s%s", digits.at, point,
                    is_double ? "" : "f");
}

/* ---- scalars ---- */

/* An integer that may have left its dtype, which wraps. */
static const char *wrapped(struct ocl_exprs *x, bt_dtype dtype, const char *value)
{
    if (dtype == BT_BOOL)
        return ocl_form(x, "(%s & 1)", value);
    if (BT_DTYPE_BITS(dtype) < 32)
        return ocl_form(x, "(int)(%s)%s", ocl_element_type(x, dtype), value);
    return value;
}

/* An operator that OpenCL C has for these operands; NULL: it has none. */
static const char *infix_of(uint32_t which, const struct ocl_operand *a,
                            const struct ocl_operand *b)
{
    const int is_float = bt_dtype_is_float(a->dtype);
    switch (which) {
    case BT_SCALAR_ADD: return is_float ? "+" : NULL;
    case BT_SCALAR_SUB: return is_float ? "-" : NULL;
    case BT_SCALAR_MUL: return is_float ? "*" : NULL;
    case BT_SCALAR_DIV:
        if (is_float)
            return "/";
        break;
    case BT_SCALAR_BIT_AND: return "&";
    case BT_SCALAR_BIT_OR: return "|";
    case BT_SCALAR_BIT_XOR: return "^";
    case BT_SCALAR_EQ: return "==";
    case BT_SCALAR_NE: return "!=";
    case BT_SCALAR_LT: return "<";
    case BT_SCALAR_LE: return "<=";
    case BT_SCALAR_AND: return "&&";
    case BT_SCALAR_OR: return "||";
    default: break;
    }
    if (is_float || !b || a->dtype == BT_UINT64 || a->low < 0 || b->low <= 0)
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

static int may_wrap(uint32_t which)
{
    static const char *const traits[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    traits,
#include <baton/scalars.def>
    };
    return strchr(traits[which], 'w') != NULL;
}

/* Those that OpenCL C has by a name, and as exact as they are to be. */
static const char *builtin_of(uint32_t which)
{
    switch (which) {
    case BT_SCALAR_ABS: return "fabs";
    case BT_SCALAR_TRUNCMOD: return "fmod";
    case BT_SCALAR_ROUND_EVEN: return "rint";
    case BT_SCALAR_FLOOR:
    case BT_SCALAR_CEIL:
    case BT_SCALAR_TRUNC:
    case BT_SCALAR_ROUND:
    case BT_SCALAR_SQRT:
    case BT_SCALAR_RSQRT:
    case BT_SCALAR_EXPM1:
    case BT_SCALAR_LOG:
    case BT_SCALAR_LOG2:
    case BT_SCALAR_LOG10:
    case BT_SCALAR_LOG1P:
    case BT_SCALAR_SIN:
    case BT_SCALAR_COS:
    case BT_SCALAR_ASIN:
    case BT_SCALAR_ACOS:
    case BT_SCALAR_SINH:
    case BT_SCALAR_COSH:
    case BT_SCALAR_ASINH:
    case BT_SCALAR_ACOSH:
    case BT_SCALAR_ISNAN:
    case BT_SCALAR_ISINF:
    case BT_SCALAR_ISFINITE: return bt_scalar_name(which);
    default: return NULL;
    }
}

/* Those that double has by a name beside these: the device's errors are stated. */
static int is_builtin_of_double(uint32_t which)
{
    switch (which) {
    case BT_SCALAR_EXP:
    case BT_SCALAR_EXP2:
    case BT_SCALAR_POW:
    case BT_SCALAR_ATAN2:
    case BT_SCALAR_TAN:
    case BT_SCALAR_ATAN:
    case BT_SCALAR_TANH:
    case BT_SCALAR_ATANH:
    case BT_SCALAR_ERF: return 1;
    default: return 0;
    }
}

static const char *by_function(struct ocl_exprs *x, uint32_t which,
                               const struct ocl_operand *a, const struct ocl_operand *b)
{
    const struct family *family = family_of(a->dtype);
    const int is_float = bt_dtype_is_float(a->dtype);
    const char *name = is_float ? builtin_of(which) : NULL;
    if (!name && a->dtype == BT_FLOAT64 && is_builtin_of_double(which))
        name = bt_scalar_name(which);
    if (!is_float && which == BT_SCALAR_DIV)
        which = BT_SCALAR_TRUNCDIV;
    if (!name)
        name = ocl_form(x, "%s_%s", family->prefix, bt_scalar_name(which));
    return b ? ocl_form(x, "%s(%s, %s)", name, a->text, b->text)
             : ocl_form(x, "%s(%s)", name, a->text);
}

/* What is not computed of an integer: the text; NULL: it is. */
static const char *trivial(struct ocl_exprs *x, uint32_t which,
                           const struct ocl_operand *of)
{
    const int is_float = bt_dtype_is_float(of->dtype);
    const int is_unsigned = of->dtype == BT_UINT32 || of->dtype == BT_UINT64;
    switch (which) {
    case BT_SCALAR_NOT: return ocl_form(x, "(!%s)", of->text);
    case BT_SCALAR_NEG: return is_float ? ocl_form(x, "(-%s)", of->text) : NULL;
    case BT_SCALAR_BIT_NOT: return wrapped(x, of->dtype, ocl_form(x, "(~%s)", of->text));
    case BT_SCALAR_FLOOR:
    case BT_SCALAR_CEIL:
    case BT_SCALAR_TRUNC:
    case BT_SCALAR_ROUND:
    case BT_SCALAR_ROUND_EVEN: return is_float ? NULL : of->text;
    case BT_SCALAR_ISNAN:
    case BT_SCALAR_ISINF: return is_float ? NULL : "0";
    case BT_SCALAR_ISFINITE: return is_float ? NULL : "1";
    case BT_SCALAR_ABS:
    case BT_SCALAR_WRAP: return is_unsigned ? of->text : NULL;
    case BT_SCALAR_SIGN:
        return is_unsigned
                   ? ocl_form(x, "(%s)(%s != 0)", ocl_value_type(of->dtype), of->text)
                   : NULL;
    default: return NULL;
    }
}

struct ocl_operand ocl_scalar(struct ocl_exprs *x, uint32_t which, bt_dtype dtype,
                              const struct ocl_operand *a, const struct ocl_operand *b)
{
    struct ocl_operand out = { .dtype = dtype };
    const char *infix = infix_of(which, a, b);
    out.text = trivial(x, which, a);
    if (out.text) {
        out.is_int = a->is_int && dtype == BT_INT64;
        return out;
    }
    if (infix) {
        out.text = ocl_form(x, "(%s %s %s)", a->text, infix, b->text);
        out.is_int = dtype == BT_INT64 && a->is_int && b->is_int;
        return out;
    }
    out.text = by_function(x, which, a, b);
    if (!bt_dtype_is_float(a->dtype) && may_wrap(which))
        out.text = wrapped(x, a->dtype, out.text);
    return out;
}

/* ---- casts ---- */

/* A float as one of the dtype's numbers. */
static const char *rounded(struct ocl_exprs *x, bt_dtype to, const char *value,
                           int is_double)
{
    const struct element *element = element_of(to);
    if (to == BT_FLOAT64)
        return is_double ? value : ocl_form(x, "(double)%s", value);
    if (to == BT_FLOAT32)
        return is_double ? ocl_form(x, "(float)%s", value) : value;
    if (is_double)
        value = ocl_form(x, "f64_to_odd(%s)", value);
    return ocl_form(x, "f32_as_%s(%s)", element->code, value);
}

static const char *float_of_integer(struct ocl_exprs *x, bt_dtype to,
                                    const struct ocl_operand *from)
{
    const int is_short = BT_DTYPE_BITS(from->dtype) <= 16;
    if (to == BT_FLOAT64 || to == BT_FLOAT32)
        return ocl_form(x, "(%s)%s", ocl_value_type(to), from->text);
    return rounded(x, to,
                   is_short                   ? ocl_form(x, "(float)%s", from->text)
                   : from->dtype == BT_UINT64 ? ocl_form(x, "u64_to_odd(%s)", from->text)
                                              : ocl_form(x, "i64_to_odd(%s)", from->text),
                   0);
}

const char *ocl_cast(struct ocl_exprs *x, bt_dtype to, const struct ocl_operand *from)
{
    const char *value = from->text;
    const int was_float = bt_dtype_is_float(from->dtype);
    if (to == BT_BOOL)
        return ocl_form(x, "(%s != 0)", value);
    if (bt_dtype_is_float(to))
        return was_float ? rounded(x, to, value, from->dtype == BT_FLOAT64)
                         : float_of_integer(x, to, from);
    if (was_float)
        return ocl_form(x, "%s_to_%s(%s)", family_of(from->dtype)->prefix,
                        element_of(to)->integer, value);
    if (BT_DTYPE_BITS(to) < 32)
        return ocl_form(x, "(int)(%s)%s", ocl_element_type(x, to), value);
    return to == from->dtype ? value : ocl_form(x, "(%s)%s", ocl_value_type(to), value);
}
