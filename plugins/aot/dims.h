/* Dims of a plan as C: numbers, or calls of functions that stay at INT64_MAX or -INT64_MAX
 * where a number would be beyond. */
#ifndef AOT_DIMS_H
#define AOT_DIMS_H

#include "plan.h"

/* An expression over the words of the entry's dims. */
bt_status dim_text(struct plan *, const bt_type *dim, bt_text *out) BT_MUST_USE;
/* The functions that such expressions may call: those that `body` does. */
void dim_functions(const bt_text *body, bt_text *out);
/* Whether one of them is called so. */
int dim_is_function(const char *word);

#endif
