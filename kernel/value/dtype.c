/* Element types: names and sizes, and those of <baton/convert.h> that are long, once. */
#include "value/elements.h"

#include <stdio.h>
#include <string.h>

/* Asked for each tensor that is made and each buffer of a call. */
size_t bt_dtype_nbytes(bt_dtype dtype)
{
    size_t nbytes = 0;
    switch (dtype) {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    case BT_##UPPER:                                 \
        nbytes = sizeof(c_type);                     \
        break;
#define BT_MOVED(UPPER, name, class_, bits, part) \
    case BT_##UPPER:                              \
        nbytes = (bits) / 8;                      \
        break;
#include <baton/dtypes.def>
    default: break;
    }
    return nbytes;
}

uint32_t bt_dtype_nbits(bt_dtype dtype)
{
    const uint32_t nbits = 8 * (uint32_t)bt_dtype_nbytes(dtype);
    return nbits ? nbits : bt_dtype_is_packed(dtype) ? BT_DTYPE_BITS(dtype) : 0;
}

int bt_dtype_is_stored(bt_dtype dtype)
{
    return bt_dtype_nbits(dtype) != 0;
}

bt_dtype bt_dtype_carrier(bt_dtype dtype)
{
    switch (dtype) {
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    case BT_##UPPER: return BT_##carrier;
#define BT_MOVED(UPPER, name, class_, bits, part) \
    case BT_##UPPER: return BT_##part;
#include <baton/dtypes.def>
    default: return dtype;
    }
}

int bt_dtype_is_packed(bt_dtype dtype)
{
    return bt_dtype_carrier(dtype) != dtype && !bt_dtype_is_moved(dtype);
}

int bt_elements_nbytes(bt_dtype dtype, int64_t nelem, int64_t *out)
{
    if (!bt_dtype_is_packed(dtype))
        return bt_mul_int64(nelem, (int64_t)bt_dtype_nbytes(dtype), out);
    const int64_t each = 8 / BT_DTYPE_BITS(dtype);
    *out = nelem / each + (nelem % each != 0);
    return 1;
}

/* ---- names: CLASS BITS [FORM] [x LANES], or bool [x LANES] ---- */

/* Of names that begin alike the longest is first. */
static const struct class_name {
    const char *name;
    uint32_t class_;
    const char *form; /* behind the width */
} class_names[] = {
    { "int", BT_CLASS_INT, "" },
    { "uint", BT_CLASS_UINT, "" },
    { "float", BT_CLASS_FLOAT8_E4M3FNUZ, "_e4m3fnuz" },
    { "float", BT_CLASS_FLOAT8_E4M3FN, "_e4m3fn" },
    { "float", BT_CLASS_FLOAT8_E5M2FNUZ, "_e5m2fnuz" },
    { "float", BT_CLASS_FLOAT8_E5M2, "_e5m2" },
    { "float", BT_CLASS_FLOAT8_E8M0FNU, "_e8m0fnu" },
    { "float", BT_CLASS_FLOAT4_E2M1FN, "_e2m1fn" },
    { "float", BT_CLASS_FLOAT, "" },
    { "bfloat", BT_CLASS_BFLOAT, "" },
    { "complex", BT_CLASS_COMPLEX, "" },
    { "bool", BT_CLASS_BOOL, "" },
};

static const struct class_name *find_class(uint32_t class_)
{
    for (uint32_t i = 0; i < BT_COUNT(class_names); i++) {
        if (class_names[i].class_ == class_)
            return &class_names[i];
    }
    return NULL;
}

/* 1 and *at behind `word`, or 0. */
static int accept(const char **at, const char *end, const char *word)
{
    size_t nbytes = strlen(word);
    if ((size_t)(end - *at) < nbytes || memcmp(*at, word, nbytes) != 0)
        return 0;
    *at += nbytes;
    return 1;
}

/* A number from 1 to `most` without leading zeros at *at: 1 and *at behind it, or 0. */
static int read_number(const char **at, const char *end, uint32_t most, uint32_t *out)
{
    uint32_t n = 0;
    const char *p = *at;
    if (p == end || *p == '0')
        return 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (uint32_t)(*p - '0');
        if (n > most)
            return 0;
    }
    if (p == *at)
        return 0;
    *at = p;
    *out = n;
    return 1;
}

/* Class and width. Classes without a name of their own are "class7_" followed by the width;
 * bool has none. */
static int read_class(const char **at, const char *end, uint32_t *class_, uint32_t *bits)
{
    for (uint32_t i = 0; i < BT_COUNT(class_names); i++) {
        const struct class_name *c = &class_names[i];
        const char *p = *at;
        if (!accept(&p, end, c->name) ||
            (c->class_ != BT_CLASS_BOOL && !read_number(&p, end, 0xff, bits)) ||
            !accept(&p, end, c->form))
            continue;
        *at = p;
        *class_ = c->class_;
        return 1;
    }
    return accept(at, end, "class") && read_number(at, end, 0xff, class_) &&
           !find_class(*class_) && accept(at, end, "_") &&
           read_number(at, end, 0xff, bits);
}

bt_dtype bt_dtype_parse(const char *name, size_t nbytes)
{
    const char *at = name, *end = name + nbytes;
    uint32_t class_, bits = 8, lanes = 1;
    if (!read_class(&at, end, &class_, &bits))
        return 0;
    if (accept(&at, end, "x") && (!read_number(&at, end, 0xffff, &lanes) || lanes == 1))
        return 0;
    return at == end ? BT_DTYPE(class_, bits, lanes) : 0;
}

const char *bt_dtype_name(bt_dtype dtype, char *out, size_t size)
{
    const struct class_name *c = find_class(BT_DTYPE_CLASS(dtype));
    char class_[16], bits[8] = "", lanes[8] = "";
    snprintf(class_, sizeof(class_), "class%u_", BT_DTYPE_CLASS(dtype));
    if (BT_DTYPE_CLASS(dtype) != BT_CLASS_BOOL)
        snprintf(bits, sizeof(bits), "%u", BT_DTYPE_BITS(dtype));
    if (BT_DTYPE_LANES(dtype) > 1)
        snprintf(lanes, sizeof(lanes), "x%u", BT_DTYPE_LANES(dtype));
    if (dtype == 0)
        snprintf(out, size, "none");
    else
        snprintf(out, size, "%s%s%s%s", c ? c->name : class_, bits, c ? c->form : "",
                 lanes);
    return out;
}

/* ---- conversions ---- */

float bt__half_to_float(uint16_t h)
{
    return bt_half_to_float(h);
}

uint16_t bt__short_from_double(double x, bt_dtype dtype)
{
    const int is_half = dtype == BT_FLOAT16;
    return bt_short_from_double(x, is_half ? 10 : 7, is_half ? 15 : 127);
}

uint8_t bt__float8_from_double(double x, bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT8_E4M3FN: return bt_float8_e4m3fn_from_double(x);
    case BT_FLOAT8_E4M3FNUZ: return bt_float8_e4m3fnuz_from_double(x);
    case BT_FLOAT8_E5M2: return bt_float8_e5m2_from_double(x);
    case BT_FLOAT8_E8M0FNU: return bt_float8_e8m0fnu_from_double(x);
    case BT_FLOAT4_E2M1FN: return bt_float4_e2m1fn_from_double(x);
    default: return bt_float8_e5m2fnuz_from_double(x);
    }
}
