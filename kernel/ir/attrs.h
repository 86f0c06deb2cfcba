/* Walks over the type-level terms inside attribute structs. */
#ifndef IR_ATTRS_H
#define IR_ATTRS_H

#include "ir/store.h"

typedef struct bt__attrs_walk {
    const bt_type *(*map)(struct bt__attrs_walk *, const bt_type *); /* NULL: no memory */
    void *state;
} bt__attrs_walk;

/* The struct with each term replaced: `attrs` itself if nothing changed, else a shallow
 * copy. NULL: no memory, or the map gave NULL. */
const void *bt__attrs_map(bt_store *, bt__attrs_walk *, const bt_attr *schema,
                          size_t nbytes, const void *attrs);
/* A deep copy for another store: terms are mapped, texts and globals made anew. */
const void *bt__attrs_copy_to(bt_store *, bt__attrs_walk *, const bt_attr *schema,
                              size_t nbytes, const void *attrs);
/* Calls visit for each term inside. */
void bt__attrs_visit(const bt_attr *schema, const void *attrs,
                     void (*visit)(void *state, const bt_type *), void *state);

#endif
