/* The blocks that a program is made of. */
#ifndef BATON_TOOLS_REACHED_H
#define BATON_TOOLS_REACHED_H

#include <baton/ir.h>

/* Those of every function that the entry reaches, each function once, and those nested in
 * them; in the arena. primitives: of primitive functions too, else not. */
bt_status reached_blocks(bt_ctx *, bt_arena *, const bt_module *, const bt_global *entry,
                         int primitives, bt_blocks *out) BT_MUST_USE;

#endif
