/*
 * Unroll and jam: of a loop around a sum of products, a few iterations are computed at a
 * time, each with sums of its own, so that what they have in common is read and compared
 * once. No sum gets another order.
 *
 *     for i0 in 8 {                       for (i0 = 0; i0 < 8; i0 += 4) {
 *         t = 0                               t = 0; t_1 = 0; t_2 = 0; t_3 = 0;
 *         for i1 in 9 {               ->      for (i1 = 0; i1 < 9; i1++) {
 *             t += a[9*i0 + i1]*b[i1]             t = t + a[9 * i0 + i1] * b[i1];
 *         }                                       t_1 = t_1 + a[9 * (i0 + 1) + i1] * b[i1];
 *         s[i0] = t                               ...
 *     }
 */
#ifndef C_JAM_H
#define C_JAM_H

#include <baton/loops.h>

enum { C_JAM_LEVELS = 2, C_JAM_MOST = 8 }; /* loops inside of each other; iterations */

struct c_jam {
    const bt_stmt *loop;
    uint32_t times;      /* iterations at a time, a divisor of the extent */
    uint8_t *is_private; /* by buffer: a local that each iteration has for itself */
};
typedef bt_vec(struct c_jam) c_jams;

/* The loops for which it pays, at most C_JAM_LEVELS in each nest, outer ones first. `most`:
 * iterations at a time; 1: none. */
bt_status c_jams_find(bt_loops *, uint32_t most, c_jams *out) BT_MUST_USE;
/* That of a loop; NULL: it has none. */
const struct c_jam *c_jam_of(const c_jams *, const bt_stmt *loop);

#endif
