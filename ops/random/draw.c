#include "draw.h"

#include <math.h>

#include "erfinv.h"
#include "range.h"

bt_status key_relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts key;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &key));
    const bt_type *two = bt_dim(bt_relation_store(s), 2);
    return two ? bt_relation_unify(s, r, key.dims[0], two, "the words of a key and 2")
               : bt_no_memory();
}

bt_status key_relate_drawn(bt_solver *s, const bt_relation_call *r, const bt_type *shape,
                           const bt_type *dtype)
{
    BT_TRY(key_relate(s, r));
    return bt_relation_result(s, r, bt_type_tensor(bt_relation_store(s), shape, dtype));
}

bt_status draw_dtype(bt_solver *s, const bt_relation_call *r, const bt_type *dtype,
                     bt_dtype *out)
{
    *out = 0;
    if (dtype->kind != BT_TYPE_DTYPE) // a type parameter of the function
        return NULL;
    *out = ((const bt_dtype_type *)(const void *)dtype)->dtype;
    if (*out == BT_FLOAT16 || *out == BT_BFLOAT16 || *out == BT_FLOAT32 ||
        *out == BT_FLOAT64)
        return NULL;
    char name[BT_DTYPE_NAME_SIZE];
    return bt_relation_fail(
        s, r, -1,
        "dtype is %s; numbers are drawn as float16, bfloat16, float32 or "
        "float64",
        bt_dtype_name(*out, name, sizeof(name)));
}

void draw_write_words(bt_formula *f, const bt_type *result)
{
    bt_formula_position(f, result);
    bt_formula_threefry(f, "key[0]", "key[1]", "high[$i]", "low[$i]");
}

void draw_write_shaped(bt_formula *f, const bt_type *result)
{
    bt_formula_each(f, "axes", 0, bt_formula_rank(f, result), "i# in shape[#]");
    draw_write_words(f, result);
}

void draw_write_unit(bt_formula *f, bt_dtype dtype)
{
    bt_formula_unit(f, dtype == BT_FLOAT64);
}

const char *draw_wide(bt_dtype dtype)
{
    return dtype == BT_FLOAT64 ? "float64" : "float32";
}

void draw_write_normal(bt_formula *f, const bt_type *result, double low, double high)
{
    const bt_dtype dtype = bt_tensor_dtype(result),
                   wide = dtype == BT_FLOAT64 ? BT_FLOAT64 : BT_FLOAT32;
    const char *type = draw_wide(dtype);
    // the least number above -1 is that below 1 with the other sign
    const double first = isinf(low) ? -range_below(wide, 1)
                                    : range_rounded(wide, erf(low / sqrt(2))),
                 last = range_rounded(wide, erf(high / sqrt(2)));
    draw_write_shaped(f, result);
    draw_write_unit(f, dtype);
    bt_formula_add(f, "x: %s[$i] = max(%s(u[$i] * %.17g) + %.17g, %.17g);\n", type, type,
                   range_rounded(wide, last - first), first, first);
    erfinv_write(f, wide == BT_FLOAT64);
    if (isinf(low))
        bt_formula_add(f, "z: %s[$i] = erfinv[$i] * %.17g;\n", type, sqrt(2));
    else
        bt_formula_add(f, "z: %s[$i] = clamp(erfinv[$i] * %.17g, %.17g, %.17g);\n", type,
                       sqrt(2), low, high);
}
