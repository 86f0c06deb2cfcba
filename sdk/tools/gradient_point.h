/* Points at which derivatives are looked at. */
#ifndef GRADIENT_POINT_H
#define GRADIENT_POINT_H

#include "gradient.h"

typedef struct gradient_vectors {
    bt_tensor *at[CASE_MAX_LEAF]; /* NULL: zero, or nothing */
} gradient_vectors;
void gradient_drop(gradient_vectors *);
/* A random number of -1..1 in each element of tensors like those that are flagged. */
bt_status gradient_random_like(bt_ctx *, uint32_t n, const uint8_t *flags,
                               const gradient_vectors *like, uint64_t seed,
                               gradient_vectors *out) BT_MUST_USE;

struct gradient_point {
    gradient_vectors x, y; /* arguments, results */
    gradient_vectors v, u; /* random adjoints of these, tangents of those */
    bt_status why;         /* the call failed there; NULL: it did not */
    int is_finite;         /* the results are, or there are no arguments */
};
/* The next of several random ones. */
bt_status gradient_draw(struct gradient *, uint64_t number,
                        struct gradient_point *out) BT_MUST_USE;
void gradient_leave(struct gradient_point *);

/* The case with another dtype for floats, in attributes too. */
bt_status gradient_with_dtype(struct op_check *, const struct call_case *, bt_dtype,
                              struct call_case *out) BT_MUST_USE;

#endif
