/* Attributes of functions that pass differentiate reads: vjp and jvp name what gives derivatives,
 * checkpoint says that the way back computes a call again. */
#ifndef PASSES_COMMON_DERIVATIVE_ATTRS_H
#define PASSES_COMMON_DERIVATIVE_ATTRS_H

#include <baton/ir.h>

#define DERIVATIVE_CHECKPOINT "checkpoint"
enum {
#define BT_DERIVATIVE_RULE(name, what) DERIVATIVE_##name,
#include <baton/derivative_rules.def>
    DERIVATIVE_NRULE
};

extern const char *const derivative_rules[DERIVATIVE_NRULE]; /* their names */

int derivative_attr_is(const char *name);
/* Whether it has one: its calls are to be found as they are, and not to be copied. */
int derivative_attrs_has(const bt_dict *);

#endif
