#include "reached.h"

bt_status reached_blocks(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                         const bt_global *entry, int primitives, bt_blocks *out)
{
    const bt_callgraph *graph;
    const uint8_t *reached;
    *out = (bt_blocks){ 0 };
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    BT_TRY(bt_callgraph_reach(graph, module, entry, arena, &reached));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_func *func = module->globals[g]->func;
        if (!reached[g] || !func || (!primitives && bt_func_is_primitive(func)))
            continue;
        BT_TRY(bt_block_nested(arena, func->block, out));
    }
    return NULL;
}
