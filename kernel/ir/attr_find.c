/* Attributes by name, for those who do not know the struct. */
#include <string.h>

#include <baton/op.h>

const void *bt_attr_find(const bt_op *op, const void *attrs, const char *name,
                         uint32_t kind)
{
    for (const bt_attr *row = op->attrs; attrs && row && row->name; row++) {
        if (row->kind == kind && strcmp(row->name, name) == 0)
            return (const char *)attrs + row->offset;
    }
    return NULL;
}

int bt_ints_expand(const bt_ints *list, uint32_t n, int64_t *out)
{
    if (list->n != 1 && list->n != n && (list->n < 1 || 2 * list->n != (int64_t)n))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        out[i] = list->at[i % list->n];
    return 1;
}

int bt_call_ints(const bt_call *call, const char *attr, uint32_t n, int64_t *out)
{
    const bt_op *op = call->callee_kind == BT_CALLEE_OP ? call->op : NULL;
    const bt_ints *list = op ? bt_attr_find(op, call->attrs, attr, BT_ATTR_INTS) : NULL;
    const int64_t *one = op ? bt_attr_find(op, call->attrs, attr, BT_ATTR_INT) : NULL;
    if (list)
        return bt_ints_expand(list, n, out);
    return one && *one != BT_NONE && bt_ints_expand(&(bt_ints){ 1, one }, n, out);
}
