/* The objects that hold others: tuples, constructors, closures, references. */
#ifndef VALUE_OBJECT_H
#define VALUE_OBJECT_H

#include <baton/value.h>

/* Fills in an object's head; takes a reference to the registry. */
void bt__object_init(bt_object *, uint32_t kind, bt_registry *,
                     void (*destroy)(bt_object *));

/* A zeroed container of `nbytes` with its head filled in, and `nbytes` counting whatever
 * is stored behind the struct. NULL: no memory. */
void *bt__container_alloc(bt_ctx *, uint32_t kind, size_t nbytes);

/* What an object holds: fields, captures, a reference's content; nothing for tensors.
 * Fields may be NULL. */
typedef struct bt__fields {
    bt_object *const *at;
    uint32_t len;
} bt__fields;
bt__fields bt__object_fields(const bt_object *);

/* Takes a dying reference out of its heap's list. In heap.c. */
void bt__ref_unlink(bt_ref *);

#endif
