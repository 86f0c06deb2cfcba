/* What the rest of the kernel asks of the solver besides bt_infer. */
#ifndef SOLVE_SOLVE_H
#define SOLVE_SOLVE_H

#include <baton/ir.h>

/* Relations that hold in a function because it asks them of its callers (its wheres),
 * with those of the functions around it. */
struct bt__promise;
typedef struct bt__promises {
    const struct bt__promises *outer; /* NULL: none */
    bt_map by_type; /* first type of a relation to the list of those that begin so */
} bt__promises;
bt_status bt__promises_init(bt__promises *, bt_arena *, const bt_func *,
                            const bt__promises *outer) BT_MUST_USE;

/* Types one binding whose operands (and regions) are typed: runs relations, instantiates
 * polymorphic callees. Sets type, type_args and checks of `binding`, which is not yet
 * shared. A reference to a global has its type like any operand; `module` gives it where
 * that is missing, and may be NULL where none is; promises may be NULL. `layout` is what
 * a call's relation is asked for (bt_relation_call.layout); NULL: nothing. `stated`: NULL,
 * or the type that a call gets, with the checks for it, where its operands say less; its
 * holes are dims that follow from them.
 * errors  as bt_infer, at the binding's span */
bt_status bt__infer_binding(bt_ctx *, bt_store *, const bt_module *, const bt__promises *,
                            const bt_layout *, const bt_type *stated,
                            bt_value *binding) BT_MUST_USE;

/* bt_infer with the nodes tried in an order drawn from a seed other than 0: a test that
 * the order does not matter. */
bt_status bt__infer_shuffled(bt_ctx *, const bt_module *, uint64_t seed,
                             bt_module **out) BT_MUST_USE;

#endif
