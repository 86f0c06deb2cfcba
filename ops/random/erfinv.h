/* The inverse of the error function in index notation. */
#ifndef OPS_RANDOM_ERFINV_H
#define OPS_RANDOM_ERFINV_H

#include <baton/op.h>

/* Stage `erfinv`: the inverse error function of stage `x`, which lies between -1 and 1; both are
 * float64 or float32. */
void erfinv_write(bt_formula *, int is_double);

#endif
