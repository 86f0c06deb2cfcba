/*
 * Code: a function prepared for the machine. Every value of an activation has a slot;
 * operands say where to read.
 *
 *     code ── block ── step, step, ...        one step a binding
 *                        └─ blocks            of an if or a match
 *                        └─ codes             of a closure group, sharing one list of
 * captures
 */
#ifndef INTERP_CODE_H
#define INTERP_CODE_H

#include <baton/compute.h>
#include <baton/ir.h>

enum { FROM_SLOT, FROM_CAPTURE, FROM_GROUP, FROM_OBJECT, FROM_GLOBAL };

struct operand {
    uint32_t from;
    uint32_t index;          /* slot, capture, or member of the own group */
    const bt_object *object; /* FROM_OBJECT: held by the module's store */
    const bt_global *global; /* FROM_GLOBAL: a function */
};

struct step {
    const bt_value *value;
    uint32_t slot;
    uint32_t noperand;
    struct operand *operands; /* a closure's: what it captures */
    uint32_t nblock;
    struct block *blocks;
    struct group *group; /* a closure's */
    uint32_t member;     /* of the group */
    /* an operator whose computation does not depend on the environment */
    bt_compute *compute;
    uint32_t is_tail;     /* a call whose result is the function's */
    uint32_t is_late;     /* a call with checks that wait for its result */
    const bt_call *holds; /* a call with stated contents; else NULL */
    uint32_t ndead;       /* slots that nobody reads after this step */
    uint32_t *dead;
};

struct block {
    uint32_t nparam;
    uint32_t *params; /* slots */
    uint32_t nstep;
    struct step *steps;
    struct operand result;
};

struct code {
    const bt_func *func;
    const struct group *group; /* of a closure; NULL for a global */
    uint32_t nslot;
    uint32_t is_open;   /* it, or a closure of it, has type parameters, or some type in it
                           mentions type variables or opaque dims */
    struct block block; /* its parameters are slots 0 .. nparam - 1 */
};

/* Members of a closure group capture the same values, so that each can make the others
 * anew and none holds itself. */
struct group {
    uint32_t ncode;
    struct code **codes;
    uint32_t ncapture;
    const bt_value **captures; /* values of the functions around */
};

struct bytecode {
    bt_registry *registry;
    bt_module *module;
    bt_arena *arena;
    bt_tuple *identity; /* of closures that this makes, which hold it */
    bt_map globals;     /* name -> struct code, as they are needed */
    bt_vec(bt_compute *) computes;
};

bt_status bytecode_create(bt_ctx *, const bt_module *, struct bytecode **out);
void bytecode_destroy(struct bytecode *);
/* The code of a global function, prepared at its first use. */
bt_status bytecode_code(bt_ctx *, struct bytecode *, const bt_global *,
                        const struct code **out);

#endif
