/*
 * How large a term is when it is written out. Shared parts make a term exponentially
 * larger as text than in memory: sixty pairs of pairs have 2^60 leaves. Everything that
 * prints, flattens or compares term by term relies on a bound.
 */
#include "ir/type.h"
#include "solve/solver.h"

struct sizes {
    bt_map *memo;
    uint32_t failed; /* no memory */
    uint32_t sum;    /* of the parts so far */
};

static uint32_t size_of(struct sizes *sizes, const bt_type *type);

static int add(void *state, const bt_type *part)
{
    struct sizes *sizes = state;
    uint32_t sum = sizes->sum, size = size_of(sizes, part);
    sizes->sum = size > BT__TYPE_SIZE - sum ? BT__TYPE_SIZE : sum + size;
    return sizes->sum < BT__TYPE_SIZE;
}

/* Terms have bounded depth. */
static uint32_t size_of(struct sizes *sizes, const bt_type *type)
{
    if (type->depth == 0 || sizes->failed)
        return 1;
    uint32_t known = (uint32_t)(uintptr_t)bt_map_find(sizes->memo, type);
    if (known)
        return known;
    sizes->sum = 1;
    bt__type_parts(type, add, sizes);
    sizes->failed |= !bt_map_put(sizes->memo, type, (void *)(uintptr_t)sizes->sum);
    return sizes->sum;
}

bt_status bt__type_size(bt_solver *s, const bt_type *type, uint32_t *out)
{
    struct sizes sizes = { .memo = &s->sizes };
    *out = size_of(&sizes, type);
    return sizes.failed ? bt_no_memory() : NULL;
}
