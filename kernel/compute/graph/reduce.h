/* Reducers: how an accumulator starts, takes elements and ends. */
#ifndef COMPUTE_GRAPH_REDUCE_H
#define COMPUTE_GRAPH_REDUCE_H

#include "compute/graph/scalar.h"

/* `n` elements, the i-th with position `at + i * at_step`, go to the accumulators
 * acc[i * acc_step] and acc2[i * acc_step]; acc_step 0: all to one. Elements with
 * value_step 0 are one value for all. */
typedef void bt__take_fn(uint32_t n, bt_cell *acc, bt_cell *acc2, uint32_t acc_step,
                         const bt_cell *value, uint32_t value_step, int64_t at,
                         int64_t at_step);

struct bt__reducer {
    const char *name;
    uint32_t classes;
    uint32_t nstate;
    uint32_t result;        /* BT__RESULT_... */
    const char *derivative; /* by an element, as text; "": zero */
};
enum { BT__RESULT_SAME, BT__RESULT_INT64, BT__RESULT_BOOL };

const struct bt__reducer *bt__reducer_get(uint32_t which);
int bt__reducer_find(const char *name); /* -1: none */
bt__take_fn *bt__reducer_take(uint32_t which, bt_dtype of);
/* What each value of an accumulator starts as. */
bt_cell bt__reducer_start(uint32_t which, bt_dtype of, uint32_t state);
/* The result, from an accumulator. */
bt_cell bt__reducer_end(uint32_t which, bt_dtype of, bt_cell acc, bt_cell acc2);

#endif
