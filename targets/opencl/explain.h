/* How a function is computed, for people: its launches. */
#ifndef OPENCL_EXPLAIN_H
#define OPENCL_EXPLAIN_H

#include <baton/target.h>

/* bt_target.explain: a line for each launch, with its work-items. */
bt_status ocl_explain(bt_ctx *, void *instance, const bt_func *primitive,
                      bt_text *out) BT_MUST_USE;

#endif
