/* Formulas that were parsed in a context: each text once. */
#ifndef COMPUTE_FORMULA_CACHE_H
#define COMPUTE_FORMULA_CACHE_H

#include "compute/formula/ast.h"

struct bt__formulas;

/* What a context has parsed, for who keeps formulas longer than it. NULL: nothing. */
struct bt__formulas *bt__formulas_ref(bt_ctx *);
void bt__formulas_unref(struct bt__formulas *); /* accepts NULL */
/* The formula of that text in the context, parsed when it is met first; in `arena` once the
 * context has parsed too many. */
bt_status bt__formulas_get(bt_ctx *, bt_arena *arena, const char *op, const char *text,
                           const struct bt__formula **out) BT_MUST_USE;

#endif
