/* Equality of terms that may live in different stores, many at a time. */
#ifndef IR_EQUALITY_H
#define IR_EQUALITY_H

#include <baton/ir.h>

typedef struct bt__equality bt__equality;

bt__equality *bt__equality_create(bt_registry *); /* NULL: no memory */
void bt__equality_destroy(bt__equality *);        /* accepts NULL */
/* From now on these two variables, or opaque dims, stand for each other; others equal
 * only themselves. 0: they differ in kind or range, one has another partner, or no
 * memory. */
int bt__equality_pair(bt__equality *, const bt_type *left, const bt_type *right);
/* 1: equal; 0: not, or no memory. Data types are compared by name. */
int bt__equality_check(bt__equality *, const bt_type *left, const bt_type *right);

#endif
