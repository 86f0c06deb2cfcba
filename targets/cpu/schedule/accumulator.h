/* What floats are reduced in. */
#ifndef CPU_ACCUMULATOR_H
#define CPU_ACCUMULATOR_H

#include <baton/graph.h>

/* For bt_lower_options, with an arena: sums of products, as tiles do them; of few terms; of what data
 * address; what only compares, of which nothing is rounded. */
int cpu_is_narrow(void *arena, const bt_node *reduce);
/* Whether products of two things are summed. */
int cpu_sums_products(const bt_node *reduce);

#endif
