#include "reached.h"

/* The list is its own queue. */
static bt_status add_nested(bt_arena *arena, uint32_t from, block_list *list)
{
    for (uint32_t i = from; i < list->len; i++) {
        const bt_block *block = list->at[i];
        for (uint32_t k = 0; k < block->nbinding; k++) {
            const bt_value *value = block->bindings[k];
            for (uint32_t r = 0; r < bt_value_nregion(value); r++) {
                if (!BT_PUSH(arena, list, bt_value_region(value, r)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

bt_status reached_blocks(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                         const bt_global *entry, int primitives, block_list *out)
{
    const bt_callgraph *graph;
    const uint8_t *reached;
    *out = (block_list){ 0 };
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    BT_TRY(bt_callgraph_reach(graph, module, entry, arena, &reached));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_func *func = module->globals[g]->func;
        uint32_t from = out->len;
        if (!reached[g] || !func || (!primitives && bt_func_is_primitive(func)))
            continue;
        if (!BT_PUSH(arena, out, func->block))
            return bt_no_memory();
        BT_TRY(add_nested(arena, from, out));
    }
    return NULL;
}
