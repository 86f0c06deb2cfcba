#include "expand.h"

#include <baton/op.h>

bt_status vm_call_wrap(bt_arena *arena, const bt_call *call, bt_func *func,
                       bt_block *block)
{
    bt_call *inner = BT_NEW(arena, bt_call);
    bt_param *params = BT_NEWS(arena, bt_param, call->narg);
    const bt_param **list = BT_NEWS(arena, const bt_param *, call->narg);
    const bt_value **args = BT_NEWS(arena, const bt_value *, call->narg);
    const bt_value **bindings = BT_NEWS(arena, const bt_value *, 1);
    if (!inner || !params || !list || !args || !bindings)
        return bt_no_memory();
    *inner = *call;
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = call->args[i];
        if (args[i]->kind == BT_VALUE_CONST)
            continue;
        params[block->nparam].base =
            (bt_value){ .kind = BT_VALUE_PARAM, .type = args[i]->type };
        list[block->nparam] = &params[block->nparam];
        args[i] = &params[block->nparam++].base;
    }
    inner->args = args;
    bindings[0] = &inner->base;
    block->params = list;
    block->nbinding = 1;
    block->bindings = bindings;
    block->result = &inner->base;
    *func = (bt_func){ .name = call->op->name,
                       .span = call->base.span,
                       .result = call->base.type,
                       .block = block };
    return NULL;
}

bt_status vm_nodes_order(bt_arena *arena, const bt_node *body, bt_nodes *out)
{
    bt_map met;
    bt_map_init(&met, arena, 0);
    if (!bt_map_put(&met, body, out) || !BT_PUSH(arena, out, body))
        return bt_no_memory();
    for (uint32_t i = 0; i < out->len; i++) {
        const bt_node *node = out->at[i];
        for (uint32_t k = 0; k < node->narg; k++) {
            if (bt_map_find(&met, node->args[k]))
                continue;
            if (!bt_map_put(&met, node->args[k], out) ||
                !BT_PUSH(arena, out, node->args[k]))
                return bt_no_memory();
        }
    }
    // Operands have smaller ids than what reads them, so this list is almost in order when it
    // is turned round.
    for (uint32_t i = 0; i < out->len / 2; i++) {
        const bt_node *node = out->at[i];
        out->at[i] = out->at[out->len - 1 - i];
        out->at[out->len - 1 - i] = node;
    }
    for (uint32_t i = 1; i < out->len; i++) {
        const bt_node *node = out->at[i];
        uint32_t at = i;
        for (; at && out->at[at - 1]->id > node->id; at--)
            out->at[at] = out->at[at - 1];
        out->at[at] = node;
    }
    return NULL;
}
