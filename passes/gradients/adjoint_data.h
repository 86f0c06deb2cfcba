/*
 * Adjoints of data: their types, values, constructors and patterns backward, and what a caller sees
 * of them. A tensor's adjoint is a tensor; that of data is of a type of its own (adjoint_types.c).
 */
#ifndef PASSES_GRADIENTS_ADJOINT_DATA_H
#define PASSES_GRADIENTS_ADJOINT_DATA_H

#include "common/dims.h"
#include "gradients/differentiation.h"

/* What a declaration takes or gives has the type of the primal: how it is converted. */
enum adjoint_conversion {
    ADJOINT_FILL,  /* an adjoint -> data of the primal's type, by data that it is of */
    ADJOINT_STRIP, /* such data -> the adjoint */
    ADJOINT_ONES,  /* data -> the adjoint of the sum of all floats in it */
    ADJOINT_NCONVERSION
};
/* A data type of values that have adjoints, for all of its dims. */
struct adjoint_data {
    const bt_type *primal; /* as it was met; once declared, in terms of the parameters */
    struct dims_pattern dims; /* of instances that differ by dims alone, if one is open */
    bt_adt_def *def;          /* of the adjoints: Zero, then one for each constructor */
    const char *add;          /* global that adds two of them */
    int is_made;              /* `def` and `add`, by the version before */
    uint8_t converts[ADJOINT_NCONVERSION];       /* which are asked for */
    const char *converters[ADJOINT_NCONVERSION]; /* globals that do it */
};
typedef bt_vec(const bt_type *) adjoint_types;

/* What a value of the type needs is declared. */
bt_status adjoint_data_want(struct differentiation *, const bt_type *) BT_MUST_USE;
bt_status adjoint_data_declare(struct differentiation *) BT_MUST_USE;
bt_status adjoint_data_define(struct differentiation *) BT_MUST_USE;
/* The type of the adjoint of a leaf. */
bt_status adjoint_type_of(const struct differentiation *, const bt_type *leaf,
                          const bt_type **out) BT_MUST_USE;
/* A tensor of zeros or ones, which needs no value of the type where that says its dims. */
bt_status adjoint_filled(struct copy *, int number, const bt_value *like, const bt_type *,
                         const bt_value **out) BT_MUST_USE;
/* The adjoint zero of a leaf of type `primal`. like: a value of it, for dims that no type says. */
bt_status adjoint_zero(struct differentiation *, struct copy *, const bt_value *like,
                       const bt_type *primal, const bt_value **out) BT_MUST_USE;
/* The sum of two. */
bt_status adjoint_plus(struct differentiation *, struct copy *, const bt_type *primal,
                       const bt_value *const *both, const bt_value **out) BT_MUST_USE;
/* From the adjoint of what a constructor made to those of its fields. */
bt_status adjoint_reverse_ctor(struct adjoint *, const bt_call *old) BT_MUST_USE;
/* From the adjoints of a pattern's variables to that of what it takes apart. */
bt_status adjoint_reverse_pattern(struct adjoint *, const bt_pattern *,
                                  const bt_value *data) BT_MUST_USE;
/* Conversions between data and its adjoint (adjoint_convert.c): those of the data types in a
 * type are declared. */
bt_status adjoint_convert_want(struct differentiation *, const bt_type *,
                               enum adjoint_conversion) BT_MUST_USE;
bt_status adjoint_convert_declare(struct differentiation *) BT_MUST_USE;
bt_status adjoint_convert_define(struct differentiation *) BT_MUST_USE;
/* Data like `like` of its adjoint. */
bt_status adjoint_fill(struct adjoint *, const bt_value *like, const bt_value *adjoint,
                       const bt_value **out) BT_MUST_USE;
/* Adjoints of the leaves of a value, which STRIP or ONES makes of it; NULL: it has none. */
bt_status adjoint_leaves(struct adjoint *, const bt_value *now, enum adjoint_conversion,
                         adjoint_values *out) BT_MUST_USE;

/* ---- parts of this ---- */

/* The data type that a type is an instance of; NULL: it is something else. */
const bt_adt_def *adjoint_def(const bt_type *);
/* Whether all instances share one type of adjoints: its parameters are dims alone. Else each has
 * its own. */
int adjoint_has_one(const bt_adt_def *);
/* The constructor of the adjoints' data type that stands for one of the primal's. */
const bt_ctor *adjoint_ctor_of(const bt_adt_def *adjoints, const bt_ctor *primal);
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
