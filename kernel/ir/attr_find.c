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
