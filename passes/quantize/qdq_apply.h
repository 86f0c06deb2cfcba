/* Sums, products and means on codes. */
#ifndef PASSES_QUANTIZE_QDQ_APPLY_H
#define PASSES_QUANTIZE_QDQ_APPLY_H

#include "quantize/qdq_region.h"

/* A call of the old program in codes of the region: by its law, or by the operator of dialect
 * qnn of its name. *out NULL: it stays in float. */
bt_status qdq_apply(struct qdq_region *, const bt_call *, const struct law *,
                    const bt_value **out) BT_MUST_USE;

#endif
