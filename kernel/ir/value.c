/*
 * What any value consists of: its operands and regions, in evaluation order.
 *
 *   kind      operands                 regions
 *   call      [callee value] args
 *   closure                            the function's block, once it has one
 *   tuple     fields
 *   proj      tuple
 *   if        condition                then, else
 *   match     data                     one per clause
 *   ref       content
 *   read      ref
 *   write     ref, content
 */
#include <string.h>

#include <baton/ir.h>
#include <baton/op.h>

static const uint8_t is_binding[] = {
#define BT_VALUE(UPPER, lower, type, is_binding_, doc) is_binding_,
#include <baton/value_kinds.def>
};

static const char *const kind_names[] = {
#define BT_VALUE(UPPER, lower, type, is_binding_, doc) #lower,
#include <baton/value_kinds.def>
};

int bt_value_is_binding(const bt_value *value)
{
    return value && value->kind < BT_VALUE_COUNT && is_binding[value->kind];
}

const char *bt_value_kind_name(uint32_t kind)
{
    return kind < BT_VALUE_COUNT ? kind_names[kind] : "unknown";
}

const bt_call *bt_as_op_call(const bt_value *value, const char *op_name)
{
    const bt_call *call = bt_as_call(value);
    if (!call || call->callee_kind != BT_CALLEE_OP || strcmp(call->op->name, op_name))
        return NULL;
    return call;
}

int bt_call_checks_result(const bt_call *call)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        if ((call->checks[i].left->has | call->checks[i].right->has) & BT_HAS_OPAQUE)
            return 1;
    }
    return 0;
}

const bt_tensor *bt_const_tensor(const bt_value *value)
{
    const bt_const *constant = bt_as_const(value);
    return constant && constant->object && constant->object->kind == BT_OBJECT_TENSOR
               ? (const bt_tensor *)(const void *)constant->object
               : NULL;
}

static uint32_t call_noperand(const bt_call *call)
{
    return call->narg + (call->callee_kind == BT_CALLEE_VALUE);
}

static const bt_value *call_operand(const bt_call *call, uint32_t index)
{
    if (call->callee_kind != BT_CALLEE_VALUE)
        return call->args[index];
    return index ? call->args[index - 1] : call->callee;
}

uint32_t bt_value_noperand(const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_CALL: return call_noperand(bt_as_call(value));
    case BT_VALUE_TUPLE: return bt_as_tuple(value)->nfield;
    case BT_VALUE_PROJ:
    case BT_VALUE_IF:
    case BT_VALUE_MATCH:
    case BT_VALUE_REF:
    case BT_VALUE_READ: return 1;
    case BT_VALUE_WRITE: return 2;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CLOSURE:
    case BT_VALUE_COUNT: break;
    }
    return 0;
}

const bt_value *bt_value_operand(const bt_value *value, uint32_t index)
{
    switch (value->kind) {
    case BT_VALUE_CALL: return call_operand(bt_as_call(value), index);
    case BT_VALUE_TUPLE: return bt_as_tuple(value)->fields[index];
    case BT_VALUE_PROJ: return bt_as_proj(value)->tuple;
    case BT_VALUE_IF: return bt_as_if(value)->condition;
    case BT_VALUE_MATCH: return bt_as_match(value)->data;
    case BT_VALUE_REF: return bt_as_ref(value)->content;
    case BT_VALUE_READ: return bt_as_read(value)->ref;
    case BT_VALUE_WRITE:
        return index ? bt_as_write(value)->content : bt_as_write(value)->ref;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CLOSURE:
    case BT_VALUE_COUNT: break;
    }
    return NULL;
}

uint32_t bt_value_nregion(const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_CLOSURE: return bt_as_closure(value)->func != NULL;
    case BT_VALUE_IF: return 2;
    case BT_VALUE_MATCH: return bt_as_match(value)->nclause;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CALL:
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE:
    case BT_VALUE_COUNT: break;
    }
    return 0;
}

const bt_block *bt_value_region(const bt_value *value, uint32_t index)
{
    switch (value->kind) {
    case BT_VALUE_CLOSURE: return bt_as_closure(value)->func->block;
    case BT_VALUE_IF:
        return index ? bt_as_if(value)->else_block : bt_as_if(value)->then_block;
    case BT_VALUE_MATCH: return bt_as_match(value)->clauses[index]->block;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CALL:
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE:
    case BT_VALUE_COUNT: break;
    }
    return NULL;
}
