/* Copies of what authors hand over, in a store. */
#ifndef IR_FUNC_H
#define IR_FUNC_H

#include <baton/ir.h>

/* 1, or 0: no memory. */
int bt__dict_copy(bt_store *, bt_dict, bt_dict *out);
int bt__ints_copy(bt_store *, bt_ints, bt_ints *out);
/* `count` items of `nbytes` in the store's arena; NULL: no memory. */
void *bt__store_copy(bt_store *, const void *items, size_t count, size_t nbytes);
/* A copy of a pattern whose variables are `params` in order, from *next on. NULL: no
 * memory. */
const bt_pattern *bt__pattern_with(bt_store *, const bt_pattern *,
                                   const bt_param *const *params, uint32_t *next);

#endif
