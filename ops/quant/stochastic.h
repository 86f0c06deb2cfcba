/* Rounding by chance that is the same everywhere: up as often as the number is near the upper
 * whole one. */
#ifndef OPS_QUANT_STOCHASTIC_H
#define OPS_QUANT_STOCHASTIC_H

#include <baton/op.h>

#define STOCHASTIC_DOC "; STOCHASTIC: floor(q + u), u by key"
/* The stage v: floor of it is the stage q rounded, for elements i0, i1, ... of data. */
void write_stochastic(bt_formula *, const bt_type *data, int64_t key);

#endif
