/* Numbers as text. */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include <baton/value.h>

/* The shortest decimal that reads back as the same value of this float type: "1", "0.1",
 * "1e-08", "inf", "-inf", "nan"; in every locale. */
void bt__text_add_float(bt_text *, bt_dtype, double);

/* One element: a float as above, an integer, "True" or "False". */
void bt__text_add_element(bt_text *, const bt_tensor *, int64_t position);

#endif
