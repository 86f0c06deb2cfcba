/*
 * Powers of two, float8_e8m0fnu, by their codes. Casts are steps in float64, which are exact; what
 * is a denormal as another type is chosen, not computed, so that targets without denormals have it
 * too.
 */
#ifndef COMPUTE_COMPOSE_E8M0_H
#define COMPUTE_COMPOSE_E8M0_H

#include "compute/graph/graph.h"

/* The code, a uint8, of the power that is nearest to a number. */
const bt_node *bt__e8m0_code(bt_graph *, const bt_node *number);
/* What a code stands for, as a type that can be computed with. */
const bt_node *bt__e8m0_number(bt_graph *, bt_dtype to, const bt_node *code);

#endif
