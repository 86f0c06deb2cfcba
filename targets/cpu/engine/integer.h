/*
 * Integer arithmetic of programs: the scalar operators of scalars.def on int64 cells, for
 * engines that compute indices and conditions.
 */
#ifndef CPU_INTEGER_H
#define CPU_INTEGER_H

#include <baton/graph.h>

/* Whether an operator of integers or bool can be computed: of floats none is. */
int cpu_integer_has(uint32_t scalar, bt_dtype);
/* Its value for arguments of this dtype, as a cell: sign or zero extended. Total, as
 * scalars.def says; `b` of an operator of one argument is ignored. One that leaves integers as
 * they are (BT_SCALAR_FLOOR) only narrows: what leaves the dtype wraps, and bool is whether the
 * value is not 0. */
int64_t cpu_integer_eval(uint32_t scalar, bt_dtype, int64_t a, int64_t b);

#endif
