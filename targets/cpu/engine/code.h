/*
 * Code of the target: all kernels of a module as bytes, which stand in artifacts.
 *
 *     "batoncpu", SHA-256 of all that follows, then numbers of 32 and 64 bits in the
 *     machine's own order and texts with their lengths: what it is for, machine code,
 *     functions of the evaluator, kernels
 */
#ifndef CPU_CODE_H
#define CPU_CODE_H

#include "plan.h"

enum cpu_engine { CPU_ENGINE_PLAN, CPU_ENGINE_OBJECT };

struct cpu_code_kernel {
    uint32_t is_evaluated; /* 1: the evaluator does it; there is no plan */
    uint32_t function;     /* of the evaluator's, which does it or tells of its faults;
                              CPU_NO_FUNCTION */
    const char *why;       /* evaluated: nothing else can */
    struct plan plan;
};
#define CPU_NO_FUNCTION UINT32_MAX

struct cpu_code {
    uint32_t isa;       /* enum cpu_isa: which primitives it calls */
    uint32_t engine;    /* enum cpu_engine */
    const char *made;   /* how it was made: "tcc"; "plan, as tcc cannot work: ..." */
    const void *object; /* machine code of the plans' phases, named as c_text_name does */
    size_t object_nbytes;
    const char *functions; /* the text of a module */
    size_t functions_nbytes;
    uint32_t nkernel;
    const struct cpu_code_kernel *kernels;
};

/* Appends it. */
bt_status cpu_code_write(bt_ctx *, const struct cpu_code *, bt_text *out) BT_MUST_USE;
/* The reverse; it lives in the arena. Plans are not checked yet.
 * errors BT_ERR_FORMAT: not such code, damaged; BT_ERR_UNSUPPORTED: of another version,
 * another kind of machine */
bt_status cpu_code_read(bt_ctx *, bt_arena *, const void *bytes, size_t nbytes,
                        struct cpu_code *out) BT_MUST_USE;

#endif
