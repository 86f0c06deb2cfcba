/*
 * What a factor for each channel does to operators: which layers take it into their
 * weights, and what it passes through.
 */
#ifndef PASSES_SCALE_AXIS_H
#define PASSES_SCALE_AXIS_H

#include "chain.h"

/* A factor along an axis of a tensor. */
struct scale {
    const bt_value *vector; /* a new value, [n]; NULL while only asked for */
    int64_t n;              /* 1: one number for all, of any axis */
    uint32_t axis;
    int is_positive, is_nonzero; /* of all its numbers, which are finite */
};

/* The constant that a call multiplies by, as a factor of its first operand: the result
 * has the operand's type, the constant one number for each element of one axis. */
int scale_of(const bt_call *, struct scale *out);
/* With its vector. */
int scale_build(struct chain *, const bt_call *, struct scale *out);

/* A constant operand that lies along the factor's axis, or is one number. */
int scale_is_along(const struct scale *, const bt_value *constant, uint32_t rank);
/* The constant times the factor, or divided by it, so that it broadcasts to `rank`
 * axes. */
const bt_value *scale_constant(struct chain *, const char *op, const bt_value *constant,
                               const struct scale *, uint32_t rank);

/* Whether op(x * scale) = op(x) * scale, where x is its first operand. *axis: that of the
 * scale in x, in and out. */
int scale_passes(const bt_call *, const struct scale *);

/* Whether a layer can take a factor of its data (is_input) or of its result into its
 * weight, a constant. */
int scale_layer_takes(const bt_call *, const struct scale *, int is_input);
/* The weight times the factor. `weight` stands for that of the call. */
const bt_value *scale_weight(struct chain *, const bt_call *, const bt_value *weight,
                             const struct scale *, int is_input);

#endif
