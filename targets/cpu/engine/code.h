/*
 * What the target keeps of a kernel beside its machine code, as bytes in artifacts:
 *
 *     "batoncpu", SHA-256 of all that follows, then numbers of 32 and 64 bits in the
 *     machine's own order and texts with their lengths
 */
#ifndef CPU_CODE_H
#define CPU_CODE_H

#include "bytecode.h"

struct cpu_code {
    uint32_t isa;          /* enum cpu_isa: which primitives it calls */
    const char *made;      /* how: "tcc"; "bytecode, as tcc cannot work: ..." */
    uint32_t is_evaluated; /* 1: the evaluator does it; there is no bytecode */
    const char *why;       /* ... as nothing else can: the reason */
    /* The text of a module with its function, which the evaluator runs, or tells of its
     * faults; empty: there is none. */
    const char *function;
    size_t function_nbytes;
    struct bytecode
        bytecode; /* but its checks, which are the faults of a bt_kernel_code */
};

/* Appends it. */
bt_status cpu_code_write(bt_ctx *, const struct cpu_code *, bt_text *out) BT_MUST_USE;
/* The reverse; it lives in the arena. Bytecode are not checked yet.
 * errors BT_ERR_FORMAT: not such code, damaged; BT_ERR_UNSUPPORTED: of another version,
 * another kind of machine */
bt_status cpu_code_read(bt_ctx *, bt_arena *, const void *bytes, size_t nbytes,
                        struct cpu_code *out) BT_MUST_USE;

#endif
