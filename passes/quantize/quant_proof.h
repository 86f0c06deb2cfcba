/* How large sums of products of codes can be: the proof that an accumulator holds them. */
#ifndef PASSES_QUANTIZE_QUANT_PROOF_H
#define PASSES_QUANTIZE_QUANT_PROOF_H

#include <baton/pass.h>

/* The sums of a product, one for each channel: of (x - zero of x) * (w - zero of w). */
struct proof {
    const bt_tensor *weight; /* codes */
    const bt_tensor *zero;   /* of them: one, or one for each channel */
    uint32_t axis;           /* of the weight: its channels */
    int64_t low, high;       /* of x - zero of x; 0 is among them */
};

/* A part of the weight's elements: of each axis begin..end-1. */
struct proof_box {
    int64_t begin[BT_MAX_RANK], end[BT_MAX_RANK];
};

void proof_all(const struct proof *, struct proof_box *out);
/* Adds to low[channel] and high[channel] how small and how large the terms of a part can make
 * the sum, in any order and of any of these terms. */
void proof_add(const struct proof *, const struct proof_box *, int64_t *low,
               int64_t *high);
/* Whether sums from low to high, more by `more` either way, are numbers of so many bits. */
int proof_fits(int64_t low, int64_t high, int64_t more, uint32_t bits);

#endif
