/* Cases as typed calls, computed; what must hold of every operator without knowing what
 * it computes. */
#ifndef CASE_RUN_H
#define CASE_RUN_H

#include <jansson.h>

#include "cases.h"
#include "guard.h"

enum { CALL_MAX_OUT = 16 };

/* One operator while its cases are tried. */
struct op_check {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    const bt_op *op;
    json_t *faults; /* texts: what is wrong with it */
    /* They name neither the operator nor the case, but show formulas. */
    uint32_t is_brief;
    struct guard *guard; /* its plain C is watched; NULL: it is not */
    const char *way; /* of a plugin, which target cpu is to take; NULL: what it likes */
    uint32_t nway;   /* functions that were computed in that way */
    /* call_module: of the arguments so many are parameters, tensors behind them constants; 0: all
     * are parameters. */
    uint32_t nfree;
};
/* Calls of it give something else each time. */
int op_is_random(const bt_op *);
/* "nn.dense: float32[2, 3] | units=4: ..." */
void case_fault(struct op_check *, const struct call_case *, const char *format, ...)
    BT_PRINTF(3, 4);

/* Whether two tensors are of one type and their elements differ by that much at most. */
int case_is_equal(struct op_check *, const bt_tensor *, const bt_tensor *,
                  double tolerance);

/* Sums may be taken in another order: some ulp of the dtype. */
double case_tolerance(const bt_tensor *);

/* What a status says. */
const char *case_message(struct op_check *, bt_status);

/* A typed call of the operator, or of `as` in its stead; arguments are parameters, those
 * in `constants` (NULL: none) constants. */
bt_status call_build(struct op_check *, const struct call_case *, const bt_op *as,
                     case_dim_fn *, void *self, bt_tensor *const *constants,
                     const bt_call **out) BT_MUST_USE;

/* What a call gave. */
struct call_result {
    const bt_call *call; /* NULL: the relation refuses the types; `why` says so */
    const char *why; /* it was refused, or failed when it ran; NULL: nin values gave nout
                        values */
    uint32_t nin, nout;
    bt_tensor *in[CASE_MAX_LEAF], *out[CALL_MAX_OUT];
};
/* Types it, computes it from values of a kind (CASE_...), and checks that types, shapes and strides
 * mean what they should. */
bt_status call_run(struct op_check *, const struct call_case *, uint64_t seed,
                   uint32_t kind, struct call_result *) BT_MUST_USE;
void call_result_free(struct call_result *);

/* The type relation alone: symbolic dims, asked twice, contents known. */
bt_status relation_check(struct op_check *, const struct call_case *,
                         const struct call_result *) BT_MUST_USE;

/* A program whose @main is the call. `around`: an operator of one argument put before each
 * of its float tensors and behind the result, if that is one; NULL: none. */
bt_status call_module(struct op_check *, const struct call_case *,
                      const struct call_result *, const bt_op *around,
                      bt_module **out) BT_MUST_USE;
/* Whether its argument i is a constant there. */
int call_is_const(const struct op_check *, const struct call_case *, uint32_t i);
/* Its argument: a tensor, or the tuple of tensors. A new reference. */
bt_status call_arg(struct op_check *, const struct case_arg *, const struct call_result *,
                   bt_object **out) BT_MUST_USE;
/* The call again, as a program that the executor interp runs; and by the operator's
 * plain C, where it has a formula besides: both must give what call_run got. */
bt_status call_run_again(struct op_check *, const struct call_case *,
                         const struct call_result *) BT_MUST_USE;
/* The call by the function of the facet plain, where there is one: it must give what call_run
 * got. */
bt_status call_run_plain(struct op_check *, const struct call_case *,
                         const struct call_result *) BT_MUST_USE;
/* The call compiled for target cpu, its kernels compared with the evaluator between guarded
 * zones of memory; where executor graph refuses it, its results by executor vm. *executor:
 * which one. *why: it is not compiled, and why not; NULL: it was tried. */
bt_status call_run_compiled(struct op_check *, const struct call_case *,
                            const struct call_result *, const char **executor,
                            const char **why) BT_MUST_USE;

#endif
