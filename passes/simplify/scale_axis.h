/*
 * What a factor for each channel does to operators: which layers take it into their
 * weights, and what it passes through.
 */
#ifndef PASSES_SIMPLIFY_SCALE_AXIS_H
#define PASSES_SIMPLIFY_SCALE_AXIS_H

#include "common/chain.h"

/* A factor along an axis of a tensor. */
struct scale {
    const bt_value *vector; /* a new value, [n]; NULL while only asked for */
    int64_t n;              /* 1: one number for all, of any axis */
    uint32_t axis;
    int is_positive, is_nonzero; /* of all its numbers, which are finite */
    double most, least;          /* magnitudes, the least of those that are not 0 */
};

/* The constant that a call multiplies by, as a factor of its first operand: the result
 * has the operand's type, the constant one number for each element of one axis. */
int scale_of(const bt_call *, struct scale *out);
/* With its vector. */
int scale_build(struct chain *, const bt_call *, struct scale *out);

/* A constant operand that lies along the factor's axis, or is one number, and stays
 * finite when it is multiplied by the factor, or divided by it. */
int scale_is_along(const struct scale *, const bt_value *constant, uint32_t rank,
                   int divides);
/* Whether the product of two factors of a type has finite numbers alone. */
int scale_product_fits(const struct scale *, const struct scale *, const bt_type *);
/* The constant times the factor, or divided by it, so that it broadcasts to `rank`
 * axes. */
const bt_value *scale_constant(struct chain *, const char *op, const bt_value *constant,
                               const struct scale *, uint32_t rank);

/* Facets are asked for here. Where memory runs out the answer is no and `status` says
 * so: callers check it before they act on the answers. */
struct traits {
    bt_ctx *ctx;
    bt_status status;
};

/* By their facets "scale": whether op(x * scale) = op(x) * scale, where x is its first
 * operand; whether it is a sum, of which both operands take the factor. */
int scale_passes(struct traits *, const bt_call *, const struct scale *);
int scale_is_sum(struct traits *, const bt_call *);

/* Where the channels of a layer are: of the tensor that a factor lies along, of the
 * weight. */
struct channels {
    int axis, in, out;
    int64_t groups;
    int is_in_group; /* the weight's axis has the channels of one group */
};
/* By its facet "channels". is_input: of its data, else of its result. NULL: it is no
 * layer, or its layouts have blocks. */
const bt_channels_facet *layer_of(struct traits *, const bt_call *, int is_input,
                                  struct channels *out);

/* Whether a layer can take a factor of its data (is_input) or of its result into its
 * weight, a constant. */
int scale_layer_takes(struct traits *, const bt_call *, const struct scale *,
                      int is_input);
/* The weight times the factor. `weight` stands for that of the call. */
const bt_value *scale_weight(struct chain *, const bt_call *, const bt_value *weight,
                             const struct scale *, int is_input);

#endif
