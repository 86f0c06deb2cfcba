/*
 * Values as C99 text: an operand is a word, a call, or stands in parentheses. Integers and
 * bool are int64_t, which holds the bits of a uint64; floats are double, or, in a text of
 * single precision, float where they are no float64.
 */
#ifndef C_EXPR_H
#define C_EXPR_H

#include <baton/scalar.h>

#include "functions.h"

struct c_exprs {
    bt_arena *arena; /* of the texts */
    struct c_functions *functions;
    int is_single;
    int failed; /* there was no memory: texts are "" */
};

struct c_operand {
    const char *text;
    bt_dtype dtype;
    int64_t low, high; /* of an integer: it is between these */
};

/* Text of a format. */
const char *c_form(struct c_exprs *, const char *format, ...) BT_PRINTF(2, 3);
const char *c_value_type(const struct c_exprs *, bt_dtype);
/* Of an element in memory. */
const char *c_element_type(bt_dtype);
const char *c_integer(struct c_exprs *, int64_t);
/* With as few digits as give the same number. */
const char *c_real(struct c_exprs *, double, bt_dtype);
/* The call of a function of floats.h that gives a double, as a value of the dtype. */
const char *c_call_of(struct c_exprs *, bt_dtype, const char *name, const char *a,
                      const char *b);
/* An element that is read, as a value; and back. */
const char *c_loaded(struct c_exprs *, bt_dtype, const char *element);
const char *c_stored(struct c_exprs *, bt_dtype, const char *value);
/* Row `which` of <baton/scalars.def>; b NULL: of one operand. `dtype`: of the result. */
const char *c_scalar(struct c_exprs *, uint32_t which, bt_dtype dtype,
                     const struct c_operand *a, const struct c_operand *b);
const char *c_cast(struct c_exprs *, bt_dtype to, const struct c_operand *from);
/* An integer that may have left the dtype, which wraps. */
const char *c_wrapped(struct c_exprs *, bt_dtype, const char *value);

/* |a|; the greatest |a| of a range; whether a product that is added to *sum stays within
 * C_BITS_SAFE bits. */
enum { C_BITS_SAFE = 62 };
uint64_t c_size_of(int64_t a);
uint64_t c_most(int64_t low, int64_t high);
int c_is_safe_product(uint64_t a, uint64_t b, uint64_t *sum);

#endif
