/*
 * Loops as C99 text.
 *
 *     int32_t kernel_f(const bt_kernel_call *call)
 *     {
 *         const float *const a0 = call->buffers[0];
 *         float *const s0 = call->buffers[1];
 *         for (int64_t i0 = 0; i0 < 12; i0++) {
 *             s0[i0] = (float)f_exp((double)a0[i0]);
 *         }
 *         return 0;
 *     }
 *
 * Integers and bool are int64_t, which holds the bits of a uint64; floats are double, or, in
 * a text of single precision, float where they are no float64. So results have the bits of
 * the evaluator, elementary functions excepted.
 */
#ifndef C_TEXT_H
#define C_TEXT_H

#include <baton/loops.h>
#include <baton/target.h>

#include "expr.h"
#include "jam.h"
#include "plain.h"

/* What a kernel is written from. */
struct c_kernel {
    bt_loops *loops;
    c_jams jams;
    struct c_plain_kernel *plain; /* instead of loops; NULL: it has loops */
};

struct c_text {
    bt_arena *arena;
    int is_single;
    struct c_functions functions;
    struct c_plain_texts plain;
    bt_text kernels;
};

/* 0: no memory. */
int c_text_begin(struct c_text *, bt_arena *, int is_single);
/* Adds the function of a kernel: `symbol`, with loops whose inputs are its inputs and whose
 * results are its outputs, in order. Its faults: rows for bt_kernel_code. */
typedef bt_vec(bt_fault) c_faults;
bt_status c_text_add(struct c_text *, const struct c_kernel *, const char *symbol,
                     c_faults *faults) BT_MUST_USE;
/* All of it. */
bt_status c_text_end(struct c_text *, bt_text *out) BT_MUST_USE;

#endif
