/* The compute graph of one call, by itself. */
#ifndef PASSES_QUANTIZE_QUANT_LAW_GRAPH_H
#define PASSES_QUANTIZE_QUANT_LAW_GRAPH_H

#include <baton/graph.h>
#include <baton/pass.h>

/* Its inputs are the tensors of the call's arguments, fields of tuples one by one. *out NULL:
 * the call has checks, or effects but that it may fail, or a formula that is not to be seen. */
bt_status law_graph(bt_ctx *, bt_store *, bt_arena *, const bt_module *, const bt_call *,
                    bt_graph **out) BT_MUST_USE;

#endif
