/* What operators on quantized numbers share: scales and zero points, which are one for all
 * elements, one for each of an axis, or one for each block of an axis; and codes, whole
 * numbers that are rounded and limited to an integer type. */
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

/* Types of codes, for inputs whose type the result has. */
#define CODES "int8|uint8|int16|uint16|int32|uint32"
/* An integer type of at most 32 bits, of which codes are; fails naming the attribute. */
bt_status codes_check_type(bt_solver *, const bt_relation_call *, const char *attr,
                           const bt_type *dtype) BT_MUST_USE;

/* The type in which codes without their zero point are exact: int32, of longer ones int64. */
const char *difference_type(bt_dtype codes);

/* How numbers become whole: attribute `rounding`, by Relay's words where it has one. */
#define ROUNDINGS "UPWARD|TONEAREST|TOEVEN|FLOOR|CEIL"
#define ROUNDING_DOC \
    "halves go UPWARD, away from zero (TONEAREST) or TOEVEN; FLOOR and CEIL: no nearest"
/* List `rounded`: `value`, of a float type, as one of them makes it whole. */
void list_rounded(bt_formula *, const char *rounding, const char *value);
/* The last stage, `y: dtype[$i]`: `value`, of a float type, rounded, plus the zero point, limited
 * to what the type holds. NaN gives the zero point. */
void write_codes(bt_formula *, const char *rounding, const char *type, const char *value,
                 const char *zero, bt_dtype dtype);
/* The same of whole numbers, an expression of type int64. */
void write_limited(bt_formula *, const char *whole, const char *zero, bt_dtype dtype);

#endif
