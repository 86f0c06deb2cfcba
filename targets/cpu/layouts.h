#ifndef CPU_LAYOUTS_H
#define CPU_LAYOUTS_H

#include <baton/target.h>

/* As bt_target.layouts. */
bt_status cpu_layouts(bt_ctx *, void *self, const bt_call *,
                      const char **wanted) BT_MUST_USE;

#endif
