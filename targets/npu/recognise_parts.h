/* What the two halves of recognise.c share. */
#ifndef NPU_RECOGNISE_PARTS_H
#define NPU_RECOGNISE_PARTS_H

#include <baton/graph.h>

#include "recognise.h"

struct npu_reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_graph *graph;
    const bt_array *stage;
    const struct npu_config *config;
    struct npu_function *out;
    uint32_t is_shifted,
        is_clamped; /* the last step's scale: nothing is added to it now */
    /* Of the value that the steps so far give: bounds, all of int32 where it may have wrapped. */
    int64_t low, high;
    /* Not 0: what lies beyond plus and minus this bound was rounded to a float before it was
     * shifted, and agrees with the machine only once it is clamped at ... */
    int64_t bound;
    uint32_t lacks_min, lacks_max; /* ... these ends */
};

#define NPU_REFUSE(r, ...) bt_fail((r)->ctx, BT_ERR_UNSUPPORTED, __VA_ARGS__)

/* A node of int32 that is an int8 of an input less a number: int32(a0[...]) - 3. */
struct npu_factor {
    uint32_t array; /* an input */
    const bt_node *const *args;
    int64_t zero;
};
/* 0: it is something else. */
int npu_as_factor(const struct npu_reader *, const bt_node *, struct npu_factor *out);

/* The sum, or the element, that steps begin with: kind, operands and window. */
bt_status npu_read_sum(struct npu_reader *, const bt_node *reduce) BT_MUST_USE;
/* An operand of the result's shape, or with its channels alone: where it has which axis. */
bt_status npu_read_operand(struct npu_reader *, uint32_t array,
                           const bt_node *const *args,
                           struct npu_operand *out) BT_MUST_USE;
/* The first step has a scale: what the zero point adds to each sum is among its numbers. */
bt_status npu_begin_scale(struct npu_reader *) BT_MUST_USE;
bt_status npu_read_steps(struct npu_reader *, const bt_node *) BT_MUST_USE;

#endif
