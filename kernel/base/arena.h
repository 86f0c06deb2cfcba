/* What growing containers need of an arena. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <baton/base.h>

/* A block of `nbytes` that starts with the `old_nbytes` of `at`, zeroed behind them: the
 * same block, extended, where `at` was the arena's last, else a copy. NULL: no memory. */
void *bt__arena_grow(bt_arena *, void *at, size_t old_nbytes, size_t nbytes);

/* A copy of `count` items of `nbytes`, which has a place also where there are none. NULL:
 * no memory. */
void *bt__arena_copy(bt_arena *, const void *items, size_t count, size_t nbytes);
/* vsnprintf, as in the locale "C" whatever the process's is. */
int bt__vsnprintf(char *out, size_t nbytes, const char *format, va_list) BT_PRINTF(3, 0);
/* A text in the arena. NULL: no memory. */
const char *bt__format(bt_arena *, const char *format, ...) BT_PRINTF(2, 3);
const char *bt__format_va(bt_arena *, const char *format, va_list) BT_PRINTF(2, 0);

/* The addresses of an array's elements, in the arena: lists of structs that may grow cross
 * the border so. NULL: no memory. */
void *bt__list(bt_arena *, const void *at, size_t n, size_t item_nbytes);
#define BT__LIST(arena, at, n) bt__list((arena), (at), (n), sizeof(*(at)))

#endif
