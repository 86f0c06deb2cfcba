/* Attributes of a call against the operator's schema. */
#include "solve/verify.h"

#include <string.h>

#include <baton/op.h>

#include "ir/attr_fault.h"

/* A term as it may occur in a typed module. */
static bt_status check_term(struct bt__verifier *v, const bt_call *call,
                            const bt_attr *row)
{
    const bt_type *term;
    memcpy(&term, (const char *)call->attrs + row->offset, sizeof(term));
    if (!term || !v->module->is_typed)
        return NULL;
    BT_TRY(bt__verify_type(v, &call->base, row->name, term));
    return bt__verify_dims(v, &call->base, row->name, term);
}

static bt_status check_func(struct bt__verifier *v, const bt_call *call,
                            const bt_attr *row)
{
    const bt_value *value;
    memcpy(&value, (const char *)call->attrs + row->offset, sizeof(value));
    if (!value)
        return NULL;
    if (value->kind != BT_VALUE_GLOBAL || !value->name ||
        !bt_module_find(v->module, value->name))
        return bt__verify_fail(v, &call->base,
                               "attribute %s of %s names no global of the module",
                               row->name, call->op->name);
    return NULL;
}

static bt_status check_row(struct bt__verifier *v, const bt_call *call,
                           const bt_attr *row)
{
    switch (row->kind) {
    case BT_ATTR_DTYPE:
    case BT_ATTR_DIM:
    case BT_ATTR_SHAPE:
    case BT_ATTR_TYPE: return check_term(v, call, row);
    case BT_ATTR_FUNC: return check_func(v, call, row);
    default: return NULL;
    }
}

bt_status bt__verify_attrs(struct bt__verifier *v, const bt_call *call)
{
    bt__attr_fault fault;
    if (!call->op->attrs)
        return NULL;
    if (!call->attrs)
        return bt__verify_fail(v, &call->base, "%s lacks its attributes", call->op->name);
    if (!bt__attrs_admitted(v->arena, call->op, call->attrs, &fault))
        return bt__verify_fail(v, &call->base, "attribute %s of %s %s", fault.name,
                               call->op->name, fault.what);
    for (const bt_attr *row = call->op->attrs; row->name; row++)
        BT_TRY(check_row(v, call, row));
    return NULL;
}
