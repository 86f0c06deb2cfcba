/*
 * The codes of a reshape's target shape, for relations, formulas and runs alike:
 *     k > 0   this extent                     -2  copy all axes that remain
 *     0       copy the axis at this place     -3  the product of the next two axes
 *     -1      what remains (once)             -4  split the next axis in the two that
 * follow; one of them may be -1
 *     -5      the extent 0, which a dim is whose value is known by now
 */
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
