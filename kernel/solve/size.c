/*
 * How large a term is when it is written out. Shared parts make a term exponentially
 * larger as text than in memory: sixty pairs of pairs have 2^60 leaves. Everything that
 * prints, flattens or compares term by term relies on a bound.
 */
#include "solve/solver.h"

struct sizes {
    bt_map *memo;
    uint32_t failed; /* no memory */
};

static uint32_t size_of(struct sizes *sizes, const bt_type *type);

static uint32_t add(uint32_t a, uint32_t b)
{
    return b > BT__TYPE_SIZE - a ? BT__TYPE_SIZE : a + b;
}

static uint32_t size_of_all(struct sizes *sizes, uint32_t n, const bt_type *const *at)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < n && size < BT__TYPE_SIZE; i++)
        size = add(size, size_of(sizes, at[i]));
    return size;
}

static uint32_t size_of_func(struct sizes *sizes, const bt_func_type *func)
{
    uint32_t size =
        add(size_of_all(sizes, func->narg, func->args), size_of(sizes, func->result));
    for (uint32_t i = 0; i < func->nwhere && size < BT__TYPE_SIZE; i++)
        size =
            add(size, size_of_all(sizes, func->wheres[i].ntype, func->wheres[i].types));
    return size;
}

static uint32_t size_of_parts(struct sizes *sizes, const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = bt_as_shape_type(type);
    const bt_func_type *func = bt_as_func_type(type);
    const bt_list_type *list = bt_as_list_type(type);
    uint32_t size = 0;
    if (tensor)
        return size_of(sizes, tensor->shape);
    if (shape)
        return size_of_all(sizes, shape->n, shape->dims);
    if (func)
        return size_of_func(sizes, func);
    if (type->kind == BT_TYPE_LINEAR) {
        const bt_linear_type *linear = (const bt_linear_type *)(const void *)type;
        for (uint32_t i = 0; i < linear->n && size < BT__TYPE_SIZE; i++)
            size = add(size, size_of(sizes, linear->terms[i].atom));
        return size;
    }
    return list ? size_of_all(sizes, list->n, list->at) : 0;
}

/* Terms have bounded depth. */
static uint32_t size_of(struct sizes *sizes, const bt_type *type)
{
    if (type->depth == 0 || sizes->failed)
        return 1;
    uint32_t known = (uint32_t)(uintptr_t)bt_map_find(sizes->memo, type);
    if (known)
        return known;
    uint32_t size = add(1, size_of_parts(sizes, type));
    sizes->failed |= !bt_map_put(sizes->memo, type, (void *)(uintptr_t)size);
    return size;
}

bt_status bt__type_size(bt_solver *s, const bt_type *type, uint32_t *out)
{
    struct sizes sizes = { .memo = &s->sizes };
    *out = size_of(&sizes, type);
    return sizes.failed ? bt_no_memory() : NULL;
}
