/*
 * Lowering of control flow: what decides, calls and holds values stays as it is, on
 * values in the host's memory. Functions are flat (pipeline "flatten"): a closure is a
 * call of a global that takes what it captures.
 *
 *     %r = if (%c) {                          %r = if (%c) {
 *         @fused_add(%x, %y)          ->          %s = memory.alloc_storage(size=32);
 *     } else { %x };                              %t = memory.alloc_tensor(%s, ...);
 *                                                 memory.invoke((%x, %y), (%t,), ...);
 *                                                 %t
 *                                             } else { %x };
 *
 * A call of a primitive function that only computes scalars stays a call too.
 */
#include <baton/graph.h>
#include <baton/op.h>

#include "compile/lower/lowerer.h"

/* ---- scalars ---- */

bt_status bt__func_is_scalar(bt_ctx *ctx, bt_arena *arena, const bt_func *func, int *out)
{
    bt_graph *g;
    *out = 0;
    if (func->nvar || !bt_type_is_scalar(func->result) ||
        bt_dict_find(&func->attrs, "target"))
        return NULL;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!bt_type_is_scalar(func->block->params[i]->base.type))
            return NULL;
    }
    bt_status status = bt_graph_compose(ctx, arena, func, &g);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    return bt_graph_is_scalar(arena, g, out);
}

/* ---- closures ---- */

/* A global that is called, held or given is lowered too. */
static bt_status reach(struct bt__lowerer *l, const bt_value *value)
{
    const bt_global *global = bt_module_global(l->module, value);
    if (!global || global->kind == BT_GLOBAL_CONST ||
        (global->func && bt_func_is_primitive(global->func)))
        return NULL;
    if (global->kind != BT_GLOBAL_FUNC)
        return bt_global_fail(l->ctx, l->module, global);
    if (bt_map_find(&l->seen, global->func))
        return NULL;
    return bt_map_put(&l->seen, global->func, l) && BT_PUSH(l->arena, &l->todo, global)
               ? NULL
               : bt_no_memory();
}

bt_status bt__lower_take(struct bt__lowerer *l, const bt_value *old, const bt_value **out)
{
    BT_TRY(reach(l, old));
    return bt__lower_on_host(l, bt__lower_now(l, old), out);
}

static bt_status take_operands(struct bt__lowerer *l, const bt_value *value,
                               const bt_value ***out)
{
    const uint32_t n = bt_value_noperand(value);
    *out = BT_NEWS(l->arena, const bt_value *, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt__lower_take(l, bt_value_operand(value, i), &(*out)[i]));
    return NULL;
}

static bt_status lower_closure(struct bt__lowerer *l, const bt_closure_value *closure,
                               const bt_value **out)
{
    const bt_call *call = bt_closure_flat_call(closure);
    const bt_value **operands, *done;
    bt_func fields = *closure->func;
    const bt_func *func;
    if (!call)
        return bt__lower_refuse(l, &closure->base,
                                "is not flat: what --fuse names begins with pipeline "
                                "flatten, as in 'flatten, fuse-ops'");
    BT_TRY(take_operands(l, &call->base, &operands));
    bt_builder_like(l->b, &closure->base);
    BT_TRY(bt_build_closures(l->b, 1, &closure->base.name, &closure->base.type, out));
    BT_TRY(bt_block_begin(l->b, fields.block->nparam, fields.block->params));
    bt_builder_like(l->b, &call->base);
    BT_TRY(bt_build_again(l->b, &call->base, operands, NULL, call->base.type, &done));
    BT_TRY(bt_block_end(l->b, done, &fields.block));
    BT_TRY(bt_func_create(l->ctx, l->module->store, &fields, &func));
    return bt_build_closure_body(l->b, *out, func);
}

/* ---- bindings ---- */

bt_status bt__lower_control(struct bt__lowerer *l, const bt_value *value,
                            const bt_value **out)
{
    const uint32_t nregion = bt_value_nregion(value);
    const bt_block **regions = BT_NEWS(l->arena, const bt_block *, nregion);
    const bt_value **operands;
    if (!regions)
        return bt_no_memory();
    if (value->kind == BT_VALUE_CLOSURE)
        return lower_closure(l, bt_as_closure(value), out);
    BT_TRY(take_operands(l, value, &operands));
    for (uint32_t i = 0; i < nregion; i++)
        BT_TRY(bt__lower_region(l, bt_value_region(value, i), &regions[i]));
    bt_builder_like(l->b, value);
    return bt_build_again(l->b, value, operands, regions, value->type, out);
}
