/* Calls in a store of their own, in which dims may have become numbers. */
#ifndef COMPUTE_COMPOSE_COPY_H
#define COMPUTE_COMPOSE_COPY_H

#include <baton/op.h>

struct bt__copying {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    bt_map leaves; /* variables and opaque dims -> what stands for each */
    bt_subst subst;
    uint32_t failed; /* no memory for a leaf */
};
void bt__copying_init(struct bt__copying *, bt_ctx *, bt_arena *, bt_store *);
/* From now on, type parameters of the function are these numbers.
 * errors  BT_ERR_ARGUMENT: values that they may not have; BT_ERR_UNSUPPORTED: a type
 *         parameter that is no dim */
bt_status bt__copying_bind(struct bt__copying *, const bt_func *,
                           const int64_t *dims) BT_MUST_USE;
bt_status bt__copying_type(struct bt__copying *, const bt_type *,
                           const bt_type **out) BT_MUST_USE;
/* Of a formula's call; *to may be *from. */
bt_status bt__copying_call(struct bt__copying *, const bt_formula_call *from,
                           bt_formula_call *to) BT_MUST_USE;
/* The same of a binding, whose checks must hold. */
bt_status bt__copying_binding(struct bt__copying *, const bt_call *,
                              bt_formula_call *to) BT_MUST_USE;

#endif
