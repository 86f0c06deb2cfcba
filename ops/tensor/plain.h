/*
 * Operators that no formula computes: a function in folder plain is compiled into the
 * evaluator here, and its text is a facet for programs that are written as C.
 *
 *     static const bt_plain_facet plain = PLAIN(plain_fill, faults, 0, fill_plain);
 *     ... .eval = plain_eval, .facets = BT_FACET_ROWS(BT_FACET("plain", plain))
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <baton/op.h>
#include <baton/plain.h>

/* The texts of the folder, which the build makes of it. */
extern const char *const plain_blocks[];

#define PLAIN(function_, faults_, workspace_, attrs_)                            \
    {                                                                            \
        plain_blocks, #function_, (faults_), (workspace_), (attrs_), (function_) \
    }

/* A row of faults_, which NULL ends: the text of a fault that functions number from 1. */
#define PLAIN_FAULT(number_, text_) [(number_)-1] = (text_)

/* bt_op.eval of an operator that has such a facet: 5 inputs and 5 results at most. */
bt_status plain_eval(bt_ctx *, const bt_eval_call *) BT_MUST_USE;
/* A tensor as a function sees it; its dims are copied. */
bt_plain_tensor plain_tensor_of(const bt_tensor *, int64_t *dims);

#endif
