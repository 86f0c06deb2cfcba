/* Scales and zero points, which are one for all elements, one for each of an axis, or one for
 * each block of an axis. */
#ifndef OPS_QUANT_SCALE_H
#define OPS_QUANT_SCALE_H

#include <baton/op.h>

/* Where the scales of an operand lie on it. */
struct along {
    const char *attr; /* the attribute that names the axis */
    int64_t axis;     /* as it states it */
    int64_t block;    /* elements of the axis with one scale; 0: one each */
};

/* Argument `index`, a scale or zero point of `data`: a scalar, a vector along the axis, or
 * of the shape of data (along the axis: one for each block). */
bt_status scale_relate(bt_solver *, const bt_relation_call *, uint32_t index,
                       const bt_tensor_parts *data, const struct along *) BT_MUST_USE;
/* The axes of data, of that rank, along which it lies; bit k is axis k. */
uint32_t scale_axes(bt_formula *, const bt_type *scale, uint32_t rank,
                    const struct along *);
/* The list of the indices at which it is read for the element i0, i1, ... of data. */
void scale_at(bt_formula *, const char *list, const bt_type *scale, uint32_t rank,
              const struct along *);
/* Two lists of the axes in a set: items "i0 in extent(ARRAY, 0)" and items "i0". */
void scale_lists(bt_formula *, const char *list, const char *indices, const char *array,
                 uint32_t axes, uint32_t rank);

/* What a scale is, for docs of inputs. */
#define SCALE_DOC "size of a quantization step"

#endif
