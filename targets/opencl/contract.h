/* Sums of products by tiles. */
#ifndef OPENCL_CONTRACT_H
#define OPENCL_CONTRACT_H

#include "nest.h"

enum { OCL_DIMS = 8, OCL_LEAST_LANES = 4 };

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
 * A convolution is one too, whose A is its data: elements of different m and k are the same then. One
 * by channels has no n. Of other reductions, such as of pools, there is no B.
 */
typedef struct ocl_contraction {
    const bt_node *reduce;
    const bt_node *reads[2]; /* A, B; no B: NULL */
    bt_dtype dtype;          /* of the sum: float32 or int32 */
    ocl_dims batch, m, n, k; /* k: the innermost last */
    int64_t a_at, b_at;      /* the elements at indices 0 */
    uint32_t is_guarded;     /* elements of A beyond its ends do not count */
    uint32_t is_copied; /* A is read from a copy, which has what does not count there */
    ocl_margin margins[BT_MAX_RANK];
    uint32_t sums; /* an array that stands for them in the stage's body */
} ocl_contraction;

/* How many there are together. */
int64_t ocl_dims_size(const ocl_dims *);
/* *launch: what makes its launches; NULL: it is none, or none that is made so. Of one, the stage's
 * body reads `sums`. */
typedef bt_status ocl_contract_fn(struct ocl_maker *, uint32_t stage,
                                  const ocl_contraction *);
bt_status ocl_contraction_of(struct ocl_maker *, uint32_t stage, ocl_contraction *out,
                             ocl_contract_fn **launch) BT_MUST_USE;
/* By tiles; by lanes along the last axis; by a library. */
ocl_contract_fn ocl_contract_tiles, ocl_contract_lines, ocl_contract_product;
/* Whether a library computes it. */
int ocl_is_product(const struct ocl_maker *, const bt_array *stage,
                   const ocl_contraction *);

/* ---- texts ---- */

struct ocl_tile {
    struct ocl_maker *maker;
    const ocl_contraction *c;
    bt_loops *loops;
    uint32_t a, b, panels, copy; /* buffers */
    uint32_t pack;               /* 1 and more: the panels are this pack */
    uint32_t lanes, rows, width;
    int64_t nbatch, m, n, k, npanel;
};

/* Columns of a panel where groups of work-items have it; then tiles are made by groups. */
enum { OCL_GROUP_WIDTH = 64 };
bt_status ocl_tile_groups(struct ocl_tile *) BT_MUST_USE;

/* Elements behind a copy that may be read. */
enum { OCL_SLACK = 32 };

bt_status ocl_tile_begin(struct ocl_tile *, struct ocl_writer *,
                         bt_text *body) BT_MUST_USE;
/* `items` work-items, groups of `local` of them, beside `more` and `last`. */
bt_status ocl_tile_end(struct ocl_tile *, struct ocl_writer *, bt_text *body,
                       int64_t items, int64_t more, int64_t last,
                       int64_t local) BT_MUST_USE;
/* "int": of a sum. */
const char *ocl_tile_type(const struct ocl_tile *);
const char *ocl_tile_name(const struct ocl_tile *, uint32_t buffer);
/* "const int i3 = rest % n4;" and so on: indices from a number below their product, in variable
 * `from`, which is used up. */
void ocl_tile_digits(struct ocl_writer *, const ocl_dims *, const char *from);
/* "at + n1 * i2 + i3" of A, or of B. */
const char *ocl_tile_offset(struct ocl_writer *, const ocl_dims *, int is_b,
                            const char *at);
const char *ocl_tile_element(struct ocl_writer *, const struct ocl_tile *,
                             uint32_t buffer, const char *at);
/* The loops over the terms, j0 ..., which are open then; k0 ... in A, `more` with the last. */
void ocl_tile_terms(struct ocl_writer *, const struct ocl_tile *, const char *more);
void ocl_tile_close(struct ocl_writer *, uint32_t nbrace);
/* "sum += a * TERM", where A is read inside its ends, in the loops over the terms. */
void ocl_tile_careful(struct ocl_writer *, const struct ocl_tile *, const char *term);
/* The buffer of the copy, and the kernel that makes it. */
bt_status ocl_tile_add_copy(struct ocl_tile *) BT_MUST_USE;
bt_status ocl_tile_copy(struct ocl_tile *) BT_MUST_USE;
/* What is made of a sum, in variable `sum`, by the indices. */
bt_status ocl_tile_store(struct ocl_writer *, const struct ocl_tile *) BT_MUST_USE;

#endif
