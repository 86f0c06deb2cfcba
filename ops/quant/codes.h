/* Codes: whole numbers that are rounded and limited to an integer type. */
#ifndef OPS_QUANT_CODES_H
#define OPS_QUANT_CODES_H

#include <baton/op.h>

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
void write_saturated(bt_formula *, const char *whole, const char *zero, bt_dtype dtype);

#endif
