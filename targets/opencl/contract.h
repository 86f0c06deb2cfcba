/* Sums of products by tiles. */
#ifndef OPENCL_CONTRACT_H
#define OPENCL_CONTRACT_H

#include "nest.h"

enum { OCL_DIMS = 8 };

/* An index, and how far its steps are in the two factors, in elements. */
typedef struct ocl_dim {
    uint32_t index;
    int64_t extent, a, b;
} ocl_dim;
typedef struct ocl_dims {
    uint32_t n;
    ocl_dim at[OCL_DIMS];
} ocl_dims;

/* An axis of A: where it is read, less than 0 and beyond its end too; `low` is the least, `extent`
 * are elements of the copy, which has zeros there. */
typedef struct ocl_margin {
    int64_t low, extent, size; /* size: of the array */
    const bt_node *place;
} ocl_margin;

/*
 * sum over k of A * B, where rows m are of A alone, columns n of B alone:
 *
 *     s[batch, m, n] = sum(k: a[batch, m, k] * b[batch, n, k])
 *
 * A convolution is one too, whose A is its data: elements of different m and k are the same then.
 */
typedef struct ocl_contraction {
    const bt_node *reduce;
    const bt_node *reads[2];  /* A, B */
    bt_dtype dtype;           /* of the sum: float32 or int32 */
    ocl_dims batch, m, n, k;  /* k: the innermost last */
    int64_t a_at, b_at;       /* the elements at indices 0 */
    uint32_t is_guarded;      /* elements of A beyond its ends count as none: it is copied */
    ocl_margin margins[BT_MAX_RANK];
    uint32_t sums; /* an array that stands for them: `place` of a stage's own */
} ocl_contraction;

/* How many there are together. */
int64_t ocl_dims_size(const ocl_dims *);
/* *is 0: it is none, or none that tiles serve. Of one, the stage's body reads `sums`. */
bt_status ocl_contraction_of(struct ocl_maker *, uint32_t stage, ocl_contraction *out,
                             int *is) BT_MUST_USE;
bt_status ocl_contract(struct ocl_maker *, uint32_t stage, const ocl_contraction *) BT_MUST_USE;

#endif
