/* Work that a graph takes. */
#ifndef COMPUTE_COST_H
#define COMPUTE_COST_H

#include "compute/graph.h"

/* Multiply-adds: points of reductions, and elements of stages that compute without one.
 * INT64_MAX when there are more. */
int64_t bt__graph_cost(const bt__graph *);

#endif
