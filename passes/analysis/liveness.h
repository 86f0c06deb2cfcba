/* Which values each basic block (cfg.h) needs from before it. */
#ifndef PASSES_ANALYSIS_LIVENESS_H
#define PASSES_ANALYSIS_LIVENESS_H

#include "analysis/cfg.h"

typedef bt_vec(const bt_value *) live_values;

struct liveness {
    const struct cfg *cfg;
    live_values *
        *in; /* by function, then block: live where it begins, its parameters not */
};

/* These serve as bt_analysis: *out is a struct liveness. */
bt_status liveness_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status liveness_print(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
