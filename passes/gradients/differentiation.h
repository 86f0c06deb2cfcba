/* What is known while declarations become functions: all that the next version of the module needs. */
#ifndef PASSES_GRADIENTS_DIFFERENTIATION_H
#define PASSES_GRADIENTS_DIFFERENTIATION_H

#include "common/dims.h"
#include "gradients/adjoint.h"

struct tangent_func;
struct adjoint_data;
struct differentiation {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_vec(struct adjoint_pair *) pairs;    /* of reverse mode (adjoint_paths.h) */
    bt_vec(struct tangent_func *) tangents; /* of forward mode (tangent.h) */
    bt_map taken;                           /* names of globals and data types */
    bt_map ctors;                           /* and of constructors */
    /* Of data types (adjoint_data.h). */
    bt_map floats; /* data types in whose constructors there are floats (adjoint_has.c) */
    bt_map data;   /* data types, or instances of them -> struct adjoint_data */
    bt_map united; /* instances with `?` for their dims -> that of all such */
    bt_vec(struct adjoint_data *) datas; /* each of them once */
    /* Of references (adjoint_cells.h). */
    bt_map cells; /* types with `?` for dims, whose contents have adjoints -> one such */
    int has_shadows; /* all of them are known, and have shadows */
    bt_map made; /* types of adjoints that there are then: they have no adjoints here */
    bt_map touching; /* functions and bindings that make, read or write such a cell */
    bt_map writing;  /* those that write any reference */
    bt_map writers;  /* names of functions of the way back that write cells */
    bt_module_builder *builder; /* of the version that is made */
};

/* For questions about the dims of types in the module (adjoint_types.c). */
struct dims_map adjoint_dims_map(const struct differentiation *);
/* A name that nothing has yet: base.what, base.what_1 ... (adjoint_tape.c) */
bt_status adjoint_name(struct differentiation *, bt_map *taken, const char *base,
                       const char *what, const char **out) BT_MUST_USE;

#endif
