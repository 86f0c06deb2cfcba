#include "common/derivative_attrs.h"

#include <string.h>

const char *const derivative_rules[DERIVATIVE_NRULE] = {
#define BT_DERIVATIVE_RULE(name, what) #name,
#include <baton/derivative_rules.def>
};

int derivative_attr_is(const char *name)
{
    for (uint32_t i = 0; i < DERIVATIVE_NRULE; i++) {
        if (strcmp(derivative_rules[i], name) == 0)
            return 1;
    }
    return strcmp(name, DERIVATIVE_CHECKPOINT) == 0;
}

int derivative_attrs_has(const bt_dict *attrs)
{
    for (uint32_t i = 0; i < attrs->n; i++) {
        if (derivative_attr_is(attrs->at[i].name))
            return 1;
    }
    return 0;
}
