/*
 * Bytecode: a vectorised program as code for a small machine that computes integers and
 * addresses and calls primitives. It is run as it is (bytecode_run.h), or written as C
 * (c_text.h): both do the same calls with the same arguments.
 *
 * Code is words of 32 bits, position-independent: an instruction has its number in the
 * low 8 bits of the first word, an operand in the rest of it, and operands in the words
 * that follow. There are integer registers n and address registers p. A call's arguments
 * are neighbours among them, and kept up to date by the loops around it rather than made
 * anew for each call.
 *
 * A phase is a loop whose iterations may run at once, or code that runs once; each begins
 * with all registers unset.
 */
#ifndef CPU_BYTECODE_H
#define CPU_BYTECODE_H

#include <baton/base.h>
#include <baton/value.h>

#include "primitives/callee.h"

/*
 * Operands, in order; the first is in the instruction's own word:
 *
 *     n p   a register         k   an integer of two words     b   a buffer
 *     j     words to skip      J   words to go back            c   a callee's number
 *     x     a check's number   s   a scalar operator           t   a dtype
 *     N P   the first register of a callee's arguments         -   nothing
 *     u     updates: how many p and how many n there are, then a register and an integer
 *           each
 *     d     a dim's number
 */
// clang-format off
#define BYTECODE_EACH(X)                                                                \
    X(END, end, "-")         /* of a phase, or of an iteration of a parallel one */     \
    X(SET, set, "nk")        /* n = integer */                                          \
    X(BASE, base, "pbk")     /* p = buffer + bytes */                                   \
    X(START, start, "nu")    /* n = the first iteration, updates made as often */       \
    X(NEXT, next, "nJku")    /* n counts to k: updates and back; at the end n = 0, */   \
                             /* and updates are taken back */                           \
    X(STEP, step, "nJu")     /* the same of a parallel phase, to the last iteration */  \
    X(DIM, dim, "nd")        /* n = a dim of the launch */                              \
    X(UNTIL, until, "nJnu")  /* NEXT, and n says how far */                             \
    X(UNLESS, unless, "nj")  /* skips where n is 0 */                                   \
    X(JUMP, jump, "-j")                                                                 \
    X(CALL, call, "cPN")                                                                \
    X(CHECK, check, "nx")    /* a fault where n is 0 */                                 \
    X(LOAD, load, "npt")     /* n = the element at p */                                 \
    X(COPY, copy, "nn")                                                                 \
    X(MULADD, muladd, "nnnk")   /* n = n + n * integer */                               \
    X(OFFSET, offset, "ppnk")   /* p = p + n * integer */                               \
    X(SCALAR, scalar, "nstnn")  /* n = operator(n, n), in a dtype */                    \
    X(ADD, add, "nnn")       /* of int64 and bool, without their dtype: */              \
    X(SUB, sub, "nnn")                                                                  \
    X(MUL, mul, "nnn")                                                                  \
    X(MIN, min, "nnn")                                                                  \
    X(MAX, max, "nnn")                                                                  \
    X(LT, lt, "nnn")                                                                    \
    X(LE, le, "nnn")                                                                    \
    X(EQ, eq, "nnn")                                                                    \
    X(AND, and, "nnn")                                                                  \
    X(OR, or, "nnn")                                                                    \
    X(NOT, not, "nn")                                                                   \
    X(SELECT, select, "nnnn")   /* n = n ? n : n */                                     \
    X(NARROW, narrow, "nnt")
// clang-format on
enum {
#define X(UPPER, lower, operands) BYTECODE_##UPPER,
    BYTECODE_EACH(X)
#undef X
        BYTECODE_COUNT
};
/* "pbk"; NULL: there is no such instruction. */
const char *bytecode_operands(uint32_t instruction);

enum { BYTECODE_MOST = (1 << 24) - 1 }; /* the greatest operand of a first word */

static inline int64_t bytecode_integer(const uint32_t *at)
{
    return (int64_t)((uint64_t)at[1] << 32 | at[0]);
}

struct bytecode_phase {
    uint32_t first, ncode; /* words */
    uint32_t is_parallel;
    int64_t extent; /* of a parallel one: its iterations; less than 0: the phase before it
                       leaves them in register -1 - extent of the caller */
};

/* What a check says where it fails. */
struct bytecode_check {
    const char *array;
    uint32_t axis;
    int64_t bound;
};

struct bytecode {
    const char *name;
    uint32_t nbuffer; /* given to a launch; one more stands for a worker's locals */
    uint32_t ndim;    /* the same: integers that are known then */
    uint32_t nn, np;  /* registers, of the phase that has most */
    int64_t locals_nbytes;
    uint32_t nphase, ncode, ncallee, ncheck;
    const struct bytecode_phase *phases;
    const uint32_t *code;
    const char *const *callees; /* names */
    const struct bytecode_check *checks;
};

/* Bytes that each thread has for itself: registers and locals, a multiple of 64. -1: they
 * are more than an int64 counts. */
int64_t bytecode_scratch_nbytes(const struct bytecode *);
/* From the start of that memory to the locals. */
int64_t bytecode_locals_offset(const struct bytecode *);

/* The length of the instruction at `at`, of which there are `left` words; 0: it is none.
 */
uint32_t bytecode_length(const uint32_t *at, uint32_t left);
/* Whether all instructions are whole and name what there is, so that running it does
 * nothing but what its calls and loads do. `callees`: those named, found.
 * errors BT_ERR_FORMAT */
bt_status bytecode_check(bt_ctx *, const struct bytecode *,
                         const struct cpu_callee *const *callees) BT_MUST_USE;

#endif
