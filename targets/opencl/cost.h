/* How long a function takes on a device. */
#ifndef OPENCL_COST_H
#define OPENCL_COST_H

#include <baton/target.h>

/* An estimate from what the device says of itself: it tells which device is better where they
 * are far apart, and of the time little more than its order. Open dims: nothing is known. */
bt_status ocl_cost(bt_ctx *, void *instance, const bt_func *primitive,
                   bt_cost *out) BT_MUST_USE;

#endif
