/* What the parts of recognise.c share. */
#ifndef NPU_RECOGNISE_PARTS_H
#define NPU_RECOGNISE_PARTS_H

#include <baton/graph.h>
#include <baton/target.h>

#include "recognise.h"

/* A call of qnn.requantize, or of qnn.add. The graph is cut there: what it gives is an input, what
 * it takes a result, or two. */
struct npu_cut {
    const bt_call *call;
    uint32_t ndata;
    uint32_t input, data[2]; /* arrays */
};
enum { NPU_MAX_CUTS = 4 };

/* What qnn.requantize does to each number of its data. */
struct npu_qnn_requantize {
    int32_t zero, out_zero;
    uint32_t is_even;
    struct npu_ratio ratio;
    /* Parameters that have one for each place of `axis`: input_scale, output_scale; -1: they
     * are numbers, of the ratio. */
    int32_t vectors[2];
    int64_t axis;
};

/* Of qnn.add: ratios are of each operand's scale and the result's. */
struct npu_qnn_add {
    int32_t zeros[2], out_zero;
    float ratios[2];
};

struct npu_reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_func *func;        /* as it was given */
    const uint8_t *is_constant; /* of each parameter: it is one at every call */
    uint32_t ncut;
    struct npu_cut cuts[NPU_MAX_CUTS];
    uint32_t nvisit; /* nodes that were looked through for sums */
    const bt_graph *graph;
    const bt_array *stage;
    const struct npu_config *config;
    struct npu_function *out;
    uint32_t is_shifted,
        is_clamped; /* the last post-op's requantize: nothing is added to it now */
    /* Of the value that the post-ops so far give: bounds, all of int32 where it may have wrapped. */
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

/* The sum, or the element, that post-ops begin with: kind, operands and window. */
bt_status npu_read_sum(struct npu_reader *, const bt_node *reduce) BT_MUST_USE;
/* An operand of the result's shape, or with its channels alone: where it has which axis. */
bt_status npu_read_operand(struct npu_reader *, uint32_t array,
                           const bt_node *const *args,
                           struct npu_operand *out) BT_MUST_USE;
/* The first post-op requantizes: what the zero point adds to each sum is among its numbers. */
bt_status npu_begin_requantize(struct npu_reader *) BT_MUST_USE;
/* What an array is, from its sum on. */
bt_status npu_read_post_ops(struct npu_reader *, uint32_t array) BT_MUST_USE;

/* ---- qnn.requantize, qnn.add ---- */

/* The cut that gives an array; NULL: none does. */
const struct npu_cut *npu_cut_of(const struct npu_reader *, uint32_t array);
bt_status npu_read_requantize(struct npu_reader *, const bt_call *,
                              struct npu_qnn_requantize *out) BT_MUST_USE;
bt_status npu_read_add(struct npu_reader *, const bt_call *,
                       struct npu_qnn_add *out) BT_MUST_USE;
/* The factor, for values of the reader's range, into the terms of a requantize: numbers, or what they
 * are computed of. */
bt_status npu_take_ratio(struct npu_reader *, const struct npu_qnn_requantize *,
                         const struct npu_requantize *, struct npu_terms *) BT_MUST_USE;

#endif
