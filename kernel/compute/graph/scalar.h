/* Scalar operators as the evaluator needs them, besides <baton/scalar.h>. */
#ifndef COMPUTE_GRAPH_SCALAR_H
#define COMPUTE_GRAPH_SCALAR_H

#include <baton/graph.h>
#include <baton/scalar.h>

/* One operation on `n` elements; an operand with step 0 is one value for all. */
typedef void bt__strip_fn(uint32_t n, bt_cell *out, const bt_cell *a, uint32_t a_step,
                          const bt_cell *b, uint32_t b_step);

struct bt__scalar {
    const char *name;
    uint32_t narg;
    uint32_t classes; /* accepted: BT_CLASS_BITS_... */
    uint32_t is_test; /* the result is bool */
    uint32_t commutes, wraps, has_poles;
    double ulp;
    const char *derivative; /* by each argument, as text; "": zero */
    bt__strip_fn *on_floats, *on_ints, *on_uint64s; /* NULL where not accepted */
};

const struct bt__scalar *bt__scalar_get(uint32_t which);
int bt__scalar_find(const char *name); /* -1: none */
bt__strip_fn *bt__scalar_strip(uint32_t which, bt_dtype operands);

/* ---- dtypes ---- */

static inline int bt__dtype_is_integer(bt_dtype d)
{
    return BT_DTYPE_CLASS(d) == BT_CLASS_INT || BT_DTYPE_CLASS(d) == BT_CLASS_UINT;
}
/* Least and greatest value; of uint64 as int64 bits: see is_uint64. */
int64_t bt__dtype_low(bt_dtype);
int64_t bt__dtype_high(bt_dtype);
/* The int64 that holds the low bits of `value` as the dtype does. */
int64_t bt__int_wrap(int64_t value, bt_dtype);
double bt__float_round(double value, bt_dtype);

#endif
