/*
 * Running what an operator computes: its formula by the reference evaluator, or its plain
 * C. The notation itself is described in kernel/compute/formula/notation.md.
 */
#ifndef BATON_COMPUTE_H
#define BATON_COMPUTE_H

#include <baton/kernel.h>
#include <baton/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One call's computation, ready to run with any extents its types allow. Independent of
 * the store it was made from. */
typedef struct bt_compute bt_compute;

/* Writes, parses and checks the formula, or takes the plain C.
 * errors  BT_ERR_SYNTAX, BT_ERR_TYPE in the formula: a fault of the operator, named by
 *         it; BT_ERR_UNSUPPORTED where the operator has neither. */
BT_API bt_status bt_compute_create(bt_ctx *, const bt_formula_call *,
                                   bt_compute **out) BT_MUST_USE;
/* All that a function computes which only calls operators by formula, makes tuples and
 * takes fields: one graph, in which a stage stands in those that read it; or its one call,
 * which may be of an operator in plain C. dims: values of its type parameters; NULL where
 * it has none. Constants inside are scalars. A tensor with a layout is passed as it lies in
 * memory (bt_tensor_physical). Runs give the bits of the calls one by one, but
 * that max and min of zeros may give the zero of either sign.
 * errors BT_ERR_UNSUPPORTED: what else the function does; BT_ERR_ARGUMENT: dims that it
 *        does not admit; BT_ERR_RUNTIME: dims for which a check of a call fails */
BT_API bt_status bt_compute_create_func(bt_ctx *, const bt_func *, const int64_t *dims,
                                        bt_compute **out) BT_MUST_USE;
BT_API void bt_compute_destroy(bt_compute *); /* accepts NULL */
/* Leaves of the result: 1 for a tensor, n for a tuple of n tensors. */
BT_API uint32_t bt_compute_nout(const bt_compute *);
/* in: the arguments' leaves, depth first, any strides. out: nout new tensors, the
 * caller's to unref.
 * errors  BT_ERR_RUNTIME: dims that do not fit, an index out of bounds */
BT_API bt_status bt_compute_run(bt_ctx *, bt_compute *, uint32_t nin,
                                const bt_tensor *const *in, bt_tensor **out) BT_MUST_USE;
/* The results' dims from the arguments', without computing: out[i] has room for
 * BT_MAX_RANK. Where only the computation can tell (nonzero), *is_bound is 1 and the dims
 * are upper bounds.
 * errors  BT_ERR_UNSUPPORTED: not even that */
BT_API bt_status bt_compute_shapes(bt_ctx *, bt_compute *, uint32_t nin,
                                   const bt_tensor *const *in, uint32_t *ranks,
                                   int64_t (*out)[BT_MAX_RANK],
                                   uint32_t *is_bound) BT_MUST_USE;
/* The canonical compute graph, instantiated for these dims: stages, domains, maps,
 * bodies, and the view of each. */
BT_API bt_status bt_compute_print(bt_ctx *, bt_compute *, uint32_t nin,
                                  const bt_tensor *const *in, bt_text *out) BT_MUST_USE;
/* Multiply-adds of one run, from the instantiated graph. */
BT_API bt_status bt_compute_cost(bt_ctx *, bt_compute *, uint32_t nin,
                                 const bt_tensor *const *in,
                                 int64_t *multiply_adds) BT_MUST_USE;
/* Whether one run is little enough to be done when a program is compiled: its steps and the
 * bytes that it makes are bounded, by more where it reads more. Nothing is computed.
 * errors  as bt_compute_run, of dims */
BT_API bt_status bt_compute_may_fold(bt_ctx *, bt_compute *, uint32_t nin,
                                     const bt_tensor *const *in, int *out) BT_MUST_USE;

/* Multiply-adds of a call of an operator, by its types; -1: not all dims are numbers, or
 * no formula tells. */
BT_API bt_status bt_call_cost(bt_ctx *, const bt_call *, int64_t *out) BT_MUST_USE;
/* Bytes of a tensor, or of all in a tuple; -1: not known. */
BT_API int64_t bt_type_nbytes(const bt_type *);

/* How a call may be joined with others, from the operator's facet "fuse", else from its
 * formula; opaque also where attributes name dims that are not numbers. */
typedef struct bt_fuse_info {
    uint32_t kind; /* BT_FUSE_... */
    uint32_t cost; /* of an element, in additions; 32 and more: it is dear */
    /* 1: all of it goes along one axis, the result's first that is longer than 1, and a row of
     * what it computes between is made of rows at the same place. */
    uint32_t is_by_rows;
    uint64_t
        row_args; /* bit i: of argument i, likewise, only the row at that place is read */
} bt_fuse_info;
BT_API bt_status bt_fuse_look(bt_ctx *, const bt_formula_call *,
                              bt_fuse_info *out) BT_MUST_USE;

/* ---- primitive functions as kernels, for targets ---- */

/* Appends the text of a module that defines the function: the code of what a target leaves
 * to the evaluator. */
BT_API bt_status bt_evaluator_print(bt_ctx *, const bt_func *, bt_text *out) BT_MUST_USE;
/* Such a function, ready to run. The text is not trusted.
 * errors  BT_ERR_SYNTAX, BT_ERR_TYPE, BT_ERR_FORMAT */
typedef struct bt_evaluator bt_evaluator;
BT_API bt_status bt_evaluator_create(bt_ctx *, const char *text, size_t nbytes,
                                     bt_evaluator **out) BT_MUST_USE;
BT_API void bt_evaluator_destroy(bt_evaluator *); /* accepts NULL */
/* As bt_target.launch: the buffers are those of the parameters' leaves, then of the
 * result's. From any thread; runs of one evaluator take turns. */
BT_API bt_status bt_evaluator_run(bt_ctx *, bt_evaluator *,
                                  const bt_kernel_call *) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
