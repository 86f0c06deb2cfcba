/* Calls of operators as compute graphs, for what writes their elements one by one. */
#ifndef VM_EXPAND_H
#define VM_EXPAND_H

#include <baton/graph.h>

/* A function of this call alone, with parameters where arguments are no constants; both are
 * the caller's to hold, the block at zero. */
bt_status vm_call_wrap(bt_arena *, const bt_call *, bt_func *, bt_block *) BT_MUST_USE;
/* The nodes of a stage in order of creation, so that arguments come first. */
bt_status vm_nodes_order(bt_arena *, const bt_node *body, bt_nodes *out) BT_MUST_USE;

#endif
