/*
 * Bytecode as C text, for compilers of C that are not all correct: integers and addresses
 * only, a step a statement, no constant in a condition but as a bound, no local data.
 *
 *     int32_t kernel_0(const bt_kernel_call *call)
 *
 * is a kernel (<baton/kernel.h>) whose worker has registers and locals as scratch. Each
 * phase is a function of its own. Primitives are called by name: add.float32 is
 * cpu_add_float32, operators of integers are cpu_integer_eval.
 */
#ifndef CPU_C_TEXT_H
#define CPU_C_TEXT_H

#include "bytecode.h"

/* What all functions need before them. */
void c_text_head(bt_text *);
/* The name of a kernel's function, and of a primitive's. */
void c_text_name(bt_text *, uint32_t kernel);
void c_text_callee(bt_text *, const char *name);
/* `stop`, in a kernel's function: where its loops look for a wish to stop. */
void c_text_stop(bt_text *);
/* The functions of a kernel's phases, phase_KERNEL_PHASE. */
void c_text_phases(bt_text *, const struct bytecode *, uint32_t kernel);
/* The same, behind declarations of what they call, and the kernel's function. */
void c_text_bytecode(bt_text *, const struct bytecode *, uint32_t kernel);

#endif
