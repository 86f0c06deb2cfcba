#ifndef PLAIN_SHAPE_CODES_H
#define PLAIN_SHAPE_CODES_H

#include "elements.h"

/* What the codes of a target shape come to. A code k > 0 is an extent, 0 copies the axis at
 * its place, -1 is what remains, -2 copies all axes left, -3 is the product of the next two,
 * -4 splits the next in the two extents behind it, one of which may be -1, -5 is the extent 0,
 * which a dim is whose value is known by now. is_used: axes accounted for by parts other than
 * LITERAL, REST. */
enum {
    SHAPE_LITERAL, /* the extent that code `at` states */
    SHAPE_NOTHING, /* the extent 0 */
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
    shape_part at[BT_PLAIN_RANK];
    uint8_t is_used[BT_PLAIN_RANK];
} shape_parts;
/* Of newshape, texts in shape_faults. */
enum {
    SHAPE_FAULT_RANK = 1, /* more dims than a shape may have */
    SHAPE_FAULT_COPY,     /* an axis that data lacks */
    SHAPE_FAULT_SPLIT,    /* likewise */
    SHAPE_FAULT_SPLIT_END,
    SHAPE_FAULT_SPLIT_CODES,
    SHAPE_FAULT_RESTS,
    SHAPE_FAULT_JOIN, /* an axis that data lacks */
    SHAPE_FAULT_CODE,
    SHAPE_FAULT_OVERFLOW,
    SHAPE_FAULT_REST, /* of no elements */
    SHAPE_FAULT_NELEM,
    SHAPE_FAULT_TYPE
};
/* Adds a part. As all functions here that give a number, it gives 0, or that of a fault. */
static inline int32_t plain_shape_add(shape_parts *parts, uint32_t kind, uint32_t axis,
                                      int64_t at)
{
    if (parts->n == BT_PLAIN_RANK)
        return SHAPE_FAULT_RANK;
    parts->at[parts->n].kind = kind;
    parts->at[parts->n].axis = axis;
    parts->at[parts->n++].at = (uint32_t)at;
    return 0;
}

/* Code -4 and the two behind it: a -1 is the axis divided by its neighbour. */
static inline int32_t plain_shape_split(shape_parts *parts, int64_t n,
                                        const int64_t *codes, int64_t at, uint32_t axis)
{
    int32_t fault;
    int64_t k;
    if (at + 2 >= n)
        return SHAPE_FAULT_SPLIT_END;
    if ((codes[at + 1] <= 0 && codes[at + 1] != -1) ||
        (codes[at + 2] <= 0 && codes[at + 2] != -1) ||
        (codes[at + 1] == -1 && codes[at + 2] == -1))
        return SHAPE_FAULT_SPLIT_CODES;
    parts->is_used[axis] = 1;
    for (k = at + 1; k <= at + 2; k++) {
        fault = codes[k] == -1
                    ? plain_shape_add(parts, SHAPE_QUOTIENT, axis, 2 * at + 3 - k)
                    : plain_shape_add(parts, SHAPE_SPLIT, axis, k);
        if (fault)
            return fault;
    }
    return 0;
}

/* A code that copies, joins or splits axes from one on, whose number it moves. */
static inline int32_t plain_shape_axes(shape_parts *parts, int64_t n,
                                       const int64_t *codes, int64_t at, uint32_t rank,
                                       uint32_t *axis)
{
    const int64_t code = codes[at];
    int32_t fault = 0;
    if (code == -3) {
        if (*axis + 1 >= rank)
            return SHAPE_FAULT_JOIN;
        parts->is_used[*axis] = parts->is_used[*axis + 1] = 1;
        *axis += 2;
        return plain_shape_add(parts, SHAPE_PRODUCT, *axis - 2, at);
    }
    if (*axis >= rank && code != -2)
        return code == -4 ? SHAPE_FAULT_SPLIT : SHAPE_FAULT_COPY;
    if (code == -4)
        return plain_shape_split(parts, n, codes, at, (*axis)++);
    while (*axis < rank && !fault) {
        parts->is_used[*axis] = 1;
        fault = plain_shape_add(parts, SHAPE_COPY, (*axis)++, at);
        if (code == 0)
            break;
    }
    return fault;
}

/* What n codes come to for data of a rank. */
static inline int32_t plain_shape_resolve(int64_t n, const int64_t *codes, uint32_t rank,
                                          int allow_zero, shape_parts *parts)
{
    uint32_t axis = 0, nrest = 0;
    int64_t i;
    int32_t fault = 0;
    parts->n = 0;
    for (axis = 0; axis < BT_PLAIN_RANK; axis++)
        parts->is_used[axis] = 0;
    axis = 0;
    for (i = 0; i < n && !fault; i++) {
        if (codes[i] < -5)
            return SHAPE_FAULT_CODE;
        if ((codes[i] < -1 && codes[i] != -5) || (codes[i] == 0 && !allow_zero)) {
            fault = plain_shape_axes(parts, n, codes, i, rank, &axis);
            i += codes[i] == -4 ? 2 : 0;
            continue;
        }
        if (codes[i] == -1 && nrest++)
            return SHAPE_FAULT_RESTS;
        axis += axis < rank;
        fault = plain_shape_add(parts,
                                codes[i] == -1   ? SHAPE_REST
                                : codes[i] == -5 ? SHAPE_NOTHING
                                                 : SHAPE_LITERAL,
                                0, i);
    }
    return fault;
}

#endif
