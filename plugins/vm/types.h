/*
 * Types of registers: what decides how a value is kept and which instructions take it.
 * Dims do not; equal types have one number.
 */
#ifndef VM_TYPES_H
#define VM_TYPES_H

#include <baton/ir.h>

enum {
    VM_TYPE_SCALAR, /* a tensor of rank 0: in a register a cell, in an object a tensor */
    VM_TYPE_TENSOR,
    VM_TYPE_TUPLE,
    VM_TYPE_DATA,
    VM_TYPE_FUNC,
    VM_TYPE_REF,
    /* arguments of data types only */
    VM_TYPE_DIM,
    VM_TYPE_DTYPE,
    VM_TYPE_SHAPE
};

struct vm_type {
    uint32_t kind;
    bt_dtype dtype; /* SCALAR, TENSOR, DTYPE */
    uint32_t rank;  /* TENSOR, SHAPE */
    const bt_adt_def *def;
    uint32_t
        n; /* TUPLE: fields; DATA: arguments; FUNC: arguments and the result, REF: 1 */
    const uint32_t *at;
    const uint32_t *const *ctors; /* DATA: types of fields by tag; NULL: not asked for */
};

struct vm_types {
    bt_arena *arena;
    const bt_store *store; /* of the module, for places in messages */
    uint32_t n, cap;
    struct vm_type *at;
};

/* The number of a type. `value`: what it is of, for messages.
 * errors  BT_ERR_UNSUPPORTED: it is generic in more than dims */
bt_status vm_type_number(bt_ctx *, struct vm_types *, const bt_type *,
                         const bt_value *value, uint32_t *out);
/* The types of the fields of a data type's constructors. */
bt_status vm_type_ctors(bt_ctx *, struct vm_types *, uint32_t type,
                        const bt_value *value);
/* The number of a type of this kind and these parts, which are copied. */
bt_status vm_type_intern(bt_ctx *, struct vm_types *, const struct vm_type *,
                         uint32_t *out);
int vm_type_is_scalar(const struct vm_types *, uint32_t type);
void vm_type_print(const struct vm_types *, uint32_t type, bt_text *out);

#endif
