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
 * Operands, in order, and what it does as C, with operand i as $i; NULL: a loop. The first
 * operand is in the instruction's own word:
 *
 *     n p   a register         k   an integer of two words     b   a buffer
 *     j     words to skip      J   words to go back            c   a callee's number
 *     x     a check's number   s   a scalar operator           t T a dtype, of a value and in memory
 *     N P   the first register of a callee's arguments         -   nothing
 *     u     updates: how many p and how many n there are, then a register and an integer
 *           each
 *     d     a dim's number
 */
// clang-format off
#define BYTECODE_EACH(X)                                                                              \
    X(END, "-", "return 0;") /* of a phase, or of an iteration of a parallel one */                   \
    X(SET, "nk", "$0 = $1;")                                                                          \
    X(BASE, "pbk", "$0 = (word)((u64)$1 + (u64)$2);")                                                 \
    X(START, "nu", NULL)   /* n = the first iteration, updates made as often */                       \
    X(NEXT, "nJku", NULL)  /* n counts to k: updates and back; at the end n = 0, updates taken back */ \
    X(STEP, "nJu", NULL)   /* the same of a parallel phase, to the last iteration */                  \
    X(DIM, "nd", "$0 = $1;")                                                                          \
    X(UNTIL, "nJnu", NULL) /* NEXT, and n says how far */                                             \
    X(UNLESS, "nj", "if ($0 == 0) { goto $1; }")                                                      \
    X(JUMP, "-j", "goto $1;")                                                                         \
    X(CALL, "cPN", "$0($1, $2);")                                                                     \
    X(CHECK, "nx", "if ($0 == 0) { return $1; }")                                                     \
    X(LOAD, "npT", "$0 = (i64)*(const $2 *)$1;")                                                      \
    X(COPY, "nn", "$0 = $1;")                                                                         \
    X(MULADD, "nnnk", "$0 = (i64)((u64)$1 + (u64)$2 * (u64)$3);")                                     \
    X(OFFSET, "ppnk", "$0 = (word)((u64)$1 + (u64)$2 * (u64)$3);")                                    \
    X(SCALAR, "nstnn", "$0 = cpu_integer_eval($1, $2, $3, $4);")                                      \
    X(ADD, "nnn", "$0 = (i64)((u64)$1 + (u64)$2);") /* of int64 and bool, without their dtype: */     \
    X(SUB, "nnn", "$0 = (i64)((u64)$1 - (u64)$2);")                                                   \
    X(MUL, "nnn", "$0 = (i64)((u64)$1 * (u64)$2);")                                                   \
    X(MIN, "nnn", "t = $1;\nif ($2 < t) { t = $2; }\n$0 = t;")                                        \
    X(MAX, "nnn", "t = $1;\nif ($2 > t) { t = $2; }\n$0 = t;")                                        \
    X(LT, "nnn", "$0 = (i64)($1 < $2);")                                                              \
    X(LE, "nnn", "$0 = (i64)($1 <= $2);")                                                             \
    X(EQ, "nnn", "$0 = (i64)($1 == $2);")                                                             \
    X(AND, "nnn", "$0 = $1 & $2;")                                                                    \
    X(OR, "nnn", "$0 = $1 | $2;")                                                                     \
    X(NOT, "nn", "$0 = (i64)($1 == 0);")                                                              \
    X(SELECT, "nnnn", "t = $3;\nif ($1 != 0) { t = $2; }\n$0 = t;")
// clang-format on
enum {
#define X(UPPER, operands, text) BYTECODE_##UPPER,
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
    uint32_t is_parallel; /* 0, 1 or CPU_SHORT */
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
    uint32_t ndim;    /* the same: integers that are known then; 0: it reads none */
    uint32_t nn, np;  /* registers, of the phase that has most */
    /* 1 + the number of a buffer that is so large that caches keep the end of it only; 0: there
     * is none. Launches that are given the same one after the other go there and back. */
    uint32_t alternates;
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
