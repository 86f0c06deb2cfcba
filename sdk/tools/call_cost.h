/* What a call costs, from its formula and the types of its arguments. */
#ifndef CALL_COST_H
#define CALL_COST_H

#include <baton/compute.h>

/* Multiply-adds. -1 where the extents are not all known, or no formula tells. */
bt_status call_cost(bt_ctx *, bt_arena *, const bt_call *, int64_t *out) BT_MUST_USE;
/* 1234567 as "1.23 M"; returns `out`. */
enum { SCALED_NBYTES = 32 };
const char *scaled(double value, char out[SCALED_NBYTES]);

#endif
