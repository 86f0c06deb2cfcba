/*
 * Primitives by name: whatever a CALL of a program may name, of all families.
 *
 *     add.float32                    strips (strips.h)
 *     tile_f32_avx512, line_f32_avx512    contraction tiles, and lines (tile.h)
 *     row_f32_avx2.depthwise .max .sum    rows of windows (row.h), names and what they do
 *     pack.4                         panels (pack.h), by the bytes of an element
 *     halo.4                         planes with zeros around (halo.h), likewise
 */
#ifndef CPU_CALLEE_H
#define CPU_CALLEE_H

#include "isa.h"
#include "primitive.h"

struct cpu_callee {
    cpu_primitive *run;
    uint32_t naddress, ninteger; /* of p and n */
    uint32_t nwritten;           /* of p: the first of them, all others are only read */
};

/* Of the set `isa`, which the machine must run for it to be called. 0: there is none of
 * this name. */
int cpu_callee_find(enum cpu_isa isa, const char *name, struct cpu_callee *out);

#endif
