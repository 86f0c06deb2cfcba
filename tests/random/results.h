/* What a program gives, and whether two results are the same. */
#ifndef RANDOM_RESULTS_H
#define RANDOM_RESULTS_H

#include <baton/pass.h>

/* Calls @main of a program by an executor. *out: a new reference. */
bt_status run_module(bt_ctx *, const char *executor, const bt_module *, uint32_t n,
                     bt_object *const *args, bt_object **out);

/* NULL: they are; what `pipeline` says has changed the result else. */
bt_status same_result(bt_ctx *, const bt_object *, const bt_object *,
                      const char *pipeline);

#endif
