/* Types in a module in which cells have shadows (adjoint_cells.h). */
#ifndef PASSES_GRADIENTS_ADJOINT_SHADOW_H
#define PASSES_GRADIENTS_ADJOINT_SHADOW_H

#include "gradients/adjoint_cells.h"

struct shadows {
    struct differentiation *diff;
    const char *entry;
    bt_map types;   /* -> what they become */
    bt_map names;   /* of globals whose types change -> those of their copies */
    bt_map holders; /* data types, or instances with `?` for dims -> struct holder */
    bt_span span;   /* of what has the type at hand, for errors about it */
    const bt_module *declared; /* the next version, when its globals are declared */
};

/* What a type becomes. state: struct shadows. */
bt_status shadow_type(void *state, const bt_type *, const bt_type **out) BT_MUST_USE;

#endif
