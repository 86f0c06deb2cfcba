/* Type environments: what the type variables and opaque dims of an activation stand
 * for. */
#ifndef INTERP_ENV_H
#define INTERP_ENV_H

#include <baton/ir.h>

struct env_entry {
    const bt_type *leaf; /* VAR or OPAQUE of the program */
    const bt_type *term; /* without such, in the environment's store */
};

/* Looks like an empty tuple, so that a closure can capture the one it was made in. */
struct env {
    bt_tuple tuple;
    struct env *outer; /* of the function around a closure, maybe of an earlier run */
    bt_store *store;   /* the run's, held as long as a closure holds this */
    uint32_t n, cap;
    struct env_entry *at;
};

/* NULL: no memory. The new environment holds references to the store and to `outer`, which
 * may be NULL. */
struct env *env_create(bt_store *, struct env *outer);
struct env *env_ref(struct env *);
void env_unref(struct env *); /* accepts NULL */

/* The term with everything known put in, in the run's store. What is not known is an
 * opaque dim, or a hole of another kind. */
bt_status env_resolve(bt_ctx *, struct env *, bt_store *, const bt_type *,
                      const bt_type **out);
bt_status env_bind(struct env *, const bt_type *leaf, const bt_type *term);
/* Binds the leaves of a type that the value shows: dims, dtypes and shapes of tensors,
 * also in tuples. */
bt_status env_bind_value(struct env *, bt_store *, const bt_type *, const bt_object *);
/* Binds the variables of a type from a term of the run's store of which it is the general
 * form, as far as the term is known. */
bt_status env_bind_type(struct env *, bt_store *, const bt_type *, const bt_type *term);
/* The type that a value shows; NULL where it does not. */
bt_status env_type_of(bt_store *, const bt_object *, const bt_type **out);

#endif
