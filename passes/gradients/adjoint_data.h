/* Data types of adjoints: shared by what declares them and what makes their values. */
#ifndef PASSES_GRADIENTS_ADJOINT_DATA_H
#define PASSES_GRADIENTS_ADJOINT_DATA_H

#include "gradients/adjoint_paths.h"

/* The data type that a type is an instance of; NULL: it is something else. */
const bt_adt_def *adjoint_def(const bt_type *);
/* Whether all instances share one type of adjoints: its parameters are dims alone. Else each has
 * its own. */
int adjoint_has_one(const bt_adt_def *);
/* What was declared for it; *out NULL: nothing was. */
bt_status adjoint_data_of(const struct differentiation *, const bt_type *,
                          struct adjoint_data **out) BT_MUST_USE;
/* A field of a constructor where the data type's parameters are these. */
bt_status adjoint_field_type(const struct differentiation *, const bt_ctor *,
                             uint32_t field, const bt_type *const *args,
                             const bt_type **out) BT_MUST_USE;
/* Adds the adjoints' types of a type's leaves, those that have one. */
bt_status adjoint_leaf_types(struct differentiation *, const bt_type *,
                             adjoint_types *out) BT_MUST_USE;

/* A leaf of what a constructor was given that has an adjoint. */
struct adjoint_field {
    const bt_type *primal;
    const bt_value
        *like; /* a value of it, for the dims of its zero; NULL: there is none */
    int is_wanted;
};
typedef bt_vec(struct adjoint_field) adjoint_fields;
/* Adds those of a value's leaves. */
bt_status adjoint_fields_of(struct adjoint *, const bt_value *now,
                            adjoint_fields *out) BT_MUST_USE;
/* match (%d) { K.adjoint(%a, %b) => (%a, %b), _ => zeros }: the adjoints of what the
 * constructor `old` of the primal was given. *out: of each field the value, NULL where it is
 * not wanted. */
bt_status adjoint_open(struct differentiation *, struct copy *, const bt_value *d,
                       const bt_ctor *old, const adjoint_fields *,
                       const bt_value ***out) BT_MUST_USE;
bt_status adjoint_build_ctor(struct copy *, const bt_ctor *, const bt_type *,
                             uint32_t narg, const bt_value *const *args,
                             const bt_value **out) BT_MUST_USE;
/* K(%d, %d, ..), and its variables. */
bt_status adjoint_ctor_pattern(struct copy *, const bt_ctor *,
                               const bt_type *const *fields, const bt_param ***params,
                               const bt_pattern **out) BT_MUST_USE;

#endif
