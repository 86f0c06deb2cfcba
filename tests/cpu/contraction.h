/* A contraction as the tests state one: a formula and its inputs. */
#ifndef CPU_CONTRACTION_H
#define CPU_CONTRACTION_H

#include "formula.h"

#include "compute/evaluate/compute.h"

struct input {
    const char *name, *type;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[6];
};

struct contraction {
    struct input inputs[4]; /* ended by one without a name */
    const char *text;
    uint32_t may_be_plain;  /* 1: need not come to tiles */
    uint8_t is_constant[4]; /* of inputs */
};

static inline bt_compute *make(struct world *w, struct formula *f, uint32_t n,
                               bt_tensor **in)
{
    bt_compute *compute;
    bt_op op = formula_op(f);
    assert_ok(w->ctx, formula_make(w, f, &op, n, in, &compute));
    return compute;
}

#endif
