/* The compute graph as text. */
#ifndef COMPUTE_GRAPH_PRINT_H
#define COMPUTE_GRAPH_PRINT_H

#include "compute/graph/graph.h"

/* A line for each stage, and one for its view. Names: a0, a1 ... inputs, s0 ... stages,
 * i0 ... axes, r0 ... indices of reductions. A read that is checked at run time has a `!`
 * behind its array. */
bt_status bt_graph_print(bt_ctx *, bt_graph *, bt_text *out) BT_MUST_USE;
/* An expression of loops (loops.h): buffers by their names, indices by number. */
void bt__node_print(bt_graph *, const bt_node *, bt_text *out);

#endif
