#include "language/flat.h"

int flat_is_generic(const bt_type *type)
{
    const bt_func_type *func = type ? bt_as_func_type(type) : NULL;
    for (uint32_t i = 0; func && i < func->nparam; i++) {
        if (func->params[i].kind != BT_KIND_DIM)
            return 1;
    }
    return 0;
}
