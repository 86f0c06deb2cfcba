/*
 * Functions run by the evaluator: what no program can be made of, and what a kernel's
 * checks are explained by.
 */
#ifndef CPU_EVALUATE_H
#define CPU_EVALUATE_H

#include <baton/target.h>

/* Appends the text of a module that defines the functions, each once. */
bt_status evaluate_print(bt_ctx *, uint32_t n, const bt_func *const *functions,
                         bt_text *out) BT_MUST_USE;

/* Such a module, ready to run; functions by the numbers of evaluate_print. */
struct evaluator;
bt_status evaluator_create(bt_ctx *, const char *text, size_t nbytes,
                           struct evaluator **out) BT_MUST_USE;
void evaluator_destroy(struct evaluator *); /* accepts NULL */
uint32_t evaluator_nfunction(const struct evaluator *);
/* Leaves of a function's parameters and of its result. */
uint32_t evaluator_nin(const struct evaluator *, uint32_t function);
uint32_t evaluator_nout(const struct evaluator *, uint32_t function);
/* `buffers`: of the leaves of the parameters, then of the result. One run at a time: others
 * wait. */
bt_status evaluator_run(bt_ctx *, struct evaluator *, uint32_t function,
                        void *const *buffers) BT_MUST_USE;

#endif
