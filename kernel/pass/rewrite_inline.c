/* Blocks and functions copied into the current block: everything in them is new, so that
 * the same block may be copied again. */
#include "pass/rewrite.h"

static bt_status check_count(bt_rewrite *rw, const char *what, uint32_t expected,
                             uint32_t found)
{
    if (expected == found)
        return NULL;
    return bt_fail(rw->ctx, BT_ERR_INTERNAL, "%s inlines with %u %s, but %u are needed",
                   bt__rewrite_pass_name(rw), found, what, expected);
}

static bt_status copy_block(bt_rewrite *rw, const bt_block *block,
                            struct bt__scope *scope, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    BT_TRY(check_count(rw, "arguments", block->nparam, narg));
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(bt__scope_put(scope, &block->params[i]->base, args[i]));
    BT_TRY(bt__rewrite_rename_opaques(rw, scope, block));
    BT_TRY(bt__rewrite_enter(rw));
    bt_status status = bt__rewrite_walk(rw, block, scope, out);
    rw->depth--;
    return status;
}

bt_status bt_rewrite_inline(bt_rewrite *rw, const bt_block *block, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    struct bt__preset before = rw->b->preset;
    struct bt__scope scope;
    BT_TRY(bt__rewrite_learn(rw, block));
    bt__scope_init(rw, &scope, rw->cursor->scope);
    scope.is_fresh = 1;
    bt_status status = copy_block(rw, block, &scope, narg, args, out);
    rw->b->preset = before;
    return status;
}

/* A closure's function sees what is around it; a global one nothing. */
static struct bt__scope *scope_around(bt_rewrite *rw, const bt_func *func)
{
    const struct bt__block_info *info = bt_map_find(&rw->blocks, func->block);
    return info && info->owner ? rw->cursor->scope : NULL;
}

bt_status bt_rewrite_inline_func(bt_rewrite *rw, const bt_func *func, uint32_t ntype_arg,
                                 const bt_type *const *type_args, uint32_t narg,
                                 const bt_value *const *args, const bt_value **out)
{
    struct bt__preset before = rw->b->preset;
    struct bt__scope scope;
    const bt_type *const *now;
    BT_TRY(check_count(rw, "type arguments", func->nvar, ntype_arg));
    BT_TRY(bt__rewrite_learn(rw, func->block));
    BT_TRY(bt__rewrite_types(rw, ntype_arg, type_args, &now));
    bt__scope_init(rw, &scope, scope_around(rw, func));
    scope.is_fresh = 1;
    scope.prov = before.prov;
    for (uint32_t i = 0; i < ntype_arg; i++) {
        if (!bt_map_put(&scope.types, func->vars[i], (void *)(uintptr_t)now[i]))
            return bt_no_memory();
    }
    bt_status status = copy_block(rw, func->block, &scope, narg, args, out);
    rw->b->preset = before;
    return status;
}
