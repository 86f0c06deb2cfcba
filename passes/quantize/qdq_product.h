/* Sums of products of codes. */
#ifndef PASSES_QUANTIZE_QDQ_PRODUCT_H
#define PASSES_QUANTIZE_QDQ_PRODUCT_H

#include "quantize/qdq_region.h"

/* Whether a call is one: products of one term each are, too, where the operator sums. */
bt_status qdq_is_product(struct qdq_region *, const bt_call *, const struct law *,
                         int *out) BT_MUST_USE;
/* A product in codes of the region, with what is added to it (NULL: nothing) along an axis of
 * the result; -1: one number. *out NULL: it stays in float. */
bt_status qdq_product(struct qdq_region *, const bt_call *, const struct law *,
                      const bt_value *bias, int32_t axis,
                      const bt_value **out) BT_MUST_USE;
/* A product of codes whose result is used as numbers: float32(sums) * (sx * sw), channel by
 * channel. *out NULL: it stays in float. */
bt_status qdq_product_numbers(struct qdq_region *, const bt_call *, const struct law *,
                              const bt_value **out) BT_MUST_USE;

#endif
