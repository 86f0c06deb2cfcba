/* Of what moments are taken, to weigh what weights lose by: what they are multiplied with. */
#ifndef PASSES_QUANTIZE_QUANT_MOMENTS_H
#define PASSES_QUANTIZE_QUANT_MOMENTS_H

#include <baton/pass.h>

/* The other operand of the only product that takes a weight's site: the sum runs along an axis
 * of both. */
struct moments {
    const bt_value *data; /* NULL: several products take the site */
    uint32_t data_axis, weight_axis;
    int64_t n; /* elements of either */
};

/* Of a block, by sites of constants: bt_value * -> struct moments *. */
bt_status moments_find(bt_ctx *, bt_arena *, const bt_module *, const bt_block *,
                       bt_map *out) BT_MUST_USE;

#endif
