/* Chains of operator calls under construction: the first failure sticks and later calls
 * do nothing. */
#ifndef PASSES_COMMON_CHAIN_H
#define PASSES_COMMON_CHAIN_H

#include <baton/pass.h>

struct chain {
    bt_builder *builder;
    bt_status status;
};

/* NULL after a failure. attrs as text, NULL: defaults. */
const bt_value *chain_op1(struct chain *, const char *op, const char *attrs,
                          const bt_value *);
const bt_value *chain_op2(struct chain *, const char *op, const char *attrs,
                          const bt_value *, const bt_value *);
const bt_value *chain_scalar(struct chain *, bt_dtype, double);
/* attrs by format. */
const bt_value *chain_op1f(struct chain *, const bt_value *, const char *op,
                           const char *format, ...) BT_PRINTF(4, 5);
/* A vector that lies along axis `axis` of a tensor of rank `rank`, with axes of one
 * behind it, so that it broadcasts. */
const bt_value *chain_along(struct chain *, const bt_value *vector, uint32_t rank,
                            uint32_t axis);

/* Attributes of a call by name; `absent` where the operator has none of that name. */
/* An axis attribute, counted from the front. */
uint32_t call_axis(const bt_call *, const char *name, int64_t absent, uint32_t rank);
/* Rank of a row-major tensor's type; 0 for anything else, or where it is not known. */
uint32_t type_rank(const bt_type *);

/* The position of a letter in a layout of `rank` axes ("NCHW"); -1: there is none, or the
 * layout has blocks. */
int layout_axis(const char *layout, char letter, uint32_t rank);

/* Whether a constant has one number a channel: extent 1 on every axis but the channel's,
 * or one number in all. */
int is_per_channel(const bt_value *, uint32_t rank, uint32_t channel);

/* A slot for projections: a field of a tuple that is in sight is the field. */
bt_status rewrite_proj(bt_rewrite *, const bt_proj *, const bt_value **out);

/* Whether the body of a function may be copied to the place at hand: what the copy nests then
 * stays within half of limits.depth, and passes behind this one can nest more. */
bt_status rewrite_has_room(bt_rewrite *, bt_arena *, const bt_func *, int *out);

/* The value in a layout, NULL for row major: what it was transformed from, where that has
 * it, else a layout_transform. */
const bt_value *chain_layout(struct chain *, const bt_value *, const bt_layout *);
/* Whether two tensor types have one shape. */
int type_same_shape(const bt_type *, const bt_type *);
/* Operators that, where they go element by element, give the layout that they are given;
 * an operand that they broadcast may be row major. */
int op_keeps_layout(const bt_op *);
/* The operand of a layout_transform that changes the layout of a type; else NULL. */
const bt_value *laid_from(const bt_value *);

#endif
