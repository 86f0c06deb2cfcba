/* The numbers of a float type: how far apart they are, and what is next to one. */
#ifndef OPS_RANDOM_RANGE_H
#define OPS_RANDOM_RANGE_H

#include <baton/op.h>

/* x as a number of the type, the nearest; infinite beyond its range. */
double range_rounded(bt_dtype, double x);
/* The greatest number of the type below x, a finite number of it. */
double range_below(bt_dtype, double x);
/* The distance from x to the next number of the type away from 0. */
double range_step(bt_dtype, double x);

#endif
