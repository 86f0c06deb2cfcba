#include "common/equality.h"

#include <string.h>

/* A constant seen, in the chain of its hash. */
struct equality_const {
    const bt_tensor *tensor;
    struct equality_const *next;
};

void equality_init(struct equality *e, bt_arena *arena)
{
    *e = (struct equality){ .arena = arena };
    bt_map_init(&e->leaders, arena, 0);
    bt_map_init(&e->keys, arena, 0);
}

static uint32_t mix(uint32_t hash, uint64_t with)
{
    uint64_t z = (hash ^ with) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(z >> 32);
}

/* ---- constants ---- */

static uint32_t hash_const(const bt_tensor *tensor, size_t nbytes)
{
    const unsigned char *bytes = tensor->data;
    uint32_t hash = mix(tensor->dtype, nbytes);
    for (size_t i = 0; i < nbytes && i < 64; i++)
        hash = mix(hash, bytes[i]);
    return hash;
}

/* Bit for bit: -0 is not 0. */
static int equal_consts(const bt_tensor *a, const bt_tensor *b, size_t nbytes)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->nelem == b->nelem &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0) &&
           (nbytes == 0 || memcmp(a->data, b->data, nbytes) == 0);
}

/* Equal constants are one operand, wherever they stand. */
static bt_status number_const(struct equality *e, const bt_const *constant)
{
    const bt_tensor *tensor = bt_object_as_tensor(constant->object);
    const void *first = tensor;
    if (!tensor || !bt_tensor_is_dense(tensor) || bt_map_find(&e->keys, tensor))
        return NULL;
    size_t nbytes = bt_tensor_nbytes(tensor);
    struct equality_const **slot =
        &e->consts[hash_const(tensor, nbytes) & (EQUALITY_NCONST_SLOT - 1)];
    struct equality_const *seen = *slot;
    while (seen && !equal_consts(seen->tensor, tensor, nbytes))
        seen = seen->next;
    if (seen) {
        first = seen->tensor;
    } else {
        seen = BT_NEW(e->arena, struct equality_const);
        if (!seen)
            return bt_no_memory();
        *seen = (struct equality_const){ tensor, *slot };
        *slot = seen;
    }
    return bt_map_put(&e->keys, tensor, (void *)(uintptr_t)first) ? NULL : bt_no_memory();
}

/* ---- bindings ---- */

const bt_value *equality_leader(const struct equality *e, const bt_value *value)
{
    const bt_value *found = bt_map_find(&e->leaders, value);
    return found ? found : value;
}

bt_status equality_follow(struct equality *e, const bt_value *value,
                          const bt_value *first)
{
    return bt_map_put(&e->leaders, value, (void *)(uintptr_t)first) ? NULL
                                                                    : bt_no_memory();
}

static uint64_t operand_key(const struct equality *e, const bt_value *operand)
{
    const bt_value *value = equality_leader(e, operand);
    if (value->kind == BT_VALUE_CONST) {
        const void *object = bt_as_const(value)->object;
        const void *first = bt_map_find(&e->keys, object);
        return (uint64_t)(uintptr_t)(first ? first : object);
    }
    return value->kind == BT_VALUE_GLOBAL ? (uint64_t)(uintptr_t)value->name : value->id;
}

uint32_t equality_hash(const struct equality *e, const bt_value *value)
{
    uint32_t hash = mix(value->kind, bt_value_noperand(value));
    const bt_call *call = bt_as_call(value);
    const bt_proj *proj = bt_as_proj(value);
    if (call) {
        hash = mix(hash, (uint64_t)(uintptr_t)call->op ^ (uint64_t)(uintptr_t)call->ctor);
        if (call->op && call->attrs)
            hash = mix(hash, bt_attrs_hash(call->op->attrs, call->attrs));
    }
    if (proj)
        hash = mix(hash, proj->index);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        hash = mix(hash, operand_key(e, bt_value_operand(value, i)));
    return hash;
}

/* What is compared when they have run. */
static int equal_statements(const bt_call *a, const bt_call *b)
{
    const bt_contents *held = a->contents, *other = b->contents;
    int equal = a->ncheck == b->ncheck && !held == !other &&
                (!held || (held->n == other->n &&
                           (held->n == 0 || memcmp(held->dims, other->dims,
                                                   held->n * sizeof(*held->dims)) == 0)));
    for (uint32_t i = 0; equal && i < a->ncheck; i++)
        equal = a->checks[i].relation == b->checks[i].relation &&
                a->checks[i].left == b->checks[i].left &&
                a->checks[i].right == b->checks[i].right;
    return equal;
}

static int equal_calls(const bt_call *a, const bt_call *b)
{
    if (a->callee_kind != b->callee_kind || a->op != b->op || a->ctor != b->ctor ||
        a->ntype_arg != b->ntype_arg || !equal_statements(a, b))
        return 0;
    if (a->ntype_arg &&
        memcmp(a->type_args, b->type_args, a->ntype_arg * sizeof(*a->type_args)) != 0)
        return 0;
    return !a->op || !a->op->attrs || bt_attrs_equal(a->op->attrs, a->attrs, b->attrs);
}

int equality_holds(const struct equality *e, const bt_value *a, const bt_value *b)
{
    const bt_call *call = bt_as_call(a);
    const bt_proj *proj = bt_as_proj(a);
    if (a->kind != b->kind || a->type != b->type || a->device != b->device ||
        bt_value_noperand(a) != bt_value_noperand(b))
        return 0;
    if ((call && !equal_calls(call, bt_as_call(b))) ||
        (proj && proj->index != bt_as_proj(b)->index))
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(a); i++) {
        if (operand_key(e, bt_value_operand(a, i)) !=
            operand_key(e, bt_value_operand(b, i)))
            return 0;
    }
    return 1;
}

bt_status equality_learn(struct equality *e, const bt_value *value)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_const *constant = bt_as_const(bt_value_operand(value, i));
        if (constant)
            BT_TRY(number_const(e, constant));
    }
    return NULL;
}
