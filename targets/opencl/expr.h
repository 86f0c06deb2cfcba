/*
 * Values as OpenCL C text: an operand is a word, a call, or stands in parentheses. A value is of one of
 * six types, by its dtype: bool and integers of at most 16 bits and int32 are int, which holds their
 * value; uint32, int64 and uint64 are uint, long and ulong; floats are float, or double where they are
 * float64. Of an int64 that is known to be short the text is of type int.
 */
#ifndef OPENCL_EXPR_H
#define OPENCL_EXPR_H

#include <baton/scalar.h>

struct ocl_exprs {
    bt_arena *arena; /* of the texts */
    int is_cpu; /* vectors are made of plain arithmetic, not of the device's functions */
    int failed; /* there was no memory: texts are "" */
};

struct ocl_operand {
    const char *text;
    bt_dtype dtype;
    int64_t low, high; /* of an integer: it is between these */
    int is_int;        /* of an int64: the text is of type int */
};

/* Text of a format. */
const char *ocl_form(struct ocl_exprs *, const char *format, ...) BT_PRINTF(2, 3);
/* Of a value: "int"; and of an element in memory: "char". */
const char *ocl_value_type(bt_dtype);
const char *ocl_element_type(const struct ocl_exprs *, bt_dtype);
/* Whether numbers between these are of type int. */
int ocl_is_int(int64_t low, int64_t high);
const char *ocl_integer(struct ocl_exprs *, int64_t, bt_dtype);
/* With as few digits as give the same number. */
const char *ocl_real(struct ocl_exprs *, double, bt_dtype);
/* Element `at` of an array, as a value; the statement that makes a value an element. */
const char *ocl_load_element(struct ocl_exprs *, bt_dtype, const char *array,
                             const char *at);
const char *ocl_store_element(struct ocl_exprs *, bt_dtype, const char *array,
                              const char *at, const char *value);
/* Row `which` of <baton/scalars.def>; b NULL: of one operand. */
struct ocl_operand ocl_scalar(struct ocl_exprs *, uint32_t which, bt_dtype dtype,
                              const struct ocl_operand *a, const struct ocl_operand *b);
const char *ocl_cast(struct ocl_exprs *, bt_dtype to, const struct ocl_operand *from);

#endif
