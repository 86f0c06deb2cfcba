/* What the parts of pass monomorphize share: the state of a copy is a struct mono. */
#ifndef PASSES_LANGUAGE_MONO_H
#define PASSES_LANGUAGE_MONO_H

#include "common/copy.h"
#include "language/instances.h"

struct mono {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_module *declared; /* NULL: what is needed is looked for */
    struct instances instances;
    bt_map busy; /* closures being copied */
    const bt_effects *effects;
    int changes;
};

/* Fills callee and type_args of a call of `of`, or of the copy for these type arguments. at: the
 * use, for errors. */
bt_status mono_aim_call(struct copy *, const bt_global *of, const bt_value *at,
                        const bt_value *callee, const bt_type *const *type_args,
                        bt_call *call) BT_MUST_USE;

/* ---- functions that are values (mono_values.c) ---- */

/* Whether it has type parameters, and is made where they are given. */
int mono_is_made_where_used(const struct mono *, const bt_value *);
/* An operand with type parameters, of the type that is wanted (copy.h, `operand`).
 * errors  BT_ERR_UNSUPPORTED: the place leaves its type parameters open */
bt_status mono_operand(struct copy *, const bt_value *old, const bt_type *wanted,
                       const bt_value **out) BT_MUST_USE;
/* A call of a closure, or of a choice of some, with type parameters. */
bt_status mono_call_value(struct copy *, const bt_call *old) BT_MUST_USE;

#endif
