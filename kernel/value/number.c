/* Numbers as text. */
#include "value/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double rounded(bt_dtype dtype, double x)
{
    switch (dtype) {
    case BT_FLOAT16: return bt_half_to_float(bt_half_from_double(x));
    case BT_BFLOAT16: return bt_bfloat_to_float(bt_bfloat_from_double(x));
    case BT_FLOAT32: return (float)x;
    }
    return x;
}

void bt__text_add_float(bt_text *text, bt_dtype dtype, double x)
{
    if (isnan(x) || isinf(x)) {
        bt_text_addf(text, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, x);
        if (rounded(dtype, strtod(digits, NULL)) == x)
            break;
    }
    // Of "%g" only a locale's decimal point is none of these.
    size_t number = strspn(digits, "+-0123456789e");
    bt_text_add(text, digits, number);
    if (digits[number]) {
        const char *rest = strpbrk(digits + number, "0123456789");
        bt_text_addf(text, ".%s", rest ? rest : "0");
    }
}

void bt__text_add_element(bt_text *text, const bt_tensor *t, int64_t position)
{
    switch (BT_DTYPE_CLASS(t->dtype)) {
    case BT_CLASS_BOOL:
        bt_text_addf(text, "%s", bt_tensor_get_int(t, position) ? "True" : "False");
        break;
    case BT_CLASS_INT:
        bt_text_addf(text, "%" PRId64, bt_tensor_get_int(t, position));
        break;
    case BT_CLASS_UINT:
        bt_text_addf(text, "%" PRIu64, (uint64_t)bt_tensor_get_int(t, position));
        break;
    default: bt__text_add_float(text, t->dtype, bt_tensor_get(t, position)); break;
    }
}
