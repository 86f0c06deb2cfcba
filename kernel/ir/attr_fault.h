/* Attribute structs against the operator's schema. */
#ifndef IR_ATTR_FAULT_H
#define IR_ATTR_FAULT_H

#include <baton/op.h>

/* What is wrong with an attribute: "size" "is 17, outside 1..16". */
typedef struct bt__attr_fault {
    const char *name, *what;
} bt__attr_fault;

/* Whether every attribute is one that its row admits. 0: *out is set, its text in the
 * arena. `attrs` is not NULL. Which types and globals are meant is the caller's to
 * check. */
int bt__attrs_admitted(bt_arena *, const bt_op *, const void *attrs, bt__attr_fault *out);

#endif
