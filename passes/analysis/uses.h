/* Who uses what: bindings by their operands and as owners of blocks that give a value. */
#ifndef PASSES_ANALYSIS_USES_H
#define PASSES_ANALYSIS_USES_H

#include <baton/pass.h>

/* A user, in the list of those of a value, the latest first. */
struct use {
    const bt_value *user; /* NULL: the result of a global's function */
    const struct use *next;
};

struct uses {
    bt_map first; /* value, in a global's name's place that name -> const struct use */
};

const struct use *uses_of(const struct uses *, const bt_value *); /* NULL: nobody */

/* These serve as bt_analysis: *out is a struct uses. */
bt_status uses_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status uses_print(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
