/*
 * The codes of a reshape's target shape, for relations, formulas and runs alike:
 *     k > 0   this extent                     -2  copy all axes that remain
 *     0       copy the axis at this place     -3  the product of the next two axes
 *     -1      what remains (once)             -4  split the next axis in the two that
 * follow; one of them may be -1
 */
#ifndef SHAPE_CODES_H
#define SHAPE_CODES_H

#include <baton/op.h>

enum {
    SHAPE_LITERAL, /* the extent that code `at` states */
    SHAPE_COPY,    /* of axis `axis` */
    SHAPE_PRODUCT, /* of axes `axis` and `axis` + 1 */
    SHAPE_SPLIT, /* the extent that code `at` states; together with its neighbour, axis */
    SHAPE_QUOTIENT, /* of axis `axis` by the extent that code `at` states */
    SHAPE_REST      /* what makes the elements as many as before */
};
typedef struct shape_part {
    uint32_t kind, axis, at;
} shape_part;
typedef struct shape_parts {
    uint32_t n;
    shape_part at[BT_MAX_RANK];
    /* axes accounted for by parts other than LITERAL, REST */
    uint8_t is_used[BT_MAX_RANK];
} shape_parts;

/* Any code above 0 is an extent, known or not. Returns NULL, or what is wrong. */
const char *shape_resolve(int64_t ncode, const int64_t *codes, uint32_t rank,
                          int allow_zero, shape_parts *out);

#endif
