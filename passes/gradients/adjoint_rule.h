/* Functions that bring their derivative with them: the attributes vjp and jvp name it. */
#ifndef PASSES_GRADIENTS_ADJOINT_RULE_H
#define PASSES_GRADIENTS_ADJOINT_RULE_H

#include "gradients/differentiation.h"

/* Attributes of a function of the module, or of an external one. */
const bt_dict *adjoint_attrs_of(const bt_global *);
/* The attribute of that name of a function; NULL: it has none. */
const bt_dict_entry *adjoint_rule_of(const bt_global *, const char *name);
/* What one of them is to name. */
struct adjoint_rule {
    const char *attr, *example;
    /* what is named has for a function of the type */
    bt_status (*type)(const struct differentiation *, const bt_func_type *,
                      const bt_type **out);
    const char *expects; /* that type in words */
};
/* What the attribute of a function names, which has it.
 * errors  at the function, where it is none, or takes or gives something else */
bt_status adjoint_rule_find(const struct differentiation *, const struct adjoint_rule *,
                            const bt_global *, const bt_global **out) BT_MUST_USE;
/* An external function has none of that name, and something at `at` derives it. */
bt_status adjoint_rule_fail(const struct differentiation *, bt_span at, const bt_global *,
                            int is_forward) BT_MUST_USE;
/* A function that does nothing but call such a one: what is derived in its place. Another
 * function stays. */
bt_status adjoint_rule_wrap(struct differentiation *, const bt_global *, const char *name,
                            const bt_func **out) BT_MUST_USE;

/* ---- calls of functions with attribute vjp (adjoint_vjp.c) ---- */

int adjoint_has_vjp(const bt_global *);
int adjoint_calls_vjp(const struct adjoint *, const bt_value *old);
/* What the reverse of such a call needs is declared, and its function has the right type. */
bt_status adjoint_vjp_want(struct adjoint *, const bt_value *old) BT_MUST_USE;
bt_status adjoint_reverse_vjp(struct adjoint *, const bt_value *old) BT_MUST_USE;

#endif
