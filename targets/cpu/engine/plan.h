/*
 * A plan: a vectorised program as code for a small machine that computes integers and
 * addresses and calls primitives. It is run as it is (plan_run.h), or written as C
 * (c_text.h): both do the same calls with the same arguments.
 *
 * Code is words of 32 bits, position-independent: an instruction has its number in the
 * low 8 bits of the first word, an operand in the rest of it, and operands in the words
 * that follow. There are integer registers n and address registers p. A call's arguments
 * are neighbours among them, and kept up to date by the loops around it rather than made
 * anew for each call.
 *
 * A phase is a loop whose turns may run at once, or code that runs once; each begins with
 * all registers unset.
 */
#ifndef CPU_PLAN_H
#define CPU_PLAN_H

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
#define PLAN_EACH(X)                                                                    \
    X(END, end, "-")         /* of a phase, or of a turn of a parallel one */           \
    X(SET, set, "nk")        /* n = integer */                                          \
    X(BASE, base, "pbk")     /* p = buffer + bytes */                                   \
    X(START, start, "nu")    /* n = the first turn, updates made as often */            \
    X(NEXT, next, "nJku")    /* n counts to k: updates and back; at the end n = 0, */   \
                             /* and updates are taken back */                           \
    X(STEP, step, "nJu")     /* the same of a parallel phase, to the last turn */       \
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
#define X(UPPER, lower, operands) PLAN_##UPPER,
    PLAN_EACH(X)
#undef X
        PLAN_COUNT
};
/* "pbk"; NULL: there is no such instruction. */
const char *plan_operands(uint32_t instruction);

enum { PLAN_MOST = (1 << 24) - 1 }; /* the greatest operand of a first word */

static inline int64_t plan_integer(const uint32_t *at)
{
    return (int64_t)((uint64_t)at[1] << 32 | at[0]);
}

struct plan_phase {
    uint32_t first, ncode; /* words */
    uint32_t is_parallel;
    int64_t
        extent; /* of a parallel one: its turns; less than 0: the phase before it leaves
                       them in register -1 - extent of the first lane */
};

/* What a check says where it fails. */
struct plan_check {
    const char *array;
    uint32_t axis;
    int64_t bound;
};

struct plan {
    const char *name;
    uint32_t nbuffer; /* given to a launch; one more stands for a lane's locals */
    uint32_t ndim;    /* the same: integers that are known then */
    uint32_t nn, np;  /* registers, of the phase that has most */
    int64_t locals_nbytes;
    uint32_t nphase, ncode, ncallee, ncheck;
    const struct plan_phase *phases;
    const uint32_t *code;
    const char *const *callees; /* names */
    const struct plan_check *checks;
};

/* Bytes that each thread has for itself: registers and locals, a multiple of 64. -1: they
 * are more than an int64 counts. */
int64_t plan_lane_nbytes(const struct plan *);
/* From the start of a lane to its locals. */
int64_t plan_locals_offset(const struct plan *);

/* The length of the instruction at `at`, of which there are `left` words; 0: it is none.
 */
uint32_t plan_length(const uint32_t *at, uint32_t left);
/* Whether all instructions are whole and name what there is, so that running it does
 * nothing but what its calls and loads do. `callees`: those named, found.
 * errors BT_ERR_FORMAT */
bt_status plan_check(bt_ctx *, const struct plan *,
                     const struct cpu_callee *const *callees) BT_MUST_USE;

#endif
