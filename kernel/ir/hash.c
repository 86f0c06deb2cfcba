/*
 * A hash of functions that agrees with equality: the same across stores, names and
 * variables. It uses no memory, so operands count by what they are, not by where they
 * stand; equality tells the rest.
 */
#include <string.h>

#include <baton/ir.h>
#include <baton/op.h>

#include "ir/intern.h"

/* Deeper blocks count by their size only: bounds the recursion. */
enum { MAX_DEPTH = 64 };

static uint64_t mix(uint64_t hash, uint64_t item)
{
    uint64_t h = (hash ^ item) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, bt__hash_text(text));
}

/* Hashes of terms with free variables differ between equal functions. */
static uint64_t mix_type(uint64_t hash, const bt_type *type)
{
    if (!type)
        return mix(hash, 1);
    int is_closed = !(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_HOLE));
    return mix(mix(hash, type->kind), is_closed ? type->hash : 2);
}

static uint64_t mix_attrs(uint64_t hash, const bt_attr *schema, const void *attrs)
{
    for (const bt_attr *row = schema; row && attrs && row->name; row++) {
        const bt_attr only[] = { *row, { 0 } };
        const void *item;
        switch (row->kind) {
        case BT_ATTR_DTYPE:
        case BT_ATTR_DIM:
        case BT_ATTR_SHAPE:
        case BT_ATTR_TYPE:
            memcpy(&item, (const char *)attrs + row->offset, sizeof(item));
            hash = mix_type(hash, item);
            break;
        case BT_ATTR_FUNC:
            memcpy(&item, (const char *)attrs + row->offset, sizeof(item));
            hash = mix_text(hash, item ? ((const bt_value *)item)->name : "");
            break;
        default: hash = mix(hash, bt_attrs_hash(only, attrs)); break;
        }
    }
    return hash;
}

static uint64_t mix_operand(uint64_t hash, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_tensor *tensor = bt_const_tensor(value);
    hash = mix(hash, value->kind);
    if (value->kind == BT_VALUE_GLOBAL)
        hash = mix_text(hash, value->name);
    if (call && call->callee_kind == BT_CALLEE_OP)
        hash = mix_text(hash, call->op->name);
    if (tensor && tensor->nelem > 0) {
        double first = bt_tensor_get(tensor, 0);
        uint64_t bits = 0;
        // Every NaN alike: conversion may have changed its bits.
        if (first == first)
            memcpy(&bits, &first, sizeof(bits));
        hash = mix(hash, bits);
    }
    return value->kind == BT_VALUE_CONST ? mix_type(hash, value->type) : hash;
}

static uint64_t mix_pattern(uint64_t hash, const bt_pattern *pattern)
{
    hash = mix(mix(hash, pattern->kind), pattern->n);
    if (pattern->ctor)
        hash = mix_text(hash, pattern->ctor->name);
    for (uint32_t i = 0; i < pattern->n; i++)
        hash = mix_pattern(hash, pattern->at[i]);
    return hash;
}

static uint64_t mix_call(uint64_t hash, const bt_call *call)
{
    hash = mix(hash, call->callee_kind);
    if (call->callee_kind == BT_CALLEE_CTOR)
        return mix_text(hash, call->ctor->name);
    if (call->callee_kind == BT_CALLEE_OP)
        return mix_attrs(mix_text(hash, call->op->name), call->op->attrs, call->attrs);
    return hash;
}

static uint64_t mix_parts(uint64_t hash, const bt_value *value)
{
    const bt_match *match = bt_as_match(value);
    if (bt_as_call(value))
        return mix_call(hash, bt_as_call(value));
    if (bt_as_proj(value))
        return mix(hash, bt_as_proj(value)->index);
    for (uint32_t i = 0; match && i < match->nclause; i++)
        hash = mix_pattern(hash, match->clauses[i]->pattern);
    return hash;
}

static uint64_t mix_block(uint64_t hash, const bt_block *block, uint32_t depth)
{
    hash = mix(mix(hash, block->nparam), block->nbinding);
    if (depth == 0)
        return hash;
    for (uint32_t i = 0; i < block->nparam; i++)
        hash = mix_type(hash, block->params[i]->base.type);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        hash = mix_parts(mix_type(mix(hash, value->kind), value->type), value);
        for (uint32_t k = 0; k < bt_value_noperand(value); k++)
            hash = mix_operand(hash, bt_value_operand(value, k));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            hash = mix_block(hash, bt_value_region(value, k), depth - 1);
    }
    return mix_operand(hash, block->result);
}

uint64_t bt_func_hash(const bt_func *func)
{
    uint64_t hash = mix(mix(func->nvar, func->nwhere), func->attrs.n);
    return mix_block(mix_type(hash, func->result), func->block, MAX_DEPTH);
}
