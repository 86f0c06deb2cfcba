#include "cast_check.h"

bt_dtype cast_dtype(const bt_type *type)
{
    return type && type->kind == BT_TYPE_DTYPE
               ? ((const bt_dtype_type *)(const void *)type)->dtype
               : 0;
}

bt_status cast_check(bt_solver *s, const bt_relation_call *r, bt_dtype from, bt_dtype to)
{
    char from_name[BT_DTYPE_NAME_SIZE], to_name[BT_DTYPE_NAME_SIZE];
    if (!from || !to || BT_DTYPE_CLASS(from) != BT_CLASS_COMPLEX ||
        BT_DTYPE_CLASS(to) == BT_CLASS_COMPLEX)
        return NULL;
    return bt_relation_fail(s, r, 0,
                            "as %s, elements of %s would lose their imaginary part",
                            bt_dtype_name(to, to_name, sizeof(to_name)),
                            bt_dtype_name(from, from_name, sizeof(from_name)));
}
