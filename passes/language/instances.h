/*
 * Copies of functions for the ways that their type parameters are given. Types, shapes and
 * element types are given by a copy; dim parameters stay, or are numbers of it, and dims
 * that have no number become dim parameters of it, so that it does not matter which they
 * are.
 */
#ifndef PASSES_LANGUAGE_INSTANCES_H
#define PASSES_LANGUAGE_INSTANCES_H

#include <baton/pass.h>

struct instance {
    const bt_global *of;
    const struct instance *parent; /* whose body asked for it first */
    const char *name;
    const bt_type *type;
    /* Of the function it is a copy of, by variable. */
    const bt_type **terms;
    uint32_t nvar; /* dims */
    const bt_type **vars;
};

/* A gradient that is declared of a copy. */
struct gradient_instance {
    const bt_global *of; /* the declaration of what has type parameters */
    const struct instance *instance;
    bt_global now;
};

struct instances {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const struct instance *at; /* whose body is read; NULL: a function of the module's */
    bt_map known;              /* globals -> bt_map of keys -> struct instance */
    bt_vec(struct instance *) all;
    bt_vec(struct gradient_instance *) gradients;
    bt_map taken; /* names */
    int gives_numbers;
    /* Globals that numbers are not given to: a check in them would be false. */
    bt_map open;
};

void instances_init(struct instances *, bt_ctx *, bt_arena *, const bt_module *);
/* Forgets all copies, but not `open`. */
void instances_clear(struct instances *);
/* The copy of `of` for these type arguments, made where there is none yet; NULL: none is
 * needed, as they are dims that the call passes on. In fields
 * ntype_arg and type_args of the call the dims that the call gives it. at: the use, for what
 * is told where copies ask for each other without end. */
bt_status instances_find(struct instances *, const bt_global *of, const bt_value *at,
                         const bt_type *const *type_args, bt_call *call,
                         const struct instance **out) BT_MUST_USE;

/* The same of a gradient: *out is declared of the copy of what it is of in the end. */
bt_status instances_find_gradient(struct instances *, const bt_global *of,
                                  const bt_value *at, const bt_type *const *type_args,
                                  bt_call *call, const bt_global **out) BT_MUST_USE;

/* In the attributes of a copy, vjp names the copy for the same types of what it names. */
bt_status instances_aim_rules(struct instances *in, const struct instance *instance,
                            bt_dict *attrs) BT_MUST_USE;

#endif
