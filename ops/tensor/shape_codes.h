/* The codes of a reshape's target shape, which plain/shape_codes.h lists: for relations,
 * formulas and runs alike. */
#ifndef SHAPE_CODES_H
#define SHAPE_CODES_H

#include "plain/shape_codes.h"

#include <baton/op.h>

/* Any code above 0 is an extent, known or not. Returns NULL, or what is wrong. */
const char *shape_resolve(int64_t ncode, const int64_t *codes, uint32_t rank,
                          int allow_zero, shape_parts *out);
/* Texts of faults, by their numbers; those of dyn.reshape. */
extern const char *const shape_faults[];

#endif
