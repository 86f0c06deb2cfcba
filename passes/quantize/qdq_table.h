/* Functions of one value of few codes, as tables of all of them. */
#ifndef PASSES_QUANTIZE_QDQ_TABLE_H
#define PASSES_QUANTIZE_QDQ_TABLE_H

#include "quantize/qdq_region.h"

/* A call of the old program, and those before it back to one dequantized value of at most 8
 * bits: its codes in a table, by what the reference evaluator gives for all codes of that
 * value. *out NULL: it is no such function. */
bt_status qdq_table(struct qdq_region *, const bt_call *,
                    const bt_value **out) BT_MUST_USE;

#endif
