/* Functions that bring their derivative with them: the attributes vjp and jvp name it. */
#ifndef PASSES_GRADIENTS_CUSTOM_H
#define PASSES_GRADIENTS_CUSTOM_H

#include "gradients/differentiation.h"

/* Attributes of a function of the module, or of an external one. */
const bt_dict *custom_attrs(const bt_global *);
/* The attribute of that name of a function; NULL: it has none. */
const bt_dict_entry *custom_attr(const bt_global *, const char *name);
/* The function that a binding calls, where it has that attribute; else NULL. */
const bt_global *custom_callee(const struct differentiation *, const bt_value *binding,
                               const char *attr);
/* What one of them is to name. */
struct custom_rule {
    const char *attr, *example;
    /* what is named has for a function of the type */
    bt_status (*type)(const struct differentiation *, const bt_func_type *,
                      const bt_type **out);
    const char *expects; /* that type in words */
};
/* What the attribute of the function names that a binding calls, which has it.
 * errors  at the function, where it is none, or takes or gives something else */
bt_status custom_find(const struct differentiation *, const struct custom_rule *,
                      const bt_value *binding, const bt_global **out) BT_MUST_USE;
/* An external function has none of that name, and something at `at` derives it. */
bt_status custom_fail(const struct differentiation *, bt_span at, const bt_global *,
                      int is_forward) BT_MUST_USE;
/* A function that does nothing but call such a one: what is derived in its place. Another
 * function stays. */
bt_status custom_wrap(struct differentiation *, const bt_global *, const char *name,
                      const bt_func **out) BT_MUST_USE;

/* ---- calls of functions with one: that with attribute vjp is gone through backward
 * (custom_vjp.c), that with jvp forward (custom_jvp.c) ---- */

/* What such a call needs is declared, and what its function names has the right type. */
bt_status custom_vjp_want(struct adjoint *, const bt_value *old) BT_MUST_USE;
bt_status custom_jvp_want(struct adjoint *, const bt_call *old) BT_MUST_USE;
bt_status custom_vjp_reverse(struct adjoint *, const bt_value *old) BT_MUST_USE;
bt_status custom_jvp_forward(struct adjoint *, const bt_call *old) BT_MUST_USE;

#endif
