/* Reads in the tree of a formula, found before the graph is built. */
#ifndef COMPUTE_FORMULA_READS_H
#define COMPUTE_FORMULA_READS_H

#include "compute/formula/ast.h"

struct bt__read_search {
    const char *index; /* reads that this index indexes alone; NULL: reads with `..` */
    uint32_t guarded;  /* 1: also those on the left of else and in sides of select */
    /* Argument `arg` of the read is the index, or `..`. */
    void (*meet)(struct bt__read_search *, const bt__ast *read, uint32_t arg);
    void *self;
};
void bt__reads_search(struct bt__read_search *, const bt__ast *);

/* Indices of the read besides `..`; *rest is the argument that is `..`, -1: none. */
uint32_t bt__read_nindex(const bt__ast *read, int *rest);
/* The axis of an array of `rank` axes that argument `arg` stands for. */
uint32_t bt__read_axis(const bt__ast *read, uint32_t arg, uint32_t rank);

/* Whether the operator's formula is there without a call's types, each of its arrays is `..`
 * throughout, and every read is at the element's own place: x[..]. attrs: the call's. */
bt_status bt__formula_is_pointwise(bt_ctx *, const bt_op *, const void *attrs,
                                   int *out) BT_MUST_USE;

#endif
