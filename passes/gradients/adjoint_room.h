/* Types in a module in which cells have room for the adjoints of their contents. */
#ifndef PASSES_GRADIENTS_ADJOINT_ROOM_H
#define PASSES_GRADIENTS_ADJOINT_ROOM_H

#include "gradients/adjoint_cells.h"

struct room {
    struct differentiation *diff;
    const char *entry;
    bt_map types;   /* -> what they become */
    bt_map names;   /* of globals whose types change -> those of their copies */
    bt_map holders; /* data types, or instances with `?` for dims -> struct holder */
    bt_span span;   /* of what has the type at hand, for errors about it */
    const bt_module *declared; /* the next version, when its globals are declared */
};

/* What a type becomes. state: struct room. */
bt_status room_type(void *state, const bt_type *, const bt_type **out) BT_MUST_USE;

#endif
