/*
 * Plans as C text, for compilers of C that are not all correct: integers and addresses
 * only, a step a statement, no constant in a condition but as a bound, no local data.
 *
 *     int FUNCTION(i64 *n, word *p, const word *b, word locals, const callee *c,
 *                  operator h, i64 first, i64 end)
 *
 * is a phase: registers, registers, buffers, the lane's locals, callees of the kernel,
 * cpu_integer_eval, and the turns of a parallel one. It gives what plan_run gives.
 */
#ifndef CPU_C_TEXT_H
#define CPU_C_TEXT_H

#include "plan.h"

/* What all functions need before them. */
void c_text_head(bt_text *);
/* The name of a phase's function. */
void c_text_name(bt_text *, uint32_t kernel, uint32_t phase);
/* The functions of a kernel's phases. */
void c_text_plan(bt_text *, const struct plan *, uint32_t kernel);

#endif
