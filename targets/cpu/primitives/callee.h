/*
 * Primitives by name: whatever a CALL of a program may name. Each is a row that says what it takes
 * and what it costs: a schedule names those that it calls, and nobody reads more in a name.
 *
 * Generated code and bytecode run loops and compute addresses; all arithmetic on elements is
 * done here. Most primitives are strips, on dense runs of elements:
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
 *     add_relu.T[.s .r]                        max(a + b, 0), of float32
 *     add_relu6.T[.s .r]                       min(max(a + b, 0), 6), of float32
 *     mul_sigmoid.T[.s .r]                     a * sigmoid(b), of float32
 *     mul_erf_1.T[.s .r]                       a * (erf(b) + 1), of float32
 *     exp_sub.T[.s .r]                         exp(a - b), of float32
 *     requantize_T.int32[.s]    int32 a to codes, T int8 or uint8, by float32 b:
 *                   min(max(round_even(float32(a) * b), c), d) + f, e where a product is NaN:
 *                   out, a, b, c, d, e, f; .s: b is one element, as c, d, e, of float32, and f,
 *                   of int32, are
 *     encode_T.float32                         the same of float32 a as it is: out, a, c, d, e, f
 *     sum_codes.T   codes a, b of 8 bits, less zeros n[1], n[2], by float32 c, d, to codes between
 *                   e and f, with zero n[3]: out, a, b, c, d, e, f; n[4]: 1, a has a sign, 2, b
 *     fixed_T.int32[.s]    int32 a to codes, T int8 or uint8, by int64 b, bits moved down by int64
 *                   c (fixed.h): out, a, b, c; .s: b and c are one element
 *     fill.T        out, one element, repeated
 *     copy.W        out, a: equal or disjoint
 *     gather.W      out[i] = a[index[i]]: out, a, index (int64)
 *     scatter.W     out[index[i]] = a[i], in order: out, a, index
 *     load.W        out[i] = a[i * n[1]]: elements at a stride; store.W out[i * n[1]] = a[i]
 *     load_rows.W   ... of rows of n[1] elements, n[2] apart, whose elements are n[3] apart: out[i] is
 *                   number i + n[4] of them, a is where number 0 is; store_rows.W likewise
 *     iota.T        out[i] = n[1] + i * n[2]: int32, int64
 *     reduce_R.T    an accumulator of T takes the strip as the reducer R of reducers.def
 *                   does: accumulator, a; logsumexp is not among them. For argmax and its
 *                   like: value, position (int64; -1: none yet), a; element i stands at
 *                   n[1] + i * n[2]
 *     rows_R.T      accumulator i takes the n[1] elements from a[i * n[2]] on, of floats, as
 *                   reduce_R.T does: accumulators, a. R is sum, prod, max or min
 *     scan_R.T      each of n[0] elements at the stride n[1] but the first takes the one before
 *                   it: in place. R is sum, prod, max or min
 *     window_R.T    each element takes n[4] rows, n[5] apart, of n[2] elements, n[3] apart, that
 *                   begin at a[i * n[1]], in their order, of floats: out, a. R is sum, max or min
 *     window_first.T    out becomes the least number of a place of its window where a is b, or NaN:
 *                   places are numbered n[6] + row * n[8] + element * n[7]: out (int32), a, b
 *     window_sum_where.T    ... takes those whose number stands at their place of b: out, a, b (int32)
 *     planes_R.T    what windows of planes come to (planes.h), of float32. R is sum or max
 *     channels_max.T    maxima of windows whose channels are neighbours (channels.h), of uint8, int8
 *     nibbles.float32   rows by columns of weights of 4 bits (nibbles.h)
 *     finite.T      whether all of the strip are finite, of floats: out (bool), a
 *     dot.T         accumulator += sum of a[i] * b[i]: accumulator, a, b
 *     reduce_sum.float32.wide, reduce_prod.float32.wide, dot.float32.wide
 *                   the same with a float64 accumulator, and in float64; rows_sum, rows_prod too
 *
 * Others are for contractions:
 *
 *     tile_f32_avx512    blocks of products; line_..., across_...: of one row;
 *                        epilogue_...: and what is made of them (tile.h)
 *     winograd_4_weights_avx512, ..._input_..., ..._output_...    (winograd.h)
 *     depthwise_f32_avx512                channels by taps of their own (depthwise.h)
 *     channels_sum_u8_avx512, _s8_        the same of codes whose channels are neighbours, to codes, by
 *                        taps that channels_pack_s8_avx512, _u8_, makes (channels.h); _u8_i32_, _s8_i32_:
 *                        the sums themselves
 *     tile_bf16_avx512bf16, line_..., epilogue_...     the same of pairs of bfloat16
 *     tile_bf16_amx, tile_halves_amx, epilogue_...     likewise by AMX
 *     pairs_bf16_avx512bf16, halves_...   such pairs (pairs.h)
 *     tile_pairs_i16_avx2, line_..., epilogue_...     pairs of int16; pairs_i16_avx2,
 *                        pairs_u8_..., pairs_s8_...   such pairs
 *     quads_avx2, quad_sums               quads (pairs.h), and sums of them (quads.h)
 *     tile_quads_us_avx512, tile_quads_us_amx, epilogue_..., codes_...     products of quads, A without
 *                        a sign, B with one; _su: the reverse
 *     sums_codes_avx512                   sums to codes, rows of them (tile.h)
 *     pack.4                              panels (pack.h), by the bytes of an element
 *     halo.4                              planes with zeros around (halo.h), likewise
 *
 * T of the floats of 8 and 16 bits have casts, selects, fills: arithmetic is done in float32
 * between casts, which rounds like one step for +, -, *, / and sqrt, as float32 has more
 * than twice their digits.
 *
 * Reductions of floats go by 32 partial results, element i to number i modulo 32, which
 * are then joined pairwise: the order does not depend on ISA or alignment.
 */
