/* Blocks and functions copied into the current block: everything in them is new, so that
 * the same block may be copied again. */
#include "ir/dim.h"
#include "ir/walk.h"
#include "pass/rewrite.h"

static bt_status check_count(bt_rewrite *rw, const char *what, uint32_t expected,
                             uint32_t found)
{
    if (expected == found)
        return NULL;
    return bt_fail(rw->ctx, BT_ERR_INTERNAL,
                   "%s inlines with the wrong number of %s: %u instead of %u",
                   bt__rewrite_pass_name(rw), what, found, expected);
}

static bt_status copy_block(bt_rewrite *rw, const bt_block *block,
                            struct bt__scope *scope, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    struct bt__scope *around = rw->cursor->scope;
    bt_status status = check_count(rw, "arguments", block->nparam, narg);
    // dims that a parameter brings along are those of what stands for it
    rw->cursor->scope = scope;
    for (uint32_t i = 0; !status && i < narg; i++) {
        status = bt__scope_put(scope, &block->params[i]->base, args[i]);
        if (!status)
            status = bt__rewrite_relate(rw, &block->params[i]->base, args[i]);
    }
    rw->cursor->scope = around;
    BT_TRY(status);
    BT_TRY(bt__rewrite_rename_opaques(rw, scope, block));
    BT_TRY(bt__rewrite_enter(rw));
    status = bt__rewrite_walk(rw, block, scope, out);
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

/* Whether a check of a call in the block holds for none of the types in the scope at
 * hand: then the call has no type in the copy. */
static bt_status finds_refuted(bt_rewrite *rw, const bt_block *block, int *out)
{
    bt__walk walk;
    const bt_value *value;
    *out = 0;
    bt__walk_begin(&walk, rw->stack, block);
    while (!*out && (value = bt__walk_next(&walk))) {
        const bt_call *call = bt_as_call(value);
        for (uint32_t i = 0; call && i < call->ncheck; i++) {
            const bt_type *left = bt__rewrite_type(rw, call->checks[i].left);
            const bt_type *right = bt__rewrite_type(rw, call->checks[i].right);
            if (!left || !right)
                return bt_store_why(rw->ctx, rw->store);
            *out |= bt_check_decide(rw->store, call->checks[i].relation, left, right) < 0;
        }
    }
    return walk.failed ? bt_no_memory() : NULL;
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
    struct bt__scope *around = rw->cursor->scope;
    int is_refuted;
    rw->cursor->scope = &scope;
    bt_status status = finds_refuted(rw, func->block, &is_refuted);
    rw->cursor->scope = around;
    if (!status && !is_refuted)
        status = copy_block(rw, func->block, &scope, narg, args, out);
    rw->b->preset = before;
    return status;
}
