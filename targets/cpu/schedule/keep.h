/*
 * Updates in place: one slice of a tensor is computed, all else stays as it is.
 *     before   for i in 35 { for k in 256 {
 *                  out[256*i + k] = select(i == at, u[k], in[256*i + k]) } }
 *     after    if 0 <= at && at < 35 { for k in 256 { out[256*at + k] = u[k] } }
 *     before   for i in 400 { for k in 300 {
 *                  out[300*i + k] = in[300*i + k] + select(i == at, u[k], 0) } }
 *     after    if 0 <= at && at < 400 { for k in 300 {
 *                  out[300*at + k] = out[300*at + k] + u[k] } }
 * This is right where `out` holds what `in` holds before, see bt_kernel_alias.
 */
#ifndef CPU_KEEP_H
#define CPU_KEEP_H

#include <baton/loops.h>

/* An input that a result keeps what is not written of: the leaf of the parameters, and the
 * number of the result. */
struct cpu_kept {
    uint32_t in, out;
};
typedef bt_vec(struct cpu_kept) cpu_kept_list;

/* Scalar loops, before all else is done to them, of a primitive function. 0: no memory, or the
 * graph has failed. */
int cpu_keep(bt_loops *, const bt_func *primitive, cpu_kept_list *kept);

#endif
