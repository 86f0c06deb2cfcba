/* What an operator's row says: inputs, and attributes by name for those who do not know
 * the struct. */
#include <string.h>

#include "base/arena.h"
#include <baton/op.h>

uint32_t bt_op_ninput(const bt_op *op, uint32_t *nrequired)
{
    uint32_t n = 0, required = 0;
    for (; op->inputs[n].name; n++)
        required += !op->inputs[n].is_optional && !op->inputs[n].is_rest;
    if (nrequired)
        *nrequired = required;
    return n;
}

int bt_op_takes(const bt_op *op, uint32_t narg)
{
    uint32_t nrequired, n = bt_op_ninput(op, &nrequired);
    return narg >= nrequired && (narg <= n || (n && op->inputs[n - 1].is_rest));
}

const bt_op_input *bt_op_input_at(const bt_op *op, uint32_t index)
{
    const uint32_t n = op->inputs ? bt_op_ninput(op, NULL) : 0;
    if (index < n)
        return &op->inputs[index];
    return n && op->inputs[n - 1].is_rest ? &op->inputs[n - 1] : NULL;
}

const bt_attr *bt_attr_row(const bt_attr *rows, const char *name)
{
    for (; rows && rows->name; rows++) {
        if (strcmp(rows->name, name) == 0)
            return rows;
    }
    return NULL;
}

const void *bt_attr_find(const bt_op *op, const void *attrs, const char *name,
                         uint32_t kind)
{
    const bt_attr *row = attrs ? bt_attr_row(op->attrs, name) : NULL;
    return row && row->kind == kind ? (const char *)attrs + row->offset : NULL;
}

int bt_ints_expand(const bt_ints *list, uint32_t n, int64_t *out)
{
    if (list->n != 1 && list->n != n && (list->n < 1 || 2 * list->n != (int64_t)n))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        out[i] = list->at[i % list->n];
    return 1;
}

/* NULL: it calls no operator, or one without such an attribute. */
static const void *member(const bt_call *call, const char *attr, uint32_t kind)
{
    return call->callee_kind == BT_CALLEE_OP
               ? bt_attr_find(call->op, call->attrs, attr, kind)
               : NULL;
}

int bt_call_ints(const bt_call *call, const char *attr, uint32_t n, int64_t *out)
{
    const bt_ints *list = member(call, attr, BT_ATTR_INTS);
    const int64_t *one = member(call, attr, BT_ATTR_INT);
    if (list)
        return bt_ints_expand(list, n, out);
    return one && *one != BT_NONE && bt_ints_expand(&(bt_ints){ 1, one }, n, out);
}

bt_status bt_call_formula(bt_arena *arena, const bt_call *call, bt_formula_call *out)
{
    const bt_type **types = BT_NEWS(arena, const bt_type *, call->narg);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        types[i] = call->args[i]->type;
    *out = (bt_formula_call){ call->op, call->attrs, call->narg, types, call->base.type };
    return NULL;
}

void *bt_attrs_with(bt_arena *arena, const bt_call *call, const char *name,
                    const void *value, size_t nbytes)
{
    char *copy = bt__arena_copy(arena, call->attrs, 1, call->op->attrs_nbytes);
    const bt_attr *row = bt_attr_row(call->op->attrs, name);
    if (copy && row)
        memcpy(copy + row->offset, value, nbytes);
    return copy;
}

const char *bt_call_text(const bt_call *call, const char *attr)
{
    const char *const *text = member(call, attr, BT_ATTR_STRING);
    return text && *text ? *text : "";
}

int64_t bt_call_int(const bt_call *call, const char *attr, int64_t absent)
{
    const int64_t *number = member(call, attr, BT_ATTR_INT);
    if (!number)
        number = member(call, attr, BT_ATTR_BOOL);
    return number ? *number : absent;
}

const bt_type *bt_call_dim(const bt_call *call, const char *attr)
{
    const bt_type *const *dim = member(call, attr, BT_ATTR_DIM);
    return dim ? *dim : NULL;
}
