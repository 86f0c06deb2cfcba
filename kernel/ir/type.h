/* What the files about types share: interning, dims with their bounds, walks. */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include "ir/store.h"

/* What a dim node is in memory: its bounds follow what the public header shows. */
typedef struct bt__bounds {
    int64_t low, high; /* INT64_MIN, INT64_MAX: none */
} bt__bounds;
typedef struct bt__dim_list {
    bt_list_type list;
    bt__bounds bounds;
} bt__dim_list;
typedef struct bt__dim_linear {
    bt_linear_type linear;
    bt__bounds bounds;
} bt__dim_linear;

/* Terms of a sum; factors of a product, arguments of min and max. More are refused, so
 * that no text makes a dim grow without bound. */
#define BT__DIM_TERMS 256u
#define BT__DIM_ARGS  32u

/* The store's term that equals *key, which is a struct of its kind with base.kind set,
 * whose arrays the store copies. NULL: no memory, or nested too deeply. */
const bt_type *bt__type_intern(bt_store *, const bt_type *key);
/* Copies of relations with their types and attributes. NULL: no memory. */
const bt_where *const *bt__wheres_copy(bt_store *, uint32_t n, const bt_where *const *);
/* A term of its own, equal to no other. */
const bt_type *bt__type_fresh(bt_store *, const bt_type *key);

/* 1 when the term is of that kind; else refuses, saying so. */
int bt__type_expect(bt_store *, const bt_type *, uint32_t kind);
/* The layout that a type leaves away. */
int bt__layout_is_row_major(const bt_layout *);
/* `?`: each occurrence stands for a dim of its own. */
int bt__dim_is_wildcard(const bt_type *);
/* Sets the bounds of a new LINEAR or atom with arguments. */
void bt__dim_note_bounds(bt_type *);

/* Calls `visit` with each term that this one is made of (those in attributes of its where
 * relations apart), until it gives 0; that is then the result. */
typedef int bt__visit_part(void *state, const bt_type *part);
int bt__type_parts(const bt_type *, bt__visit_part *visit, void *state);

#endif
