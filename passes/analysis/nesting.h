/*
 * Which bindings a text may show inside of the expression that uses them, so that reading
 * it evaluates in the same order: the graph form of a program.
 */
#ifndef PASSES_ANALYSIS_NESTING_H
#define PASSES_ANALYSIS_NESTING_H

#include <baton/pass.h>

/* These serve as bt_analysis: *out is a bt_map whose keys are the bindings. */
bt_status nesting_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status nesting_print(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
