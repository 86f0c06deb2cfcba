#include "common/derivative_attrs.h"

#include <string.h>

static const char *const names[] = { "vjp", "jvp", DERIVATIVE_CHECKPOINT };

int derivative_attr_is(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0)
            return 1;
    }
    return 0;
}

int derivative_attrs_has(const bt_dict *attrs)
{
    for (uint32_t i = 0; i < attrs->n; i++) {
        if (derivative_attr_is(attrs->at[i].name))
            return 1;
    }
    return 0;
}
