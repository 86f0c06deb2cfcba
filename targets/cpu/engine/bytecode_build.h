/* From a vectorised program to bytecode. */
#ifndef CPU_BYTECODE_BUILD_H
#define CPU_BYTECODE_BUILD_H

#include <baton/loops.h>

#include "bytecode.h"

/* A part of a program: some of its top-level statements. */
struct bytecode_source {
    const bt_loops *loops;
    uint32_t n;             /* statements, ... */
    bt_stmt *const *stmts;  /* ... those of loops->body that are of this kernel */
    const char *name;       /* of the kernel */
    enum cpu_isa isa;       /* in which callees are looked up */
    uint32_t nbuffer;       /* of a launch */
    uint32_t alternates;    /* of the bytecode */
    const uint32_t *places; /* of each buffer of the loops that is no local: which of the
                               launch's it is */
};

/* The bytecode lives in the arena.
 * errors BT_ERR_INTERNAL: statements, expressions or callees that a vectorised program does
 * not have; BT_ERR_UNSUPPORTED: a local of an open size, integers computed by floats;
 * BT_ERR_LIMIT */
bt_status bytecode_build(bt_ctx *, bt_arena *, const struct bytecode_source *,
                         const struct bytecode **out) BT_MUST_USE;

#endif
