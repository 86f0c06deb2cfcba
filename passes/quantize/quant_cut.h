/* Sums of products of codes that are cut into parts, each of which int16 holds. */
#ifndef PASSES_QUANTIZE_QUANT_CUT_H
#define PASSES_QUANTIZE_QUANT_CUT_H

#include "quantize/quant_proof.h"

/* A product of codes, and what is known of it. */
struct sums {
    bt_rewrite *rewrite;
    bt_arena *arena;
    const bt_call *call; /* of the old program */
    const char *name;
    uint32_t nspace;
    /* Axes of the weight: its channels, those of the data, the window's. */
    int out, in, window[3];
    /* Of the data: its channels, and space. */
    int data_in, data_space[3];
    uint32_t naxis; /* axes along which it may be cut, in this order */
    uint32_t axes[4];
    int64_t groups; /* above 1: of each group one channel of the data is a part */
    struct proof proof;
    int64_t nchannel, most_bias;
    bt_vec(struct proof_box) parts;
};

/* Whether the proof holds of all terms together, for all channels: of 32 bits with the bias. */
bt_status cut_proves(const struct sums *, uint32_t bits, int *proved) BT_MUST_USE;
/* Adds to s->parts the box in as few as a walk along the axis s->axes[depth] gives; a step that
 * does not fit alone is cut along the next one. Fails beyond `most`. */
bt_status cut_box(struct sums *, uint32_t depth, struct proof_box,
                  int64_t most) BT_MUST_USE;
/* The sum of the parts, in int32. */
bt_status cut_build(struct sums *, const bt_value **out) BT_MUST_USE;

#endif
