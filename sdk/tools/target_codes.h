/* Layers on codes of 8 bits, for targets that take no others. */
#ifndef TARGET_CODES_H
#define TARGET_CODES_H

#include <baton/compiled.h>

#include "rule_program.h"

/* A small network as quantized models have them: convolutions, sums, pools and a dense layer,
 * each between qnn.dequantize and qnn.quantize; every second one has scales that are powers of
 * two. What is drawn follows from the seed. */
bt_status target_codes_draw(bt_arena *, uint64_t seed,
                            struct rule_program *out) BT_MUST_USE;
/* Its typed module as the default pipeline leaves it, which computes on codes and lays tensors
 * out as the targets want. */
bt_status target_codes_read(bt_ctx *, const char *text, const bt_targets *,
                            bt_module **out) BT_MUST_USE;

#endif
