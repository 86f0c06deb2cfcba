/*
 * Strips: the vector primitives of the CPU target. Generated code and plans run loops and
 * compute addresses; all arithmetic is done here, on dense runs of elements.
 *
 * p     addresses: the output, then the operands. Elements need no alignment. An operand
 *       of the output's width may be the output itself; nothing overlaps otherwise
 * n     n[0] the count of elements, >= 0, then the other integers a row takes
 * gives 0: none of them can fail, as indices and counts are the caller's to check
 *
 * What an element becomes depends on its operands alone, not on its place, the count or
 * the ISA: rows of one name give the same bits on all ISAs (which bits of a NaN they set
 * excepted). So no multiplication is contracted with an addition: `fma` rounds twice, as
 * `mul` and `add` do, and a fused chain gives the bits of an unfused one.
 *
 * Names. T is a dtype, W a width in bytes; bool is a byte of 0 or 1.
 *
 *     OP.T          every scalar operator of scalars.def it has for T: out, a[, b]
 *     OP.T.s        b is one element for all;  OP.T.r  a is
 *     cast.T.U      from T to U
 *     select.T      out, mask (bool), a, b
 *     fma.T[.s]     out = a * b + c, of floats: out, a, b, c; .s: b is one element
 *     fma_relu.T[.s]                           max(a * b + c, 0)
 *     add_relu.T[.s .r], mul_sigmoid.T[.s .r]  max(a + b, 0), a * sigmoid(b), of float32
 *     fill.T        out, one element, repeated
 *     copy.W        out, a: equal or disjoint
 *     gather.W      out[i] = a[index[i]]: out, a, index (int64)
 *     scatter.W     out[index[i]] = a[i], in order: out, a, index
 *     load.W        out[i] = a[i * n[1]]: elements at a stride; store.W out[i * n[1]] = a[i]
 *     iota.T        out[i] = n[1] + i * n[2]: int32, int64
 *     reduce_R.T    an accumulator of T takes the strip as the reducer R of reducers.def
 *                   does: accumulator, a; logsumexp is not among them. For argmax and its
 *                   like: value, position (int64; -1: none yet), a; element i stands at
 *                   n[1] + i * n[2]
 *     dot.T         accumulator += sum of a[i] * b[i]: accumulator, a, b
 *     reduce_sum.float32.wide, reduce_prod.float32.wide, dot.float32.wide
 *                   the same with a float64 accumulator, and in float64
 *
 * T of float16 and bfloat16 have casts, selects, fills: arithmetic is done in float32
 * between casts, which rounds like one step for +, -, *, / and sqrt, as float32 has more
 * than twice their digits.
 *
 * Reductions of floats go by 32 partial results, element i to number i modulo 32, which
 * are then joined pairwise: the order does not depend on ISA or alignment.
 */
#ifndef CPU_STRIPS_H
#define CPU_STRIPS_H

#include <baton/value.h>

#include "isa.h"
#include "primitive.h"

typedef struct bt_strip {
    const char *name;
    cpu_primitive *fn;
    bt_dtype out,
        in; /* element types; 0: of any type of the width that the name states */
    uint32_t naddress, ninteger; /* of p and n */
    uint32_t nwritten;           /* of p: the first of them */
} bt_strip;

/* Of this set, which the machine must run for the function to be called; NULL: there is
 * none of this name. */
const bt_strip *bt_cpu_strip_find_for(const char *name, enum cpu_isa isa);
/* All rows of a set: number `index` of them, NULL at the end. */
const bt_strip *bt_cpu_strip_at(enum cpu_isa isa, uint32_t index);

#endif
