/* Chains of operator calls under construction: the first failure sticks and later calls
 * do nothing. */
#ifndef PASSES_COMMON_CHAIN_H
#define PASSES_COMMON_CHAIN_H

#include <baton/pass.h>

struct chain {
    bt_builder *builder;
    bt_status status;
};

/* NULL after a failure. attrs as text, NULL: defaults. */
const bt_value *chain_op1(struct chain *, const char *op, const char *attrs,
                          const bt_value *);
const bt_value *chain_op2(struct chain *, const char *op, const char *attrs,
                          const bt_value *, const bt_value *);
const bt_value *chain_scalar(struct chain *, bt_dtype, double);
/* attrs by format. */
const bt_value *chain_op1f(struct chain *, const bt_value *, const char *op,
                           const char *format, ...) BT_PRINTF(4, 5);
/* A vector that lies along axis `axis` of a tensor of rank `rank`, with axes of one
 * behind it, so that it broadcasts. */
const bt_value *chain_along(struct chain *, const bt_value *vector, uint32_t rank,
                            uint32_t axis);

#endif
