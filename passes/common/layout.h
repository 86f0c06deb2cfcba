/* Axes and layouts: which axis is which, and where a layout may go. */
#ifndef PASSES_COMMON_LAYOUT_H
#define PASSES_COMMON_LAYOUT_H

#include "common/chain.h"

/* An axis attribute, counted from the front; `absent` where the operator has none of that
 * name. */
uint32_t call_axis(const bt_call *, const char *name, int64_t absent, uint32_t rank);
/* Rank of a row-major tensor's type; 0 for anything else, or where it is not known. */
uint32_t type_rank(const bt_type *);
/* Whether two tensor types have one shape. */
int type_same_shape(const bt_type *, const bt_type *);

/* The position of a letter in a layout of `rank` axes ("NCHW"); -1: there is none, or the
 * layout has blocks. */
int layout_axis(const char *layout, char letter, uint32_t rank);
/* Whether a constant has one number a channel: extent 1 on every axis but the channel's,
 * or one number in all. */
int is_per_channel(const bt_value *, uint32_t rank, uint32_t channel);

/* Operators that, where they go element by element, give the layout that they are given;
 * an operand that they broadcast may be row major. */
int op_keeps_layout(const bt_op *);
/* The operand of a layout_transform that changes the layout of a type; else NULL. */
const bt_value *laid_from(const bt_value *);
/* The value in a layout, NULL for row major: what it was transformed from, where that has
 * it, else a layout_transform. */
const bt_value *chain_layout(struct chain *, const bt_value *, const bt_layout *);

#endif
