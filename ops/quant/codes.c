#include "codes.h"

#include <string.h>

bt_status codes_check_type(bt_solver *s, const bt_relation_call *r, const char *attr,
                           const bt_type *dtype)
{
    if (dtype->kind != BT_TYPE_DTYPE)
        return bt_relation_wait(s);
    const bt_dtype known = ((const bt_dtype_type *)(const void *)dtype)->dtype;
    const uint32_t class_ = BT_DTYPE_CLASS(known);
    char name[BT_DTYPE_NAME_SIZE];
    if ((class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT) && BT_DTYPE_BITS(known) <= 32)
        return NULL;
    return bt_relation_fail(s, r, -1, "%s is %s; codes are integers of at most 32 bits",
                            attr, bt_dtype_name(known, name, sizeof(name)));
}

const char *difference_type(bt_dtype codes)
{
    return BT_DTYPE_BITS(codes) > 16 ? "int64" : "int32";
}

static void set(bt_formula *f, const char *list, const char *text)
{
    bt_formula_clear(f, list);
    bt_formula_item(f, list, "%s", text);
}

void write_saturated(bt_formula *f, const char *whole, const char *zero, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t low, high;
    bt_dtype_name(dtype, name, sizeof(name));
    bt_dtype_limits(dtype, &low, &high);
    set(f, "whole", whole);
    set(f, "zero", zero);
    bt_formula_add(f, "y: %s[$i] = %s(clamp($whole + int64($zero), %lld, %lld))", name,
                   name, (long long)low, (long long)high);
}

void list_rounded(bt_formula *f, const char *rounding, const char *value)
{
    set(f, "value", value);
    bt_formula_clear(f, "rounded");
    if (strcmp(rounding, "UPWARD") == 0) // x + 0.5 would round: 0.5 below 0.5 is 1
        bt_formula_item(f, "rounded",
                        "(floor($value) + select($value - floor($value) >= 0.5, 1, 0))");
    else
        bt_formula_item(f, "rounded", "%s($value)",
                        strcmp(rounding, "TONEAREST") == 0 ? "round"
                        : strcmp(rounding, "FLOOR") == 0   ? "floor"
                        : strcmp(rounding, "CEIL") == 0    ? "ceil"
                                                           : "round_even");
}

void write_codes(bt_formula *f, const char *rounding, const char *type, const char *value,
                 const char *zero, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t low, high;
    list_rounded(f, rounding, value);
    if (BT_DTYPE_BITS(dtype) > 16) { // no float32 holds the limits
        write_saturated(f, "int64(clamp($rounded, -8589934592, 8589934592))", zero,
                        dtype);
        return;
    }
    // limited before the zero point is added: all that is computed then is exact
    bt_dtype_name(dtype, name, sizeof(name));
    bt_dtype_limits(dtype, &low, &high);
    set(f, "zero", zero);
    bt_formula_add(f,
                   "y: %s[$i] = %s(int32(clamp($rounded, %s(%lld - $zero), "
                   "%s(%lld - $zero))) + $zero)",
                   name, name, type, (long long)low, type, (long long)high);
}
