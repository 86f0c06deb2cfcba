/* Types in which functions have other types, for passes that change what functions take. */
#ifndef PASSES_COMMON_RETYPE_H
#define PASSES_COMMON_RETYPE_H

#include <baton/pass.h>

struct retype {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    /* What a type becomes. */
    bt_status (*map)(void *state, const bt_type *, const bt_type **out);
    void *state;
};

/* *same: set to 0 where one of them changes. */
bt_status retype_list(const struct retype *, uint32_t n, const bt_type *const *,
                      const bt_type ***out, int *same) BT_MUST_USE;
/* A tuple, a reference and a data type by their parts; any other type is itself. */
bt_status retype_parts(const struct retype *, const bt_type *,
                       const bt_type **out) BT_MUST_USE;
/* Data types keep their fields, so that none may hold a function but by a parameter.
 * errors  BT_ERR_UNSUPPORTED: one does, in words of this pass */
bt_status retype_check_data(bt_ctx *, bt_arena *, const bt_module *,
                            const char *pass) BT_MUST_USE;

#endif
