/* Comparing terms up to the names of variables and opaque dims. */
#ifndef IR_TYPE_MATCH_H
#define IR_TYPE_MATCH_H

#include <baton/ir.h>

typedef struct bt__type_match {
    bt_map forth, back;  /* variables and opaque dims of one side -> of the other */
    uint32_t accepts;    /* an opaque dim on the left stands for any dim */
    uint32_t failed;     /* no memory */
    const bt_call *call; /* dims that a check of it finds equal are equal; NULL: none */
    bt_store *store;     /* with `accepts`: a polymorphic function on the right may be an
                        instance of it; NULL: not */
    uint32_t ninstance;  /* holes that stand for parameters of such a function */
    bt_arena *arena;
    bt_vec(const bt_type *) narrowed; /* with `accepts`: what on the right says more */
} bt__type_match;

void bt__type_match_init(bt__type_match *, bt_arena *);
/* From now on a variable of the left is this one of the right. 0: no memory. */
int bt__type_match_pair(bt__type_match *, const bt_type *left, const bt_type *right);
/* Equal, across stores, where opaque dims are paired one to one as they are met. */
int bt__type_matches(bt__type_match *, const bt_type *left, const bt_type *right);
/* Attributes by their schema; type-level terms as above, functions by name. */
int bt__attrs_match(bt__type_match *, const bt_attr *schema, const void *left,
                    const void *right);
/* Whether a value of type `given` may stand where `wanted` was stated: equal, but for
 * opaque dims of `wanted`, each of which stands for any one dim, and its holes, which
 * stand for anything. Within a store. */
int bt__type_accepts(bt_arena *, const bt_type *wanted, const bt_type *given);

#endif
