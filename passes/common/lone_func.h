/* A call of an operator alone in a function, to see what it computes for given types. */
#ifndef PASSES_COMMON_LONE_FUNC_H
#define PASSES_COMMON_LONE_FUNC_H

#include <baton/graph.h>
#include <baton/pass.h>

struct lone {
    bt_ctx *ctx;
    bt_store *store;
    const bt_module *module;
    bt_arena *arena;
};

/* A function of that one call, its arguments parameters of these types; where `types` has NULL, the
 * argument of the call, a constant. The dims of the types are its type parameters. */
bt_status lone_func(const struct lone *, const bt_op *, const void *attrs, uint32_t narg,
                    const bt_type *const *types, const bt_value *const *args,
                    const bt_func **out) BT_MUST_USE;
/* What that computes; *out NULL: the call is none for these types, or is not to be seen. */
bt_status lone_graph(const struct lone *, const bt_op *, const void *attrs, uint32_t narg,
                     const bt_type *const *types, const bt_value *const *args,
                     const bt_type **result, bt_graph **out) BT_MUST_USE;

#endif
