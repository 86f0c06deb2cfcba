/* Views of analyses: one function after the other, its values by name. */
#ifndef PASSES_ANALYSIS_VIEW_H
#define PASSES_ANALYSIS_VIEW_H

#include <baton/pass.h>

struct view {
    bt_printer *printer; /* of the function at hand */
    bt_text *text;
    const bt_module *module;
    const bt_global *global; /* a function */
    const void *result;      /* of the analysis */
};

/* "def @name", then what `print` prints, for each function. */
bt_status view_functions(bt_ctx *, const bt_module *, const void *result, bt_text *,
                         bt_status (*print)(const struct view *, bt_arena *));
/* Calls `meet` for each parameter and binding of a function: of a closure's block and of
 * regions behind the binding. `block` is that which binds it. */
bt_status view_values(const bt_block *,
                      bt_status (*meet)(void *self, const bt_value *,
                                        const bt_block *block),
                      void *self);

#endif
