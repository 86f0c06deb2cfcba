/*
 * Views: what a stage looks like to fusion, microkernels and cost, computed from its
 * graph.
 *
 *     map          no reduction; pointwise where each read is at the element's own place
 *                  (broadcast and transposition allowed)
 *     contraction  a sum of products of two reads; each index has a role:
 *                  batch in both reads and the result, m in the first and the result, n
 * in the second and the result, k in both and reduced window       a reduction of reads
 * along sliding windows row          a reduction of reads at the element's own place and
 * along the reduced indices
 *
 * A contraction may have windows too: that is a convolution. What surrounds the reduction
 * (a bias, an activation) is the epilogue, pointwise or there is no view.
 */
#ifndef COMPUTE_VIEW_H
#define COMPUTE_VIEW_H

#include "compute/graph.h"

enum { BT__VIEW_NONE, BT__VIEW_MAP, BT__VIEW_CONTRACTION, BT__VIEW_WINDOW, BT__VIEW_ROW };
enum { BT__VIEW_WINDOWS = 8 };

/* Axis `axis` of an array is read at stride * outer + dilation * inner + offset. */
struct bt__view_window {
    uint32_t array, axis;
    uint32_t outer, inner; /* an index of the stage, one of the reduction */
    int64_t stride, dilation, offset;
};

struct bt__view {
    uint32_t kind;         /* BT__VIEW_... */
    uint32_t is_pointwise; /* of a map */
    uint32_t has_epilogue;
    uint32_t is_guarded;    /* the reduction's condition keeps windows inside the array */
    const bt__node *reduce; /* NULL of a map */
    const bt__node *reads[2]; /* of a contraction */
    uint64_t batch, m, n, k;  /* of a contraction: sets of indices */
    uint32_t nwindow;
    struct bt__view_window windows[BT__VIEW_WINDOWS];
};

void bt__view_of(const bt__graph *, const struct bt__array *stage, struct bt__view *out);

#endif
