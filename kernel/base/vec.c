/* Growable arrays in an arena: bt_vec(T), BT_PUSH. */
#include "base/arena.h"

#include <string.h>

int bt_vec_reserve(bt_arena *arena, void **at, uint32_t *cap, uint32_t len,
                   size_t item_nbytes)
{
    if (len < *cap)
        return 1;
    if (len == UINT32_MAX)
        return 0;
    uint32_t more = len < 4 ? 4 : len > UINT32_MAX / 2 ? UINT32_MAX : 2 * len;
    size_t nbytes;
    if (!bt_mul_size(more, item_nbytes, &nbytes))
        return 0;
    // *at is an array of any type: it is read and written as bytes, not as a void *.
    void *items;
    memcpy(&items, (void *)at, sizeof(items));
    items = bt__arena_grow(arena, items, (size_t)*cap * item_nbytes, nbytes);
    if (!items)
        return 0;
    memcpy((void *)at, &items, sizeof(items));
    *cap = more;
    return 1;
}

void *bt__list(bt_arena *arena, const void *at, size_t n, size_t item_nbytes)
{
    const void **list = BT_NEWS(arena, const void *, n);
    for (size_t i = 0; list && i < n; i++)
        list[i] = (const char *)at + i * item_nbytes;
    return list;
}
