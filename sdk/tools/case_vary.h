/* Cases made from cases. */
#ifndef CASE_VARY_H
#define CASE_VARY_H

#include "case_run.h"

/* Further cases like `base`: other dtypes that the inputs' patterns take, dims of 0
 * and 1. Calls `use` with each; `kind` is "dtype" or "size". */
typedef bt_status vary_use_fn(void *self, const char *kind, const struct call_case *);
bt_status vary(struct op_check *, const struct call_case *base, vary_use_fn *,
               void *self) BT_MUST_USE;
/* The operator's cases ("case"), each followed by those like it. */
bt_status vary_all(struct op_check *, vary_use_fn *, void *self) BT_MUST_USE;

/* A case with all sizes such as no tile divides ("larger"), then with one beyond any tile at a time: of
 * all axes that have it, or of one axis alone, from the `start`th of these on. Many have no types. */
bt_status vary_larger(const struct call_case *base, uint32_t start, vary_use_fn *,
                      void *self) BT_MUST_USE;

#endif
