/* Code for kernels: machine code by a compiler of C, or the reason why there is none. */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

#include <baton/compiler.h>
#include <baton/target.h>

#include "bytecode.h"

struct cpu_engine_request {
    const char *engine;   /* "bytecode", "tcc", "cc", or "auto": tcc, else bytecode */
    const char *compiler; /* options of the compiler; "": none */
    enum cpu_isa isa;     /* whose primitives are called */
    int keeps_denormals;  /* for C text, whose kernels set the modes themselves */
};

/* What a kernel does. */
struct cpu_work {
    const struct bytecode *bytecode; /* NULL: the evaluator does it, ... */
    const char *why;                 /* ... as nothing else can: the reason */
    /* What the evaluator runs, also to explain a fault of the bytecode. May be NULL. */
    const bt_func *function;
};

/* The code of kernels, in the arena; `form` as of bt_target.compile.
 * errors  those of bt_c_compile, unless the engine is "auto" */
bt_status cpu_engine_compile(bt_ctx *, bt_arena *, const struct cpu_engine_request *,
                             uint32_t form, uint32_t n, const struct cpu_work *,
                             bt_kernel_code *const *out) BT_MUST_USE;

/* The functions that machine code of bytecode calls, ended by a zero name, but primitives
 * that do not exist. NULL: no memory. */
const bt_symbol *cpu_engine_symbols(bt_arena *, enum cpu_isa, uint32_t n,
                                    const struct bytecode *const *bytecodes);

#endif
