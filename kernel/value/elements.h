/* Runs of elements in memory, read and written through the two wide types. */
#ifndef VALUE_ELEMENTS_H
#define VALUE_ELEMENTS_H

#include <baton/value.h>

/* Elements first, first + stride, ... from that at `at` on. An integer is read as int64_t,
 * uint64 as the int64_t of the same bits; a float read as an integer is cast, as is a
 * double written to an integer. Of a complex number it is the real part; the other one becomes 0. */
void bt__elements_to_double(bt_dtype, const void *at, int64_t first, int64_t stride,
                            int64_t n, double *out);
void bt__elements_to_int(bt_dtype, const void *at, int64_t first, int64_t stride,
                         int64_t n, int64_t *out);
/* To neighbours, from element `first` on. */
void bt__elements_from_double(bt_dtype, const double *from, int64_t n, void *at,
                              int64_t first);
/* `is_unsigned`: the integers are the bits of uint64. */
void bt__elements_from_int(bt_dtype, const int64_t *from, int is_unsigned, int64_t n,
                           void *at, int64_t first);
/* The bits of one element. */
uint64_t bt__element_bits(bt_dtype, const void *at, int64_t i);
/* The type of the parts of an element (bt_dtype_nparts): that of a complex number's; any other type
 * itself. Their numbers are read and written where such types are asked for. */
bt_dtype bt__dtype_part(bt_dtype);
/* Those of <baton/convert.h>, which are long, once for all of libbaton. */
float bt__half_to_float(uint16_t);
uint16_t bt__short_from_double(double, bt_dtype); /* float16 or bfloat16 */
uint8_t bt__float8_from_double(double, bt_dtype); /* one of 8 bits or fewer */
/* Copies elements of 1, 2, 4, 8 or 16 bytes to neighbours. */
void bt__elements_copy(size_t nbytes, const void *from, int64_t stride, int64_t n,
                       void *to);

#endif
