/* Numbers in text, independent of the process's locale and exact: what is written reads
 * back as the same value. */
#ifndef VALUE_DECIMAL_H
#define VALUE_DECIMAL_H

#include <baton/value.h>

/* A binary floating format: bits of significand with the leading one, least exponent of a
 * normal value, greatest value. */
typedef struct bt__float_format {
    int precision, min_exponent;
    double most;
} bt__float_format;

/* Of a float type with storage; float64's for anything else. */
bt__float_format bt__float_format_of(bt_dtype);

/* Digits, with fraction and exponent, as lexed: correctly rounded, ties to even; infinity
 * where the format ends. */
double bt__float_read(const char *digits, size_t nbytes, bt__float_format);
/* The shortest text that reads back: -1.5, 1e-05, inf, nan. */
void bt__float_write(bt_text *, double, bt__float_format);

/* What stands behind a number to say its type: f, i64, bf16; nothing for int32 and bool. */
const char *bt__suffix_of(bt_dtype);
/* 0: no type has this suffix. */
bt_dtype bt__suffix_read(const char *suffix, size_t nbytes);

/* One element at a row-major position: such a float, an integer, True or False. */
void bt__element_write(bt_text *, const bt_tensor *, int64_t position);

/* 1 and the value of a run of decimal digits, or 0 when it is beyond uint64. */
int bt__int_read(const char *digits, size_t nbytes, uint64_t *out);

#endif