#ifndef CPU_CALLEE_H
#define CPU_CALLEE_H

#include <baton/base.h>
#include <baton/value.h>

#include "isa.h"
#include "primitive.h"

/* Which elements behind an address a call with the count n[0] meets: number i, once, for each
 * i below the count; the first one; number i * n[1]; any; before it writes them, those which it
 * writes, if the offsets are the same. */
enum { CPU_EACH, CPU_ONE, CPU_STRIDED, CPU_ANY, CPU_OWN };
/* Of what type they are: as the row says; any of so many bytes as that has; bool; int64. */
enum { CPU_OUT, CPU_IN, CPU_WIDTH, CPU_MASK, CPU_POSITION, CPU_ANYTHING };

enum {
#define CPU_FORM(name, ...) CPU_##name,
#include "forms.def"
    CPU_NFORM
};

/* A reduction of so many floats takes one after the other; schedules may do the same. */
enum { CPU_FEW_TERMS = 16 };

struct cpu_form {
    uint32_t naddress, ninteger; /* of p and n */
    uint32_t nwritten;           /* of p: the first of them, all others are only read */
    const int8_t *work;          /* integers whose product is the work, ended by -1 */
    struct {
        uint8_t access, element;
    } operands[9];
};
extern const struct cpu_form cpu_forms[CPU_NFORM];

/* What a parallel loop says, instead of 1, whose work is too little to wake threads for. */
enum { CPU_SHORT = 2 };

struct cpu_callee {
    const char *name;
    cpu_primitive *run;
    uint32_t form;
    bt_dtype out, in; /* types of elements, as far as the form refers to them */
    uint32_t ps;      /* cost of a unit of work */
};

static inline const struct cpu_form *cpu_form_of(const struct cpu_callee *row)
{
    return &cpu_forms[row->form];
}

/* Of the set `isa`, which the machine must run for it to be called. NULL: there is none of
 * this name. */
const struct cpu_callee *cpu_callee_find(enum cpu_isa isa, const char *name);
/* All of a set by name, in a map of texts. 0: no memory. */
int cpu_callee_index(enum cpu_isa isa, bt_map *out);
/* Row number `index` of those that a set has; NULL at the end. */
const struct cpu_callee *cpu_callee_at(enum cpu_isa isa, uint32_t index);
/* What C calls the table that a row of a set is in, and its place there; NULL: that has no
 * name, but the row's function has its own (cpu_pack_4). */
const char *cpu_callee_table(enum cpu_isa isa, const struct cpu_callee *,
                             uint32_t *index);

#endif
