/* The order in which a schedule is made. */
#include "schedule.h"

#include "vectorise.h"

bt_status cpu_schedule(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                       const bt_func *primitive, bt_loops **out)
{
    bt_graph *graph;
    bt_loops *loops;
    BT_TRY(bt_graph_compose(ctx, arena, primitive, &graph));
    BT_TRY(bt_loops_lower(ctx, arena, primitive->name ? primitive->name : "primitive",
                          graph, &loops));
    BT_TRY(bt_loops_simplify(loops));
    BT_TRY(cpu_vectorise(loops, config));
    *out = loops;
    return NULL;
}
