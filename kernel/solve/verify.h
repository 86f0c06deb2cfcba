/* The verifier's parts: verify.c walks, verify_value.c and verify_attrs.c look at one
 * binding. */
#ifndef SOLVE_VERIFY_H
#define SOLVE_VERIFY_H

#include <baton/ir.h>

#include "solve/solve.h"

/* Whether a value may be used at the place at hand. */
enum { PLACE_UNKNOWN, PLACE_VISIBLE, PLACE_LEFT };

struct bt__verifier {
    bt_ctx *ctx;
    bt_store *store;
    const bt_module *module;
    const bt_global *global; /* whose definition is looked at */
    bt_arena *arena;
    bt_map places; /* value -> PLACE_... */
    bt_map vars;   /* type variables in scope -> themselves */
    bt_map dims;   /* opaque dims of values so far -> who has them first */
    uint32_t depth;
    const bt__promises *promises; /* of the functions around what is looked at */
};

/* "@main: %x: " and the message. value: NULL for the function itself. */
bt_status bt__verify_fail(struct bt__verifier *, const bt_value *, const char *format,
                          ...) BT_MUST_USE BT_PRINTF(3, 4);
/* A type of a typed module: there, without holes, closed but for variables in scope. */
bt_status bt__verify_type(struct bt__verifier *, const bt_value *, const char *what,
                          const bt_type *) BT_MUST_USE;
/* Dims in the term that only the run knows: values so far have them. */
bt_status bt__verify_dims(struct bt__verifier *, const bt_value *, const char *what,
                          const bt_type *) BT_MUST_USE;
/* What a binding says of itself; its operands have been looked at, its regions not. */
bt_status bt__verify_value(struct bt__verifier *, const bt_value *) BT_MUST_USE;
/* Whether the type follows from operands and regions. */
bt_status bt__verify_derived(struct bt__verifier *, const bt_value *) BT_MUST_USE;
bt_status bt__verify_attrs(struct bt__verifier *, const bt_call *) BT_MUST_USE;

#endif
