/* The next version of a module, in which a pass declares and sets functions. */
#ifndef PASSES_COMMON_VERSION_H
#define PASSES_COMMON_VERSION_H

#include <baton/pass.h>

typedef bt_status version_fill(void *state, bt_module_builder *);

bt_status version_next(bt_ctx *, const bt_module *from, version_fill *, void *state,
                       bt_module **out) BT_MUST_USE;
/* In two steps: what `declare` sets without a body, those that `define` makes may call.
 * *declared: the version between, which is there while `define` runs. */
bt_status version_create(bt_ctx *, const bt_module *from, version_fill *declare,
                         version_fill *define, void *state, const bt_module **declared,
                         bt_module **out) BT_MUST_USE;
/* A function in place of `like`, with its own type. */
bt_status version_set_func(bt_module_builder *, const bt_global *like,
                           const bt_func *) BT_MUST_USE;

#endif
